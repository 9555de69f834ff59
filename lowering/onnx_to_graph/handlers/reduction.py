"""Reductions along axes: sums, means, norms, extrema, cumulative sums."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.dialects.builtin import IntegerType, Signedness, f64
from xdsl.ir import SSAValue

from ....dialects.graph.ops.elementwise import AddOp, EqualOp, MulOp, SubOp, WhereOp
from ....dialects.graph.ops.reduction import (
    ArgMaxOp,
    ArgMinOp,
    CumprodOp,
    CumsumOp,
    CumulativeOp,
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceOp,
    ReduceProdOp,
    ReduceSumOp,
)
from ....dialects.graph.ops.unary import AbsOp, ExpOp, IsInfOp, LogOp, SqrtOp
from ....dialects.graph.values import element_type_of_value, is_bool, is_float, shape_of
from ..node import Handler, Node, in_single
from .indexing import positions

_UINT8 = IntegerType(8, Signedness.UNSIGNED)


def reduced_axes(node: Node, x: SSAValue) -> list[int]:
    """The axes to reduce over, sorted; an attribute or (ReduceSum since opset 13, all since 18) an operand."""
    rank = len(shape_of(x))
    axes = node.ints_attribute_or_operand("axes", 1)
    keeps_all = node.flag("noop_with_empty_axes")
    if not axes:
        return [] if keeps_all else list(range(rank))
    return sorted({node.normal_axis(axis, rank) for axis in axes})


def _reduce(node: Node, x: SSAValue, make: type[ReduceOp]) -> SSAValue:
    axes, keepdims = reduced_axes(node, x), node.flag("keepdims", True)
    return node.emit(make(x, axes, keepdims=keepdims)) if axes else x


def _plain(make: type[ReduceOp]) -> Handler:
    return lambda node: _reduce(node, node.operand(), make)


def _extremum(make: type[ReduceOp]) -> Handler:
    """Maximum or minimum; booleans are compared as 0 and 1."""

    def handler(node: Node) -> SSAValue:
        x = node.operand()
        type = element_type_of_value(x)
        if not is_bool(type):
            return _reduce(node, x, make)
        return node.cast(_reduce(node, node.cast(x, _UINT8), make), type)

    return handler


def _sum_square(node: Node, x: SSAValue) -> SSAValue:
    return _reduce(node, node.emit(MulOp(x, x)), ReduceSumOp)


def _log_sum_exp(node: Node, x: SSAValue) -> SSAValue:
    """log(sum(exp(x))) as m + log(sum(exp(x - m))), with m the largest element where that is finite."""
    axes, keepdims = reduced_axes(node, x), node.flag("keepdims", True)
    if not axes:
        return x
    top = node.emit(ReduceMaxOp(x, axes, keepdims=True))
    top = node.emit(WhereOp(node.emit(IsInfOp(top)), node.scalar(0, x), top))
    total = node.emit(ReduceSumOp(node.emit(ExpOp(node.emit(SubOp(x, top)))), axes, keepdims=True))
    result = node.emit(AddOp(node.emit(LogOp(total)), top))
    if keepdims:
        return result
    return node.reshape(result, [size for axis, size in enumerate(shape_of(x)) if axis not in axes])


def _in_floats(handler: Callable[[Node, SSAValue], SSAValue]) -> Handler:
    """A handler that computes in floats: integers in f64, with the result truncated."""

    def floats(node: Node) -> SSAValue:
        x = node.operand()
        type = element_type_of_value(x)
        return node.cast(handler(node, node.widened(x) if is_float(type) else node.cast(x, f64)), type)

    return floats


def _arg(make: type[ArgMaxOp] | type[ArgMinOp]) -> Handler:
    def handler(node: Node) -> SSAValue:
        x = node.operand()
        axis = node.axis(0, len(shape_of(x)))
        return node.emit(
            make(x, axis, keepdims=node.flag("keepdims", True), select_last=node.flag("select_last_index"))
        )

    return handler


def _cumulative(make: type[CumulativeOp]) -> Handler:
    def handler(node: Node) -> SSAValue:
        x = node.operand()
        axis = node.normal_axis(int(node.scalar_operand(1, 0)), len(shape_of(x)))
        return node.emit(make(x, axis, exclusive=node.flag("exclusive"), reverse=node.flag("reverse")))

    return handler


def _hardmax(node: Node) -> SSAValue:
    """1 at the first maximum along the axis (before opset 13: over the flattened axes), 0 elsewhere."""
    x = node.operand()
    shape = shape_of(x)
    axis = node.axis(-1 if node.opset >= 13 else 1, len(shape))
    if node.opset < 13:
        x = node.reshape(x, (*shape[:axis], prod(shape[axis:])))
    count = shape_of(x)[axis]
    if not count:
        return node.reshape(x, shape)
    place = node.emit(ArgMaxOp(x, axis, keepdims=True))
    places = node.reshape(positions(node, count), (count, *[1] * (len(shape_of(x)) - axis - 1)))
    return node.reshape(node.cast(node.emit(EqualOp(place, places)), element_type_of_value(x)), shape)


HANDLERS: dict[str, Handler] = {
    "ReduceSum": _plain(ReduceSumOp),
    "ReduceMean": _plain(ReduceMeanOp),
    "ReduceMax": _extremum(ReduceMaxOp),
    "ReduceMin": _extremum(ReduceMinOp),
    "ReduceProd": _plain(ReduceProdOp),
    "ReduceL1": lambda node: _reduce(node, node.emit(AbsOp(node.operand())), ReduceSumOp),
    "ReduceL2": _in_floats(lambda node, x: node.emit(SqrtOp(_sum_square(node, x)))),
    "ReduceSumSquare": in_single(_sum_square),
    "ReduceLogSum": _in_floats(lambda node, x: node.emit(LogOp(_reduce(node, x, ReduceSumOp)))),
    "ReduceLogSumExp": _in_floats(_log_sum_exp),
    "ArgMax": _arg(ArgMaxOp),
    "ArgMin": _arg(ArgMinOp),
    "CumSum": _cumulative(CumsumOp),
    "CumProd": _cumulative(CumprodOp),
    "Hardmax": _hardmax,
}
