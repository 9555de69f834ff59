"""Single elements of convolutions and transposed convolutions: sums over input channels and taps.

This is the slow way, for layouts and types that no other family takes: one chain of sums per vector of results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation, SSAValue

from ...dialects.graph import ConvOp, ConvTransposeOp, element_type_of_value, shape_of
from ...dialects.graph.spatial import channel_axis, spatial_axes
from .arithmetic import Arithmetic, convert, wide_float
from .index_expr import Expr
from .lane_access import NotVectorisable
from .movement_rules import guarded
from .reduction_rules import wide
from .reductions import Reduction
from .values import Rule, Values
from .window_rules import Taps, axes_of, with_spatial

Idx = tuple[Expr, ...]

# An axis this short is cut into single positions where taps depend on the position in a period.
_LONGEST_PERIOD = 8


def _conv(v: Values, op: Operation, index: Idx) -> SSAValue:
    assert isinstance(op, ConvOp)
    layout, element = op.layout.data, element_type_of_value(op.x)
    axes = axes_of(op.window, index, shape_of(op.x), layout)
    channel = channel_axis(layout, len(index))
    filters, inputs = shape_of(op.weight)[:2]
    group = index[channel].divide(filters // op.groups.value.data)[0]
    reduction = Reduction(v.b, "sum", element)

    def over_inputs(inner: list[Expr], carried: list[SSAValue]) -> list[SSAValue]:
        def step(taps: list[Expr], places: list[Expr], carried: list[SSAValue]) -> list[SSAValue]:
            at = with_spatial(index, layout, places)
            at[channel] = group * inputs + inner[0]
            return [_fused(v, op.x, at, op.weight, [index[channel], inner[0], *taps], carried[0])]

        return Taps(v, axes).visit(carried, step)

    total = v.carry([inputs], [v.spread(reduction.start())], over_inputs)[0]
    return _with_bias(v, op, op.bias, index[channel], total)


def _fused(
    v: Values, x: SSAValue, at: Sequence[Expr], weight: SSAValue, tap: Sequence[Expr], total: SSAValue
) -> SSAValue:
    """total + x[at] * weight[tap]"""
    a, b = v.alike([wide(v, x, at), wide(v, weight, tap)])
    product = v.spread(Arithmetic(v.b, a.type).mul(a, b))
    return Arithmetic(v.b, total.type).add(total, product)


def _with_bias(v: Values, op: Operation, bias: SSAValue | None, channel: Expr, total: SSAValue) -> SSAValue:
    element = element_type_of_value(op.results[0])
    if bias is not None:
        total, summand = v.alike([total, wide(v, bias, [channel])])
        total = Arithmetic(v.b, total.type).add(total, summand)
    return convert(v.b, total, wide_float(element), element)


def _conv_transpose(v: Values, op: Operation, index: Idx) -> SSAValue:
    assert isinstance(op, ConvTransposeOp)
    layout, element, window = op.layout.data, element_type_of_value(op.x), op.window
    shape, channel = shape_of(op.x), channel_axis(layout, len(index))
    groups, outputs = op.groups.value.data, shape_of(op.weight)[1]
    group, filter = index[channel].divide(outputs)
    inputs = shape[channel] // groups
    spatial = list(spatial_axes(layout, len(shape)))
    reduction = Reduction(v.b, "sum", element)

    def over_inputs(inner: list[Expr], carried: list[SSAValue]) -> list[SSAValue]:
        source = group * inputs + inner[0]

        def level(taps: list[Expr], places: list[Expr], total: SSAValue) -> SSAValue:
            number = len(taps)
            if number == len(spatial):
                at = with_spatial(index, layout, places)
                at[channel] = source
                return _fused(v, op.x, at, op.weight, [source, filter, *taps], total)
            size = shape[spatial[number]]
            for tap in range(window.kernel[number]):
                reached = index[spatial[number]] + (window.begin[number] - tap * window.dilations[number])
                place, left_over = reached.divide(window.strides[number])
                if left_over.bounds[0] > 0:
                    continue
                before = total

                def hit(tap: int = tap, place: Expr = place, before: SSAValue = before) -> SSAValue:
                    return level([*taps, Expr.of(tap)], [*places, place], before)

                total = _where_hit(v, place, left_over, size, hit, before)
            return total

        return [level([], [], carried[0])]

    total = v.carry([inputs], [v.spread(reduction.start())], over_inputs)[0]
    return _with_bias(v, op, op.bias, index[channel], total)


def _where_hit(
    v: Values, place: Expr, left_over: Expr, size: int, hit: Callable[[], SSAValue], otherwise: SSAValue
) -> SSAValue:
    """hit() where nothing is left over and the place lies inside the input, else `otherwise`."""
    if left_over.number is not None:
        return guarded(v, [place], [size], hit, otherwise)
    for var in left_over.variables():
        if var.high - var.low < _LONGEST_PERIOD:
            v.breaks.update((var, position) for position in range(var.low + 1, var.high + 1))
    if v.vector is not None:
        raise NotVectorisable
    exact = v.b.compare("eq", v.number(left_over), 0)
    return v.choose(exact, lambda: guarded(v, [place], [size], hit, otherwise), lambda: otherwise)


CONVOLUTION_RULES: dict[str, Rule] = {
    "graph.conv": _conv,
    "graph.conv_transpose": _conv_transpose,
}
