"""Operators whose results have a run-time number of elements: NonZero, Compress, Unique.

The condition is evaluated to a mask; a prefix sum gives each selected element its index in the result, and a scatter
compacts them, in order. The results have the maximal size; the number of elements is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from ....dialects.graph.ops.elementwise import AndOp, DivOp, EqualOp, ModOp, OrOp, SubOp, WhereOp
from ....dialects.graph.ops.indexing import GatherOp, ScatterElementsOp
from ....dialects.graph.ops.movement import ConcatOp, TransposeOp
from ....dialects.graph.ops.reduction import CumsumOp, ReduceMinOp
from ....dialects.graph.ops.selection import TopKOp
from ....dialects.graph.ops.unary import IsNanOp, NotOp
from ....dialects.graph.values import element_type_of_value, is_bool, is_float, shape_of
from ..node import Handler, Node
from .indexing import positions
from .movement import slice_axis

MOST_COLUMNS = 256
"""Columns of rows that Unique compares: each is a sort of its own."""


def marked(node: Node, marks: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The indices where a rank-1 boolean is true, in order and zero-padded, and their number."""
    (size,) = shape_of(marks)
    if not size:
        return node.zeros(i64, (0,)), node.scalar(0, i64)
    running = node.emit(CumsumOp(node.cast(marks, i64), 0))
    place = node.emit(WhereOp(marks, node.emit(SubOp(running, node.scalar(1, i64))), node.scalar(size, i64)))
    every = positions(node, size)
    room = node.zeros(i64, (size + 1,))  # the last slot takes all unselected elements
    found = node.emit(ScatterElementsOp(room, place, every, 0))
    return slice_axis(node, found, 0, 0, size), last_of(node, running)


def last_of(node: Node, value: SSAValue) -> SSAValue:
    """The last element of a rank-1 value, as rank 0."""
    (size,) = shape_of(value)
    return node.reshape(slice_axis(node, value, 0, size - 1, size), ())


def coordinates(node: Node, flat: SSAValue, shape: Sequence[int]) -> list[SSAValue]:
    """The index along each axis of row-major flat indices."""
    found: list[SSAValue] = []
    for axis, size in enumerate(shape):
        inner = prod(shape[axis + 1 :])
        index = node.emit(DivOp(flat, node.scalar(inner, i64))) if inner > 1 else flat
        found.append(node.emit(ModOp(index, node.scalar(size, i64))) if axis else index)
    return found


def _non_zero(node: Node) -> SSAValue:
    """The indices of non-zero elements: a row for each axis, a column for each element."""
    x = node.operand()
    shape = shape_of(x)
    if not shape:
        raise node.invalid("a scalar has no axes")
    if not all(shape):
        return node.zeros(i64, (len(shape), 0))
    flat = node.reshape(x, (prod(shape),))
    is_zero = None if is_bool(element_type_of_value(x)) else node.emit(EqualOp(flat, node.scalar(0, x)))
    found, count = marked(node, flat if is_zero is None else node.emit(NotOp(is_zero)))
    rows = [node.reshape(each, (1, prod(shape))) for each in coordinates(node, found, shape)]
    return node.bound(rows[0] if len(rows) == 1 else node.emit(ConcatOp(rows, 0)), 1, count)


def _compress(node: Node) -> SSAValue:
    """The elements along an axis at which the condition, which may be shorter, holds."""
    x, condition = node.operand(0), node.operand(1)
    if node.has("axis"):
        axis = node.axis(0, len(shape_of(x)))
    else:
        x, axis = node.reshape(x, (prod(shape_of(x)),)), 0
    if len(shape_of(condition)) != 1 or not is_bool(element_type_of_value(condition)):
        raise node.invalid(f"the condition must be a list of booleans, got {condition.type}")
    size = min(shape_of(condition)[0], shape_of(x)[axis])
    found, count = marked(node, slice_axis(node, condition, 0, 0, size))
    return node.bound(node.emit(GatherOp(x, found, axis)), axis, count)


