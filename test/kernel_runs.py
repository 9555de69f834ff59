"""For tests of generated kernels: a body of graph ops becomes machine code and is run on arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, MemRefType, ModuleOp, StringAttr, i8
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.base import GraphOp, named_location
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.dialects.graph.ops.structure import KernelOp, YieldOp
from mini_infer.dialects.graph.values import Array, element_type_of, numpy_dtype, tensor, type_of
from mini_infer.dialects.kernel.calls import CallOp
from mini_infer.dialects.kernel.kernel_attributes import FormAttr, InterfaceAttr
from mini_infer.dialects.kernel.targets import cpu_of
from mini_infer.lowering.kernels_to_loops.lower_kernels import LowerKernels
from mini_infer.lowering.loops_to_llvm.emit_llvm_ir import emit_llvm_ir
from mini_infer.lowering.loops_to_llvm.expand_math import ExpandMath
from mini_infer.lowering.loops_to_llvm.lower_to_llvm import LowerToLlvm
from mini_infer.lowering.loops_to_llvm.runtime_ir import runtime_ir
from mini_infer.passes.kernels.choose_schedule import ChooseSchedule
from mini_infer.passes.memory.share_threads import ShareThreads
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.native.cpu_targets import host_target, machine_of, target_attribute
from mini_infer.runtime.native.llvmlite_calls import compile_to_object, emit_assembly
from mini_infer.runtime.native.loaded_code import loaded

DEVICES = {"cpu"}
"""Where kernels are checked; `--gpu` adds "gpu", an emulated one, `--gpu-text` "gpu-text", its text compiled by C++."""

Result: TypeAlias = "SSAValue | Sequence[SSAValue]"


class Writer:
    """What a test's body gets: `w[0]` is the first operand, `w(AddOp(a, b))` adds an op and gives its result."""

    def __init__(self, kernel: KernelOp) -> None:
        self.kernel = kernel

    def __call__(self, op: GraphOp) -> SSAValue:
        op.location = named_location("tested")
        self.kernel.body.block.add_op(op)
        return op.results[0]

    def __getitem__(self, position: int) -> SSAValue:
        return self.kernel.arguments[position]


Body: TypeAlias = "Callable[[Writer], Result]"


def kernel_of(form: str, body: Body, arrays: Sequence[Array]) -> KernelOp:
    """A kernel with operands like the arrays."""
    kernel = KernelOp("tested", [tensor(element_type_of(a.dtype), a.shape) for a in arrays], [])
    results = body(Writer(kernel))
    values = [results] if isinstance(results, SSAValue) else list(results)
    kernel.body.block.add_op(YieldOp(*values))
    kernel.refresh_type()
    kernel.form = FormAttr.of(form)
    return kernel


@dataclass
class Kernel:
    """A compiled kernel and what it needs to be called."""

    module: ModuleOp
    interface: InterfaceAttr
    llvm_ir: str
    code: Any
    results: list[tuple[tuple[int, ...], Any]]
    threads: int
    inplace: dict[int, int]  # result -> operand

    def __call__(self, *arrays: Array) -> list[Array]:
        """Every share in turn; operands that are written over are copied first."""
        operands = [np.array(array, order="C") for array in arrays]
        results = [
            operands[self.inplace[number]] if number in self.inplace else _filled(shape, dtype)
            for number, (shape, dtype) in enumerate(self.results)
        ]
        call = self.prepared(operands, results)
        call()
        return results

    def prepared(self, operands: Sequence[Array], results: Sequence[Array]) -> Callable[[], None]:
        """A call on these arrays, ready to be repeated."""
        fresh = [result for number, result in enumerate(results) if number not in self.inplace]
        scratch = np.full(max(self.interface.scratch_bytes(self.threads), 1) + 64, 0xA5, np.uint8)
        start = -scratch.ctypes.data % 64
        arrays = [*operands, *fresh, scratch[start:]]
        pointers = [array.ctypes.data for array in arrays]
        threads = self.threads
        name, last = ("main", [ctypes.c_void_p]) if threads == 1 else ("stage_0", [ctypes.c_int64] * 3)
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers), *last)(self.code.address(name))

        def call() -> None:
            assert arrays
            if threads == 1:
                function(*pointers, None)
            else:
                for share in range(threads):
                    function(*pointers, share, threads, share)

        return call


