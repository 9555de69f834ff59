"""From a model to an InferencePlan: import, the pipeline, LLVM, the weight segment."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, IntegerType, MemRefType, ModuleOp, StringAttr, i8
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute
from xdsl.traits import SymbolTable

from ..dialects.errors import CompileError, PlanError
from ..dialects.graph import MiniContext, node_name, numpy_dtype, tensor
from ..dialects.graph.blobs import BlobAttr
from ..dialects.kernel import TargetAttr
from ..lowering.levels import argument_roles
from ..lowering.pipelines import Observer, Phase, run_phases
from ..lowering.target_pipeline import engine_phases
from ..passes.memory_report import memory_plan
from ..passes.statistics import pass_statistics
from .cpu import compile_to_object, host_target, load_object, load_openmp, vector_registers
from .engine import Engine, EngineConfig
from .plan import InferencePlan, KernelCall, TensorSpec
from .storage import Array, aligned_bytes

if TYPE_CHECKING:
    from onnx import ModelProto

WEIGHT_ALIGNMENT = 64  # bytes: a cache line, and the widest vector


def build_engine(
    model: str | os.PathLike[str] | bytes | ModelProto, config: EngineConfig, observer: Observer | None = None
) -> Engine:
    """Compiles `model`; `observer` is told of every pass."""
    from ..lowering.onnx_to_graph import import_onnx

    ctx = MiniContext()
    module = import_onnx(model, dims=config.dims, shapes=config.shapes, ctx=ctx)
    plan = build_plan(module, ctx, config, observer)
    return Engine(plan, config, pass_statistics(ctx))


def target_attribute(config: EngineConfig) -> TargetAttr:
    """The `kernel.target` for a configuration: the host's, narrowed where the configuration says so."""
    host = host_target()
    bits = min(config.vector_bits or host.vector_bits, host.vector_bits)
    registers = host.registers if bits == host.vector_bits else vector_registers(_triple(), _features(bits))[1]
    return TargetAttr.of(
        device=config.device,
        cpu=config.cpu or host.cpu,
        vector_bits=bits,
        registers=registers,
        l1=host.l1_bytes,
        l2=host.l2_bytes,
        l3=host.l3_bytes,
        threads=config.thread_count,
    )


def _triple() -> str:
    return f"{platform.machine()}-"


def _features(bits: int) -> set[str]:
    return {512: {"avx512f", "avx512vl", "avx2", "fma"}, 256: {"avx2", "fma"}}.get(bits, set())


def build_plan(
    module: ModuleOp, ctx: MiniContext, config: EngineConfig, observer: Observer | None = None
) -> InferencePlan:
    """Takes a module at the graph level (or further down) to machine code."""
    target = target_attribute(config)
    module.attributes["kernel.target"] = target
    lower_phases = engine_phases(
        optimize=config.enable_graph_optimization,
        plan_memory=config.enable_memory_planning,
        profile=config.enable_profiling,
        alignment=config.memory_alignment,
        planner=config.planner,
    )
    before = [phase for phase in lower_phases if phase.level not in ("loops", "llvm")]
    after = [phase for phase in lower_phases if phase.level in ("loops", "llvm")]
    run_phases(ctx, module, before, observer)
    memory = memory_plan(module)
    limit = config.max_workspace_size
    if limit is not None and memory.arena_bytes > limit:
        raise PlanError(f"the arena needs {memory.arena_bytes} bytes, but max_workspace_size is {limit}")
    inputs, outputs = _specs(module)
    loops = [phase for phase in after if phase.level == "loops"]
    run_phases(ctx, module, loops, observer, verify=False)
    calls = _calls(module)
    weights = _weight_segment(module, ctx)
    pointers = len(inputs) + len(outputs) + 2 + int(config.enable_profiling)
    code = _machine_code(ctx, module, [phase for phase in after if phase.level == "llvm"], target, pointers, observer)
    return InferencePlan(
        inputs=inputs,
        outputs=outputs,
        memory=memory,
        alignment=config.memory_alignment,
        threads=config.thread_count,
        calls=calls,
        profiled=config.enable_profiling,
        weights=weights,
        code=load_object(code),
    )


def _machine_code(
    ctx: MiniContext,
    module: ModuleOp,
    phases: list[Phase],
    target: TargetAttr,
    pointers: int,
    observer: Observer | None,
) -> bytes:
    from ..lowering.loops_to_llvm.emit_llvm_ir import emit_llvm_ir
    from ..lowering.loops_to_llvm.runtime_ir import runtime_ir

    run_phases(ctx, module, phases, observer, verify=False)
    threads = target.threads.data
    openmp = threads > 1 and load_openmp()
    support = runtime_ir(pointers, openmp=openmp, machine=platform.machine())
    host = host_target()
    narrowed = target.vector_bits.data < host.vector_bits or target.cpu.data != host.cpu
    features = _narrow_features(target.vector_bits.data) if narrowed else host.features
    return compile_to_object(emit_llvm_ir(module), target.cpu.data, features, link=[support])


def _narrow_features(bits: int) -> str:
    """LLVM's feature list for code that stays below the host's vector width."""
    if platform.machine() != "x86_64":
        return ""
    off = {512: [], 256: ["avx512f"], 128: ["avx512f", "avx", "avx2", "fma"]}[bits]
    return ",".join(f"-{feature}" for feature in off)


def _main(module: ModuleOp) -> FuncOp:
    main = SymbolTable.lookup_symbol(module, "main")
    assert isinstance(main, FuncOp)
    return main


def _specs(module: ModuleOp) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """Inputs and outputs of a module at the buffers or arena level."""
    main = _main(module)
    specs: dict[str, list[TensorSpec]] = {"input": [], "output": []}
    attributes = list(main.arg_attrs or ())
    for index, role in enumerate(argument_roles(main)):
        type = main.args[index].type
        if role in specs and isinstance(type, MemRefType):
            name = attributes[index].data.get("graph.name")
            assert isinstance(name, StringAttr)
            dtype = numpy_dtype(cast("Any", type).element_type)
            specs[role].append(TensorSpec(name.data, tuple(type.get_shape()), dtype))
    return tuple(specs["input"]), tuple(specs["output"])


def _calls(module: ModuleOp) -> tuple[KernelCall, ...]:
    """The kernel calls of `main` at the loops level, in order."""
    calls = [op for op in _main(module).body.block.ops if isinstance(op, CallOp)]
    named = [(op.callee.string_value(), node_name(op)) for op in calls]
    return tuple(KernelCall(name.removeprefix("kernel_"), node) for name, node in named if name.startswith("kernel_"))


def _weight_segment(module: ModuleOp, ctx: MiniContext) -> Array:
    """All weights in one read-only block, where place-weights says."""
    placed = cast("ArrayAttr[Attribute] | None", module.attributes.get("kernel.weights"))
    entries = list(placed.data) if placed is not None else []
    blocks: list[tuple[BlobAttr, int]] = []
    for entry in entries:
        blob, offset = cast("ArrayAttr[Attribute]", entry).data
        assert isinstance(blob, BlobAttr)
        blocks.append((blob, cast("IntegerAttr[IntegerType]", offset).value.data))
    total = max((offset + blob.nbytes.data for blob, offset in blocks), default=0)
    try:
        segment = aligned_bytes(max(total, 1), WEIGHT_ALIGNMENT)
    except MemoryError:
        raise CompileError(f"no memory for {total} bytes of weights") from None
    for blob, offset in blocks:
        size = blob.nbytes.data
        segment[offset : offset + size] = ctx.blobs.read(blob, tensor(i8, (size,))).view(np.uint8)
    segment.flags.writeable = False
    return segment
