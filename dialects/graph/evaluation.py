"""Which ops a compiler may evaluate: those whose time and memory are in proportion to the bytes they read and make."""

from __future__ import annotations

from math import prod

from ..sizes.sizes import is_fixed
from .base import GraphOp
from .ops.attention import AttentionOp
from .ops.contraction import ConvOp, ConvTransposeOp, MatmulOp
from .ops.fail import FailOp
from .ops.linear_attention import LinearAttentionOp
from .ops.patches import Col2ImOp
from .ops.picture_regions import RegionOp
from .ops.recurrence import RecurrenceOp
from .ops.resize import ResizeOp
from .ops.sampling import SampleOp
from .ops.windows import LrnOp, PoolOp
from .values import is_fixed_attr, shape_of

# Windows and padding may be far larger than what they are laid over, scores than queries; a recurrence is slow.
_OUT_OF_PROPORTION = (
    AttentionOp,
    Col2ImOp,
    ConvOp,
    ConvTransposeOp,
    LinearAttentionOp,
    LrnOp,
    PoolOp,
    RecurrenceOp,
    RegionOp,
    ResizeOp,
    SampleOp,
)
_PRODUCTS = 2**30  # numpy takes about a second for so many products of integers


def is_cheap(op: GraphOp) -> bool:
    """Whether `op.evaluate` is as fast as reading operands and writing results, and no size of it hangs on shapes."""
    fixed = all(is_fixed(*shape_of(result)) for result in op.results)
    if not fixed or not all(map(is_fixed_attr, op.properties.values())):
        return False
    if isinstance(op, MatmulOp):
        depth = shape_of(op.lhs)[-1 if op.transpose_a is None else -2]
        return prod(shape_of(op.result)) * depth <= _PRODUCTS
    return not isinstance(op, (*_OUT_OF_PROPORTION, FailOp))
