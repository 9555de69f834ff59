"""From a model to an InferencePlan: import, the pipeline, LLVM, the weight segment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, IntegerType, MemRefType, ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute

from ..dialects.errors import OutOfMemoryError
from ..dialects.graph import BlobAttr, MiniContext, main_of, node_name, numpy_dtype
from ..dialects.kernel import TargetAttr, target_of
from ..lowering.graph_to_loops.lower_kernels import KERNEL
from ..lowering.levels import Level, argument_roles, level_of
from ..lowering.pipelines import Observer, Phase, collection_paused, parse_passes, phases, remaining_phases, run_phases
from ..passes.memory_report import MemoryPlan, memory_plan
from ..passes.share_threads import SHARE, STAGE
from ..passes.statistics import pass_statistics
from .cpu import compile_to_object, load_object
from .engine import Engine, EngineConfig
from .limits import give_back_memory, in_gigabytes, memory_bytes, memory_for
from .plan import InferencePlan, KernelCall, TensorSpec
from .steps import LOG, Progress, Steps
from .storage import Array, aligned_bytes
from .targets import cpu_target, machine_of

if TYPE_CHECKING:
    from ..lowering.onnx_to_graph import ModelSource

WEIGHT_ALIGNMENT = 64  # bytes: a cache line, and the widest vector


def build_engine(
    model: ModelSource, config: EngineConfig, progress: Callable[[Progress], None] | None = None
) -> Engine:
    """Compiles `model`; `progress` is told of every step."""
    start = time.perf_counter()
    steps = Steps(("import", *pass_names(config), "machine code"), progress)
    with collection_paused(), memory_for("compiling the model"):
        module, ctx = import_model(model, config)
        steps.next()
        engine = engine_of(module, ctx, config, steps)
        del module, ctx
        give_back_memory()
    steps.next()
    LOG.info("compiled in %.2f s: %r", time.perf_counter() - start, engine)
    return engine


def pass_names(config: EngineConfig) -> list[str]:
    """The passes that a configuration runs, in order."""
    return [each.name for phase in engine_phases(config) for each in parse_passes(phase.passes)]


def engine_of(module: ModuleOp, ctx: MiniContext, config: EngineConfig, observer: Observer | None = None) -> Engine:
    """Compiles a module at the graph level (or further down)."""
    if not config.check_memory:
        return Engine(build_plan(module, ctx, config, observer), config, pass_statistics(ctx))
    from .memory_check import CheckedEngine

    again = module.clone()
    plan, statistics = build_plan(module, ctx, config, observer), pass_statistics(ctx)
    apart = replace(config, enable_memory_planning=False, max_workspace_size=None)
    return CheckedEngine(plan, config, statistics, build_plan(again, ctx, apart))


def plan_model(model: ModelSource, config: EngineConfig, observer: Observer | None = None) -> MemoryPlan:
    """The memory plan of `model`; no code is built."""
    with collection_paused(), memory_for("planning the model"):
        module, ctx = import_model(model, config)
        return plan_memory(module, ctx, config, observer)


def import_model(model: ModelSource, config: EngineConfig) -> tuple[ModuleOp, MiniContext]:
    """The model at the graph level, and the context that holds its weights."""
    from ..lowering.onnx_to_graph import import_onnx

    ctx = MiniContext()
    return import_onnx(model, dims=config.dims, shapes=config.shapes, ctx=ctx), ctx


def plan_memory(
    module: ModuleOp, ctx: MiniContext, config: EngineConfig, observer: Observer | None = None, *, cpu: str = ""
) -> MemoryPlan:
    """Takes a module down to the arena level. Raises PlanError where it can't be met in `max_workspace_size`.

    One that has kernels already keeps the target that they were scheduled for: their scratch is for its threads.
    """
    if level_of(module) == "graph":
        module.attributes["kernel.target"] = target_attribute(config, cpu)
    _lower(module, ctx, config, "arena", observer)
    return memory_plan(module)


def build_plan(
    module: ModuleOp, ctx: MiniContext, config: EngineConfig, observer: Observer | None = None, *, cpu: str = ""
) -> InferencePlan:
    """Takes a module at the graph level (or further down) to machine code, for this machine or the CPU named.

    Whether code for another CPU runs here is the caller's to know: unknown instructions end the process.
    """
    memory = plan_memory(module, ctx, config, observer, cpu=cpu)
    target = target_of(module)
    inputs, outputs = _specs(module, "input"), _specs(module, "output")
    if config.max_workspace_size is None:
        _check_memory(memory, inputs, outputs)
    _lower(module, ctx, config, "loops", observer)
    calls = _kernel_calls(module)
    is_shared = any(isinstance(op, FuncOp) and op.sym_name.data.startswith(STAGE) for op in module.ops)
    weights = weight_segment(module, ctx)
    _lower(module, ctx, config, "llvm", observer)
    pointers = len(inputs) + len(outputs) + 2 + int(config.enable_profiling)
    return InferencePlan(
        inputs=inputs,
        outputs=outputs,
        config=config,
        memory=memory,
        alignment=config.memory_alignment,
        threads=target.threads.data if is_shared else 1,
        calls=calls,
        profiled=config.enable_profiling,
        weights=weights,
        code=load_object(_object_code(module, target, pointers)),
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
        beam_width=config.beam_width if config.planner == "beam" else None,
        capacity=config.max_workspace_size,
        disable_inplace=tuple(config.disable_inplace),
        poison=config.check_memory,
    )


def _lower(module: ModuleOp, ctx: MiniContext, config: EngineConfig, to: Level, observer: Observer | None) -> None:
    # Loops are many ops: LLVM's own verifier judges what comes of them, which is far faster.
    verify = to not in ("loops", "llvm")
    run_phases(ctx, module, remaining_phases(module, to, engine_phases(config)), observer, verify=verify)


def _object_code(module: ModuleOp, target: TargetAttr, pointers: int) -> bytes:
    """Machine code of a module at the llvm level whose `main` takes so many buffers."""
    from ..lowering.loops_to_llvm.emit_llvm_ir import emit_llvm_ir
    from ..lowering.loops_to_llvm.runtime_ir import runtime_ir

    functions = {op.sym_name.data: op.function_type for op in module.ops if isinstance(op, llvm.FuncOp)}
    shared = {name: len(type.inputs) - 2 for name, type in functions.items() if name.startswith(STAGE)}
    return compile_to_object(emit_llvm_ir(module), machine_of(target), link=[runtime_ir(pointers, shared)])


def _specs(module: ModuleOp, role: str) -> tuple[TensorSpec, ...]:
    """The arguments of `main`, at the arena level, that have a role."""
    main = main_of(module)
    specs: list[TensorSpec] = []
    for argument, attributes, given in zip(main.args, main.arg_attrs or (), argument_roles(main), strict=True):
        if given == role:
            name, type = attributes.data["graph.name"], cast("MemRefType[Attribute]", argument.type)
            assert isinstance(name, StringAttr)
            specs.append(TensorSpec(name.data, tuple(type.get_shape()), numpy_dtype(type.element_type)))
    return tuple(specs)


def _kernel_calls(module: ModuleOp) -> tuple[KernelCall, ...]:
    """The kernel calls at the loops level, in order, those of stages included."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}

    def calls(function: FuncOp) -> Iterator[KernelCall]:
        for op in function.body.walk():
            if isinstance(op, CallOp):
                name = op.callee.string_value()
                if name.startswith(KERNEL):
                    yield KernelCall(name.removeprefix(KERNEL), node_name(op))
                elif name.startswith(SHARE):
                    yield from calls(functions[name.removeprefix(SHARE)])

    return tuple(calls(functions["main"]))


def weight_segment(module: ModuleOp, ctx: MiniContext) -> Array:
    """All weights in one read-only block, where place-weights says."""
    blocks: list[tuple[BlobAttr, int]] = []
    for entry in cast("ArrayAttr[ArrayAttr[Attribute]]", module.attributes["kernel.weights"]):
        blob, offset = entry.data
        assert isinstance(blob, BlobAttr)
        blocks.append((blob, cast("IntegerAttr[IntegerType]", offset).value.data))
    total = max((offset + blob.nbytes.data for blob, offset in blocks), default=0)
    with memory_for(f"{total} bytes of weights"):
        segment = aligned_bytes(total, WEIGHT_ALIGNMENT)
    for blob, offset in blocks:
        segment[offset : offset + blob.nbytes.data] = ctx.blobs.bytes(blob)
    segment.flags.writeable = False
    return segment
