"""From a model to an InferencePlan: import, the pipeline, the device's code, the weight segment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import ModuleOp

from ...dialects.cuts import Cut
from ...dialects.errors import ConfigError, InvalidInputError
from ...dialects.graph.blobs import MiniContext
from ...dialects.kernel.attributes import ScheduleAttr
from ...dialects.kernel.targets import target_of
from ...dialects.sizes.attributes import symbols_of_module
from ...dialects.sizes.guards import unguarded
from ...lowering.levels import level_of
from ...lowering.module_text import own_errors, read_module
from ...lowering.pipelines import PATHS, Observer, Phase, phases, remaining_phases, run_phases
from ...passes.kernels.tuned import tuned_schedules
from ...passes.memory.analysis.aliasing import disabled_ops
from ...passes.memory.plan_arena import arena_problem
from ...passes.memory.report.memory_report import MemoryPlan, memory_plan, plan_summary
from ...passes.statistics import timed
from ..arena import Arena
from ..config import EngineConfig
from ..device import Array
from ..kept.cpus import host_cpu
from ..kept.tuning_store import TuningStore
from ..limits import check_fits, memory_for
from ..native.images.linked import link
from ..native.images.loaded import UnloadedImage
from ..native.llvm_processes import Compilers
from ..options import options_of
from ..plan import InferencePlan
from ..profile import OptimizationProfile
from ..session import Compilation, compute_device
from ..shapes.module_ranges import is_module, profile_of
from ..signature import cache_specs, check_signature, entry_of, outputs_of, run_checks, specs_of, weight_segment
from ..specs import CacheSpec, RunCheck, TensorSpec
from .late_options import check_undecided

if TYPE_CHECKING:
    from ...lowering.onnx_to_graph.inputs import Ranges
    from ...lowering.onnx_to_graph.model_file import ModelSource

LARGEST = 2**31 - 1  # of dynamic dimensions without a profile


def ranges_of(
    config: EngineConfig,
    best: Mapping[str, Sequence[int]] | None = None,
) -> Ranges | None:
    """The shapes that a configuration asks for; code is made for `best` ones where they are given."""
    if not config.is_dynamic:
        return None
    from ...lowering.onnx_to_graph.inputs import Ranges

    profile = config.profile or OptimizationProfile()
    return Ranges(profile.dims, profile.shapes, best or {}, open=LARGEST if config.enable_dynamic_shapes else 0)


def import_model(
    model: ModelSource,
    config: EngineConfig,
    best: Mapping[str, Sequence[int]] | None = None,
) -> tuple[ModuleOp, MiniContext]:
    """The model at the graph level, or a `.mlir` file at whatever level, and the context that holds its weights."""
    if is_module(model):
        for option, each in options_of(EngineConfig).items():
            if each.decided == "import" and option != "profile" and getattr(config, option):
                raise ConfigError(f"{option} is for ONNX models; the inputs of a module are fixed")
        module, ctx = read_module(cast("str", model))
        if config.profile not in (None, profile_of(module)):
            raise ConfigError("profile is for ONNX models; a module states the sizes of its inputs")
        if best:
            raise InvalidInputError(f"{model} has code already, and none for {dict(best)}")
        check_signature(module)
        check_undecided(config, module)
        if level_of(module) != "graph":
            module.attributes["kernel.target"] = compute_device(config.place).target(
                config, scheduled=target_of(module)
            )
        if level_of(module) == "arena":
            with own_errors():
                run_phases(ctx, module, remaining_phases(module, "arena"))
        return module, ctx
    from ...lowering.onnx_to_graph import import_onnx

    ctx = MiniContext()
    with timed(ctx, "import"):
        ranges = ranges_of(config, best)
        given = config.dims, config.shapes, config.specialize
        module = import_onnx(
            model, dims=given[0], shapes=given[1], specialize=given[2], ranges=ranges, caches=config.caches, ctx=ctx
        )
        return module, ctx


def tell_measured(ctx: MiniContext) -> None:
    """Tells choose-schedule what was measured on this machine."""
    tuned_schedules(ctx).update(
        (key, ScheduleAttr.of(each.chosen.schedule, **each.chosen.options))
        for key, each in TuningStore.of(host_cpu().model).load().items()
    )


@own_errors()
def plan_memory(
    module: ModuleOp, ctx: MiniContext, config: EngineConfig, observer: Observer | None = None, *, machine: str = ""
) -> MemoryPlan:
    """Takes a module down to the arena level. Raises PlanError where it can't be met in `max_workspace_size`.

    One that has kernels already keeps the target that they were scheduled for: their scratch is for its threads.
    """
    _set_target(module, ctx, config, machine)
    disabled_ops("disable_inplace", config.disable_inplace)
    if level_of(module) != "arena":
        run_phases(ctx, module, remaining_phases(module, "arena", engine_phases(config)), observer)
    with unguarded():
        return memory_plan(module)


@own_errors()
def schedule_kernels(module: ModuleOp, ctx: MiniContext, config: EngineConfig) -> None:
    """Takes a module at the graph level to the kernels level, as a compile does."""
    _set_target(module, ctx, config)
    run_phases(ctx, module, remaining_phases(module, "kernels", engine_phases(config)))


def _set_target(module: ModuleOp, ctx: MiniContext, config: EngineConfig, machine: str = "") -> None:
    """Tells a module at the graph level what code is for, and the passes what was measured there."""
    if level_of(module) == "graph":
        module.attributes["kernel.target"] = compute_device(config.place).target(config, machine)
        if config.tuned and not machine and compute_device(config.place).kind == "cpu":
            tell_measured(ctx)


@dataclass(frozen=True)
class Lowered:
    """A model whose code is being compiled, and all that is known of it without that code."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    counts: tuple[TensorSpec, ...]
    cuts: tuple[tuple[Cut, ...], ...]
    caches: tuple[CacheSpec, ...]
    checks: tuple[RunCheck, ...]
    memory: MemoryPlan
    arena: Arena | None
    weights: Array
    """All weights in one read-only block."""
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
) -> Lowered:
    """Takes a module at any level down to what is compiled, for the configuration's device or the machine named.

    Of what begins below the arena, no tensors are known.
    """
    device = compute_device(config.place)
    path = PATHS[device.kind]
    below = path[max(path.index(level_of(module)), path.index("arena")) + 1 :]
    started_below = level_of(module) not in path[: path.index("arena") + 1]
    memory = (
        plan_summary(entry_of(module)) if started_below else plan_memory(module, ctx, config, observer, machine=machine)
    )
    arena = arena_of(module)
    inputs, (outputs, counts, cuts) = specs_of(module, "input"), outputs_of(module)
    if config.max_workspace_size is None:
        check_fits(memory.arena_bytes, inputs, outputs, device.memory_bytes())
    left = [phase for phase in engine_phases(config) if phase.level in below]
    compilation = device.start_compiling(ctx, module, config, left, observer, compilers)
    check_signature(module)
    with timed(ctx, "weights"):
        weights = weight_segment(module, ctx)
    return Lowered(
        inputs=inputs,
        outputs=outputs,
        counts=counts,
        cuts=cuts,
        caches=cache_specs(module),
        checks=run_checks(module),
        memory=memory,
        arena=arena,
        weights=weights,
        compilation=compilation,
    )


