"""`build`: compiles a model for several CPUs to one file, which `load` opens."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from typing_extensions import Unpack

from ...dialects.arguments import check_function, checked_path, checked_sequence, wrong
from ...dialects.errors import ConfigError
from ..config import CompileOptions, EngineConfig
from ..engine import CompiledModel
from ..kept.artifact import write_artifact
from ..kept.cpu_levels import OWN, CpuLevel, level_named, usual_levels
from ..kept.cpus import host_cpu
from ..native.team import team_image
from ..shapes.shape_family import ShapeFamily
from ..specs import ordered_shapes
from .late_options import check_cpu
from .plan_builder import Builder
from .source import Source, configured_source

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
    """Compiles an ONNX model for several CPUs to one file, written atomically; returns its size in bytes.

    `cpus` are of x86-64, x86-64-v2, x86-64-v3, x86-64-v4, aarch64 and native, this machine's; by default all levels of
    this machine's architecture but the first, and its own. `load` selects the best that its CPU can run. `options` are
    EngineConfig's. A model for many shapes has code for its profile, and in addition for those shapes of inputs, by
    name, in `at` for which that is not valid. `tell` is called with the name of each CPU in turn.

    Raises ConfigError for invalid options and CPUs, MiniInferError if the file can't be written, and the errors of
    `compile`.
    """
    source, config = configured_source(model, EngineConfig.of(threads=threads, **options))
    checked_path("path", path)
    check_function("tell", tell)
    if isinstance(cpus, str) or not isinstance(cast("object", cpus), Sequence):
        raise wrong("cpus", cpus, "a list of names")
    at = checked_sequence("at", at, "a list of mappings from inputs to shapes")
    if at and not config.is_dynamic:
        raise ConfigError("at does nothing without a profile or dynamic shapes")
    if config.device != "cpu" or config.check_memory or config.is_observed:
        raise ConfigError("a file is for CPUs, without check_memory, enable_hooks and check")
    if config.enable_dynamic_shapes and not at:
        raise ConfigError("a file for any shapes needs shapes to compile for, or a profile")
    host = host_cpu()
    levels = [level_named(name, host) for name in dict.fromkeys(cpus or usual_levels(host))]
    if any(level.name == OWN and not host.model for level in levels):
        raise ConfigError("this system doesn't tell its CPU's model: name a level instead of native")
    built: list[tuple[CpuLevel, Sequence[CompiledModel]]] = []
    for level in levels:
        tell(level.name)
        built.append((level, _built(source, config, level, at)))
    built.sort(key=lambda each: (not each[0].model, -len(each[0].flags)))
    architectures = {level.architecture: level.machine.rpartition(":")[0] for level in levels}
    teams = {name: team_image(triple) for name, triple in architectures.items()} if config.thread_count > 1 else {}
    return write_artifact(path, source.name, config, built, teams)


def _built(
    source: Source, config: EngineConfig, level: CpuLevel, shapes: Sequence[Mapping[str, Sequence[int]]]
) -> list[CompiledModel]:
    """The model for one CPU: one artifact, or with ranges of sizes as many as the shapes need."""
    cpu = "" if level.name == OWN else level.name
    build = Builder(source, config, prepare=lambda module, _: check_cpu(cpu, module), machine=level.machine)
    made = [] if config.enable_dynamic_shapes else [build()]
    for each in shapes:
        if made:
            wanted = ordered_shapes(made[0].plan.input_names, each)
            if any(ShapeFamily(known).suits(wanted) for known in made):
                continue
        made.append(build(each))
    return made
