"""Single elements of a resize: positions and weights are computed at run time, in f64.

In the order of operations of `ResizeOp.positions`, so that ties are rounded equally. A few neighbours are unrolled; the
many of a downscaling with antialiasing are loops, one for the sum of the weights and one for the weighted sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from math import prod

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import f64, i64
from xdsl.ir import Attribute, SSAValue

from ....dialects.extensions.arith import FPToSIOp, IndexCastOp
from ....dialects.graph.ops.resize import Extent, ResizeOp
from ....dialects.graph.values import element_type_of_value, ints, shape_of
from ....dialects.sizes.guards import unguarded
from ....dialects.sizes.sizes import equal, is_fixed, now
from ..arithmetic import Arithmetic, bits_of, convert, is_integer, is_unsigned, signless, wide_float
from ..index_expr import Expr
from ..loop_builder import INDEX, Index
from .element_values import Values, element_of

# Neighbours up to which they are unrolled, over all axes: 8 along each of two, 4 along each of three.
_MOST_WRITTEN_OUT = 64


@element_of.register
def _resize(op: ResizeOp, v: Values, index: tuple[Expr, ...]) -> SSAValue:
    element = element_type_of_value(op.x)
    if op.mode.data == "nearest":
        return _sampled(v, op, list(index), len(index) - 1, signless(element))
    computed = f64 if is_integer(element) else wide_float(element)
    value = _sampled(v, op, list(index), len(index) - 1, computed)
    m = Arithmetic(v.b, value.type)
    if is_integer(element):
        bits, unsigned = bits_of(element), is_unsigned(element)
        least, most = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        value = m.min(m.max(m.unary("round", value), m.constant(least)), m.constant(most))
    return convert(v.b, value, computed, element)


def _sampled(v: Values, op: ResizeOp, index: list[Expr], axis: int, computed: Attribute) -> SSAValue:
    """The element at `index` after axes 0 to `axis` have been resized; the others index x."""
    while axis >= 0 and op.is_identity(axis):
        axis -= 1
    if axis < 0:
        return convert(v.b, v.at(op.x, index), element_type_of_value(op.x), computed)

    def at(place: Expr) -> SSAValue:
        return _sampled(v, op, [*index[:axis], place, *index[axis + 1 :]], axis - 1, computed)

    if op.mode.data == "nearest":
        value = at(_nearest(v, op, axis, index[axis]))
    else:
        value = _weighed(v, op, index, axis, at, computed)
    if op.coordinate.data != "tf_crop_and_resize":
        return value
    axis_of = _Axis(v, op, axis)
    position, m = axis_of.position(index[axis]), axis_of.exact
    before = m.compare("lt", position, m.constant(0))
    after = m.compare("gt", position, m.constant(axis_of.old - 1))
    extrapolation = op.extrapolation.value.data if op.extrapolation is not None else 0.0
    number = int(extrapolation) if is_integer(computed) else extrapolation
    filling = v.b.constant(number, value.type)
    return v.b.select(v.b.insert(arith.OrIOp(before, after)), filling, value)


@dataclass(frozen=True)
class _Axis:
    """One axis of a resize, at run time."""

    v: Values
    op: ResizeOp
    axis: int

    @property
    def exact(self) -> Arithmetic:
        """Arithmetic in f64 without fused operations."""
        return Arithmetic(self.v.b, f64, contract=False)

    @property
    def old(self) -> int:
        """Size of the whole x along the axis."""
        return self.extent.old

    @property
    def extent(self) -> Extent:
        """The part of the axis that is computed."""
        return self.op.extent(self.axis)

    @property
    def length(self) -> float:
        """Size of the result along the axis, before rounding."""
        scale = self.op.scales.get_values()[self.axis]
        return int(scale) * self.old if scale.is_integer() else scale * self.old

    def position(self, i: Expr) -> SSAValue:
        """The position in x of element i of the result."""
        return self.v.once(("position", self.op, self.axis, i), lambda: self._position(i))

    def _position(self, i: Expr) -> SSAValue:
        old, new, scale = self.old, self.extent.new, self.op.scales.get_values()[self.axis]
        m, index = self.exact, self.v.number_as(i + self.extent.first_new, f64)
        single = scale * old == 1 if is_fixed(old) else (1 / scale).is_integer() and equal(old, round(1 / scale))

        def const(value: float) -> SSAValue:
            return m.constant(value)

        coordinate = self.op.coordinate.data
        if coordinate == "tf_crop_and_resize" or (single and coordinate != "half_pixel_symmetric"):
            positions = self.op.positions(self.axis)
            if single and np.all(positions == positions[0]):
                return const(float(positions[0]))
        match coordinate:
            case "align_corners":
                return m.div(m.mul(index, const(old - 1)), const(self.length - 1))
            case "asymmetric":
                return m.div(index, const(scale))
            case "tf_half_pixel_for_nn":
                return m.div(m.add(index, const(0.5)), const(scale))
            case "tf_crop_and_resize":
                assert self.op.roi is not None
                roi = self.op.roi.get_values()
                start, end = roi[self.axis], roi[self.axis + len(roi) // 2]
                moved = m.mul(m.mul(index, const(end - start)), const(old - 1))
                return m.add(const(start * (old - 1)), m.div(moved, const(self.length - 1)))
            case "half_pixel_symmetric":
                centred = m.div(m.add(index, const(0.5)), const(scale))
                return m.sub(m.add(const(old / 2 * (1 - new / self.length)), centred), const(0.5))
            case _:
                return m.sub(m.div(m.add(index, const(0.5)), const(scale)), const(0.5))

    def place(self, rounded: SSAValue) -> Index:
        """An integral f64 as an index, clamped into x."""
        b = self.v.b
        whole = b.insert(IndexCastOp(b.insert(FPToSIOp(rounded, i64)), INDEX))
        clamped, first = b.min(b.max(whole, 0), self.old - 1), self.extent.first_old
        return b.sub(clamped, first) if first else clamped


_LOCAL = ("asymmetric", "half_pixel", "tf_half_pixel_for_nn")
"""Coordinate modes for which integer upscaling has the same weights at each element of x, for any size."""


def _nearest(v: Values, op: ResizeOp, axis: int, i: Expr) -> Expr:
    old, new = shape_of(op.x)[axis], ints(op.shape)[axis]
    if i.number is not None:
        return Expr.of(int(op.taps(axis)[0][i.number, 0]))
    if is_fixed(old, new):
        indices, steps = op.taps(axis)[0][:, 0], np.arange(new)
        if new % old == 0 and np.array_equal(indices, steps // (new // old)):
            return i.divide(new // old)[0]
        if old % new == 0 and np.array_equal(indices, steps * (old // new) + indices[0]):
            return i * (old // new) + int(indices[0])
    elif new % old == 0 and is_fixed(new // old) and now(old) > 2 and op.coordinate.data in _LOCAL:
        with unguarded():
            indices = op.taps(axis)[0][:, 0]
        if np.array_equal(indices, np.arange(now(new)) // (new // old)):
            return i.divide(new // old)[0]
    return v.variable(("nearest", op, axis, i), lambda: _rounded(_Axis(v, op, axis), i), 0, old - 1)


def _rounded(along: _Axis, i: Expr) -> Index:
    """The element of x that is nearest to element i of the result."""
    m, position = along.exact, along.position(i)
    half = m.constant(0.5)
    match along.op.nearest.data:
        case "round_prefer_floor":
            rounded = m.unary("ceil", m.sub(position, half))
        case "round_prefer_ceil":
            rounded = m.unary("floor", m.add(position, half))
        case rounding:
            rounded = m.unary(rounding, position)
    return along.place(rounded)


def each_neighbour(
    v: Values, op: ResizeOp, axis: int, i: Expr, use: Callable[[Index, Index, SSAValue | None], None]
) -> None:
    """use(number, index along the axis of x, weight in f64) for each neighbour of element i; one without a weight."""
    own = _Neighbours(v, op, axis, i)
    if op.is_identity(axis):
        use(0, i.emit(v.b), None)
    elif op.mode.data == "nearest":
        use(0, _rounded(own.along, i), None)
    else:
        own.first()
        own.total()
        v.each(
            0, own.count, own.count, lambda tap: use(tap.emit(v.b), own.along.place(own.place(tap)), own.weight(tap))
        )


@dataclass(frozen=True)
class _Neighbours:
    """The elements along an axis that contribute to one of the result, and their weights."""

    v: Values
    op: ResizeOp
    axis: int
    i: Expr

    @property
    def along(self) -> _Axis:
        """The axis."""
        return _Axis(self.v, self.op, self.axis)

    @property
    def shrink(self) -> float:
        """The factor of distances to neighbours: below 1 when downscaling with antialiasing."""
        return self.op.shrink(self.axis)

    @property
    def count(self) -> int:
        """Their number."""
        return self.op.neighbours(self.axis)

    @property
    def normalised(self) -> bool:
        """Whether weights have to be normalised to a sum of 1."""
        return self.op.exclude_outside is not None or self.shrink < 1

    def _once(self, what: str, tap: Expr | None, write: Callable[[], SSAValue]) -> SSAValue:
        return self.v.once((what, self.op, self.axis, self.i, tap), write)

    def place(self, tap: Expr) -> SSAValue:
        """The position in x of neighbour `tap`, as an integral f64 that may be out of range."""
        m, shifted = self.along.exact, tap + (1 - self.count // 2)

        def write() -> SSAValue:
            number = shifted.number
            return m.add(self.first(), self.v.number_as(shifted, f64) if number is None else m.constant(number))

        return self._once("place", tap, write)

    def first(self) -> SSAValue:
        """The element of x at or before the position, as an integral f64."""
        return self._once("floor", None, lambda: self.along.exact.unary("floor", self.along.position(self.i)))

    def plain_weight(self, tap: Expr) -> SSAValue:
        """The weight of neighbour `tap` before normalisation."""
        position, along = self.along.position(self.i), self.along
        return self._once(
            "weight", tap, lambda: _weight(self.op, along.exact, self.place(tap), position, self.shrink, along.old)
        )

    def weight(self, tap: Expr) -> SSAValue:
        """The weight of neighbour `tap`."""
        weight, total = self.plain_weight(tap), self.total()
        return weight if total is None else self._once("normal", tap, lambda: self.along.exact.div(weight, total))

    def total(self) -> SSAValue | None:
        """The divisor of plain weights; None if they add up to 1."""
        m = self.along.exact

        def write() -> SSAValue:
            total = self.sum(self.plain_weight, f64, contract=False)
            return m.select(m.compare("eq", total, m.constant(0)), m.constant(1), total)

        return self._once("total", None, write) if self.normalised else None

    def sum(self, part: Callable[[Expr], SSAValue], type: Attribute, *, contract: bool) -> SSAValue:
        """The sum of a part over all neighbours."""

        def add(total: SSAValue, tap: Expr) -> SSAValue:
            total, summand = self.v.alike([total, part(tap)])
            return Arithmetic(self.v.b, total.type, contract=contract).add(total, summand)

        if _is_written_out(self.op):
            return reduce(add, map(Expr.of, range(1, self.count)), part(Expr()))
        start = self.v.b.constant(0.0, type)
        start = start if type == f64 and not contract else self.v.spread(start)
        return self.v.carry_between(0, self.count, self.count, [start], lambda tap, sums: [add(sums[0], tap)])[0]


def _is_written_out(op: ResizeOp) -> bool:
    """Whether the neighbours over all axes are few enough to be unrolled."""
    return prod(op.neighbours(axis) for axis in range(len(shape_of(op.x)))) <= _MOST_WRITTEN_OUT


def _weighed(
    v: Values, op: ResizeOp, index: list[Expr], axis: int, at: Callable[[Expr], SSAValue], computed: Attribute
) -> SSAValue:
    """The weighted sum of neighbours along the axis."""
    along, own = _Axis(v, op, axis), _Neighbours(v, op, axis, index[axis])
    # Values independent of this axis' neighbours are computed before the loop over them.
    for other in range(axis + 1):
        if not op.is_identity(other):
            ahead = _Neighbours(v, op, other, index[other])
            ahead.first()
            ahead.total()

    def part(tap: Expr) -> SSAValue:
        place = own.place(tap)
        where = v.variable(("index", place), lambda: along.place(place), 0, shape_of(op.x)[axis] - 1)
        value, factor = v.alike([at(where), convert(v.b, own.weight(tap), f64, computed)])
        return Arithmetic(v.b, value.type).mul(value, factor)

    return own.sum(part, computed, contract=True)


def _weight(op: ResizeOp, m: Arithmetic, place: SSAValue, position: SSAValue, shrink: float, old: int) -> SSAValue:
    """The weight of the neighbour at `place`."""
    distance = m.mul(m.abs(m.sub(place, position)), m.constant(shrink))
    if op.mode.data == "linear":
        weight = m.max(m.sub(m.constant(1), distance), m.constant(0))
    else:
        weight = _cubic(m, distance, op.cubic_a.value.data)
    if op.exclude_outside is None:
        return weight
    inside = m.compare("ge", place, m.constant(0))
    inside = m.b.conjunction(inside, m.compare("lt", place, m.constant(old)))
    return m.select(inside, weight, m.constant(0))


def _cubic(m: Arithmetic, d: SSAValue, a: float) -> SSAValue:
    near = m.polynomial([1, 0, -(a + 3), a + 2], d)
    far = m.polynomial([-4 * a, 8 * a, -5 * a, a], d)
    beyond = m.select(m.compare("lt", d, m.constant(2)), far, m.constant(0))
    return m.select(m.compare("le", d, m.constant(1)), near, beyond)
