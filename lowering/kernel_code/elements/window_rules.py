"""Single elements of window ops: pools, and normalisation over channels.

A window's taps along a spatial axis are unrolled if they are few and the axis is innermost, or if lanes differ in the
position: then a tap is inside, outside, or requests a break of the loop at its border. Otherwise they are a loop over
the taps inside, with bounds computed at run time, so that code size is independent of the window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from ....dialects.extensions.arith import IndexCastOp
from ....dialects.graph.axes import Windowed
from ....dialects.graph.base import GraphOp
from ....dialects.graph.ops.windows import AvgPoolOp, LrnOp, MaxPoolIndexOp, MaxPoolOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ....dialects.graph.window_sizes import channel_axis, spatial_shape
from ....dialects.sizes.sizes import is_fixed
from ..arithmetic import Arithmetic, convert, wide_float
from ..index_expr import Expr, linear
from ..lane_access import NotVectorisable
from ..loop_builder import Index
from ..reductions import Reduction
from .element_values import Values, element_of, operand_index
from .movement_rules import ask_for_break
from .reduction_rules import better_extremum, wide

Idx = tuple[Expr, ...]

# Taps of an axis up to which they are unrolled; beyond it a loop is shorter and as fast.
_MOST_WRITTEN_OUT = 8


@dataclass(frozen=True, kw_only=True)
class WindowAxis(Windowed):
    """An axis accessed through a window, or a transposed one, at one position of the result."""

    at: Expr
    size: int  # of the operand

    def place(self, tap: Expr | int) -> Expr:
        """The input position of a tap, possibly out of range."""
        return self.at * self.stride - self.before + Expr.of(tap) * self.dilation

    @property
    def inside(self) -> bool:
        """Whether every tap is in range at all window positions."""
        low, high = self.at.bounds
        last = high * self.stride - self.before + (self.taps - 1) * self.dilation
        return low * self.stride >= self.before and last < self.size


def windows_of(op: GraphOp, index: Sequence[Expr]) -> list[WindowAxis]:
    """The axes of an op's first operand that are accessed through windows, for an element of its result."""
    axes = zip(op.operand_axes()[0], shape_of(op.operands[0]), strict=True)
    return [WindowAxis(**vars(axis), at=index[axis.to], size=size) for axis, size in axes if isinstance(axis, Windowed)]


