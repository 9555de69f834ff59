"""From a model to an InferencePlan: import, the pipeline, LLVM, the weight segment."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from ..dialects.errors import OutOfMemoryError
from ..dialects.graph import MiniContext
from ..dialects.kernel import TargetAttr, target_of
from ..lowering.levels import LEVELS, argument_roles, level_of
from ..lowering.module_text import own_errors, read_module
from ..lowering.pipelines import Observer, Phase, collection_paused, parse_passes, phases, remaining_phases, run_phases
from ..passes.memory.report.memory_report import MemoryPlan, memory_plan, plan_summary
from ..passes.statistics import pass_statistics
from .compilers import Compilers
from .decided import check_undecided
from .engine import Engine, EngineConfig
from .limits import give_back_memory, in_gigabytes, memory_bytes, memory_for
from .machine_code import stages_of, start_compiling
from .plan import InferencePlan, TensorSpec
from .signature import check_signature, checked_dimensions, entry_of, kernel_calls, specs_of, weight_segment
from .steps import LOG, Progress, Steps
from .targets import cpu_target, host_target

if TYPE_CHECKING:
    from ..lowering.onnx_to_graph import ModelSource

# Ops of a module: about those of 25 kernels before they are fused. Processes start while its passes run.
WORTH_COMPILERS = 80


def build_engine(
    model: ModelSource, config: EngineConfig, progress: Callable[[Progress], None] | None = None
) -> Engine:
    """Compiles `model`; `progress` is told of every step."""
    start = time.perf_counter()
    steps = Steps(("import", *pass_names(config), "machine code"), progress)
    with collection_paused(), memory_for("compiling the model"):
        module, ctx = import_model(model, config)
        steps.change(("import", *pass_names(config, module), "machine code"))
        steps.next()
        engine = engine_of(module, ctx, config, steps)
        del module, ctx
        give_back_memory()
    steps.next()
    LOG.info("compiled in %.2f s: %r", time.perf_counter() - start, engine)
    return engine


def pass_names(config: EngineConfig, module: ModuleOp | None = None) -> list[str]:
    """The passes that a configuration runs, in order: on that module, or on one at the graph level."""
    start = -1 if module is None or level_of(module) == "graph" else LEVELS.index(level_of(module))
    phases = [phase for phase in engine_phases(config) if LEVELS.index(phase.level) > start]
    return [each.name for phase in phases for each in parse_passes(phase.passes)]


def engine_of(module: ModuleOp, ctx: MiniContext, config: EngineConfig, observer: Observer | None = None) -> Engine:
    """Compiles a module at the graph level (or further down)."""
    with compilers_for(module, config) as compilers:
        return _engine_of(module, ctx, config, observer, compilers)


def compilers_for(module: ModuleOp, config: EngineConfig) -> Compilers:
    """As many as the configuration allows; one for a small module, which is compiled before another has started."""
    worthwhile = sum(1 for _ in module.walk()) >= WORTH_COMPILERS
    return Compilers(config.compiler_count if worthwhile else 1)


def _engine_of(
    module: ModuleOp, ctx: MiniContext, config: EngineConfig, observer: Observer | None, compilers: Compilers
) -> Engine:
    if not config.check_memory:
        return Engine(build_plan(module, ctx, config, observer, compilers=compilers), config, pass_statistics(ctx))
    from .memory_check import CheckedEngine
    from .watch import WatchedPlan

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
        return plan_memory(module, ctx, config, observer)


def import_model(model: ModelSource, config: EngineConfig) -> tuple[ModuleOp, MiniContext]:
    """The model at the graph level, or a `.mlir` file at whatever level, and the context that holds its weights."""
    if isinstance(model, str | PathLike) and Path(model).suffix == ".mlir":
        module, ctx = read_module(model)
        check_signature(module)
        check_undecided(config, module)
        if level_of(module) != "graph":
            module.attributes["kernel.target"] = target_of(module).on(host_target().name)
        if level_of(module) == "arena":
            with own_errors():
                run_phases(ctx, module, remaining_phases(module, "arena"))
        return module, ctx
    from ..lowering.onnx_to_graph import import_onnx

    ctx = MiniContext()
    return import_onnx(model, dims=config.dims, shapes=config.shapes, ctx=ctx), ctx


@own_errors()
def plan_memory(
    module: ModuleOp, ctx: MiniContext, config: EngineConfig, observer: Observer | None = None, *, cpu: str = ""
) -> MemoryPlan:
    """Takes a module down to the arena level. Raises PlanError where it can't be met in `max_workspace_size`.

    One that has kernels already keeps the target that they were scheduled for: their scratch is for its threads.
    """
    if level_of(module) == "graph":
        module.attributes["kernel.target"] = target_attribute(config, cpu)
    if level_of(module) != "arena":
        run_phases(ctx, module, remaining_phases(module, "arena", engine_phases(config)), observer)
    return memory_plan(module)


@own_errors()
def build_plan(
    module: ModuleOp,
    ctx: MiniContext,
    config: EngineConfig,
    observer: Observer | None = None,
    *,
    cpu: str = "",
    compilers: Compilers | None = None,
) -> InferencePlan:
    """Takes a module at any level to machine code, for this machine or the CPU named.

    Of what begins below the arena, no tensors are known. Whether code for another CPU runs here is the caller's to
    know: unknown instructions end the process.
    """
    start = LEVELS.index(level_of(module))
    below = start > LEVELS.index("arena")
    memory = plan_summary(entry_of(module)) if below else plan_memory(module, ctx, config, observer, cpu=cpu)
    inputs, outputs = specs_of(module, "input"), specs_of(module, "output")
    if config.max_workspace_size is None:
        _check_memory(memory, inputs, outputs)
    # Loops are many ops: LLVM's own verifier judges what comes of them, which is far faster.
    loops, llvm = (
        [phase for phase in engine_phases(config) if phase.level == level and LEVELS.index(level) > start]
        for level in ("loops", "llvm")
    )
    run_phases(ctx, module, loops, observer, verify=False)
    profiled = "times" in argument_roles(entry_of(module))
    checks, calls = checked_dimensions(module), kernel_calls(module)
    pointers = len(inputs) + len(outputs) + 2 + bool(checks) + profiled
    parts = start_compiling(ctx, module, llvm, observer, compilers or Compilers(1), pointers)
    check_signature(module)
    return InferencePlan(
        inputs=inputs,
        outputs=outputs,
        config=config,
        memory=memory,
        alignment=memory.alignment,
        threads=target_of(module).threads.data if stages_of(module) else 1,
        calls=calls,
        profiled=profiled,
        checks=checks,
        weights=weight_segment(module, ctx),
        code=parts.load(),
    )


def _check_memory(memory: MemoryPlan, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> None:
    """Raises OutOfMemoryError for a plan that this machine can't run, before code is built for it."""
    given, made = (sum(spec.nbytes for spec in specs) for specs in (inputs, outputs))
    needed, there = memory.arena_bytes + given + made, memory_bytes()
    if needed > there:
        raise OutOfMemoryError(
            f"a run needs {in_gigabytes(needed)} (arena {in_gigabytes(memory.arena_bytes)}, "
            f"inputs {in_gigabytes(given)}, outputs {in_gigabytes(made)}), but there are {in_gigabytes(there)} of "
            "memory; max_workspace_size sets another limit for the arena"
        )


def target_attribute(config: EngineConfig, cpu_name: str = "") -> TargetAttr:
    """What code is generated for: this machine or the CPU named, with the configuration's threads and vectors."""
    cpu = cpu_target(cpu_name)
    cpu = cpu.narrowed(config.vector_bits or cpu.vector_bits)
    return TargetAttr.of(
        device=config.device,
        cpu=cpu.name,
        features=sorted(cpu.features),
        vector_bits=cpu.vector_bits,
        registers=cpu.registers,
        l1=cpu.l1_bytes,
        l2=cpu.l2_bytes,
        l3=cpu.l3_bytes,
        threads=config.thread_count,
    )


def engine_phases(config: EngineConfig) -> tuple[Phase, ...]:
    """The pipeline that a configuration asks for."""
    return phases(
        optimize=config.enable_graph_optimization,
        plan_memory=config.enable_memory_planning,
        profile=config.enable_profiling,
        alignment=config.memory_alignment,
        planner=config.planner,
        beam_width=config.beam_width,
        capacity=config.max_workspace_size,
        disable_inplace=tuple(config.disable_inplace),
        poison=config.check_memory,
    )
