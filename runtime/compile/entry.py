"""The ways to an engine: `compile`, from what was compiled before where there is such, and `load`.

Imports the compiler only where something has to be compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from typing_extensions import Unpack

from ...dialects.arguments import check_function, checked_seconds, read_once
from ..config import CompileOptions, EngineConfig
from ..device import device_named
from ..engine import Engine
from ..kept.cache_folders import Cache, CacheFolder, cache_folder
from ..kept.kept_plans import KeptPlan
from ..kept.model_cache import KeptModels
from ..limits import check_fits
from ..progress import LOG, Progress, Steps
from ..shapes.module_ranges import with_own_ranges

if TYPE_CHECKING:
    from ...lowering.onnx_to_graph.model_file import ModelSource
    from ...passes.counts import PassStatistics
    from ...passes.memory.report.memory_plan import MemoryPlan


def compile(
    model: ModelSource,
    threads: int | None = None,
    *,
    cache: Cache = None,
    progress: Callable[[Progress], None] | None = None,
    tune: float | None = None,
    **options: Unpack[CompileOptions],
) -> Engine:
    """Compiles an ONNX model (a path, its bytes, an open file or a ModelProto); `options` are EngineConfig's.

    What comes of it is kept on disk, and found there the next time: by the content of the model and its external data,
    the options, the CPU and the version. `cache` says where: True, among the user's caches; a folder; or False,
    nowhere; None, as the environment variable MINI_INFER_CACHE says. Where nothing can be kept, the model is compiled
    all the same, and for a folder that was given a warning says why. Kept are models for the CPU, from ONNX, without
    `check_memory`.

    With `tune`, about so many seconds go to measuring how kernels are best carried out on this machine; this compile
    and all later ones, with or without `tune`, go by what was found (see EngineConfig's `tuned`).

    `progress` is called before every step; the logger "mini_infer" tells the same and the times. Raises
    InvalidModelError, UnsupportedError, ConfigError, PlanError, OutOfMemoryError or CompileError, all of them
    MiniInferError.
    """
    config = with_own_ranges(model, EngineConfig.of(threads=threads, **options))
    if progress is not None:
        check_function("progress", progress)
    model = read_once(model)
    if tune is not None:
        from .tuner import tune as measure_kernels

        measure_kernels(model, config, checked_seconds("tune", tune), now=lambda what: LOG.info("tuning: %s", what))
    folder = cache_folder(cache)
    if folder is None or device_named(config.place).kind != "cpu" or config.check_memory:
        return _built(model, config, progress, None)
    kept = KeptModels(folder, config)
    if config.is_dynamic:
        return _dynamic(model, config, progress, kept, folder)
    identity = kept.identity(model)
    if identity is not None and (found := kept.find(kept.key(identity))) is not None:
        Steps(("load",), progress).next()
        return _engine(found, config)
    identity = identity or kept.identity(model, read=True)
    folder.warn_where_unwritable()
    engine = _built(model, config, progress, folder)
    if identity is not None and identity == kept.identity(model):  # so this is what was compiled
        kept.keep(kept.key(identity), identity, engine.plan, None, engine.statistics)
    return engine


def _built(
    model: ModelSource,
    config: EngineConfig,
    progress: Callable[[Progress], None] | None,
    folder: CacheFolder | None,
) -> Engine:
    """A compiled engine; of parts that were compiled before the code is taken from the folder."""
    from .engines import build_dynamic, build_engine

    if config.is_dynamic:
        return build_dynamic(model, config, progress)
    return build_engine(model, config, progress, None if folder is None else folder.objects)


def _engine(found: KeptPlan, config: EngineConfig) -> Engine:
    plan = found.plan
    if config.max_workspace_size is None:
        check_fits(plan.arena_bytes, plan.inputs, plan.outputs, device_named(config.place).memory_bytes())
    return Engine(plan, config, found.statistics)


def _dynamic(
    model: ModelSource,
    config: EngineConfig,
    progress: Callable[[Progress], None] | None,
    kept: KeptModels,
    folder: CacheFolder,
) -> Engine:
    """An engine for many shapes: what it has compiled for some is looked for, and kept."""
    identity = kept.identity(model) or kept.identity(model, read=True)
    if identity is None:
        return _built(model, config, progress, None)
    from ..shapes.dynamic_engine import DynamicEngine
    from ..shapes.shape_family import ShapeFamily

    def build(best: Mapping[str, Sequence[int]]) -> tuple[ShapeFamily, PassStatistics]:
        key = kept.key(identity, best)
        found = kept.find(key)
        if found is not None and found.guards is not None:
            Steps(("load",), progress).next()
            return ShapeFamily(found.plan, found.guards, bounded=not config.enable_dynamic_shapes), found.statistics
        from .engines import family_builder

        folder.warn_where_unwritable()
        before = kept.identity(model)
        family, statistics = family_builder(model, config, progress, objects=folder.objects)(best)
        if before is not None and before.digest == identity.digest and before == kept.identity(model):
            kept.keep(key, identity, family.base, family.guards, statistics)
        return family, statistics

    names = tuple(name for name in identity.inputs if name not in config.specialize)
    return DynamicEngine.started(config, names, build)


def plan_memory(model: ModelSource, threads: int | None = None, **options: Unpack[CompileOptions]) -> MemoryPlan:
    """The memory plan that `compile` would make of the same arguments, without building any code.

    `plan.arena_bytes` is what each context will need. Raises as `compile` does.
    """
    config = with_own_ranges(model, EngineConfig.of(threads=threads, **options))
    from .engines import plan_model

    return plan_model(model, config)
