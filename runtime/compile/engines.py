"""From a model to an engine by compiling it, or only to its memory plan."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from ...dialects.graph.blobs import MiniContext
from ...dialects.sizes.attributes import guards_of_module
from ...dialects.sizes.guards import Guards
from ...lowering.levels import level_of
from ...lowering.pipelines import PATHS, Observer, PassRun, collection_paused, parse_passes
from ...passes.counts import PassStatistics
from ...passes.memory.report.memory_report import MemoryPlan
from ...passes.statistics import pass_statistics
from ..config import EngineConfig
from ..engine import Engine
from ..file_cache import FileCache
from ..limits import give_back_memory, memory_for
from ..native.cpu_targets import host_target
from ..native.llvm_processes import Compilers
from ..progress import LOG, Progress, Steps
from ..session import compute_device
from ..shapes.dynamic_engine import Build, DynamicEngine
from ..shapes.module_ranges import is_module
from ..shapes.shape_family import ShapeFamily
from . import module_to_plan as build
from .checking.memory_check import CheckedEngine
from .checking.watched_plan import WatchedPlan
from .module_to_plan import build_plan, engine_phases, import_model

if TYPE_CHECKING:
    from ...lowering.onnx_to_graph.model_file import ModelSource

# Ops of a module: about those of 25 kernels before they are fused. Processes start while its passes run.
WORTH_COMPILERS = 80


def build_engine(
    model: ModelSource,
    config: EngineConfig,
    progress: Callable[[Progress], None] | None = None,
    objects: FileCache | None = None,
) -> Engine:
    """Compiles `model`; `progress` is told of every step. The code of parts is taken from `objects`, and kept there."""
    start = time.perf_counter()
    compute_device(config.place).open()
    steps = Steps(("import", *pass_names(config), "machine code"), progress)
    with collection_paused(), memory_for("compiling the model"):
        module, ctx = import_model(model, config)
        steps.change(("import", *pass_names(config, module), "machine code"))
        steps.next()
        engine = engine_of(module, ctx, config, steps, objects)
        ctx.blobs.check_unchanged()
        del module, ctx
        give_back_memory()
    steps.next()
    LOG.info("compiled in %.2f s: %r", time.perf_counter() - start, engine)
    return engine


def build_dynamic(
    model: ModelSource,
    config: EngineConfig,
    progress: Callable[[Progress], None] | None = None,
    prepare: Callable[[ModuleOp, MiniContext], None] | None = None,
    observer: Observer | None = None,
) -> DynamicEngine:
    """An engine for many shapes: compiled for those of the profile now, or at the first call.

    `prepare` may change each module that is compiled, before the first pass; `observer` sees it after every pass.
    """
    build = family_builder(model, config, progress, prepare, observer=observer)
    if is_module(model):
        only = build({})
        return DynamicEngine.started(config, only[0].base.input_names, lambda _: only, once=True)
    from ...lowering.onnx_to_graph.inputs import free_inputs

    return DynamicEngine.started(config, free_inputs(model, config.specialize), build)


def family_builder(
    model: ModelSource,
    config: EngineConfig,
    progress: Callable[[Progress], None] | None = None,
    prepare: Callable[[ModuleOp, MiniContext], None] | None = None,
    machine: str | None = None,
    objects: FileCache | None = None,
    observer: Observer | None = None,
) -> Build:
    """What compiles a model for many shapes, with code for given ones; `prepare` and `observer` as of `build_dynamic`.

    For a `machine`, as targets.cpu_target names it, code is not loaded.
    """

    def build(best: Mapping[str, Sequence[int]]) -> tuple[ShapeFamily, PassStatistics]:
        start, guards = time.perf_counter(), Guards()
        steps = Steps(("import", *pass_names(config), "machine code"), progress)
        with collection_paused(), memory_for("compiling the model"), guards.collecting():
            module, ctx = import_model(model, config, best)
            if prepare is not None:
                prepare(module, ctx)
            steps.next()
            with compilers_for(module, config, objects) as compilers:

                def watch(done: PassRun, module: ModuleOp) -> None:
                    steps(done, module)
                    if observer is not None:
                        observer(done, module)

                base = build_plan(
                    module, ctx, config, watch, machine=machine or "", compilers=compilers, loaded=machine is None
                )
            statistics = pass_statistics(ctx)
            guards.add(guards_of_module(module))
            ctx.blobs.check_unchanged()
            del module, ctx
            give_back_memory()
        steps.next()
        LOG.info("compiled in %.2f s", time.perf_counter() - start)
        return ShapeFamily(base, guards, bounded=not config.enable_dynamic_shapes), statistics

    return build


def pass_names(config: EngineConfig, module: ModuleOp | None = None) -> list[str]:
    """The passes that a configuration runs, in order: on that module, or on one at the graph level."""
    path = PATHS[compute_device(config.place).kind]
    start = 0 if module is None or level_of(module) == "graph" else path.index(level_of(module)) + 1
    phases = [phase for phase in engine_phases(config) if phase.level in path[start:]]
    return [each.name for phase in phases for each in parse_passes(phase.passes)]


def engine_of(
    module: ModuleOp,
    ctx: MiniContext,
    config: EngineConfig,
    observer: Observer | None = None,
    objects: FileCache | None = None,
) -> Engine:
    """Compiles a module at the graph level (or further down)."""
    with compilers_for(module, config, objects) as compilers:
        return _engine_of(module, ctx, config, observer, compilers)


def import_all(config: EngineConfig) -> None:
    """Imports what a compile does, which it otherwise imports when it comes to it."""
    from ...lowering.onnx_to_graph import module

    del module
    pass_names(config)
    if compute_device(config.place).kind != "cpu":
        return
    from ...dialects.modules import modules_below
    from ...lowering.kernels_to_loops import families
    from ...lowering.loops_to_llvm import emit_llvm_ir, runtime_ir

    del emit_llvm_ir, runtime_ir
    modules_below(families.__name__)
    host_target()


def compilers_for(module: ModuleOp, config: EngineConfig, objects: FileCache | None = None) -> Compilers:
    """As many as the configuration allows; one for a GPU, which LLVM has no part in, and for a small module, which is
    compiled before another has started."""
    worthwhile = compute_device(config.place).kind == "cpu" and sum(1 for _ in module.walk()) >= WORTH_COMPILERS
    return Compilers(config.compiler_count if worthwhile else 1, objects)


def _engine_of(
    module: ModuleOp, ctx: MiniContext, config: EngineConfig, observer: Observer | None, compilers: Compilers
) -> Engine:
    if not config.check_memory:
        return Engine(build_plan(module, ctx, config, observer, compilers=compilers), config, pass_statistics(ctx))
    again = module.clone()
    planned, statistics = WatchedPlan.build(module, ctx, config, observer, compilers), pass_statistics(ctx)
    apart = replace(
        config,
        enable_memory_planning=False,
        planner="auto",
        beam_width=None,
        disable_inplace=(),
        max_workspace_size=None,
    )
    return CheckedEngine(planned, config, statistics, WatchedPlan.build(again, ctx, apart, compilers=compilers))


def plan_model(model: ModelSource, config: EngineConfig, observer: Observer | None = None) -> MemoryPlan:
    """The memory plan of `model`; no code is built."""
    with collection_paused(), memory_for("planning the model"):
        module, ctx = import_model(model, config)
        return build.plan_memory(module, ctx, config, observer)
