"""Single elements of grid sampling: neighbours' positions are computed at run time, as in `SampleOp.evaluate`.

Neighbours are unrolled. Each is loaded from a clamped position; those out of range are masked afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from xdsl.dialects.builtin import VectorType, i64
from xdsl.ir import Attribute, SSAValue

from ....dialects.extensions.arith import FPToSIOp, IndexCastOp
from ....dialects.graph.ops.sampling import CUBIC_A, SampleOp
from ....dialects.graph.values import element_type_of_value
from ....dialects.graph.window_sizes import channel_axis
from ..arithmetic import Arithmetic, convert, signless, wide_float
from ..index_expr import Expr
from ..lane_access import NotVectorisable
from ..loop_builder import INDEX, Index
from .element_values import Values, element_of, operand_index
from .reduction_rules import wide

Idx = tuple[Expr, ...]


@element_of.register
def _sample(op: SampleOp, v: Values, index: Idx) -> SSAValue:
    element = element_type_of_value(op.x)
    computed = signless(element) if op.mode.data == "nearest" else wide_float(element)
    outer = without_channel(index, op.layout.data)
    axes = [_Axis(v, op, axis, outer) for axis in range(len(op.sizes))]

    def summed(places: list[Expr], inside: list[SSAValue]) -> SSAValue:
        if len(places) == len(axes):
            value = convert(v.b, v.at(op.x, operand_index(op, 0, index, places)), element, computed)
            if not inside:
                return value
            within = reduce(v.b.conjunction, inside)
            return Arithmetic(v.b, value.type).select(within, value, v.b.constant(0, value.type))
        axis = axes[len(places)]
        values = [summed([*places, axis.place(tap)], [*inside, *axis.inside(tap)]) for tap in range(op.neighbours)]
        if op.mode.data == "nearest":
            return values[0]
        weights = [
            v.alike([values[0], convert(v.b, axis.weight(tap), axis.type, computed)])[1] for tap in range(op.neighbours)
        ]
        m = Arithmetic(v.b, values[0].type)
        return reduce(m.add, map(m.mul, values, weights))

    return convert(v.b, summed([], []), computed, element)


def without_channel(index: Idx, layout: str) -> Idx:
    """The batch and position of an index in a layout."""
    axis = channel_axis(layout, len(index))
    return (*index[:axis], *index[axis + 1 :])


def clamped(m: Arithmetic, p: SSAValue, low: float, high: float) -> SSAValue:
    """`p` clamped to [low, high]; `high` for NaN, so that the result can be converted to an integer."""
    bounds = m.constant(low), m.constant(high)
    raised = m.select(m.compare("gt", p, bounds[0]), p, bounds[0])
    return m.select(m.compare("lt", p, bounds[1]), raised, bounds[1])


def whole(v: Values, number: SSAValue) -> Index:
    """A float, which must be finite and not far out of range, truncated to an index."""
    return v.b.insert(IndexCastOp(v.b.insert(FPToSIOp(number, i64)), INDEX))


@dataclass(frozen=True)
class _Axis:
    """One spatial axis at an index of the result; properties are computed once, at first use."""

    v: Values
    op: SampleOp
    axis: int
    outer: Idx  # batch and position

    @property
    def size(self) -> int:
        """Elements of x along the axis."""
        return self.op.sizes[self.axis]

    @property
    def type(self) -> Attribute:
        """The type in which positions are computed."""
        return wide_float(element_type_of_value(self.op.positions))

    @property
    def m(self) -> Arithmetic:
        """Arithmetic in that type."""
        return Arithmetic(self.v.b, self.type, contract=False)

    def _once(self, what: object, write: Callable[[], SSAValue]) -> SSAValue:
        return self.v.once((what, self.op, self.axis, self.outer), write)

    def position(self) -> SSAValue:
        """The position: reflected if requested, and clamped to the vicinity of the input."""
        return self._once("position", self._position)

    def _position(self) -> SSAValue:
        m, size = self.m, self.size
        entry = len(self.op.sizes) - 1 - self.axis
        p = wide(self.v, self.op.positions, [*self.outer, Expr.of(entry)])
        if isinstance(p.type, VectorType):
            raise NotVectorisable
        if self.op.mode.data == "nearest":
            p = m.unary("round", p)
        if self.op.padding.data != "reflection":
            return clamped(m, p, *self.op.far(size))
        low, high = self.op.edges(size)
        moved = m.constant(low)
        if high > low:
            period = m.constant(2 * (high - low))
            away = m.abs(m.sub(p, moved))
            turned = m.sub(away, m.mul(m.unary("floor", m.div(away, period)), period))
            moved = clamped(m, m.add(moved, m.min(turned, m.sub(period, turned))), low, high)
        inside = self.v.b.conjunction(m.compare("ge", p, m.constant(low)), m.compare("le", p, m.constant(high)))
        return m.select(inside, p, moved)

    def before(self) -> SSAValue:
        """The integer at or before the position."""
        return self._once("before", lambda: self.m.unary("floor", self.position()))

    def neighbour(self, tap: int) -> Expr:
        """The position of a neighbour, possibly out of range."""
        low, high = self.op.far(self.size)
        behind = -((self.op.neighbours - 1) // 2)
        first = self._once("first", lambda: self.v.b.index(whole(self.v, self.before())))
        return self.v.variable(("neighbours", first), lambda: first, low, high) + (behind + tap)

    def inside(self, tap: int) -> list[SSAValue]:
        """i1: whether a neighbour is in range; [] where out-of-range ones count as well."""
        if self.op.padding.data != "zeros":
            return []

        def write() -> SSAValue:
            at = self.v.number(self.neighbour(tap))
            b = self.v.b
            return b.conjunction(b.compare("sge", at, 0), b.compare("slt", at, self.size))

        return [self._once(("inside", tap), write)]

    def place(self, tap: int) -> Expr:
        """The element of x that is loaded for a neighbour."""
        neighbour = self.neighbour(tap)

        def write() -> Index:
            b = self.v.b
            at = self.v.number(neighbour)
            if self.op.padding.data == "reflection":
                at = self._mirrored(at)
            return b.min(b.max(at, 0), self.size - 1)

        return self.v.variable(("place", self.op, self.axis, neighbour), write, 0, self.size - 1)

    def _mirrored(self, at: Index) -> Index:
        """Reflects an index that is out of range by at most the size after reflection at the low edge."""
        b, size = self.v.b, self.size
        if self.op.corners is not None:
            period = max(2 * (size - 1), 1)
            turned = b.rem(b.max(at, b.sub(0, at)), period)
            return b.min(turned, b.sub(period, turned))
        turned = b.rem(b.max(at, b.sub(-1, at)), 2 * size)
        return b.min(turned, b.sub(2 * size - 1, turned))

    def weight(self, tap: int) -> SSAValue:
        """The weight of a neighbour."""
        return self._once(("weight", tap), lambda: self._weight(tap))

    def _weight(self, tap: int) -> SSAValue:
        m, a = self.m, CUBIC_A
        f = self._once("fraction", lambda: m.sub(self.position(), self.before()))
        if self.op.mode.data == "linear":
            return f if tap else m.sub(m.constant(1), f)
        far, near = [-4 * a, 8 * a, -5 * a, a], [1, 0, -(a + 3), a + 2]
        match tap:
            case 0:
                return m.polynomial(far, m.add(f, m.constant(1)))
            case 1:
                return m.polynomial(near, f)
            case 2:
                return m.polynomial(near, m.sub(m.constant(1), f))
            case _:
                return m.polynomial(far, m.sub(m.constant(2), f))
