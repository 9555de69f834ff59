"""How long a kernel takes on one core: schedules are chosen by that, and threads are given work.

    seconds = max(instructions / speed, bytes / speed of the cache or the memory that has them)

for cores read ahead while they compute. An estimate from shapes and the speeds that the target states. Its constants
are those of Zen 5 with vectors of 512 bits: there a model's estimates add up to within 15 % of what one thread takes.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects.graph.base import ElementwiseOp, ReductionOp
from ..dialects.graph.ops.attention import AttentionOp
from ..dialects.graph.ops.contraction import ConvOp, ConvTransposeOp, MatmulOp
from ..dialects.graph.ops.indexing import GatherAlongOp, GatherNdOp
from ..dialects.graph.ops.linear_attention import LinearAttentionOp
from ..dialects.graph.ops.picture_regions import RoiAlignOp
from ..dialects.graph.ops.recurrence import GruOp, LstmOp, RecurrenceOp, RnnOp
from ..dialects.graph.ops.sampling import SampleOp
from ..dialects.graph.ops.selection import TopKOp
from ..dialects.graph.ops.structure import ConstantOp, KernelOp
from ..dialects.graph.ops.windows import PoolOp
from ..dialects.graph.packing.unpack import UnpackOp
from ..dialects.graph.values import numpy_dtype, shape_of
from ..dialects.kernel.targets import CpuAttr
from ..dialects.sizes.sizes import now

STAGE_GRAIN = 500
"""Nanoseconds of a stage that are worth a thread of their own: some times what handing a share to a thread that is
awake is expected to take (a few cache lines between two cores). Chosen, not tuned."""

CHUNK_GRAIN = 5_000
"""Nanoseconds of a share of a stage, where a thread takes several: far above what taking one costs, two atomic
operations and what a kernel computes before its loops, together 0.1 to 0.5 us."""

MOST_CHUNKS = 8
"""Shares of a stage for each thread: what one holds up, when it loses its processor, is the work of one share."""

PIECES = 4
"""Pieces of a share, at least, where it has several for each thread and does something over again for a part of one."""

MODEL_GRAIN = 12_500
"""Nanoseconds of a model that are worth a thread of their own: about what a system takes to wake one that sleeps, so
that below it an inference is over before help has come. Chosen, not tuned."""

OWN = 3
"""Times as fast as memory is a core's second-level cache (120 GB/s)."""
NEAR = 2
"""Times as fast as memory are caches behind a core's own, which have what other kernels have just made (80 GB/s)."""
FAR = 8
"""Second-level caches that a value fills from which on it comes from memory, or nearly."""
_INSTRUCTION = 2  # multiplications and additions that a core could do in the time of any other instruction

_Products = Callable[[Operation], int]


def _matmul(op: Operation) -> int:
    assert isinstance(op, MatmulOp)
    depth = shape_of(op.lhs)[-2 if op.transpose_a is not None else -1]
    return prod(shape_of(op.result)) * depth


def _conv(op: Operation) -> int:
    assert isinstance(op, ConvOp)
    return prod(shape_of(op.result)) * prod(shape_of(op.weight)[1:])


def _conv_transpose(op: Operation) -> int:
    assert isinstance(op, ConvTransposeOp)
    return prod(shape_of(op.x)) * prod(shape_of(op.weight)[1:])


def _attention(op: Operation) -> int:
    assert isinstance(op, AttentionOp)
    return prod(shape_of(op.query)) * shape_of(op.key)[-2] + prod(shape_of(op.result)) * shape_of(op.value)[-2]


def _linear_attention(op: Operation) -> int:
    assert isinstance(op, LinearAttentionOp)
    width = shape_of(op.value)[3]
    return (prod(shape_of(op.query)) + (1 if op.beta is None else 2) * prod(shape_of(op.key))) * width


def _recurrence(op: Operation) -> int:
    assert isinstance(op, RecurrenceOp)
    steps, batch, _ = shape_of(op.x)
    return steps * batch * (prod(shape_of(op.weight)) + prod(shape_of(op.recurrence)))


def _roi_align(op: Operation) -> int:
    assert isinstance(op, RoiAlignOp)
    points = (op.samples.value.data or 2) ** 2
    return prod(shape_of(op.result)) * points * 12  # four products and where they come from


def _sample(op: Operation) -> int:
    assert isinstance(op, SampleOp)
    axes = len(op.sizes)
    return prod(shape_of(op.result)) * (op.neighbours**axes + 8 * axes)  # and about so many for each position


