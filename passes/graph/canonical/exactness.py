"""Conditions under which simplifications of arithmetic are exact, including the sign of zero."""

from __future__ import annotations

from math import copysign

import numpy as np
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.graph.ops.elementwise import AddOp, DivOp, MulOp
from ....dialects.graph.ops.reduction import ReduceMeanOp, ReduceSumOp
from ....dialects.graph.ops.unary import AbsOp, ExpOp
from ....dialects.graph.values import Array, is_float, numpy_dtype, widened
from ..support.pattern_utils import Constants


def has_no_sign(value: SSAValue, constants: Constants, depth: int = 6) -> bool:
    """Whether floats are provably neither negative nor -0, looking at most `depth` ops up."""
    if (number := constants.scalar(value)) is not None:
        return copysign(1, number) > 0
    match value.owner:
        case AbsOp() | ExpOp():
            return True
        case MulOp(lhs=lhs, rhs=rhs) if lhs is rhs:
            return True
        case AddOp() | MulOp() | DivOp() | ReduceMeanOp() | ReduceSumOp() as op if depth:
            return all(has_no_sign(operand, constants, depth - 1) for operand in op.operands)
        case _:
            return False


def is_neutral_zero(kind: type[Operation], zero: float) -> bool:
    """Whether adding or subtracting this zero preserves -0: true for x + -0 and x - 0."""
    return (copysign(1, zero) < 0) == (kind is AddOp)


def may_merge(kind: type[Operation], c: Array, d: Array) -> bool:
    """Whether x + (c + d), or x * (c * d), is as exact as applying the constants one after the other.

    Sums must not cancel: (x + c) - c rounds x, and models do so on purpose. Products must stay normal numbers: x * c *
    d may be one where c * d overflows or underflows.
    """
    with np.errstate(all="ignore"):
        merged = widened(c + d if kind is AddOp else c * d)
        if kind is AddOp:
            return bool(np.all((np.signbit(c) == np.signbit(d)) & np.isfinite(merged)))
        tiny = np.finfo(np.float16 if c.dtype == np.float16 else merged.dtype).tiny
        return bool(np.all((np.abs(merged) >= tiny) & np.isfinite(merged)))


def holds_exactly(narrow: Attribute, wide: Attribute) -> bool:
    """Whether every value of the first type is representable in the second."""
    source, target = numpy_dtype(narrow), numpy_dtype(wide)
    # numpy calls the cast of 64-bit integers to float64 safe
    return np.can_cast(source, target, "safe") and not (source.kind in "iu" and source.itemsize == 8 and is_float(wide))
