"""From a model to an InferencePlan: import, the pipeline, LLVM, the weight segment."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from ..dialects.errors import OutOfMemoryError
from ..dialects.graph.blobs import MiniContext
from ..dialects.targets import CpuAttr, cpu_of
from ..lowering.levels import LEVELS, argument_roles, level_of
from ..lowering.module_text import own_errors, read_module
from ..lowering.pipelines import Observer, Phase, phases, remaining_phases, run_phases
from ..passes.memory.report.memory_report import MemoryPlan, memory_plan, plan_summary
from ..passes.statistics import timed
from .compilers import Compilers
from .config import EngineConfig
from .decided import check_undecided
from .device import device_named
from .limits import in_gigabytes, memory_bytes
from .machine_code import stages_of, start_compiling
from .plan import InferencePlan
from .signature import check_signature, checked_dimensions, entry_of, kernel_calls, specs_of, weight_segment
from .specs import TensorSpec
from .targets import cpu_target, host_target

if TYPE_CHECKING:
    from ..lowering.onnx_to_graph import ModelSource


def import_model(model: ModelSource, config: EngineConfig) -> tuple[ModuleOp, MiniContext]:
    """The model at the graph level, or a `.mlir` file at whatever level, and the context that holds its weights."""
    if isinstance(model, str | PathLike) and Path(model).suffix == ".mlir":
        module, ctx = read_module(model)
        check_signature(module)
        check_undecided(config, module)
        if level_of(module) != "graph":
            module.attributes["kernel.target"] = cpu_of(module).on(host_target().name)
        if level_of(module) == "arena":
            with own_errors():
                run_phases(ctx, module, remaining_phases(module, "arena"))
        return module, ctx
    from ..lowering.onnx_to_graph import import_onnx

    ctx = MiniContext()
    with timed(ctx, "import"):
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
    device = device_named(config.device)
    with timed(ctx, "weights"):
        weights = device.hold(weight_segment(module, ctx))
    return InferencePlan(
        inputs=inputs,
        outputs=outputs,
        config=config,
        memory=memory,
        alignment=memory.alignment,
        threads=cpu_of(module).threads.data if stages_of(module) else 1,
        calls=calls,
        profiled=profiled,
        checks=checks,
        weights=weights,
        code=parts.load(ctx, device),
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


def target_attribute(config: EngineConfig, cpu_name: str = "") -> CpuAttr:
    """What code is generated for: this machine or the CPU named, with the configuration's threads and vectors."""
    cpu = cpu_target(cpu_name)
    cpu = cpu.narrowed(config.vector_bits or cpu.vector_bits)
    return CpuAttr.of(
        cpu=cpu.name,
        features=sorted(cpu.features),
        vector_bits=cpu.vector_bits,
        registers=cpu.registers,
        l2=cpu.l2_bytes,
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