@dataclass(frozen=True)
class Taps:
    """Iterates over the taps of a window that lie inside the input."""

    v: Values
    axes: Sequence[WindowAxis]
    count_pads: bool = False  # whether taps in the padding count

    def visit(
        self,
        start: list[SSAValue],
        step: Callable[[list[Expr], list[Expr], list[SSAValue]], list[SSAValue]],
    ) -> list[SSAValue]:
        """carried = step(tap, input position, carried) for every tap inside; returns the last carried values."""

        def level(taps: list[Expr], places: list[Expr], carried: list[SSAValue]) -> list[SSAValue]:
            number = len(taps)
            if number == len(self.axes):
                return step(taps, places, carried)

            def inner(tap: Expr, place: Expr, carried: Sequence[SSAValue]) -> list[SSAValue]:
                return level([*taps, tap], [*places, place], list(carried))

            axis = self.axes[number]
            if self.writes_out(axis):
                return self._write_out(axis, carried, inner)
            if self.v.depends_on_lane(axis.at) and not axis.inside:
                raise NotVectorisable
            return self._loop(axis, carried, inner)

        return level([], [], start)

    def writes_out(self, axis: WindowAxis) -> bool:
        """Whether the taps of an axis are unrolled."""
        few = is_fixed(axis.taps) and axis.taps <= _MOST_WRITTEN_OUT
        return few and (axis is self.axes[-1] or self.v.depends_on_lane(axis.at))

    def _write_out(
        self,
        axis: WindowAxis,
        carried: list[SSAValue],
        step: Callable[[Expr, Expr, Sequence[SSAValue]], list[SSAValue]],
    ) -> list[SSAValue]:
        v = self.v
        for tap in range(axis.taps):
            place = axis.place(tap)
            low, high = place.bounds
            if high < 0 or low >= axis.size:
                continue
            if low >= 0 and high < axis.size:
                carried = step(Expr.of(tap), place, carried)
                continue
            for border in (0, axis.size):
                if low < border <= high:
                    ask_for_break(v, place, border)
            carried = self._where_inside(axis, tap, place, carried, step)
        return carried

    def _where_inside(
        self,
        axis: WindowAxis,
        tap: int,
        place: Expr,
        carried: list[SSAValue],
        step: Callable[[Expr, Expr, Sequence[SSAValue]], list[SSAValue]],
    ) -> list[SSAValue]:
        v = self.v
        at = v.number(place)
        inside = v.b.compare("sge", at, 0)
        inside = v.b.conjunction(inside, v.b.compare("slt", at, axis.size))

        def run() -> Sequence[SSAValue]:
            with v.scope():
                return step(Expr.of(tap), place, carried)

        return list(v.b.when(inside, run, lambda: carried))

    def _loop(
        self,
        axis: WindowAxis,
        carried: list[SSAValue],
        step: Callable[[Expr, Expr, Sequence[SSAValue]], list[SSAValue]],
    ) -> list[SSAValue]:
        low, high = self.range(axis)

        def tap(k: Expr, carried: Sequence[SSAValue]) -> list[SSAValue]:
            place = axis.place(k)
            if not axis.inside:
                v = self.v
                place = v.variable((place, "inside"), lambda: v.number(place), 0, axis.size - 1)
            return step(k, place, carried)

        return self.v.carry_between(low, high, axis.taps, carried, tap)

    def range(self, axis: WindowAxis) -> tuple[Index, Index]:
        """The taps [low, high) of an axis that are inside the input."""
        if axis.inside:
            return 0, axis.taps
        first = axis.at * axis.stride - axis.before
        low = self._ceil_over(first * -1, axis)
        return low, self._ceil_over(first * -1 + axis.size, axis)

    def _ceil_over(self, distance: Expr, axis: WindowAxis) -> Index:
        """The number of taps at less than `distance` from the first one, clamped to [0, all]."""
        b = self.v.b
        if distance.number is not None:
            return min(max(-(-distance.number // axis.dilation), 0), axis.taps)
        positive = b.max(self.v.number(distance), 0)
        return b.min(b.div(b.add(positive, axis.dilation - 1), axis.dilation), axis.taps)

    def counted(self, axis: WindowAxis) -> Index:
        """The number of an axis' taps in the divisor of a mean."""
        end = axis.size + axis.after if self.count_pads else axis.size
        first = axis.at * axis.stride - axis.before
        if first.bounds[1] + (axis.taps - 1) * axis.dilation < end and (self.count_pads or axis.inside):
            return axis.taps
        high = self._ceil_over(first * -1 + end, axis)
        return high if self.count_pads else self.v.b.sub(high, self._ceil_over(first * -1, axis))


@element_of.register
def _max_pool(op: MaxPoolOp, v: Values, index: Idx) -> SSAValue:
    element = element_type_of_value(op.x)
    reduction = Reduction(v.b, "max", element)
    taps = Taps(v, windows_of(op, index))

    def step(_: list[Expr], places: list[Expr], carried: list[SSAValue]) -> list[SSAValue]:
        value = v.spread(wide(v, op.x, operand_index(op, 0, index, places)))
        return [reduction.combine(carried[0], value)]

    largest = taps.visit([v.spread(reduction.start())], step)[0]
    return convert(v.b, largest, wide_float(element), element)


@element_of.register
def _max_pool_index(op: MaxPoolIndexOp, v: Values, index: Idx) -> SSAValue:
    layout, element = op.layout.data, element_type_of_value(op.x)
    shape, strides = shape_of(op.x), op.spatial_strides()
    reduction = Reduction(v.b, "max", element)

    def step(_: list[Expr], places: list[Expr], carried: list[SSAValue]) -> list[SSAValue]:
        best, found = carried
        value = v.spread(wide(v, op.x, operand_index(op, 0, index, places)))
        better = better_extremum(v, reduction, value, best, last=False)
        none = Arithmetic(v.b, found.type).compare("lt", found, v.spread(v.b.constant(0, i64)))
        better = v.b.insert(arith.OrIOp(better, none))
        here = v.spread(v.number_as(linear(places, strides), i64))
        return [v.b.select(better, value, best), v.b.select(better, here, found)]

    start = [v.spread(reduction.start()), v.spread(v.b.constant(-1, i64))]
    found = Taps(v, windows_of(op, index)).visit(start, step)[1]
    channel = channel_axis(layout, len(shape))
    plane = (index[0] * shape[channel] + index[channel]) * prod(spatial_shape(shape, layout))
    m = Arithmetic(v.b, found.type)
    missed = m.compare("lt", found, m.constant(0))
    return m.select(missed, found, m.add(found, v.spread(v.number_as(plane, i64))))


@element_of.register
def _avg_pool(op: AvgPoolOp, v: Values, index: Idx) -> SSAValue:
    element = element_type_of_value(op.x)
    reduction = Reduction(v.b, "sum", element)
    axes = windows_of(op, index)
    taps = Taps(v, axes, op.count_include_pad is not None)

    def step(_: list[Expr], places: list[Expr], carried: list[SSAValue]) -> list[SSAValue]:
        value = v.spread(wide(v, op.x, operand_index(op, 0, index, places)))
        return [reduction.combine(carried[0], value)]

    total = taps.visit([v.spread(reduction.start())], step)[0]
    count: Index = 1
    for axis in axes:
        count = v.b.mul(count, _count(v, taps, axis))
    m = Arithmetic(v.b, total.type)
    divisor = m.constant(count) if isinstance(count, int) else v.spread(_as_float(v, count, wide_float(element)))
    return convert(v.b, m.div(total, divisor), wide_float(element), element)


def _count(v: Values, taps: Taps, axis: WindowAxis) -> Index:
    """The number of taps that count; requests breaks if the taps are unrolled."""
    if taps.writes_out(axis):
        end = axis.size + axis.after if taps.count_pads else axis.size
        counted = 0
        for tap in range(axis.taps):
            low, high = axis.place(tap).bounds
            if (taps.count_pads or low >= 0) and high < end:
                counted += 1
            elif not (high < 0 or low >= end):
                for border in (0, end):
                    ask_for_break(v, axis.place(tap), border)
                return taps.counted(axis)
        return counted
    return taps.counted(axis)


def _as_float(v: Values, count: Index, element: Attribute) -> SSAValue:
    return convert(v.b, v.b.insert(IndexCastOp(v.b.index(count), i64)), i64, element)


@element_of.register
def _lrn(op: LrnOp, v: Values, index: Idx) -> SSAValue:
    element, size = element_type_of_value(op.x), op.size.value.data

    def step(_: list[Expr], places: list[Expr], carried: list[SSAValue]) -> list[SSAValue]:
        value = v.spread(wide(v, op.x, operand_index(op, 0, index, places)))
        m = Arithmetic(v.b, value.type)
        return [m.add(carried[0], m.mul(value, value))]

    start = v.spread(Reduction(v.b, "sum", element).start())
    total = Taps(v, windows_of(op, index)).visit([start], step)[0]
    m = Arithmetic(v.b, total.type)
    alpha, beta, bias = op.alpha.value.data, op.beta.value.data, op.bias.value.data
    scale = m.add(m.mul(total, m.constant(alpha / size)), m.constant(bias))
    value = m.div(v.spread(wide(v, op.x, index)), m.power(scale, m.constant(beta)))
    return convert(v.b, value, wide_float(element), element)
