"""`build`: a model compiled for several CPUs, in one file that `load` opens."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from typing_extensions import Unpack

from ...dialects.arguments import check_function, checked_path, checked_sequence, read_once, wrong
from ...dialects.errors import ConfigError
from ...lowering.pipelines import collection_paused
from ...passes.statistics import pass_statistics
from ..config import CompileOptions, EngineConfig
from ..kept.artifact import Built, write_artifact
from ..kept.cpu_levels import OWN, Level, level_named, usual_levels
from ..kept.cpus import host_cpu
from ..limits import memory_for
from ..native.team import team_image
from ..shapes.module_ranges import with_own_ranges
from ..specs import ordered_shapes
from .engines import compilers_for, family_builder
from .late_options import check_cpu
from .module_to_plan import build_plan, import_model

if TYPE_CHECKING:
    from ...lowering.onnx_to_graph.model_file import ModelSource

Told = Callable[[str], None]


def build(
    model: ModelSource,
    path: str | os.PathLike[str],
    threads: int | None = None,
    *,
    cpus: Sequence[str] = (),
    at: Sequence[Mapping[str, Sequence[int]]] = (),
    tell: Told = lambda name: None,
    **options: Unpack[CompileOptions],
) -> int:
    """Compiles an ONNX model for several CPUs into one file, which appears whole or not at all; its size in bytes.

    `cpus` are of x86-64, x86-64-v2, x86-64-v3, x86-64-v4, aarch64 and native, this machine's: all levels of this
    machine's architecture, but for the first, and its own unless given. `load` takes the best that its CPU can run.
    `options` are EngineConfig's. A model for many shapes has code for its profile, and beside it for those shapes of
    inputs, by name, that `at` has and this is not right for. `tell` is called with the name of each CPU at its turn.

    Raises ConfigError for options and CPUs that there aren't and for what does nothing, MiniInferError where the file
    can't be written, and what `compile` raises.
    """
    config = with_own_ranges(model, EngineConfig.of(threads=threads, **options))
    checked_path("path", path)
    check_function("tell", tell)
    if isinstance(cpus, str) or not isinstance(cast("object", cpus), Sequence):
        raise wrong("cpus", cpus, "a list of names")
    at = checked_sequence("at", at, "a list of mappings from inputs to shapes")
    if at and not config.is_dynamic:
        raise ConfigError("at does nothing without a profile or dynamic shapes")
    if config.device != "cpu" or config.check_memory:
        raise ConfigError("a file is for CPUs, without check_memory")
    if config.enable_dynamic_shapes and not at:
        raise ConfigError("a file for any shapes needs some that there is to be code for, or a profile")
    model = read_once(model)  # it is needed for each CPU
    host = host_cpu()
    levels = [level_named(name, host) for name in dict.fromkeys(cpus or usual_levels(host))]
    if any(level.name == OWN and not host.model for level in levels):
        raise ConfigError("this system doesn't tell its CPU's model: name a level instead of native")
    built: list[tuple[Level, Sequence[Built]]] = []
    for level in levels:
        tell(level.name)
        built.append((level, _built(model, config, level, at)))
    built.sort(key=lambda each: (not each[0].model, -len(each[0].flags)))
    architectures = {level.architecture: level.machine.rpartition(":")[0] for level in levels}
    teams = {name: team_image(triple) for name, triple in architectures.items()} if config.thread_count > 1 else {}
    name = Path(os.fspath(model)).name if isinstance(model, str | os.PathLike) else ""
    return write_artifact(path, name, config, built, teams)


def _built(
    model: ModelSource, config: EngineConfig, level: Level, shapes: Sequence[Mapping[str, Sequence[int]]]
) -> list[Built]:
    """The plans for one CPU: one, or of a model for many shapes as many as it takes."""
    if not config.is_dynamic:
        with collection_paused(), memory_for("compiling the model"):
            module, ctx = import_model(model, config)
            check_cpu("" if level.name == OWN else level.name, module)
            with compilers_for(module, config) as compilers:
                plan = build_plan(module, ctx, config, machine=level.machine, compilers=compilers, loaded=False)
            return [Built(plan, None, pass_statistics(ctx))]
    compiled = family_builder(model, config, machine=level.machine)
    made = [] if config.enable_dynamic_shapes else [compiled({})]
    for each in shapes:
        if made:
            wanted = ordered_shapes(made[0][0].base.input_names, each)
            if any(family.suits(wanted) for family, _ in made):
                continue
        made.append(compiled(each))
    return [Built(family.base, family.guards, statistics) for family, statistics in made]
