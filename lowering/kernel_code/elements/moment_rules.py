"""Single elements of normalisations in two steps: moments of pieces of rows, and elements normalised by them."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ....dialects.graph.ops.normalization import NormalizeOp, RowMomentsOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ..arithmetic import Arithmetic, convert, wide_float
from ..index_expr import Expr
from ..reductions import Reduction
from .element_values import Values, element_of
from .reduction_rules import reduce_at, wide

Idx = tuple[Expr, ...]


@element_of.register
def _row_moments(op: RowMomentsOp, v: Values, index: Idx) -> SSAValue:
    *row, piece, which = index
    element = element_type_of_value(op.x)
    total = Reduction(v.b, "sum", element)

    def at(inner: list[Expr]) -> SSAValue:
        return v.spread(wide(v, op.x, [*row, piece * op.length + inner[0]]))

    m = Arithmetic(v.b, v.spread(total.start()).type)

    def mean() -> SSAValue:
        return m.div(reduce_at(v, total, [op.length], at), m.constant(op.length))

    def square(inner: list[Expr]) -> SSAValue:
        deviation = m.sub(at(inner), centre)
        return m.mul(deviation, deviation)

    centre = v.once(("mean", op, (*row, piece)), mean)
    if which.number == 0:
        return convert(v.b, centre, wide_float(element), element)
    squares = v.once(("squares", op, (*row, piece)), lambda: reduce_at(v, total, [op.length], square))
    first = v.b.compare("eq", v.number(which), 0)
    chosen = squares if which.number == 1 else v.b.select(first, centre, squares)
    return convert(v.b, chosen, wide_float(element), element)


@element_of.register
def _normalize(op: NormalizeOp, v: Values, index: Idx) -> SSAValue:
    x, mean, scale = v.alike([wide(v, op.x, index), *row_statistics(op, v, index[:-1])])
    m = Arithmetic(v.b, x.type)
    value = m.mul(m.sub(x, mean) if op.centred is not None else x, scale)
    element = element_type_of_value(op.x)
    return convert(v.b, value, wide_float(element), element)


def row_statistics(op: NormalizeOp, v: Values, row: Idx) -> tuple[SSAValue, SSAValue]:
    """A row's mean (0 where it isn't centred), and what deviations from it are multiplied by; memoised.

    Who knows them already puts them there before: see `know_statistics`.
    """
    element = element_type_of_value(op.x)
    length = shape_of(op.x)[-1]
    total = Reduction(v.b, "sum", element)
    m = Arithmetic(v.b, v.spread(total.start()).type)

    def moment(inner: list[Expr], which: int) -> SSAValue:
        return v.spread(wide(v, op.moments, [*row, *inner, Expr.of(which)]))

    def average() -> SSAValue:
        if op.centred is None:
            return m.constant(0)
        return m.div(reduce_at(v, total, [op.pieces], lambda inner: moment(inner, 0)), m.constant(op.pieces))

    mean = v.once(("mean", op, row), average)

    def squares(inner: list[Expr]) -> SSAValue:
        apart = m.sub(moment(inner, 0), mean)
        return m.add(moment(inner, 1), m.mul(m.mul(apart, apart), m.constant(length // op.pieces)))

    def scale() -> SSAValue:
        variance = m.div(reduce_at(v, total, [op.pieces], squares), m.constant(length))
        return scale_of(m, op, variance)

    return mean, v.once(("scale", op, row), scale)


def scale_of(m: Arithmetic, op: NormalizeOp, variance: SSAValue) -> SSAValue:
    """1 / sqrt(variance + epsilon)."""
    return m.div(m.constant(1), m.unary("sqrt", m.add(variance, m.constant(op.epsilon.value.data))))


def know_statistics(op: NormalizeOp, v: Values, row: Idx, mean: SSAValue, scale: SSAValue) -> None:
    """Makes `row_statistics` of a row known in the current scope."""
    v.once(("mean", op, row), lambda: mean)
    v.once(("scale", op, row), lambda: scale)
