"""Gather, scatter, and tensors generated from positions: one-hot, triangles, ranges."""

from __future__ import annotations

from math import ceil, isfinite

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ....dialects.graph.ops.elementwise import AddOp, EqualOp, GreaterEqualOp, LessEqualOp, LessOp, SubOp, WhereOp
from ....dialects.graph.ops.indexing import (
    REDUCTIONS,
    GatherElementsOp,
    GatherNdOp,
    GatherOp,
    ScatterElementsOp,
    ScatterNdOp,
)
from ....dialects.graph.ops.movement import ConcatOp
from ....dialects.graph.ops.selection import TopKOp
from ....dialects.graph.ops.size_values import IotaOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ....dialects.sizes.sizes import is_fixed
from ..node import Handler, Node


def _gather(node: Node) -> SSAValue:
    x = node.operand(0)
    return node.emit(GatherOp(x, node.operand(1), node.axis(0, len(shape_of(x)))))


def _gather_elements(node: Node) -> SSAValue:
    x = node.operand(0)
    return node.emit(GatherElementsOp(x, node.operand(1), node.axis(0, len(shape_of(x)))))


def _gather_nd(node: Node) -> SSAValue:
    return node.emit(GatherNdOp(node.operand(0), node.operand(1), node.integer("batch_dims", 0)))


def _reduction(node: Node) -> str:
    reduction = node.text("reduction", "none")
    if reduction not in REDUCTIONS:
        raise node.malformed(f"reduction {reduction} is unknown")
    return reduction


def _scatter_nd(node: Node) -> SSAValue:
    return node.emit(ScatterNdOp(node.operand(0), node.operand(1), node.operand(2), _reduction(node)))


def _scatter_elements(node: Node) -> SSAValue:
    x = node.operand(0)
    axis = node.axis(0, len(shape_of(x)))
    return node.emit(ScatterElementsOp(x, node.operand(1), node.operand(2), axis, _reduction(node)))


def positions(node: Node, count: int) -> SSAValue:
    """[0, 1, ..., count - 1] as i64."""
    if not is_fixed(count):
        return node.emit(IotaOp(0, count, 1))
    node.reserve(count)
    return node.array(np.arange(count, dtype=np.int64))


def _one_hot(node: Node) -> SSAValue:
    """`on` where the position along the new axis equals the index (negative: from the end), `off` elsewhere."""
    indices, values = node.cast(node.operand(0), i64), node.operand(2)
    depth = int(node.scalar_operand(1, 0))
    shape = list(shape_of(indices))
    axis = node.axis(-1, len(shape) + 1)
    wrapped = node.emit(AddOp(indices, node.scalar(depth, i64)))
    index = node.emit(WhereOp(node.emit(LessOp(indices, node.scalar(0, i64))), wrapped, indices))
    index = node.reshape(index, [*shape[:axis], 1, *shape[axis:]])
    places = node.reshape(positions(node, depth), [depth, *[1] * (len(shape) - axis)])
    off, on = (node.reshape(node.emit(GatherOp(values, node.scalar(which, i64), 0)), ()) for which in (0, 1))
    return node.emit(WhereOp(node.emit(EqualOp(index, places)), on, off))


def triangle(node: Node) -> SSAValue:
    """The upper or lower triangle: elements on that side of the diagonal column = row + k, zero elsewhere."""
    x = node.operand(0)
    if len(shape_of(x)) < 2:
        raise node.invalid("the operand must have at least two dimensions")
    rows, columns = shape_of(x)[-2:]
    first = node.emit(
        AddOp(node.reshape(positions(node, rows), (rows, 1)), node.scalar(int(node.scalar_operand(1, 0)), i64))
    )
    compare = GreaterEqualOp if node.flag("upper", True) else LessEqualOp
    return node.emit(WhereOp(node.emit(compare(positions(node, columns), first)), x, node.scalar(0, x)))


def number_range(node: Node) -> SSAValue:
    start, limit, delta = (node.scalar_operand(index, default) for index, default in enumerate((0, 0, 1)))
    if not all(isinstance(each, int) or isfinite(each) for each in (start, limit, delta)) or not delta:
        raise node.invalid(f"there is no range from {start} to {limit} in steps of {delta}")
    # Integers are divided as integers: the quotient of large ones is inexact in floats.
    if isinstance(start, int) and isinstance(limit, int) and isinstance(delta, int):
        count = -((start - limit) // delta)
        count = count if count >= 0 else 0
        if not is_fixed(start, count, delta):
            return node.cast(node.emit(IotaOp(start, count, delta)), element_type_of_value(node.operand(0)))
    else:
        count = max(0, ceil((limit - start) / delta))
    node.reserve(count)
    return node.array((start + delta * np.arange(count)).astype(node.constant(0).dtype))


def _eye_like(node: Node) -> SSAValue:
    x = node.operand()
    if len(shape_of(x)) != 2:
        raise node.invalid(f"the operand must have two dimensions, got {len(shape_of(x))}")
    type = node.element_type("dtype") if node.has("dtype") else element_type_of_value(x)
    rows, columns = shape_of(x)
    shifted = node.emit(SubOp(positions(node, columns), node.scalar(node.integer("k", 0), i64)))
    return node.cast(node.emit(EqualOp(node.reshape(positions(node, rows), (rows, 1)), shifted)), type)


def _top_k(node: Node) -> list[SSAValue]:
    """Values and indices of the largest elements; sorted even where any order is allowed."""
    x = node.operand(0)
    axis = node.axis(-1, len(shape_of(x)))
    counts = node.ints_operand(1) if node.opset >= 10 else [node.integer("k", 0)]
    if len(counts) != 1:
        raise node.invalid(f"k must be one number, got {len(counts)}")
    node.ignore("sorted")
    places = node.emit(TopKOp(x, axis, counts[0], smallest=not node.flag("largest", True)))
    return [node.emit(GatherElementsOp(x, places, axis)), places]


def _reverse_sequence(node: Node) -> SSAValue:
    """Reverses the first `length` elements of each batch entry along the time axis."""
    x, lengths = node.operand(0), node.cast(node.operand(1), i64)
    rank = len(shape_of(x))
    time, batch = node.axis(0, rank, "time_axis"), node.axis(1, rank, "batch_axis")
    if rank < 2 or {time, batch} != {0, 1}:
        raise node.invalid(f"time_axis {time} and batch_axis {batch} must be 0 and 1")

    def along(value: SSAValue, axis: int) -> SSAValue:
        return node.reshape(value, [shape_of(x)[axis], 1] if axis == 0 else [1, shape_of(x)[axis]])

    place, length = along(positions(node, shape_of(x)[time]), time), along(lengths, batch)
    mirrored = node.emit(SubOp(node.emit(SubOp(length, node.scalar(1, i64))), place))
    source = node.emit(WhereOp(node.emit(LessOp(place, length)), mirrored, place))
    own = node.broadcast(along(positions(node, shape_of(x)[batch]), batch), shape_of(source))
    indices = [node.reshape(each, (*shape_of(source), 1)) for each in ((source, own) if time == 0 else (own, source))]
    return node.emit(GatherNdOp(x, node.emit(ConcatOp(indices, 2))))


HANDLERS: dict[str, Handler] = {
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "Scatter": _scatter_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "OneHot": _one_hot,
    "Trilu": triangle,
    "Range": number_range,
    "EyeLike": _eye_like,
    "TopK": _top_k,
    "ReverseSequence": _reverse_sequence,
}
