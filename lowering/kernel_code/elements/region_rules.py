"""Single elements of RoI ops: the positions of bins and of sampling points are computed at run time.

Loops run over the points, or elements, that may lie inside the image; so regions that extend far outside take no
longer, whatever their corners are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import inf

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType, f64
from xdsl.ir import SSAValue

from ....dialects.graph.ops.picture_regions import FARTHEST, MOST_SAMPLES, RegionOp, RoiAlignOp, RoiPoolOp
from ....dialects.graph.values import element_type_of_value, ints, shape_of
from ..arithmetic import Arithmetic, convert, wide_float
from ..index_expr import Expr
from ..lane_access import NotVectorisable
from ..loop_builder import Index
from ..reductions import Reduction
from .element_values import Values, element_of, operand_index
from .movement_rules import wrapped
from .reduction_rules import wide
from .sampling_rules import clamped, whole, without_channel

Idx = tuple[Expr, ...]

# Extra points visited beyond those that should be inside, since positions are rounded.
_MARGIN = 2.5


@dataclass(frozen=True)
class _Side:
    """One spatial axis, 0 or 1, of a region, and a bin along it."""

    v: Values
    op: RegionOp
    axis: int
    outer: Idx  # region and bin

    @property
    def size(self) -> int:
        """Elements of x along the axis."""
        return self.op.sizes[self.axis]

    @property
    def bins(self) -> int:
        """Elements of the result along the axis."""
        return ints(self.op.shape)[self.axis]

    @property
    def m(self) -> Arithmetic:
        """Arithmetic in the type of corners and positions."""
        return Arithmetic(self.v.b, wide_float(element_type_of_value(self.op.x)), contract=False)

    def ends(self) -> list[SSAValue]:
        """The region's begin and end, in elements of x."""
        found: list[SSAValue] = []
        for corner in (0, 1):
            end = wide(self.v, self.op.rois, [self.outer[0], Expr.of(2 * corner + 1 - self.axis)])
            if isinstance(end.type, VectorType):
                raise NotVectorisable
            found.append(self.m.mul(end, self.m.constant(self.op.scale.value.data)))
        return found

    def bin(self) -> SSAValue:
        """The number of the bin."""
        return self.v.number_as(self.outer[1 + self.axis], self.m.type)


@dataclass(frozen=True)
class _Points:
    """The sampling points of RoI align along one side of a bin."""

    side: _Side
    first: SSAValue  # begin of the bin
    bin: SSAValue  # length of the bin
    count: SSAValue  # an integral float
    low: Index  # points that may be inside: [first, last)
    high: Index

    @classmethod
    def of(cls, side: _Side, op: RoiAlignOp) -> _Points:
        """The points of a bin."""
        v, m = side.v, side.m
        begin, end = side.ends()
        if op.half_pixel is not None:
            begin, end = (m.sub(each, m.constant(0.5)) for each in (begin, end))
        length = m.sub(end, begin)
        if op.half_pixel is None:
            length = m.select(m.compare("gt", length, m.constant(1)), length, m.constant(1))
        bin = m.div(length, m.constant(side.bins))
        count = m.constant(op.samples.value.data)
        if not op.samples.value.data:
            number = m.select(m.compare("eq", bin, bin), m.unary("ceil", bin), m.constant(0))
            count = clamped(m, number, 0, MOST_SAMPLES)
        first = m.add(begin, m.mul(side.bin(), bin))
        exact = Arithmetic(v.b, f64, contract=False)
        first_, bin_, count_ = (convert(v.b, each, m.type, f64) for each in (first, bin, count))
        step = exact.div(bin_, count_)
        ends = [exact.div(exact.sub(exact.constant(edge), first_), step) for edge in (-1, side.size)]
        low = exact.unary("floor", exact.sub(exact.min(*ends), exact.constant(_MARGIN)))
        low = exact.select(exact.compare("gt", low, exact.constant(0)), low, exact.constant(0))
        low = exact.select(exact.compare("lt", low, count_), low, count_)
        high = exact.unary("ceil", exact.add(exact.max(*ends), exact.constant(_MARGIN)))
        # If the number of points is undefined (a bin of no or infinite length): all requested points.
        high = exact.select(exact.compare("eq", high, high), high, exact.constant(op.samples.value.data))
        high = exact.select(exact.compare("lt", high, count_), high, count_)
        high = exact.select(exact.compare("gt", high, exact.constant(0)), high, exact.constant(0))
        return cls(side, first, bin, count, whole(v, low), whole(v, high))

    def has_all(self) -> SSAValue:
        """i1: whether there are points, all of which are visited."""
        b = self.side.v.b
        conditions = [
            b.compare("eq", self.low, 0),
            b.compare("eq", self.high, whole(self.side.v, self.count)),
            b.compare("sgt", self.high, 0),
        ]
        return reduce(b.conjunction, conditions)

    def neighbours(self, point: Expr) -> tuple[SSAValue, list[tuple[Expr, SSAValue]]]:
        """Whether a point counts, and the two adjacent elements with their weights."""
        v, m, size = self.side.v, self.side.m, self.side.size
        offset = m.mul(m.add(v.number_as(point, m.type), m.constant(0.5)), self.bin)
        at = m.add(self.first, m.div(offset, self.count))
        counts = v.b.conjunction(m.compare("ge", at, m.constant(-1)), m.compare("le", at, m.constant(size)))
        at = clamped(m, at, 0, size)
        before = clamped(m, m.unary("floor", at), 0, size - 1)
        is_last = m.compare("ge", before, m.constant(size - 1))
        weight = m.select(is_last, m.constant(0), m.sub(at, before))
        low = v.variable(("low", before), lambda: whole(v, before), 0, size - 1)
        high = v.variable(("high", before), lambda: v.b.min(v.b.add(v.number(low), 1), size - 1), 0, size - 1)
        return counts, [(low, m.sub(m.constant(1), weight)), (high, weight)]


