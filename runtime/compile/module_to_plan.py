"""From a module to an InferencePlan: pipeline, code generation, weight segment."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from xdsl.dialects.builtin import ModuleOp

from ...dialects.errors import ConfigError, PlanError
from ...dialects.garbage_collection import collection_paused
from ...dialects.graph.blobs import MiniContext
from ...dialects.kernel.kernel_attributes import ScheduleAttr
from ...dialects.sizes.guards import unguarded
from ...dialects.sizes.size_attributes import symbols_of_module
from ...lowering.levels import Level, level_of
from ...lowering.module_text import own_errors
from ...lowering.pipelines import (
    PATHS,
    Observer,
    parse_passes,
    remaining_phases,
    run_phases,
)
from ...passes.kernels.measured_schedules import tuned_schedules
from ...passes.memory.analysis.aliasing import disabled_ops
from ...passes.memory.plan_arena import arena_problem
from ...passes.memory.report.memory_report import MemoryPlan, memory_plan, plan_summary
from ...passes.statistics import timed
from ..arena import Arena
from ..compute_device import compute_device
from ..config import EngineConfig
from ..device import Array
from ..file_cache import FileCache
from ..kept.begun_model import BegunModel
from ..kept.cpus import host_cpu
from ..kept.tuning_store import TuningStore
from ..kept.weight_files import OWN_BYTES
from ..limits import check_fits, memory_for
from ..memory.mapped_file import PagedWeights
from ..module_interface import check_signature, entry_of, run_checks, signature_of, weight_segment
from ..native.code_listing import CodeListing
from ..native.images.linked import link
from ..native.images.loaded import UnloadedImage
from ..native.llvm_processes import Compilers
from ..native.machine_code import MachineCode
from ..native.user_objects import check_kept
from ..plan import InferencePlan
from ..progress import LOG
from ..specs import Compilation, Signature, values_of
from .engine_phases import engine_phases
from .memory_frontier import MemoryFrontier, fitting_changes, frontier_of
from .source import Source

WORTH_COMPILERS = 80
"""Ops of a module: about those of 25 kernels before they are fused. Processes start while its passes run."""


def pass_names(config: EngineConfig, module: ModuleOp | None = None) -> list[str]:
    """The passes that a configuration runs, in order, on the given module or on one at the graph level."""
    return [name for name, _ in pass_phases(config, module)]


def pass_phases(config: EngineConfig, module: ModuleOp | None = None) -> list[tuple[str, Level]]:
    """`pass_names`, each with the level that its phase ends at."""
    path = PATHS[compute_device(config.place).kind]
    start = 0 if module is None or level_of(module) == "graph" else path.index(level_of(module)) + 1
    phases = [phase for phase in engine_phases(config) if phase.level in path[start:]]
    return [(each.name, phase.level) for phase in phases for each in parse_passes(phase.passes)]


def compilers_for(
    module: ModuleOp, config: EngineConfig, objects: FileCache | None = None, listing: CodeListing | None = None
) -> Compilers:
    """As many worker processes as configured; none for a GPU, or for a small module.

    A GPU's code doesn't go through LLVM, and a small module is compiled before a process has started.
    """
    worthwhile = compute_device(config.place).kind == "cpu" and sum(1 for _ in module.walk()) >= WORTH_COMPILERS
    return Compilers(config.compiler_count if worthwhile else 1, objects, listing)


def tell_measured(ctx: MiniContext) -> None:
    """Passes the tuner's measurements on this machine to choose-schedule."""
    tuned_schedules(ctx).update(
        (key, ScheduleAttr.of(each.chosen.schedule, **each.chosen.options))
        for key, each in TuningStore.of(host_cpu().model).load().items()
    )


@own_errors()
def plan_memory(
    module: ModuleOp,
    ctx: MiniContext,
    config: EngineConfig,
    observer: Observer | None = None,
    *,
    machine: str = "",
    changes: Sequence[str] | None = None,
) -> MemoryPlan:
    """Lowers a module to the arena level. Raises PlanError if it exceeds `max_workspace_size`.

    A module with kernels keeps the target for which they were scheduled: their scratch depends on its threads. Changes
    of the pipeline that `memory` requires are found here, unless `changes` are given.
    """
    set_target(module, ctx, config, machine)
    disabled_ops("disable_inplace", config.disable_inplace)
    if level_of(module) != "arena" or config.prove_order:
        if changes is None:
            changes = () if config.memory_bytes is None else fitting_changes(module, ctx, config)
        for phase in remaining_phases(module, "arena", engine_phases(config, changes)):
            # What a model is to blame for is found in its graph; the rest would be errors of passes.
            run_phases(ctx, module, [phase], observer, verify=phase.level in ("graph", "arena"))
    with unguarded():
        found = memory_plan(module)
    if config.memory_bytes is not None and found.arena_bytes > config.memory_bytes:  # else the trial was planned better
        raise PlanError(f"the arena of {found.arena_bytes:,} bytes does not fit in {config.memory_bytes:,} bytes")
    return found


def plan_source(source: Source, config: EngineConfig, observer: Observer | None = None) -> MemoryPlan:
    """The memory plan of a model, without generating code."""
    with collection_paused(), memory_for("planning the model"):
        return plan_memory(*source.load(config), config, observer)


