"""C++ for gpu and nvgpu operations: thread positions, and cooperative operations by functions of the prelude."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ...dialects.gpu.kernels import BlockIdOp, ThreadIdOp
from ...dialects.gpu.mbarriers import BulkCopyOp
from ...dialects.gpu.nvgpu import AsyncCopyOp, AsyncWaitOp, LdMatrixOp, MmaOp
from ...dialects.gpu.shuffle import ShuffleOp
from ...dialects.gpu.tensor_maps import TensorLoadOp
from ...dialects.graph.ops.block_weight import UI8
from ...dialects.graph.ops.contraction import BYTES
from .expressions import Expression, Lanes, binary, call, literal
from .kernel_text import GLOBAL, SHARED, WARP, Handler, KernelText, memref_type
from .memref_ops import bytes_of, indices_of
from .types import element_of

_LANES = 32


def _place(kernel: KernelText, op: ThreadIdOp | BlockIdOp) -> None:
    """One variable for each dimension used, even if the kernel reads it several times."""
    axis, result = str(op.dimension.data.value), op.result
    which = "thread" if isinstance(op, ThreadIdOp) else "block"
    known = kernel.where.get((which, axis))
    if known is None:
        wish = result.name_hint or (which if axis == "x" else f"{which}_{axis}")
        known = kernel.where[which, axis] = kernel.names.take(wish)
        kernel.line(f"const {kernel.types.index} {known} = {which}Idx.{axis};", op)
    kernel.define(result, Expression(known), op, many=True)


def _barrier(kernel: KernelText, op: Operation) -> None:
    kernel.changed()
    kernel.line("__syncthreads();", op)


def _shuffle(kernel: KernelText, op: ShuffleOp) -> None:
    mode = op.mode.data
    value = kernel.scalar(op.value)
    offset, width = kernel.scalar_atom(op.offset), kernel.scalar_atom(op.width)
    rest = (offset,) if width.number == _LANES else (offset, width)
    other = call(f"shuffle_{mode}", value, *rest)
    other = Expression(other.text, other.level, other.depends | {WARP})
    kernel.define(op.valid, call(f"shuffle_{mode}_valid", *rest), op)
    kernel.define(op.result, other, op)


def _copy(kernel: KernelText, op: AsyncCopyOp) -> None:
    source = kernel.place(op.source).address(indices_of(kernel, op.source_indices))
    destination = kernel.place(op.destination).address(indices_of(kernel, op.destination_indices))
    size = bytes_of(memref_type(op.source).element_type)
    valid = "" if op.valid is None else f", {binary('*', kernel.scalar(op.valid), literal(size)).text}"
    kernel.changed(SHARED)
    kernel.line(f"copy_async<{size * op.elements.value.data}>({destination}, {source}{valid});", op)


def destination(op: Operation) -> SSAValue:
    """The buffer that an asynchronous copy writes."""
    assert isinstance(op, AsyncCopyOp | BulkCopyOp | TensorLoadOp)
    return op.destination


def _group(kernel: KernelText, op: Operation) -> None:
    kernel.line("copy_async_group();", op)


def _wait(kernel: KernelText, op: AsyncWaitOp) -> None:
    kernel.changed(SHARED, GLOBAL)
    kernel.line(f"copy_async_wait<{op.groups.value.data}>();", op)


def _round(kernel: KernelText, op: Operation) -> None:
    kernel.define(op.results[0], call("to_tf32", kernel.scalar(op.operands[0])), op)


def _ldmatrix(kernel: KernelText, op: LdMatrixOp) -> None:
    place, indices = kernel.place(op.source), indices_of(kernel, op.indices)
    function = "ldmatrix_transposed" if op.transpose.value.data else "ldmatrix"
    text = f"{function}<{op.tiles.value.data}>({place.address(indices)})"
    loaded = Expression(text, depends=place.element(indices).depends | {WARP})
    kernel.define(op.result, Lanes(whole=loaded), op)


def _mma(kernel: KernelText, op: MmaOp) -> None:
    kinds = [element_of(each.type) for each in (op.a, op.b)]
    signs = [str(each == UI8).lower() for each in kinds if each in BYTES]
    function = f"mma<{', '.join(signs)}>" if signs else "mma"
    product = call(function, *(kernel.whole(each) for each in op.operands))
    product = Expression(product.text, product.level, product.depends | {WARP})
    kernel.define(op.result, Lanes(whole=product), op)


HANDLERS: dict[str, Handler] = {
    "gpu.thread_id": _place,
    "gpu.block_id": _place,
    "gpu.barrier": _barrier,
    "gpu.shuffle": _shuffle,
    "nvgpu.device_async_copy": _copy,
    "nvgpu.device_async_create_group": _group,
    "nvgpu.device_async_wait": _wait,
    "nvgpu.round_to_tf32": _round,
    "nvgpu.ldmatrix": _ldmatrix,
    "nvgpu.mma.sync": _mma,
}
