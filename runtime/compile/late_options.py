"""Errors for options that have no effect any more on a module at a lower level."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...dialects.errors import ConfigError
from ...dialects.kernel.targets import CpuAttr, target_of
from ...lowering.levels import LEVELS, level_of
from ..config import EngineConfig
from ..option_declarations import options_of


def check_cpu(name: str, module: ModuleOp) -> None:
    """Raises ConfigError for a named CPU (not "") other than that for which a module's kernels were scheduled."""
    if name and (level := level_of(module)) != "graph":
        raise ConfigError(
            f"cpu {name} is decided above the kernels level; the module is at the {level} level, and compiled for this "
            "machine only"
        )


def check_undecided(config: EngineConfig, module: ModuleOp) -> None:
    """Raises ConfigError for an option that can't have an effect on a module at its level."""
    level, target = level_of(module), target_of(module)
    as_it_is: dict[str, object] = {"threads": target.threads.data, "compile_threads": 1}
    if isinstance(target, CpuAttr):
        as_it_is["vector_bits"] = target.vector_bits.data
    else:
        as_it_is |= {"gpu": target.architecture.data, "precision": target.precision.data}
    reached = LEVELS[: LEVELS.index(level) + 1]
    for name, option in options_of(EngineConfig).items():
        if option.decided in reached and getattr(config, name) not in (option.default, as_it_is.get(name)):
            fact = f", with {name} {as_it_is[name]}" if name in as_it_is else ""
            raise ConfigError(
                f"{name} is decided above the {option.decided} level; the module is at the {level} level{fact}"
            )