@own_errors()
def build_plan(
    module: ModuleOp,
    ctx: MiniContext,
    config: EngineConfig,
    observer: Observer | None = None,
    *,
    machine: str = "",
    compilers: Compilers | None = None,
    loaded: bool = True,
) -> InferencePlan:
    """Takes a module at any level to code that is loaded, as `lower` does.

    Whether code for another machine runs here is the caller's to know: unknown instructions end the process. Where it
    is not to be `loaded`, it is only linked, for a file.
    """
    device = compute_device(config.place)
    device.open()
    lowered = lower(module, ctx, config, observer, machine=machine, compilers=compilers)
    memory, compilation = lowered.memory, lowered.compilation
    with timed(ctx, "weights"), memory_for(f"{lowered.weights.nbytes} bytes of weights"):
        weights = device.hold(lowered.weights)
    objects = compilation.objects()
    with timed(ctx, "load"):
        code = device.load(objects) if loaded else UnloadedImage(link(objects))
    return InferencePlan(
        inputs=lowered.inputs,
        outputs=lowered.outputs,
        caches=lowered.caches,
        counts=lowered.counts,
        cuts=lowered.cuts,
        config=config,
        report=lambda: memory,
        needed=memory.arena_bytes,
        arena=lowered.arena,
        alignment=memory.alignment,
        threads=compilation.threads,
        calls=compilation.calls,
        profiled=compilation.profiled,
        checks=lowered.checks,
        weights=weights,
        code=code,
        launches=compilation.launches,
    )


def arena_of(module: ModuleOp) -> Arena | None:
    """What has to be planned again at other shapes; None where there are none."""
    problem, symbols = arena_problem(module), symbols_of_module(module)
    if problem is None:
        return None
    return Arena(problem, symbols)


def engine_phases(config: EngineConfig) -> tuple[Phase, ...]:
    """The pipeline that a configuration asks for."""
    changes = [each.changes(getattr(config, name)) for name, each in options_of(EngineConfig).items()]
    return phases(
        compute_device(config.place).kind,
        optimize=config.enable_graph_optimization,
        plan_memory=config.enable_memory_planning,
        changes=changes,
    )
