"""Determinants by Gaussian elimination with partial pivoting, in f64."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import f64, i64
from xdsl.ir import SSAValue

from ....dialects.graph.ops.elementwise import AddOp, DivOp, EqualOp, MulOp, SubOp, WhereOp
from ....dialects.graph.ops.indexing import GatherElementsOp
from ....dialects.graph.ops.movement import PadOp
from ....dialects.graph.ops.reduction import ArgMaxOp
from ....dialects.graph.ops.unary import AbsOp, NegOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ....dialects.sizes.sizes import equal, pinned
from ..node import Handler, Node
from .movement import slice_axis

_LARGEST = 64  # rows of a matrix: each is a step of its own in `main`


def _det(node: Node) -> SSAValue:
    x = node.operand()
    *batch, rows, columns = shape_of(x) if len(shape_of(x)) >= 2 else (0, 0, 1)
    if not equal(rows, columns):
        raise node.invalid(f"the determinant of a tensor of shape {list(shape_of(x))}, whose matrices are not square")
    rows = pinned(rows)
    if rows > _LARGEST:
        raise node.unsupported(f"the determinant of {rows} rows, which are more than {_LARGEST}")
    left = node.reshape(node.cast(x, f64), (prod(batch), rows, rows))
    result = node.broadcast(node.scalar(1, f64), (prod(batch),))
    for _ in range(rows):
        pivot, left = _step(node, left)
        result = node.emit(MulOp(result, pivot))
    return node.cast(node.reshape(result, batch), element_type_of_value(x))


def _step(node: Node, a: SSAValue) -> tuple[SSAValue, SSAValue]:
    """One elimination step on [batch, n, n]: the pivot with the sign of the row swap, and the remaining matrix.

    The pivot's row is swapped with the first; a multiple of it is subtracted from each other row to clear its first
    element. If the whole column is 0, so are the pivot and the determinant. The remaining matrix is extended to size n
    with a 1 in the corner, so that all steps use the same kernels.
    """
    batch, size, _ = shape_of(a)
    column = slice_axis(node, a, 2, 0, 1)
    place = node.emit(ArgMaxOp(node.emit(AbsOp(column)), 1, keepdims=True))
    row = node.emit(GatherElementsOp(a, node.broadcast(place, (batch, 1, size)), 1))
    pivot, zero = slice_axis(node, row, 2, 0, 1), node.scalar(0, f64)
    is_first = node.emit(EqualOp(place, node.scalar(0, i64)))
    signed = node.reshape(node.emit(WhereOp(is_first, pivot, node.emit(NegOp(pivot)))), (batch,))
    positions = node.reshape(node.array(np.arange(1, size)), (size - 1, 1))
    others = slice_axis(node, a, 1, 1, size)
    others = node.emit(WhereOp(node.emit(EqualOp(positions, place)), slice_axis(node, a, 1, 0, 1), others))
    factor = node.emit(DivOp(slice_axis(node, others, 2, 0, 1), pivot))
    factor = node.emit(WhereOp(node.emit(EqualOp(pivot, zero)), zero, factor))
    rest = node.emit(SubOp(others, node.emit(MulOp(factor, row))))
    filled = node.emit(PadOp(slice_axis(node, rest, 2, 1, size), (0, 0, 0), (0, 1, 1)))
    corner = np.zeros((size, size))
    corner[-1, -1] = 1
    return signed, node.emit(AddOp(filled, node.array(corner)))


HANDLERS: dict[str, Handler] = {"Det": _det}