_PRODUCTS: dict[type[Operation], _Products] = {
    MatmulOp: _matmul,
    ConvOp: _conv,
    ConvTransposeOp: _conv_transpose,
    AttentionOp: _attention,
    SampleOp: _sample,
    LinearAttentionOp: _linear_attention,
    RoiAlignOp: _roi_align,
    **dict.fromkeys((LstmOp, GruOp, RnnOp), _recurrence),
}
# Instructions per element, where it is not one: polynomials, divisions, and rows that are gone through several times.
_STEPS = {
    **dict.fromkeys(("exp", "log", "erf", "tanh", "sigmoid", "gelu", "softplus", "sin", "cos", "elu", "lrn"), 16),
    **dict.fromkeys(("softmax", "log_softmax", "layer_norm", "rms_norm"), 16),
    **dict.fromkeys(("pow", "tan", "asin", "acos", "sinh", "cosh"), 40),
    "atan": 20,
    "instance_norm": 10,
    "top_k": 4,
    "div": 4,
    "sqrt": 4,
}


def nanoseconds(kernel: KernelOp, target: CpuAttr) -> int:
    """What one call of a kernel takes on one core of the target, however it is carried out."""
    return round(seconds(kernel, target) * 1e9)


def seconds(kernel: KernelOp, target: CpuAttr, *, wasted: float = 1.0, more: int = 0, vectors: bool = True) -> float:
    """The same, where each multiplication counts `wasted` times and there are `more` other operations.

    Without `vectors` everything is done one number at a time.
    """
    multiplied, other = map(now, operations(kernel))
    computing = multiplying_seconds(wasted * multiplied, target) + instruction_seconds(other + more, target)
    if not vectors:
        computing *= target.lanes(32)
    read, written = map(read_bytes, kernel.arguments), map(bytes_of, kernel.terminator.operands)
    return max(computing, sum(moving_seconds(each, target) for each in (*read, *written)))


def operations(kernel: KernelOp) -> tuple[int, int]:
    """Multiplications that are summed up, and other operations, of a call."""
    multiplied = others = 0
    for op in kernel.body.block.ops:
        if isinstance(op, UnpackOp | ConstantOp):
            continue
        if type(op) in _PRODUCTS:
            multiplied += products(op)
        elif isinstance(op, ElementwiseOp | ReductionOp | TopKOp):
            elements = max((prod(shape_of(value)) for value in (*op.operands, *op.results)), default=0)
            if isinstance(op, PoolOp):
                elements = 2 * prod(shape_of(op.result)) * prod(op.kernel.get_values())  # loaded and compared
            others += elements * _STEPS.get(op.name.removeprefix("graph."), 1)
        if isinstance(op, AttentionOp):
            others += _STEPS["softmax"] * prod(shape_of(op.query)[:-1]) * shape_of(op.key)[-2]
    return multiplied, others


def products(op: Operation) -> int:
    """Multiplications that are summed up, of an operation."""
    count = _PRODUCTS.get(type(op))
    return 0 if count is None else count(op)


def multiplying_seconds(products: float, target: CpuAttr) -> float:
    """How long a core takes to multiply and sum up so many numbers."""
    return 2 * products / target.gflops.data * 1e-9


def instruction_seconds(numbers: float, target: CpuAttr) -> float:
    """How long a core takes for another instruction on so many numbers."""
    return _INSTRUCTION * numbers / target.gflops.data * 1e-9


def moving_seconds(nbytes: int, target: CpuAttr, times: int = 1) -> float:
    """How long a core takes to read or write so many bytes, so many times, from where they fit."""
    speed = target.gbytes.data * (OWN if nbytes <= target.l2.data else NEAR if nbytes <= FAR * target.l2.data else 1)
    return times * nbytes / speed * 1e-9


def read_bytes(value: SSAValue) -> int:
    """Bytes that are read of a value: all of it, or of a table what its readers take."""
    readers = [use.operation for use in value.uses]
    if readers and all(isinstance(op, GatherAlongOp | GatherNdOp) and op.operands[0] is value for op in readers):
        return min(bytes_of(value), sum(bytes_of(op.results[0]) for op in readers))
    return bytes_of(value)


def bytes_of(value: SSAValue) -> int:
    """Bytes of a tensor, at the present sizes."""
    type = cast("TensorType[Attribute]", value.type)
    return now(prod(type.get_shape())) * numpy_dtype(type.element_type).itemsize
