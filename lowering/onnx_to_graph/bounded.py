"""Propagation of bounded axes through ops, from results of NonZero, Compress, Unique, NonMaxSuppression.

Such a value has a type of maximal size. Along a bounded axis its first `count` elements are valid, a number computed at
run time; the others are undefined. An op that is independent along that axis propagates the count. An op whose result
would depend on the undefined elements is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from xdsl.ir import SSAValue

from ...dialects.graph.axes import Kept
from ...dialects.graph.base import GraphOp
from ...dialects.graph.values import shape_of

Bounds: TypeAlias = Mapping[int, SSAValue]
"""Axis -> how many elements along it are there, an i64 of rank 0."""


class BoundError(Exception):
    """An op depends on the number of valid elements."""


def result_bounds(op: GraphOp, bounds: Mapping[SSAValue, Bounds]) -> Bounds:
    """The bounded axes of an op's one result. Raises BoundError if the op depends on the counts."""
    found: dict[int, SSAValue] = {}
    axes = [
        (operand, number, axis)
        for operand, each in zip(op.operands, op.operand_axes(), strict=True)
        for number, axis in enumerate(each)
    ]
    for operand, number, axis in axes:
        count = bounds.get(operand, {}).get(number)
        if count is None:
            continue
        if not isinstance(axis, Kept) or len(op.results) > 1:
            raise BoundError(f"{op.name} along an axis of {shape_of(operand)[number]} elements at most")
        if found.setdefault(axis.to, count) is not count:
            raise BoundError(f"{op.name} of values that end at different places")
    for operand, number, axis in axes:  # what is read at the same places ends there too, or is one element for all
        size, ends = shape_of(operand)[number], bounds.get(operand, {}).get(number)
        if size != 1 and axis.to in found and found[axis.to] is not ends:
            raise BoundError(f"{op.name} with a value of {size} elements there")
    return found
