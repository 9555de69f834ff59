"""Options that come too late: what they decide has been decided in a module that is at a lower level already."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...dialects.errors import ConfigError
from ...dialects.kernel.targets import CpuAttr, target_of
from ...lowering.levels import LEVELS, Level, level_of
from ..config import EngineConfig

DECIDED_BY: dict[str, Level] = {
    "enable_graph_optimization": "kernels",
    "integer_products": "kernels",
    "winograd": "kernels",
    "tuned": "kernels",
    "threads": "kernels",
    "vector_bits": "kernels",
    "precision": "kernels",
    "gpu": "kernels",
    "check_memory": "buffers",
    "disable_inplace": "buffers",
    "enable_memory_planning": "buffers",
    "memory_alignment": "buffers",
    "max_workspace_size": "arena",
    "planner": "arena",
    "beam_width": "arena",
    "enable_profiling": "loops",
    "compile_threads": "llvm",  # where the loops are not to be divided any more
}


def check_cpu(name: str, module: ModuleOp) -> None:
    """Raises ConfigError for a CPU by name, unless "", that a module's kernels were not scheduled for."""
    if name and (level := level_of(module)) != "graph":
        raise ConfigError(
            f"cpu {name} is decided above the kernels level; the module is at the {level} level, and compiled for this "
            "machine only"
        )


def check_undecided(config: EngineConfig, module: ModuleOp) -> None:
    """Raises ConfigError for an option that could no longer change anything in a module that was read."""
    level, target = level_of(module), target_of(module)
    as_it_is: dict[str, object] = {"threads": target.threads.data, "compile_threads": 1}
    if isinstance(target, CpuAttr):
        as_it_is["vector_bits"] = target.vector_bits.data
    else:
        as_it_is |= {"gpu": target.architecture.data, "precision": target.precision.data}
    defaults = type(config)()
    for name, decided in DECIDED_BY.items():
        value = getattr(config, name)
        reached = LEVELS.index(level) >= LEVELS.index(decided)
        if reached and value not in (getattr(defaults, name), as_it_is.get(name)):
            fact = f", with {name} {as_it_is[name]}" if name in as_it_is else ""
            raise ConfigError(f"{name} is decided above the {decided} level; the module is at the {level} level{fact}")
