"""Single elements of a resize: positions and weights are computed at run time, in f64 and in the order of
`ResizeOp.positions`, so that ties are rounded as there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import f64, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.extensions import FPToSIOp, IndexCastOp
from ...dialects.graph import ResizeOp, element_type_of_value, ints, shape_of
from .arithmetic import Arithmetic, bits_of, convert, is_integer, is_unsigned, signless, wide_float
from .builder import INDEX, Index
from .index_expr import Expr
from .values import Values


def resize(v: Values, op: Operation, index: tuple[Expr, ...]) -> SSAValue:
    """The element of the result at `index`."""
    assert isinstance(op, ResizeOp)
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
    """The element at `index` once axes 0 to `axis` have been resized; the others index x."""
    while axis >= 0 and op.is_identity(axis):
        axis -= 1
    if axis < 0:
        return convert(v.b, v.at(op.x, index), element_type_of_value(op.x), computed)

    def at(place: Expr) -> SSAValue:
        return _sampled(v, op, [*index[:axis], place, *index[axis + 1 :]], axis - 1, computed)

    if op.mode.data == "nearest":
        value = at(_nearest(v, op, axis, index[axis]))
    else:
        value = _weighed(v, op, axis, index[axis], at, computed)
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
        """Size of x along the axis."""
        return shape_of(self.op.x)[self.axis]

    def position(self, i: Expr) -> SSAValue:
        """Where element i of the result lies in x."""
        return self.v.once(("position", self.op, self.axis, i), lambda: self._position(i))

    def _position(self, i: Expr) -> SSAValue:
        old, new, scale = self.old, ints(self.op.shape)[self.axis], self.op.scales.get_values()[self.axis]
        m, index, length = self.exact, self.v.number_as(i, f64), scale * old

        def const(value: float) -> SSAValue:
            return m.constant(value)

        coordinate = self.op.coordinate.data
        if coordinate == "tf_crop_and_resize" or (length == 1 and coordinate != "half_pixel_symmetric"):
            positions = self.op.positions(self.axis)
            if length == 1 and np.all(positions == positions[0]):
                return const(float(positions[0]))
        match coordinate:
            case "align_corners":
                return m.div(m.mul(index, const(old - 1)), const(length - 1))
            case "asymmetric":
                return m.div(index, const(scale))
            case "tf_crop_and_resize":
                assert self.op.roi is not None
                roi = self.op.roi.get_values()
                start, end = roi[self.axis], roi[self.axis + len(roi) // 2]
                moved = m.mul(m.mul(index, const(end - start)), const(old - 1))
                return m.add(const(start * (old - 1)), m.div(moved, const(length - 1)))
            case "half_pixel_symmetric":
                centred = m.div(m.add(index, const(0.5)), const(scale))
                return m.sub(m.add(const(old / 2 * (1 - new / length)), centred), const(0.5))
            case _:
                return m.sub(m.div(m.add(index, const(0.5)), const(scale)), const(0.5))

    def place(self, rounded: SSAValue) -> Index:
        """A whole f64 as an index, clamped into x."""
        b = self.v.b
        whole = b.insert(IndexCastOp(b.insert(FPToSIOp(rounded, i64)), INDEX))
        return b.min(b.max(whole, 0), self.old - 1)


def _nearest(v: Values, op: ResizeOp, axis: int, i: Expr) -> Expr:
    indices = op.taps(axis)[0][:, 0]
    if i.number is not None:
        return Expr.of(int(indices[i.number]))
    old, new = shape_of(op.x)[axis], ints(op.shape)[axis]
    steps = np.arange(new)
    if new % old == 0 and np.array_equal(indices, steps // (new // old)):
        return i.divide(new // old)[0]
    if old % new == 0 and np.array_equal(indices, steps * (old // new) + indices[0]):
        return i * (old // new) + int(indices[0])
    along = _Axis(v, op, axis)

    def write() -> Index:
        m, position = along.exact, along.position(i)
        half = m.constant(0.5)
        match op.nearest.data:
            case "round_prefer_floor":
                rounded = m.unary("ceil", m.sub(position, half))
            case "round_prefer_ceil":
                rounded = m.unary("floor", m.add(position, half))
            case rounding:
                rounded = m.unary(rounding, position)
        return along.place(rounded)

    return v.variable(("nearest", op, axis, i), write, 0, old - 1)


def _weighed(
    v: Values, op: ResizeOp, axis: int, i: Expr, at: Callable[[Expr], SSAValue], computed: Attribute
) -> SSAValue:
    """The sum of neighbours along the axis times their weights."""
    along = _Axis(v, op, axis)
    m, old = along.exact, along.old
    position = along.position(i)
    base = v.once(("floor", op, axis, i), lambda: m.unary("floor", position))
    scale = op.scales.get_values()[axis]
    shrink = min(scale, 1.0) if op.antialias is not None else 1.0
    reach = ceil((1 if op.mode.data == "linear" else 2) / shrink)
    places: list[SSAValue] = []
    weights: list[SSAValue] = []
    for tap in range(1 - reach, 1 + reach):
        key = (op, axis, i, tap)
        place = v.once(("place", *key), lambda tap=tap: m.add(base, m.constant(tap)))
        places.append(place)
        weights.append(v.once(("weight", *key), lambda place=place: _weight(op, m, place, position, shrink, old)))
    if op.exclude_outside is not None or shrink < 1:
        weights = [
            v.once(("normal", op, axis, i, n), lambda weight=weight: _normalised(m, weight, weights))
            for n, weight in enumerate(weights)
        ]
    total: SSAValue | None = None
    for place, weight in zip(places, weights, strict=True):
        where = v.variable(("index", place), lambda place=place: along.place(place), 0, old - 1)
        value, factor = v.alike([at(where), convert(v.b, weight, f64, computed)])
        own = Arithmetic(v.b, value.type)
        part = own.mul(value, factor)
        if total is not None:
            total, part = v.alike([total, part])
            part = own.add(total, part)
        total = part
    assert total is not None
    return total


def _normalised(m: Arithmetic, weight: SSAValue, weights: list[SSAValue]) -> SSAValue:
    total = weights[0]
    for other in weights[1:]:
        total = m.add(total, other)
    safe = m.select(m.compare("eq", total, m.constant(0)), m.constant(1), total)
    return m.div(weight, safe)


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
    inside = m.b.insert(arith.AndIOp(inside, m.compare("lt", place, m.constant(old))))
    return m.select(inside, weight, m.constant(0))


def _cubic(m: Arithmetic, d: SSAValue, a: float) -> SSAValue:
    near = m.polynomial([1, 0, -(a + 3), a + 2], d)
    far = m.polynomial([-4 * a, 8 * a, -5 * a, a], d)
    beyond = m.select(m.compare("lt", d, m.constant(2)), far, m.constant(0))
    return m.select(m.compare("le", d, m.constant(1)), near, beyond)
