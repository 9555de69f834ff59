"""What ops make of values of which only a part is there: results of NonZero, Compress, Unique, NonMaxSuppression.

Such a value has the type of the most there can be. Along a bounded axis its first `count` elements count, a number that
the model computes; the others hold anything. An op that treats the elements along that axis apart from each other hands
the count on. What would have to know it is refused, for what it made of the others would be wrong.
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
    """An op would have to know how many elements there are."""


def result_bounds(op: GraphOp, bounds: Mapping[SSAValue, Bounds]) -> Bounds:
    """The bounded axes of an op's one result; raises BoundError where it can't be had without the counts."""
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