def _unique(node: Node) -> list[SSAValue | None]:
    return different(node, sort=node.flag("sorted", True))


def different(node: Node, *, sort: bool) -> list[SSAValue | None]:
    """Unique elements, or slices along an axis: values, first indices, inverse indices, and counts."""
    x, shape = node.operand(), shape_of(node.operand())
    if node.has("axis"):
        axis = node.axis(0, len(shape))
        rows = x if axis == 0 else node.emit(TransposeOp(x, [axis, *(a for a in range(len(shape)) if a != axis)]))
    else:
        x = rows = node.reshape(x, (prod(shape),))
        axis = 0
    size = shape_of(rows)[0]
    columns = prod(shape_of(rows)[1:])
    if not size or not columns:
        raise node.unsupported(f"of a tensor of shape {list(shape)}, which has no elements")
    if columns > MOST_COLUMNS:
        raise node.unsupported(f"slices of {columns} elements: at most {MOST_COLUMNS} are compared")
    rows = node.reshape(rows, (size, columns))
    order = _sorted(node, rows)
    begins = _begins(node, node.emit(GatherOp(rows, order, 0)))
    groups = node.emit(SubOp(node.emit(CumsumOp(node.cast(begins, i64), 0)), node.scalar(1, i64)))
    everywhere = node.zeros(i64, (size,))
    inverse = node.emit(ScatterElementsOp(everywhere, order, groups, 0))
    starts, count = marked(node, begins)
    first = node.emit(GatherOp(order, starts, 0))  # sorting is stable: the first of a group comes first
    if not sort:
        is_first = node.emit(ScatterElementsOp(node.zeros(i1, (size,)), order, begins, 0))
        number = node.emit(SubOp(node.emit(CumsumOp(node.cast(is_first, i64), 0)), node.scalar(1, i64)))
        inverse = node.emit(GatherOp(node.emit(GatherOp(number, first, 0)), inverse, 0))
        first, count = marked(node, is_first)
    ones = node.broadcast(node.scalar(1, i64), (size,))
    often = node.emit(ScatterElementsOp(everywhere, inverse, ones, 0, "add"))
    found = node.bound(node.emit(GatherOp(x, first, axis)), axis, count)
    return [found, node.bound(first, 0, count), inverse, node.bound(often, 0, count)]


def _sorted(node: Node, rows: SSAValue) -> SSAValue:
    """The permutation that sorts rows lexicographically, by stable sorts from the last column to the first."""
    size, columns = shape_of(rows)
    order: SSAValue | None = None
    for column in reversed(range(columns)):
        keys = node.reshape(slice_axis(node, rows, 1, column, column + 1), (size,))
        if is_bool(element_type_of_value(keys)):
            keys = node.cast(keys, i64)
        keys = keys if order is None else node.emit(GatherOp(keys, order, 0))
        places = node.emit(TopKOp(keys, 0, size, smallest=True))
        order = places if order is None else node.emit(GatherOp(order, places, 0))
    assert order is not None
    return order


def _begins(node: Node, rows: SSAValue) -> SSAValue:
    """Marks sorted rows that differ from the previous one, and the first; NaN equals NaN."""
    size, columns = shape_of(rows)
    before, after = slice_axis(node, rows, 0, 0, size - 1), slice_axis(node, rows, 0, 1, size)
    same: SSAValue = node.emit(EqualOp(before, after))
    if is_float(element_type_of_value(rows)):
        both = node.emit(AndOp(node.emit(IsNanOp(before)), node.emit(IsNanOp(after))))
        same = node.emit(OrOp(same, both))
    if columns > 1:
        same = node.cast(node.emit(ReduceMinOp(node.cast(same, i64), [1])), i1)
    differ = node.emit(NotOp(node.reshape(same, (size - 1,))))
    first = node.array(np.array([True]))
    return first if size == 1 else node.emit(ConcatOp([first, differ], 0))


HANDLERS: dict[str, Handler] = {"NonZero": _non_zero, "Compress": _compress, "Unique": _unique}