@element_of.register
def _roi_align(op: RoiAlignOp, v: Values, index: Idx) -> SSAValue:
    element = element_type_of_value(op.x)
    sample = wrapped(v, op.indices, [index[0]], shape_of(op.x)[0])
    outer = without_channel(index, op.layout.data)
    rows, columns = (_Points.of(_Side(v, op, axis, outer), op) for axis in (0, 1))
    position = rows.side.m
    m = Arithmetic(v.b, v.spread(position.constant(0)).type)
    largest = op.mode.data == "max"
    reduction = Reduction(v.b, "max" if largest else "sum", element)

    def row(i: Expr, carried: Sequence[SSAValue]) -> list[SSAValue]:
        row_counts, above = rows.neighbours(i)

        def point(j: Expr, carried: Sequence[SSAValue]) -> list[SSAValue]:
            counts, beside = columns.neighbours(j)
            parts: list[SSAValue] = []
            for (y, u), (x, w) in product(above, beside):
                near = v.alike([wide(v, op.x, operand_index(op, 0, index, [sample, y, x])), position.mul(u, w)])
                parts.append(m.mul(*near))
            value = reduce(m.max if largest else m.add, parts)
            value = m.select(v.b.conjunction(row_counts, counts), value, m.constant(0))
            return [reduction.combine(carried[0], v.spread(value))]

        return v.carry_between(columns.low, columns.high, MOST_SAMPLES, carried, point)

    start = m.constant(0)
    if largest:
        # Points that are not visited are zeros.
        start = m.select(v.b.conjunction(rows.has_all(), columns.has_all()), m.constant(-inf), start)
    total = v.carry_between(rows.low, rows.high, MOST_SAMPLES, [start], row)[0]
    if not largest:
        count = position.max(position.mul(rows.count, columns.count), position.constant(1))
        total = m.div(total, v.spread(count))
    return convert(v.b, total, position.type, element)


@element_of.register
def _roi_pool(op: RoiPoolOp, v: Values, index: Idx) -> SSAValue:
    element = element_type_of_value(op.x)
    sample = wrapped(v, op.indices, [index[0]], shape_of(op.x)[0])
    sides = [_Side(v, op, axis, without_channel(index, op.layout.data)) for axis in (0, 1)]
    bounds = [_bin(side) for side in sides]
    reduction = Reduction(v.b, "max", element)

    def inside(axis: int, low: Index, i: Expr) -> Expr:
        return v.variable(("element", axis, i), lambda: v.b.add(low, v.number(i)), 0, sides[axis].size - 1)

    def row(i: Expr, carried: Sequence[SSAValue]) -> list[SSAValue]:
        y = inside(0, bounds[0][0], i)

        def element_at(j: Expr, carried: Sequence[SSAValue]) -> list[SSAValue]:
            x = inside(1, bounds[1][0], j)
            value = wide(v, op.x, operand_index(op, 0, index, [sample, y, x]))
            return [reduction.combine(carried[0], v.spread(value))]

        return v.carry_between(0, bounds[1][1], sides[1].size, carried, element_at)

    largest = v.carry_between(0, bounds[0][1], sides[0].size, [v.spread(reduction.start())], row)[0]
    m = Arithmetic(v.b, largest.type)
    empty = [v.b.compare("sle", count, 0) for _, count in bounds]
    largest = m.select(v.b.insert(arith.OrIOp(empty[0], empty[1])), m.constant(0), largest)
    return convert(v.b, largest, wide_float(element), element)


def _bin(side: _Side) -> tuple[Index, Index]:
    """The first element of a bin, and its number of elements."""
    v, m = side.v, side.m
    exact = Arithmetic(v.b, f64, contract=False)
    begin, end = (_rounded(exact, convert(v.b, each, m.type, f64)) for each in side.ends())
    length = exact.max(exact.add(exact.sub(end, begin), exact.constant(1)), exact.constant(1))
    bin = m.div(convert(v.b, length, f64, m.type), m.constant(side.bins))
    number = side.bin()
    low = m.unary("floor", m.mul(number, bin))
    high = m.unary("ceil", m.mul(m.add(number, m.constant(1)), bin))

    def place(edge: SSAValue) -> Index:
        return whole(v, clamped(exact, exact.add(convert(v.b, edge, m.type, f64), begin), 0, side.size))

    start = place(low)
    return start, v.b.sub(place(high), start)


def _rounded(m: Arithmetic, number: SSAValue) -> SSAValue:
    """Rounds to nearest, ties away from zero."""
    up, down = m.unary("floor", m.add(number, m.constant(0.5))), m.unary("ceil", m.sub(number, m.constant(0.5)))
    whole = m.select(m.compare("lt", number, m.constant(0)), down, up)
    return clamped(m, whole, -FARTHEST, FARTHEST)