def plan_frontier(source: Source, config: EngineConfig, tell: Callable[[str], object] = LOG.info) -> MemoryFrontier:
    """The frontier of a model; `tell` is called with each plan's text. Raises as `compile` does."""
    if (
        config.is_dynamic
        or config.memory is not None
        or not (config.enable_graph_optimization and config.enable_memory_planning)
    ):
        raise ConfigError("the frontier is of one shape, with optimisation and memory planning, and without `memory`")
    with collection_paused(), memory_for("planning the model"):
        module, ctx = source.load(config)
        if level_of(module) != "graph":
            raise ConfigError("the frontier is of a model, or of a module at the graph level")
        set_target(module, ctx, config)
        return frontier_of(module, ctx, config, tell)


@own_errors()
def schedule_kernels(module: ModuleOp, ctx: MiniContext, config: EngineConfig) -> None:
    """Lowers a module at the graph level to the kernels level, as a compile does."""
    set_target(module, ctx, config)
    run_phases(ctx, module, remaining_phases(module, "kernels", engine_phases(config)))


def set_target(module: ModuleOp, ctx: MiniContext, config: EngineConfig, machine: str = "") -> None:
    """Sets the target of a module at the graph level, and passes the tuner's measurements for it."""
    if level_of(module) == "graph":
        module.attributes["kernel.target"] = compute_device(config.place).target(config, machine)
        if config.tuned and not machine and compute_device(config.place).kind == "cpu":
            tell_measured(ctx)


@dataclass(frozen=True)
class Lowered:
    """A model whose code is being compiled, with everything known about it except that code."""

    signature: Signature
    memory: MemoryPlan
    arena: Arena | None
    weights: Callable[[], Array]
    """Packs all weights, in one read-only block. Raises InvalidModelError if their files have changed."""
    compilation: Compilation


@own_errors()
def lower(
    module: ModuleOp,
    ctx: MiniContext,
    config: EngineConfig,
    observer: Observer | None = None,
    *,
    machine: str = "",
    compilers: Compilers | None = None,
    begun: BegunModel | None = None,
    changes: Sequence[str] | None = None,
) -> Lowered:
    """Lowers a module at any level to what is compiled, for the configuration's device or a named machine.

    `changes` of the pipeline are as for plan_memory. Weights will be written to the file `begun` if given. Modules
    below the arena level have no information on tensors.
    """
    device = compute_device(config.place)
    path = PATHS[device.kind]
    below = path[max(path.index(level_of(module)), path.index("arena")) + 1 :]
    started_below = level_of(module) not in path[: path.index("arena") + 1]
    memory = (
        plan_summary(entry_of(module))
        if started_below
        else plan_memory(module, ctx, config, observer, machine=machine, changes=changes)
    )
    arena, signature = arena_of(module), signature_of(module)
    if config.max_workspace_size is None:
        check_fits(memory.arena_bytes, signature.inputs, signature.outputs, device.memory_bytes())
    apart = [] if begun is None else [f"place-weights{{apart={OWN_BYTES}}}"]
    left = [phase for phase in engine_phases(config, apart) if phase.level in below]
    compilation = device.start_compiling(ctx, module, config, left, observer, compilers)
    check_signature(module)
    signature = replace(signature, checks=run_checks(module))
    return Lowered(signature, memory, arena, partial(_pack, module, ctx, begun), compilation)


def _pack(module: ModuleOp, ctx: MiniContext, begun: BegunModel | None) -> Array:
    """All weights. Raises InvalidModelError if the files that they are read from have changed."""
    gc.collect(0)  # what was lowered
    weights = weight_segment(module, ctx, begun)
    ctx.blobs.check_unchanged()
    return weights


@own_errors()
def build_plan(
    module: ModuleOp,
    ctx: MiniContext,
    config: EngineConfig,
    observer: Observer | None = None,
    *,
    machine: str = "",
    compilers: Compilers | None = None,
    begun: BegunModel | None = None,
    loaded: bool = True,
    changes: Sequence[str] | None = None,
) -> InferencePlan:
    """Lowers a module at any level, as `lower` does, and loads its code.

    The caller must know whether code for another machine runs here: an unknown instruction kills the process. Unless
    `loaded`, it is only linked, for a file. Weights are written to the file `begun` if given.
    """
    device = compute_device(config.place)
    device.open()
    lowered = lower(module, ctx, config, observer, machine=machine, compilers=compilers, begun=begun, changes=changes)
    memory, compilation = lowered.memory, lowered.compilation
    if not loaded and isinstance(compilation, MachineCode):
        check_kept(compilation.kernels, "a file of a compiled model")
    # LLVM and copies run without the interpreter's lock, for which passes and copies would fight.
    with ThreadPoolExecutor(1) as beside:
        packing = beside.submit(lowered.weights) if config.compiler_count > 1 else None
        objects = compilation.objects()
        with timed(ctx, "weights"):
            packed = lowered.weights() if packing is None else packing.result()
    with memory_for(f"{packed.nbytes} bytes of weights"):
        weights = PagedWeights(packed, config.weights_bytes or 0) if compilation.pages_weights else device.hold(packed)
    with timed(ctx, "load"):
        code = device.load(objects) if loaded else UnloadedImage(link(objects))
    return InferencePlan(
        **values_of(lowered.signature, Signature),
        config=config,
        report=lambda: memory,
        needed=memory.arena_bytes,
        arena=lowered.arena,
        alignment=memory.alignment,
        threads=compilation.threads,
        calls=compilation.calls,
        profiled=compilation.profiled,
        cancellable=compilation.cancellable,
        pages_weights=compilation.pages_weights,
        weights=weights,
        code=code,
        program=compilation.program,
    )


def arena_of(module: ModuleOp) -> Arena | None:
    """The symbolic arena, to be planned again for other shapes; None if all shapes are static."""
    problem, symbols = arena_problem(module), symbols_of_module(module)
    if problem is None:
        return None
    return Arena(problem, symbols)
