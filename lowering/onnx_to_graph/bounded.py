"""What ops make of values of which only a part is there: results of NonZero, Compress, Unique, NonMaxSuppression.

Such a value has the type of the most there can be. Along a bounded axis its first `count` elements count, a number that
the model computes; the others hold anything. An op that treats the elements along that axis apart from each other hands
the count on. What would have to know it is refused, for what it made of the others would be wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TypeAlias

from xdsl.ir import SSAValue

from ...dialects.graph.base import ElementwiseOp, GraphOp
from ...dialects.graph.ops.contraction import MatmulOp
from ...dialects.graph.ops.indexing import GatherElementsOp, GatherNdOp, GatherOp
from ...dialects.graph.ops.movement import BroadcastToOp, ConcatOp, ReshapeOp, SliceOp, TransposeOp
from ...dialects.graph.ops.normalization import LayerNormOp, RmsNormOp
from ...dialects.graph.ops.reduction import ArgExtremumOp, ReduceOp, SoftmaxLikeOp
from ...dialects.graph.values import ints, shape_of

Bounds: TypeAlias = Mapping[int, SSAValue]
"""Axis -> how many elements along it are there, an i64 of rank 0."""


class BoundError(Exception):
    """An op would have to know how many elements there are."""


def result_bounds(op: GraphOp, bounds: Mapping[SSAValue, Bounds]) -> Bounds:
    """The bounded axes of an op's one result; raises BoundError where it can't be had without the counts."""
    found: dict[int, SSAValue] = {}
    for number, operand in enumerate(op.operands):
        for axis, count in bounds.get(operand, {}).items():
            places = _places(op, number, axis)
            if len(places) != 1:
                raise BoundError(f"{op.name} along an axis of {shape_of(operand)[axis]} elements at most")
            (place,) = places
            if found.setdefault(place, count) is not count:
                raise BoundError(f"{op.name} of values that end at different places")
    for place, count in found.items():
        _check_others(op, place, count, bounds)
    return found


def _places(op: GraphOp, number: int, axis: int) -> Sequence[int]:
    """Where an axis of an operand is in the result: one place, or none, or several it might be."""
    shape = shape_of(op.operands[number])
    match op:
        case ElementwiseOp() | BroadcastToOp():
            target = shape_of(op.results[0])
            place = axis + len(target) - len(shape)
            return [place] if target[place] == shape[axis] else []
        case TransposeOp():
            return [list(ints(op.permutation)).index(axis)]
        case ReshapeOp():
            before, target = prod(shape[:axis]), shape_of(op.result)
            same = [i for i, size in enumerate(target) if size == shape[axis] and prod(target[:i]) == before]
            return same if shape[axis] != 1 or len(same) == 1 else []
        case ConcatOp():
            return [axis] if axis != op.axis.value.data else []
        case SliceOp():
            whole = (op.starts.get_values()[axis], op.stops.get_values()[axis], op.steps.get_values()[axis])
            return [axis] if whole == (0, shape[axis], 1) else []
        case GatherOp():
            along = op.axis.value.data
            if number == 1:
                return [along + axis]
            more = len(shape_of(op.indices)) - 1
            return [] if axis == along else [axis + more * (axis > along)]
        case GatherNdOp():
            return [axis] if number == 1 and axis < len(shape) - 1 else []
        case GatherElementsOp():
            return [axis] if number == 1 or axis != op.axis.value.data else []
        case ReduceOp():
            axes = ints(op.axes)
            kept = axis if op.keepdims is not None else axis - sum(each < axis for each in axes)
            return [] if axis in axes else [kept]
        case ArgExtremumOp():
            along = op.axis.value.data
            return [] if axis == along else [axis - (op.keepdims is None and along < axis)]
        case SoftmaxLikeOp():
            return [] if axis == op.axis.value.data else [axis]
        case LayerNormOp() | RmsNormOp():
            return [axis] if number == 0 and axis < op.axis.value.data else []
        case MatmulOp():
            result = shape_of(op.results[0])
            rows = axis == len(shape) - 2 or len(shape_of(op.rhs)) == 2
            kept = number == 0 and axis < len(shape) - 1 and len(result) == len(shape) and op.transpose_a is None
            return [axis] if kept and rows else []
        case _:
            return []


def _check_others(op: GraphOp, place: int, count: SSAValue, bounds: Mapping[SSAValue, Bounds]) -> None:
    """Values that are read at the same places must end where the bounded ones do, or be one element for all."""
    if not isinstance(op, ElementwiseOp | ConcatOp | GatherElementsOp):
        return
    target = shape_of(op.results[0])
    for operand in op.operands:
        axis = place - len(target) + len(shape_of(operand))
        ends_there = bounds.get(operand, {}).get(axis) is count
        if axis >= 0 and not ends_there and shape_of(operand)[axis] != 1:
            raise BoundError(f"{op.name} with a value of {shape_of(operand)[axis]} elements there")
