"""How long a kernel takes on one core, roughly: what it is worth to share it among threads hangs on that.

An estimate from shapes and the speed that the target states: it need only tell
work far below the grains from work far above them.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects.graph.attention import AttentionOp
from ..dialects.graph.base import ElementwiseOp, ReductionOp
from ..dialects.graph.contraction import ConvOp, ConvTransposeOp, MatmulOp
from ..dialects.graph.linear_attention import LinearAttentionOp
from ..dialects.graph.recurrence import GruOp, LstmOp, RecurrenceOp, RnnOp
from ..dialects.graph.regions import RoiAlignOp
from ..dialects.graph.sampling import SampleOp
from ..dialects.graph.selection import TopKOp
from ..dialects.graph.structure import ConstantOp, KernelOp
from ..dialects.graph.unpack import UnpackOp
from ..dialects.graph.values import numpy_dtype, shape_of
from ..dialects.graph.windows import PoolOp
from ..dialects.symbolic.sizes import now
from ..dialects.targets import CpuAttr

STAGE_GRAIN = 1000
"""Nanoseconds of a stage that are worth a thread of their own: some times what handing a share to a thread that is
awake is expected to take (a few cache lines between two cores). Chosen, not tuned."""

CHUNK_GRAIN = 10_000
"""Nanoseconds of a share of a stage, where a thread takes several: far above what taking one costs, two atomic
operations and what a kernel computes before its loops, together 0.1 to 0.5 us."""

MOST_CHUNKS = 8
"""Shares of a stage for each thread: what one holds up, when it loses its processor, is the work of one share."""

PIECES = 4
"""Pieces of a share, at least, where it has several for each thread and does something over again for a part of one."""

MODEL_GRAIN = 25_000
"""Nanoseconds of a model that are worth a thread of their own: about what a system takes to wake one that sleeps, so
that below it an inference is over before help has come. Chosen, not tuned."""

_SLOWER = 8  # times as long as a multiplication or an addition in a product takes any other operation

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
# Operations per element, where it is not one: polynomials and divisions.
_STEPS = dict.fromkeys(
    ("exp", "log", "erf", "tanh", "sigmoid", "gelu", "softplus", "sin", "cos", "elu", "softmax", "log_softmax", "lrn"),
    16,
) | {"top_k": 4, "pow": 40, "tan": 40, "asin": 40, "acos": 40, "atan": 20, "sinh": 40, "cosh": 40, "div": 4, "sqrt": 4}


def nanoseconds(kernel: KernelOp, target: CpuAttr) -> int:
    """What one call of a kernel takes on one core of the target, roughly."""
    return round(seconds(kernel, target) * 1e9)


def seconds(kernel: KernelOp, target: CpuAttr, *, wasted: float = 1.0, more: int = 0, vectors: bool = True) -> float:
    """The same, where each multiplication counts `wasted` times and there are `more` other operations.

    Without `vectors` everything is done one number at a time.
    """
    speed = target.gflops.data / (1 if vectors else target.lanes(32))
    others = speed / _SLOWER
    time = more / others + _bytes([*kernel.arguments, *kernel.terminator.operands]) / target.gbytes.data
    multiplied, other = map(now, operations(kernel))
    return (time + wasted * 2 * multiplied / speed + other / others) * 1e-9


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
                elements = prod(shape_of(op.result)) * prod(op.kernel.get_values())
            others += elements * _STEPS.get(op.name.removeprefix("graph."), 1)
    return multiplied, others


def products(op: Operation) -> int:
    """Multiplications that are summed up, of an operation."""
    count = _PRODUCTS.get(type(op))
    return 0 if count is None else count(op)


def read_seconds(nbytes: int, target: CpuAttr) -> float:
    """How long a core takes to read so many bytes from its second-level cache."""
    return nbytes / target.gbytes.data * 1e-9


def _bytes(values: list[SSAValue]) -> int:
    types = [cast("TensorType[Attribute]", value.type) for value in values]
    return sum(now(prod(type.get_shape())) * numpy_dtype(type.element_type).itemsize for type in types)
