"""Single elements of reductions: a loop over the reduced axes.

rows.py computes whole rows at a time; here one element is requested, and everything it depends on is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from ....dialects.graph.ops.contraction import MatmulOp
from ....dialects.graph.ops.normalization import BatchNormOp, InstanceNormOp, LayerNormOp, RmsNormOp
from ....dialects.graph.ops.reduction import (
    ArgExtremumOp,
    CumulativeOp,
    LogSoftmaxOp,
    ReduceMeanOp,
    ReduceOp,
    SoftmaxOp,
)
from ....dialects.graph.values import element_type_of_value, shape_of
from ..arithmetic import Arithmetic, convert, wide_float
from ..index_expr import Expr
from ..reductions import Reduction
from .element_values import Values, element_of, operand_index

Idx = tuple[Expr, ...]
_Norm = LayerNormOp | RmsNormOp | InstanceNormOp


def wide(v: Values, value: SSAValue, index: Sequence[Expr], to: Attribute | None = None) -> SSAValue:
    """The element of a value, of its own type or `to`; 16-bit floats as f32."""
    element = element_type_of_value(value)
    return convert(v.b, v.at(value, index), element, wide_float(to or element))


def reduce_at(
    v: Values, reduction: Reduction, sizes: Sequence[int], element: Callable[[list[Expr]], SSAValue]
) -> SSAValue:
    """The reduction over every index of a box."""

    def step(index: list[Expr], carried: list[SSAValue]) -> list[SSAValue]:
        return [reduction.combine(carried[0], v.spread(element(index)))]

    return v.carry(sizes, [v.spread(reduction.start())], step)[0]


@element_of.register
def _reduce(op: ReduceOp, v: Values, index: Idx) -> SSAValue:
    element = element_type_of_value(op.x)
    sizes = [shape_of(op.x)[axis] for axis in op.whole_axes]
    reduction = Reduction(v.b, op.KIND, element)
    total = reduce_at(v, reduction, sizes, lambda inner: wide(v, op.x, operand_index(op, 0, index, inner)))
    if isinstance(op, ReduceMeanOp):
        total = reduction.on(total.type).div(total, reduction.on(total.type).constant(prod(sizes)))
    return convert(v.b, total, wide_float(element), element)


@element_of.register
def _arg_extremum(op: ArgExtremumOp, v: Values, index: Idx) -> SSAValue:
    reduction = Reduction(v.b, op.KIND, element_type_of_value(op.x))

    def step(inner: list[Expr], carried: list[SSAValue]) -> list[SSAValue]:
        best, place = carried
        value = v.spread(wide(v, op.x, operand_index(op, 0, index, inner)))
        better = better_extremum(v, reduction, value, best, last=op.select_last is not None)
        here = v.spread(v.number_as(inner[0], i64))
        return [v.b.select(better, value, best), v.b.select(better, here, place)]

    first = v.spread(wide(v, op.x, operand_index(op, 0, index)))
    return v.carry([shape_of(op.x)[op.axis.value.data]], [first, v.spread(v.b.constant(0, i64))], step)[1]


def better_extremum(v: Values, reduction: Reduction, value: SSAValue, best: SSAValue, *, last: bool) -> SSAValue:
    """i1: whether `value` replaces the extremum so far; among equals the first or the last one stays."""
    m = reduction.on(value.type)
    strict = "gt" if reduction.kind == "max" else "lt"
    better = m.compare(strict[0] + "e" if last else strict, value, best)
    return _or_first_nan(v, m, better, value, best, last) if m.is_float else better


def _or_first_nan(v: Values, m: Arithmetic, better: SSAValue, value: SSAValue, best: SSAValue, last: bool) -> SSAValue:
    """NaN precedes numbers; among NaNs the first, or the last, stays."""
    nan = m.is_nan(value)
    if not last:
        number = m.compare("eq", best, best)
        nan = v.b.conjunction(nan, number)
    return v.b.insert(arith.OrIOp(better, nan))


@element_of.register
def _cumulative(op: CumulativeOp, v: Values, index: Idx) -> SSAValue:
    axis, element = op.axis.value.data, element_type_of_value(op.x)
    size = shape_of(op.x)[axis]
    end = v.number(index[axis])
    low: int | SSAValue = 0
    high = end if op.exclusive is not None else v.b.add(end, 1)
    if op.reverse is not None:
        low, high = (v.b.add(end, 1) if op.exclusive is not None else end), size
    reduction = Reduction(v.b, op.KIND, element)

    def step(inner: Expr, carried: Sequence[SSAValue]) -> list[SSAValue]:
        value = wide(v, op.x, operand_index(op, 0, index, [inner]))
        return [reduction.combine(carried[0], v.spread(value))]

    total = v.carry_between(low, high, size, [v.spread(reduction.start())], step)[0]
    return convert(v.b, total, wide_float(element), element)


@element_of.register
def _softmax(op: SoftmaxOp | LogSoftmaxOp, v: Values, index: Idx) -> SSAValue:
    axis, element = op.axis.value.data, element_type_of_value(op.x)
    sizes = [shape_of(op.x)[axis]]

    def x(inner: Sequence[Expr]) -> SSAValue:
        return v.spread(wide(v, op.x, operand_index(op, 0, index, inner)))

    row = tuple(operand_index(op, 0, index))
    peak = v.once(("peak", op, row), lambda: reduce_at(v, Reduction(v.b, "max", element), sizes, x))
    m = Arithmetic(v.b, peak.type, contract=False)

    def power(inner: Sequence[Expr]) -> SSAValue:
        return m.unary("exp", m.sub(x(inner), peak))

    total = v.once(("sum", op, row), lambda: reduce_at(v, Reduction(v.b, "sum", element), sizes, power))
    if isinstance(op, SoftmaxOp):
        value = m.div(power([index[axis]]), total)
    else:
        value = m.sub(m.sub(x([index[axis]]), peak), m.unary("log", total))
    return convert(v.b, value, wide_float(element), element)


def _normalised(v: Values, op: _Norm, index: Idx) -> SSAValue:
    """(x - mean) / sqrt(mean of squares + epsilon), in the wide type; for rms_norm the mean is left out."""
    element = element_type_of_value(op.x)
    sizes = [shape_of(op.x)[axis] for axis in op.whole_axes]
    reduction = Reduction(v.b, "sum", element)
    row = tuple(operand_index(op, 0, index))

    def at(inner: Sequence[Expr]) -> SSAValue:
        return v.spread(wide(v, op.x, operand_index(op, 0, index, inner)))

    squares = replace(reduction, products=True)
    m = Arithmetic(v.b, v.spread(reduction.start()).type)
    count = m.constant(prod(sizes))
    mean: SSAValue | None = None
    if not isinstance(op, RmsNormOp):
        mean = v.once(("mean", op, row), lambda: m.div(reduce_at(v, reduction, sizes, at), count))

    def deviation(inner: Sequence[Expr]) -> SSAValue:
        return at(inner) if mean is None else m.sub(at(inner), mean)

    def square(inner: Sequence[Expr]) -> SSAValue:
        value = deviation(inner)
        return m.mul(value, value)

    def scale() -> SSAValue:
        variance = m.div(reduce_at(v, squares, sizes, square), count)
        return m.unary("sqrt", m.add(variance, m.constant(op.epsilon.value.data)))

    return m.div(deviation([index[axis] for axis in op.whole_axes]), v.once(("scale", op, row), scale))


def affine(
    v: Values,
    value: SSAValue,
    scale: tuple[SSAValue, Sequence[Expr]],
    bias: tuple[SSAValue, Sequence[Expr]] | None = None,
) -> SSAValue:
    """value * scale + bias, all in the wide type; scale and bias are elements of values."""
    factor = wide(v, *scale)
    value, factor = v.alike([value, factor])
    value = Arithmetic(v.b, value.type).mul(value, factor)
    if bias is not None:
        value, summand = v.alike([value, wide(v, *bias)])
        value = Arithmetic(v.b, value.type).add(value, summand)
    return value


@element_of.register
def _norm(op: LayerNormOp | RmsNormOp | InstanceNormOp, v: Values, index: Idx) -> SSAValue:
    scale, *bias = [(operand, operand_index(op, i, index)) for i, operand in enumerate(op.operands) if i > 0]
    value = affine(v, _normalised(v, op, index), scale, *bias)
    element = element_type_of_value(op.x)
    return convert(v.b, value, wide_float(element), element)


@element_of.register
def _batch_norm(op: BatchNormOp, v: Values, index: Idx) -> SSAValue:
    channel = operand_index(op, 1, index)
    element = element_type_of_value(op.x)

    def factor() -> SSAValue:
        variance, scale = v.alike([wide(v, op.variance, channel), wide(v, op.scale, channel)])
        m = Arithmetic(v.b, variance.type)
        return m.div(scale, m.unary("sqrt", m.add(variance, m.constant(op.epsilon.value.data))))

    scale = v.once(("factor", op, channel[0]), factor)
    values = v.alike([wide(v, op.x, index), wide(v, op.mean, channel), scale, wide(v, op.bias, channel)])
    x, mean, scale, bias = values
    m = Arithmetic(v.b, x.type)
    return convert(v.b, m.add(m.mul(m.sub(x, mean), scale), bias), wide_float(element), element)


@element_of.register
def _matmul(op: MatmulOp, v: Values, index: Idx) -> SSAValue:
    element = element_type_of_value(op.result)
    reduction = Reduction(v.b, "sum", element, products=True)

    def product(inner: list[Expr]) -> SSAValue:
        values = [wide(v, each, operand_index(op, i, index, inner), element) for i, each in enumerate(op.operands)]
        x, y = v.alike(values)
        return Arithmetic(v.b, x.type).mul(x, y)

    depth = shape_of(op.lhs)[-1 if op.transpose_a is None else -2]
    total = reduce_at(v, reduction, [depth], product)
    return convert(v.b, total, wide_float(element), element)
