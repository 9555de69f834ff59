"""Normalisations as parts of products: statistics of rows that a block reads, and moments of rows that it stores.

A tile's rows that are normalised when they are read, each by the adjacent threads that share it:

    mean, variance = those of its pieces' moments, combined
    shared[row] = mean, 1 / sqrt(variance + epsilon)

What is stored, each piece of a row by the adjacent lanes that have its columns:

    mean, squares = those of the lane's columns, combined with other lanes' by shuffles
    moments[row][piece] = mean, squares

Moments are combined as in Chan, Golub and LeVeque, 1979.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from .....dialects.graph.ops.normalization import NormalizeOp, RowMomentsOp
from .....dialects.graph.values import shape_of
from ....kernel_code.arithmetic import Arithmetic
from ....kernel_code.elements.moment_rules import scale_of
from ....kernel_code.loop_builder import Index
from ...gpu_kernel import Grid
from ...thread_builder import WARP, ThreadBuilder

UNROLLED = 16
"""The most pieces of a row that a thread reads without a loop."""


@dataclass
class RowStatistics:
    """The statistics of a tile's rows in shared memory: of `rows` rows from `first` on, of `count` in all."""

    grid: Grid
    op: NormalizeOp
    first: Index
    rows: int
    count: Index
    _shared: SSAValue = field(init=False)

    def __post_init__(self) -> None:
        self._shared = self.grid.b.shared(f32, (self.rows, 2), "row_statistics", kept=True)

    @property
    def _together(self) -> int:
        """Adjacent threads that share a row: each has as many pieces."""
        found = 1
        while 2 * found * self.rows <= self.grid.block and 2 * found <= WARP and self.op.pieces % (2 * found) == 0:
            found *= 2
        return found

    def write(self) -> None:
        """Combines the moments of all rows' pieces; a barrier makes the statistics visible."""
        b, together = self.grid.b, self._together
        row, part = b.div(self.grid.lane, together), b.rem(self.grid.lane, together)
        last = b.sub(self.count, 1)
        moments = _line(b, self.grid.argument(self.op.moments), b.mul(self.count, 2 * self.op.pieces))
        start = b.mul(b.min(b.add(self.first, row), last), 2 * self.op.pieces)

        def moment(i: Index) -> list[SSAValue]:
            piece = b.add(b.mul(i, together), part)
            both = b.vload(moments, [b.add(start, b.mul(piece, 2))], 2)
            return [b.extract(both, 0), b.extract(both, 1)]

        def write() -> None:
            found = self._statistics(moment, together)

            def put() -> None:
                for number, value in enumerate(found):
                    b.store(value, self._shared, [row, number])

            b.where(b.compare("eq", part, 0) if together > 1 else None, put)

        used = self.rows * together
        b.where(None if used == self.grid.block else b.compare("ult", self.grid.lane, used), write)

    def _statistics(self, moment: Callable[[Index], list[SSAValue]], together: int) -> tuple[SSAValue, SSAValue]:
        """The mean and the scale of a row; moment(i) are those of a thread's piece i."""
        b, op, m = self.grid.b, self.op, Arithmetic(self.grid.b, f32)
        columns, each = shape_of(op.x)[-1], op.pieces // together

        def total(of: Callable[[Index], SSAValue]) -> SSAValue:
            def add(i: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                return [m.add(carried[0], of(i))]

            start = [m.constant(0)]
            (sum,) = b.folded(each, start, add) if each <= UNROLLED else b.loop(0, each, add, carried=start)
            offset = together
            while (offset := offset // 2) > 0:
                sum = m.add(sum, b.from_lane(sum, offset))
            return sum

        mean = m.constant(0)
        if op.centred is not None:
            mean = m.div(total(lambda i: moment(i)[0]), m.constant(op.pieces))

        def squares(i: Index) -> SSAValue:
            center, square = moment(i)
            apart = m.sub(center, mean)
            return m.add(square, m.mul(m.mul(apart, apart), m.constant(columns // op.pieces)))

        return mean, scale_of(m, op, m.div(total(squares), m.constant(columns)))

    def of(self, row: Index) -> tuple[SSAValue, SSAValue]:
        """The mean and the scale of a row of the product, which the tile has."""
        b = self.grid.b
        own = b.sub(row, self.first)
        return b.load(self._shared, [own, 0]), b.load(self._shared, [own, 1])


@dataclass
class MomentsWriter:
    """Stores the moments of pieces of rows, of which adjacent lanes have adjacent columns; all lanes take part."""

    grid: Grid
    op: RowMomentsOp
    rows: Index

    def write(self, row: Index, column: Index, value: SSAValue, lanes: int, inside: SSAValue | None) -> None:
        """Stores those of the piece that a lane's `lanes` columns are part of, if the row is `inside`."""
        b, piece = self.grid.b, self.op.length
        pieces = shape_of(self.op.x)[-1] // piece
        mean, squares = self._combined(value, lanes)
        moments = _line(b, self.grid.results[1], b.mul(self.rows, 2 * pieces))
        first = b.compare("eq", b.rem(column, piece), 0)

        def put() -> None:
            place = b.mul(b.add(b.mul(row, pieces), b.div(column, piece)), 2)
            b.vstore(b.inserted(squares, b.splat(mean, 2), 1), moments, [place])

        b.when(first if inside is None else b.conjunction(first, inside), put)

    def _combined(self, value: SSAValue, lanes: int) -> tuple[SSAValue, SSAValue]:
        b, m = self.grid.b, Arithmetic(self.grid.b, f32)
        numbers = [value] if lanes == 1 else [b.extract(value, lane) for lane in range(lanes)]
        mean, squares = numbers[0], m.constant(0)
        if lanes > 1:
            mean = m.div(_sum(m, numbers), m.constant(lanes))
            apart = [m.sub(number, mean) for number in numbers]
            squares = _sum(m, [m.mul(each, each) for each in apart])
        width, offset = self.op.length // lanes, 1
        while offset < width:
            other, theirs = b.from_lane(mean, offset, width=width), b.from_lane(squares, offset, width=width)
            apart = m.sub(other, mean)
            between = m.mul(m.mul(apart, apart), m.constant(lanes * offset / 2))
            squares = m.add(m.add(squares, theirs), between)
            mean = m.mul(m.add(mean, other), m.constant(0.5))
            offset *= 2
        return mean, squares


def _line(b: ThreadBuilder, buffer: SSAValue, size: Index) -> SSAValue:
    return b.view(buffer, 0, [size], [1])


def _sum(m: Arithmetic, numbers: Sequence[SSAValue]) -> SSAValue:
    total = numbers[0]
    for each in numbers[1:]:
        total = m.add(total, each)
    return total
