"""From a source to an engine: look-up in the cache, else a compile.

The compiler is imported only if something has to be compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ...dialects.arguments import checked_seconds
from ...dialects.garbage_collection import collection_paused
from ..compute_device import compute_device
from ..config import EngineConfig
from ..engine import Engine
from ..kept.begun_model import BegunModel
from ..kept.cache_folders import Cache, cache_folder
from ..progress import LOG, Progress
from ..shapes.start_engine import start_engine
from .cached_build import CachedBuild
from .intermediates import intermediates_of
from .source import Source

if TYPE_CHECKING:
    from .plan_builder import Builder


@collection_paused()
def compile_source(
    source: Source,
    config: EngineConfig,
    *,
    cache: Cache = None,
    progress: Callable[[Progress], None] | None = None,
    tune: float | None = None,
) -> Engine:
    """`compile` of a source, for the configuration that goes with it."""
    if tune is not None:
        from .tuner import tune as measure_kernels

        seconds = checked_seconds("tune", tune)
        measure_kernels(source, config, seconds, now=lambda what: LOG.info("tuning: %s", what))
    folder = cache_folder(cache)
    asked = intermediates_of(source.onnx_file, config)  # before the file is read, so that it notices a later change

    def builder(begun: BegunModel | None = None) -> Builder:
        from .plan_builder import Builder

        return Builder(source, config, progress, objects=None if folder is None else folder.objects, begun=begun)

    if folder is None or compute_device(config.place).kind != "cpu" or config.check_memory or config.is_observed:
        engine = build_engine(builder())
    else:
        kept = CachedBuild(source, config, folder, lambda best, begun: builder(begun)(best), progress)
        engine = start_engine(config, kept, kept.input_names, compiled_once=source.compiled_once)
    engine.asked_model = asked
    return engine


def build_engine(builder: Builder) -> Engine:
    """Compiles an engine, without the cache. Raises as `compile` does."""
    config = builder.config
    if config.check_memory:
        from .checking.memory_check import CheckedEngine

        return CheckedEngine.built(builder)
    if config.is_observed:
        from .hooked_plan import with_hook_points

        made = with_hook_points(builder)
        return Engine(made.plan, config, made.statistics)
    source = builder.source
    return start_engine(config, builder, partial(source.input_names, config), compiled_once=source.compiled_once)
