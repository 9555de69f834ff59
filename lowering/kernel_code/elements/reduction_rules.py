"""Single elements of reductions: a loop over the reduced axes.

rows.py computes whole rows at a time; here one element is requested, and everything it depends on is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, Operation, SSAValue

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
from ....dialects.graph.values import element_type_of_value, ints, shape_of
from ..arithmetic import Arithmetic, convert, wide_float
from ..index_expr import Expr
from ..reductions import Reduction
from .values import Values, aligned, element_of

Idx = tuple[Expr, ...]


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


def _index_with(index: Sequence[Expr], axes: Sequence[int], inner: Sequence[Expr]) -> list[Expr]:
    """An index with its entries along `axes` replaced."""
    result = list(index)
    for axis, i in zip(axes, inner, strict=True):
        result[axis] = i
    return result


def full_index(index: Sequence[Expr], axes: Sequence[int], rank: int, keepdims: bool) -> list[Expr]:
    """An index of a reduction's operand, with the entries along `axes` still to be filled in."""
    if keepdims:
        return list(index)
    rest = iter(index)
    return [Expr() if axis in axes else next(rest) for axis in range(rank)]


@element_of.register
def _reduce(op: ReduceOp, v: Values, index: Idx) -> SSAValue:
    shape, axes = shape_of(op.x), ints(op.axes)
    outer = full_index(index, axes, len(shape), op.keepdims is not None)
    element = element_type_of_value(op.x)
    sizes = [shape[axis] for axis in axes]
    reduction = Reduction(v.b, op.KIND, element)
    total = reduce_at(v, reduction, sizes, lambda inner: wide(v, op.x, _index_with(outer, axes, inner)))
    if isinstance(op, ReduceMeanOp):
        total = reduction.on(total.type).div(total, reduction.on(total.type).constant(prod(sizes)))
    return convert(v.b, total, wide_float(element), element)


@element_of.register
def _arg_extremum(op: ArgExtremumOp, v: Values, index: Idx) -> SSAValue:
    shape, axis = shape_of(op.x), op.axis.value.data
    outer = full_index(index, [axis], len(shape), op.keepdims is not None)
    reduction = Reduction(v.b, op.KIND, element_type_of_value(op.x))

    def step(inner: list[Expr], carried: list[SSAValue]) -> list[SSAValue]:
        best, place = carried
        value = v.spread(wide(v, op.x, _index_with(outer, [axis], inner)))
        better = better_extremum(v, reduction, value, best, last=op.select_last is not None)
        here = v.spread(v.number_as(inner[0], i64))
        return [v.b.select(better, value, best), v.b.select(better, here, place)]

    first = v.spread(wide(v, op.x, _index_with(outer, [axis], [Expr()])))
    return v.carry([shape[axis]], [first, v.spread(v.b.constant(0, i64))], step)[1]


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
        value = wide(v, op.x, _index_with(index, [axis], [inner]))
        return [reduction.combine(carried[0], v.spread(value))]

    total = v.carry_between(low, high, size, [v.spread(reduction.start())], step)[0]
    return convert(v.b, total, wide_float(element), element)


@element_of.register
def _softmax(op: SoftmaxOp | LogSoftmaxOp, v: Values, index: Idx) -> SSAValue:
    axis, element = op.axis.value.data, element_type_of_value(op.x)
    sizes = [shape_of(op.x)[axis]]

    def x(inner: Sequence[Expr]) -> SSAValue:
        return v.spread(wide(v, op.x, _index_with(index, [axis], inner)))

    row = tuple(_index_with(index, [axis], [Expr()]))
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


def _normalised(
    v: Values, op: Operation, x: SSAValue, index: Idx, axes: Sequence[int], epsilon: float, centred: bool
) -> SSAValue:
    """(x - mean) / sqrt(mean of squares + epsilon), in the wide type; unless `centred`, the mean is left out."""
    element = element_type_of_value(x)
    sizes = [shape_of(x)[axis] for axis in axes]
    reduction = Reduction(v.b, "sum", element)
    row = tuple(_index_with(index, axes, [Expr()] * len(axes)))

    def at(inner: Sequence[Expr]) -> SSAValue:
        return v.spread(wide(v, x, _index_with(index, axes, inner)))

    squares = replace(reduction, products=True)
    m = Arithmetic(v.b, v.spread(reduction.start()).type)
    count = m.constant(prod(sizes))
    mean: SSAValue | None = None
    if centred:
        mean = v.once(("mean", op, row), lambda: m.div(reduce_at(v, reduction, sizes, at), count))

    def deviation(inner: Sequence[Expr]) -> SSAValue:
        return at(inner) if mean is None else m.sub(at(inner), mean)

    def square(inner: Sequence[Expr]) -> SSAValue:
        value = deviation(inner)
        return m.mul(value, value)

    def scale() -> SSAValue:
        variance = m.div(reduce_at(v, squares, sizes, square), count)
        return m.unary("sqrt", m.add(variance, m.constant(epsilon)))

    return m.div(deviation([index[axis] for axis in axes]), v.once(("scale", op, row), scale))


def affine(
    v: Values,
    value: SSAValue,
    scale: tuple[SSAValue, Sequence[Expr]],
    bias: tuple[SSAValue, Sequence[Expr]] | None,
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
def _layer_norm(op: LayerNormOp | RmsNormOp, v: Values, index: Idx) -> SSAValue:
    axes = range(op.axis.value.data, len(index))
    centred = isinstance(op, LayerNormOp)
    value = _normalised(v, op, op.x, index, axes, op.epsilon.value.data, centred)
    bias = op.bias if isinstance(op, LayerNormOp) else None
    inner = index[axes.start :]
    summand = None if bias is None else (bias, aligned(inner, shape_of(bias)))
    value = affine(v, value, (op.scale, aligned(inner, shape_of(op.scale))), summand)
    element = element_type_of_value(op.x)
    return convert(v.b, value, wide_float(element), element)


@element_of.register
def _instance_norm(op: InstanceNormOp, v: Values, index: Idx) -> SSAValue:
    value = _normalised(v, op, op.x, index, range(2, len(index)), op.epsilon.value.data, True)
    value = affine(v, value, (op.scale, index[1:2]), (op.bias, index[1:2]))
    element = element_type_of_value(op.x)
    return convert(v.b, value, wide_float(element), element)


@element_of.register
def _batch_norm(op: BatchNormOp, v: Values, index: Idx) -> SSAValue:
    channel = [index[1 if op.layout.data == "NCHW" else len(index) - 1]]
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
    a, b = shape_of(op.lhs), shape_of(op.rhs)
    *batch, row, column = index
    element = element_type_of_value(op.result)
    reduction = Reduction(v.b, "sum", element, products=True)

    def product(inner: list[Expr]) -> SSAValue:
        left = [row, inner[0]] if op.transpose_a is None else [inner[0], row]
        right = [inner[0], column] if op.transpose_b is None else [column, inner[0]]
        values = [
            wide(v, op.lhs, [*aligned(batch, a[:-2]), *left], element),
            wide(v, op.rhs, [*aligned(batch, b[:-2]), *right], element),
        ]
        x, y = v.alike(values)
        return Arithmetic(v.b, x.type).mul(x, y)

    depth = a[-1] if op.transpose_a is None else a[-2]
    total = reduce_at(v, reduction, [depth], product)
    return convert(v.b, total, wide_float(element), element)