def _filled(shape: tuple[int, ...], dtype: Any) -> Array:
    """A result with bytes that no kernel writes by accident."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.full(count, 1 if dtype == np.bool_ else 0xA5, np.uint8).view(dtype).reshape(shape)


def loops_of(
    family: str, body: Body, arrays: Sequence[Array], *, bits: int, threads: int, inplace: dict[int, int]
) -> tuple[ModuleOp, InterfaceAttr, KernelOp]:
    """The loop-level module of one kernel, verified."""
    kernel = kernel_of(family, body, arrays)
    kernel.verify()
    module = ModuleOp([kernel])
    module.attributes["kernel.target"] = target_attribute(EngineConfig(vector_bits=bits)).with_threads(threads)
    ChooseSchedule().apply(MiniContext(), module)
    interface = kernel.interface
    assert isinstance(interface, InterfaceAttr)
    inputs = [_memref(value) for value in kernel.arguments]
    outputs = [_memref(value) for value in kernel.terminator.arguments]
    fresh = [type for number, type in enumerate(outputs) if number not in inplace]
    scratch = MemRefType(i8, [max(interface.scratch_bytes(threads), 1)])
    main = FuncOp("main", ([*inputs, *fresh, scratch], []))
    args = list(main.body.block.args)
    rest = iter(args[len(inputs) : len(inputs) + len(fresh)])
    outs = [args[inplace[n]] if n in inplace else next(rest) for n in range(len(outputs))]
    given = [args[-1]] if interface.scratch_bytes(threads) else []
    main.body.block.add_ops([CallOp("tested", args[: len(inputs)], outs, given), ReturnOp()])
    arena = DictionaryAttr({"graph.role": StringAttr("arena")})
    main.arg_attrs = ArrayAttr([*[DictionaryAttr({})] * (len(args) - 1), arena])
    module.body.block.insert_op_before(main, kernel)
    detached = kernel.clone()
    ShareThreads(grain=0).apply(MiniContext(), module)
    LowerKernels().apply(MiniContext(), module)
    module.verify()
    return module, interface, detached


def _memref(value: SSAValue) -> MemRefType:
    type = type_of(value)
    return MemRefType(type.element_type, type.get_shape())


def compiled(
    family: str,
    body: Body,
    arrays: Sequence[Array],
    *,
    bits: int = 0,
    threads: int = 1,
    inplace: dict[int, int] | None = None,
) -> Kernel:
    """Machine code of one kernel; results in `inplace` are written over operands."""
    bits = bits or host_target().vector_bits
    shared = inplace or {}
    module, interface, kernel = loops_of(family, body, arrays, bits=bits, threads=threads, inplace=shared)
    ExpandMath().apply(MiniContext(), module)
    LowerToLlvm().apply(MiniContext(), module)
    text = emit_llvm_ir(module)
    buffers = len(arrays) + len(kernel.terminator.arguments) - len(shared) + 1
    runtime = runtime_ir(buffers, {"stage_0": (buffers, 0)} if threads > 1 else {})
    code = loaded([compile_to_object(text, machine_of(cpu_of(module)), link=[runtime])])
    results = [
        (type_of(value).get_shape(), numpy_dtype(type_of(value).element_type)) for value in kernel.terminator.arguments
    ]
    return Kernel(module, interface, text, code, results, threads, shared)


def assembly(kernel: Kernel) -> str:
    """The assembly of a kernel on this machine."""
    return emit_assembly(kernel.llvm_ir, host_target().machine)


def reference(body: Body, arrays: Sequence[Array], wide: bool = True) -> list[Array]:
    """The results by the ops' own meaning, floats in double precision where `wide`."""
    kernel = kernel_of("map", body, arrays)
    known: dict[SSAValue, Array] = {}
    for argument, array in zip(kernel.arguments, arrays, strict=True):
        floating = array.dtype.kind == "f" or array.dtype.name == "bfloat16"
        known[argument] = array.astype(np.float64) if floating and wide else array
    with np.errstate(all="ignore"):
        for op in kernel.body.block.ops:
            if isinstance(op, GraphOp):
                results = op.evaluate(*[known[operand] for operand in op.operands])
                known.update(zip(op.results, results, strict=True))
    return [known[value] for value in kernel.terminator.arguments]


def check(
    family: str,
    body: Body,
    *arrays: Array,
    tolerance: float = 2e-6,
    bits: int = 0,
    threads: int = 1,
    inplace: dict[int, int] | None = None,
) -> Kernel:
    """Compares the compiled kernel with the ops' own meaning, on a GPU too where that was asked for."""
    if "gpu" in DEVICES:
        import gpu_kernel_runs

        on_gpu = gpu_kernel_runs.check(family, body, *arrays, tolerance=tolerance)
        if "gpu-text" in DEVICES:
            compare(on_gpu.by_text(*arrays), reference(body, arrays), tolerance)
    kernel = compiled(family, body, arrays, bits=bits, threads=threads, inplace=inplace)
    compare(kernel(*arrays), reference(body, arrays), tolerance)
    return kernel


def compare(results: Sequence[Array], references: Sequence[Array], tolerance: float) -> None:
    """Floats are compared with float64, relative to the larger of 1 and the number; everything else must be equal."""
    for got, expected in zip(results, references, strict=True):
        assert got.shape == expected.shape
        if got.dtype.kind in "biu":
            np.testing.assert_array_equal(got, expected.astype(got.dtype))
            continue
        with np.errstate(invalid="ignore", over="ignore"):
            same = (got == expected.astype(got.dtype)) | (np.isnan(got) & np.isnan(expected))
            difference = np.abs(got.astype(np.float64) - expected)
            error = np.where(same, 0, difference / np.maximum(1, np.abs(expected)))
        assert not np.isnan(error).any()
        assert error.max(initial=0) <= tolerance
