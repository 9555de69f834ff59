"""Single elements of convolutions and transposed convolutions: sums over input channels and taps.

The slow fallback, for layouts and types that no other family supports: one chain of additions per vector of results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd, prod

from xdsl.ir import Operation, SSAValue

from ....dialects.graph.axes import Spread
from ....dialects.graph.ops.contraction import ConvOp, ConvTransposeOp
from ....dialects.graph.ops.patches import Col2ImOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ....dialects.graph.window_sizes import channel_axis, full_shape
from ....dialects.sizes.sizes import is_fixed
from ....passes.geometry.boxes import row_major
from ..arithmetic import Arithmetic, convert, wide_float
from ..index_expr import Expr, linear
from ..lane_access import NotVectorisable
from ..loop_builder import Index
from ..reductions import Reduction
from .element_values import Values, element_of
from .movement_rules import guarded
from .reduction_rules import wide
from .window_rules import Taps, WindowAxis, windows_of

Idx = tuple[Expr, ...]

# Taps, over all axes, up to which a transposed convolution is unrolled. With channels last a loop over contributing
# taps was as fast or faster from 3x3 on (Zen 3; 3x3 of stride 2: 1.0 ms instead of 5.5), and compiled in a tenth of the
# time. With channels first, unrolled taps allow lanes along a row: 3x3 took a fifth of the loop's time, 4x4 as long.
_MOST_WRITTEN_OUT = {"NHWC": 4, "NCHW": 9}
# An axis this short is peeled into single positions where taps depend on the position modulo the stride.
_LONGEST_PERIOD = 8


@element_of.register
def _conv(op: ConvOp, v: Values, index: Idx) -> SSAValue:
    layout, element = op.layout.data, element_type_of_value(op.result)
    axes = windows_of(op, index)
    channel = channel_axis(layout, len(index))
    filters, inputs, *kernel = shape_of(op.weight)
    group = index[channel].divide(filters // op.groups.value.data)[0]
    start = v.spread(Reduction(v.b, "sum", element).start())
    padded = op.padding != 0 and not all(axis.inside for axis in axes)

    def filter_at(inner: list[Expr], carried: list[SSAValue]) -> list[SSAValue]:
        tap = wide(v, op.weight, [index[channel], *inner], element)
        padding = v.b.constant(op.padding, tap.type)
        return [_fused(v, padding, tap, carried[0])]

    # A sum as if everything were padding, to which taps inside add what they have more.
    total = v.carry([inputs, *kernel], [start], filter_at)[0] if padded else start

    def over_inputs(inner: list[Expr], carried: list[SSAValue]) -> list[SSAValue]:
        def step(taps: list[Expr], places: list[Expr], carried: list[SSAValue]) -> list[SSAValue]:
            at = full_shape(index[0], group * inputs + inner[0], places, layout)
            x = wide(v, op.x, at, element)
            if padded:
                x = Arithmetic(v.b, x.type).sub(x, v.b.constant(op.padding, x.type))
            return [_fused(v, x, wide(v, op.weight, [index[channel], inner[0], *taps], element), carried[0])]

        return Taps(v, axes).visit(carried, step)

    total = v.carry([inputs], [total], over_inputs)[0]
    return _with_bias(v, op, op.bias, index[channel], total)


def _fused(v: Values, x: SSAValue, weight: SSAValue, total: SSAValue) -> SSAValue:
    """total + x * weight"""
    a, b = v.alike([x, weight])
    product = v.spread(Arithmetic(v.b, a.type).mul(a, b))
    return Arithmetic(v.b, total.type).add(total, product)


def _with_bias(v: Values, op: Operation, bias: SSAValue | None, channel: Expr, total: SSAValue) -> SSAValue:
    element = element_type_of_value(op.results[0])
    if bias is not None:
        total, summand = v.alike([total, wide(v, bias, [channel])])
        total = Arithmetic(v.b, total.type).add(total, summand)
    return convert(v.b, total, wide_float(element), element)


@element_of.register
def _conv_transpose(op: ConvTransposeOp, v: Values, index: Idx) -> SSAValue:
    layout, element = op.layout.data, element_type_of_value(op.x)
    channel = channel_axis(layout, len(index))
    groups, outputs = op.groups.value.data, shape_of(op.weight)[1]
    group, filter = index[channel].divide(outputs)
    inputs = shape_of(op.x)[channel] // groups
    axes = windows_of(op, index)
    written_out = prod(op.window.kernel) <= _MOST_WRITTEN_OUT[layout]
    reduction = Reduction(v.b, "sum", element)

    def over_inputs(inner: list[Expr], carried: list[SSAValue]) -> list[SSAValue]:
        source = group * inputs + inner[0]

        def add(taps: list[Expr], places: list[Expr], total: SSAValue) -> SSAValue:
            at = full_shape(index[0], source, places, layout)
            return _fused(v, wide(v, op.x, at), wide(v, op.weight, [source, filter, *taps]), total)

        return [_over_hits(v, axes, carried[0], add, written_out=written_out)]

    total = v.carry([inputs], [v.spread(reduction.start())], over_inputs)[0]
    return _with_bias(v, op, op.bias, index[channel], total)


_Hit = Callable[[Expr, Expr, SSAValue], SSAValue]
"""The sum with the element of x at a position added, through a tap: (tap, position, sum so far)."""


def _over_hits(
    v: Values,
    axes: Sequence[WindowAxis],
    start: SSAValue,
    add: Callable[[list[Expr], list[Expr], SSAValue], SSAValue],
    *,
    written_out: bool,
) -> SSAValue:
    """total = add(taps, positions in x, total) for all contributions to one element; returns the last total."""
    visit = _each_hit if written_out else _loop_over_hits

    def level(taps: list[Expr], places: list[Expr], total: SSAValue) -> SSAValue:
        if len(taps) == len(axes):
            return add(taps, places, total)
        return visit(v, axes[len(taps)], total, lambda tap, place, sum: level([*taps, tap], [*places, place], sum))

    return level([], [], start)


def _each_hit(v: Values, axis: WindowAxis, total: SSAValue, add: _Hit) -> SSAValue:
    """The sum over the taps of an axis, unrolled."""
    for tap in range(axis.taps):
        place, left_over = (axis.at + (axis.before - tap * axis.dilation)).divide(axis.stride)
        if left_over.bounds[0] > 0:
            continue
        before = total

        def hit(tap: int = tap, place: Expr = place, before: SSAValue = before) -> SSAValue:
            return add(Expr.of(tap), place, before)

        total = _where_hit(v, place, left_over, axis.size, hit, before)
    return total


def _loop_over_hits(v: Values, axis: WindowAxis, total: SSAValue, add: _Hit) -> SSAValue:
    """The sum over the taps of an axis that hit an element of x, as a loop.

    With g = gcd(stride, dilation), a position p = at + pad has contributions if g divides it: from every (stride /
    g)-th tap on, starting at the first k with k * dilation = p modulo stride. From one to the next, the input position
    decreases by dilation / g.
    """
    b, common = v.b, gcd(axis.stride, axis.dilation)
    period, fall = axis.stride // common, axis.dilation // common
    steps, missed = (axis.at + axis.before).divide(common)
    first = (steps * pow(fall, -1, period)).divide(period)[1]
    last = (steps - first * fall).divide(period)[0]  # the place that the first tap hits, perhaps outside of x
    at = v.number(last)
    low = b.div(b.max(b.add(at, fall - axis.size), 0), fall)
    high: Index = b.div(b.max(b.add(at, fall), 0), fall)
    high = b.min(high, b.div(b.sub(axis.taps + period - 1, v.number(first)), period))
    if missed.number is None:
        hit = b.compare("eq", v.number(missed), 0)
        high = b.select(hit, b.index(high), b.index(0))
    elif missed.number != 0:
        return total

    def step(j: Expr, carried: Sequence[SSAValue]) -> list[SSAValue]:
        tap = first + j * period
        place = v.variable(("hit", last, j), lambda: v.number(last - j * fall), 0, axis.size - 1)
        return [add(tap, place, carried[0])]

    return v.carry_between(low, high, -(-axis.taps // period), [total], step)[0]


def _where_hit(
    v: Values, place: Expr, left_over: Expr, size: int, hit: Callable[[], SSAValue], otherwise: SSAValue
) -> SSAValue:
    """hit() if there is no remainder and the position lies inside the input, else `otherwise`."""
    if left_over.number is not None:
        return guarded(v, [place], [size], hit, otherwise)
    for var in left_over.variables():
        if is_fixed(var.low, var.high) and var.high - var.low < _LONGEST_PERIOD:
            v.breaks.update((var, position) for position in range(var.low + 1, var.high + 1))
    if v.vector is not None:
        raise NotVectorisable
    exact = v.b.compare("eq", v.number(left_over), 0)
    return v.choose(exact, lambda: guarded(v, [place], [size], hit, otherwise), lambda: otherwise)


@element_of.register
def _col2im(op: Col2ImOp, v: Values, index: Idx) -> SSAValue:
    window, positions, element = op.window, op.positions(), element_type_of_value(op.x)
    spread = enumerate(zip(window.axes(Spread).values(), positions, strict=True), 2)
    axes = [WindowAxis(**vars(axis(dim)), at=index[dim], size=size) for dim, (axis, size) in spread]
    reduction = Reduction(v.b, "sum", element)

    def add(taps: list[Expr], places: list[Expr], total: SSAValue) -> SSAValue:
        column = index[1] * prod(window.kernel) + linear(taps, row_major(window.kernel))
        at = [index[0], column, linear(places, row_major(positions))]
        return reduction.combine(total, v.spread(wide(v, op.x, at)))

    written_out = prod(window.kernel) <= _MOST_WRITTEN_OUT["NCHW"]
    total = _over_hits(v, axes, v.spread(reduction.start()), add, written_out=written_out)
    return convert(v.b, total, wide_float(element), element)
