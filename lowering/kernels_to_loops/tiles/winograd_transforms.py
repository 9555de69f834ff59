"""Winograd's transforms of one tile, one register of channels at a time: functions shared by a module's kernels.

    transform_input: for each register of channels:
        for each row of pixels inside the image: its columns by B, into the square        (rows outside are zeros)
        for each column of the square: its rows by B^T, into the matrices of the coordinates
    transform_output: for each register of channels:
        for each row of coordinates: its columns by A, into the square
        for each column of results: its rows by A^T, then bias and epilogue, into the image
        (with a pool: two columns at a time, storing the largest of each 2x2)
    transform_filters: the columns of a row of filters by G: 3 matrices become one for each coordinate of the row

The square lies on the stack, in the first-level cache: 36 numbers are too many for registers, and loops run over its
rows, so code is built once for a row. Columns of pixels outside of the image are left out by specialised code for each
case, of which a row of tiles has few. For the interpolation points see graph/packing/winograd_filters.py; opposite ones
share their even and odd terms.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import VectorType, f32
from xdsl.ir import Attribute, SSAValue

from ....dialects.graph.packing.winograd_filters import FILTER, POINTS, filter_transform
from ...kernel_code.arithmetic import Arithmetic, convert, loaded, stored
from ...kernel_code.loop_builder import Index, LoopBuilder, memref_type
from ..kernel_instance import CommonFunctions
from .fused_ops import FusedOps


@dataclass(frozen=True)
class Pixels:
    """Pixels in memory: the address of the first, and the strides of rows and columns, in elements."""

    place: SSAValue
    row: Index
    column: Index

    def window(self, b: LoopBuilder, rows: int, columns: int, channels: Index) -> SSAValue:
        """A view of [rows, columns, channels]."""
        return b.view(self.place, 0, [rows, columns, channels], [self.row, self.column, 1])


@dataclass(frozen=True)
class PixelKind:
    """What code depends on for an operand's pixels: whether it varies by row, column and channel, and its type."""

    by_row: bool
    by_column: bool
    by_channel: bool
    element: Attribute


@dataclass(frozen=True)
class Matrices:
    """The address of a tile's row in the matrix of coordinate 0, and the stride between matrices, in elements."""

    place: SSAValue
    next: Index

    def window(self, b: LoopBuilder, tile: int, channels: Index) -> SSAValue:
        """A view of [row of coordinates, column of coordinates, channels]."""
        side = tile + FILTER - 1
        return b.view(self.place, 0, [side, side, channels], [b.mul(self.next, side), self.next, 1])


@dataclass(frozen=True)
class InputTile:
    """The first pixel of a tile, possibly outside of the image; rows [first, last) of the tile lie inside.

    So do `columns` [low, high), where the code is for any.
    """

    pixels: Pixels
    first: Index
    last: Index
    channels: Index
    into: Matrices
    columns: tuple[Index, Index] = (0, 0)


@dataclass(frozen=True)
class OutputTile:
    """The sums of a tile, and the address of its results, of which some rows and columns lie inside the image."""

    sums: Matrices
    out: Pixels
    operands: tuple[Pixels | None, ...]  # None: that of the result itself
    bias: SSAValue | None
    rows: Index
    columns: Index
    channels: Index


@dataclass(frozen=True)
class FilterRow:
    """The address of a row of half-transformed filters, and that of its coordinates, with `count` elements each."""

    filters: Matrices
    into: Matrices
    count: Index


@dataclass(frozen=True)
class InputShape:
    """What an input transform is specialised for: pixels in `columns` [low, high) lie inside the image."""

    tile: int
    lanes: int
    whole: bool  # whether channels fill whole registers
    columns: tuple[int, int] | None  # None: those that the tile says
    element: Attribute  # of the pixels


@dataclass(frozen=True)
class OutputShape:
    """What an output transform is specialised for, besides the epilogue."""

    tile: int
    lanes: int
    whole: bool
    operands: tuple[PixelKind | None, ...]  # None: that of the result itself
    pooled: bool = False  # whether the largest of each 2x2 results is stored

    @property
    def stored(self) -> int:
        """Rows and columns stored for a tile."""
        return self.tile // 2 if self.pooled else self.tile


class _Terms:
    """Linear combinations of vectors with constant factors."""

    def __init__(self, b: LoopBuilder, lanes: int) -> None:
        self.b, self.m = b, Arithmetic(b, VectorType(f32, [lanes]))
        self.zero = self.m.constant(0)

    def plus(self, x: SSAValue, factor: float, y: SSAValue) -> SSAValue:
        """x + factor * y"""
        if y is self.zero:
            return x
        if factor == 1:
            return y if x is self.zero else self.m.add(x, y)
        if factor == -1 and x is not self.zero:
            return self.m.sub(x, y)
        if x is self.zero:
            return self.m.mul(self.m.constant(factor), y)
        return self.b.fma(self.m.constant(factor), y, x)

    def sum(self, *terms: tuple[float, SSAValue]) -> SSAValue:
        """The sum of terms (factor, vector), added from the last to the first."""
        total = self.zero
        for factor, value in reversed(terms):
            total = self.plus(total, factor, value)
        return total

    def to_coordinates(self, tile: int, d: Sequence[SSAValue]) -> list[SSAValue]:
        """B^T d"""
        if tile == 2:
            return [self.sum((-1, d[0]), (1, d[2])), self.sum((1, d[1]), (1, d[2])),
                    self.sum((-1, d[1]), (1, d[2])), self.sum((-1, d[1]), (1, d[3]))]  # fmt: skip
        p, q = (POINTS[tile][1], POINTS[tile][3])
        made = [self.sum((p * p * q * q, d[0]), (-(p * p + q * q), d[2]), (1, d[4]))]
        for x, other in ((p, q * q), (q, p * p)):
            even, odd = self.sum((-other, d[2]), (1, d[4])), self.sum((-other, d[1]), (1, d[3]))
            made += [self.plus(even, x, odd), self.plus(even, -x, odd)]
        return [*made, self.sum((p * p * q * q, d[1]), (-(p * p + q * q), d[3]), (1, d[5]))]

    def to_filters(self, tile: int, g: Sequence[SSAValue]) -> list[SSAValue]:
        """G g without its first and last elements, which are g[0] and g[2]."""
        first, *pairs, last = filter_transform(tile).tolist()
        made: list[SSAValue] = []
        for one, x, other in pairs[::2]:
            even = self.sum((other / last[2], g[2]), (one / first[0], g[0]))
            made += [self.plus(even, x, g[1]), self.plus(even, -x, g[1])]
        return made

    def to_results(self, tile: int, s: Sequence[SSAValue]) -> list[SSAValue]:
        """A^T s"""
        m = self.m
        if tile == 2:
            return [m.add(s[0], m.add(s[1], s[2])), m.add(m.sub(s[1], s[2]), s[3])]
        p, q = (POINTS[tile][1], POINTS[tile][3])
        even = m.add(s[1], s[2]), m.add(s[3], s[4])
        odd = m.sub(s[1], s[2]), m.sub(s[3], s[4])
        return [
            m.add(s[0], m.add(*even)),
            self.sum((q, odd[1]), (p, odd[0])),
            self.sum((q**2, even[1]), (p**2, even[0])),
            self.sum((q**3, odd[1]), (p**3, odd[0]), (1, s[5])),
        ]


def _registers(
    b: LoopBuilder, channels: Index, lanes: int, whole: bool, body: Callable[[Index, Index | None], None]
) -> None:
    """`body(first channel, number of valid lanes)` for each register; None: all lanes are valid."""

    def register(channel: Index, _: Sequence[SSAValue]) -> None:
        body(channel, None if whole else b.min(b.sub(channels, channel), lanes))

    b.loop(0, channels, register, step=lanes, unrolled=False)


def transform_input(common: CommonFunctions, b: LoopBuilder, shape: InputShape, told: InputTile) -> None:
    """B^T d B of a tile of pixels; for each coordinate, a row of channels padded to whole registers."""
    tile, lanes = shape.tile, shape.lanes
    side = tile + FILTER - 1

    def write(b: LoopBuilder, told: InputTile) -> None:
        pixels = told.pixels.window(b, side, side, told.channels)
        into = told.into.window(b, tile, told.channels)
        square = b.alloca(f32, [side, side, lanes])
        terms = _Terms(b, lanes)

        def register(channel: Index, valid: Index | None) -> None:
            def seen(column: int) -> Index | None:
                """The number of lanes that a pixel of this column has inside the image."""
                if shape.columns is not None:
                    return valid if shape.columns[0] <= column < shape.columns[1] else 0
                (low, high), lanes_of_all = told.columns, b.index(lanes if valid is None else valid)
                there = b.conjunction(b.compare("sle", low, column), b.compare("slt", column, high))
                return b.select(there, lanes_of_all, b.index(0))

            counts = [seen(column) for column in range(side)]

            def outside(row: Index, _: Sequence[SSAValue]) -> None:
                for column in range(side):
                    b.vstore(terms.zero, square, [row, column, 0])

            def inside(row: Index, _: Sequence[SSAValue]) -> None:
                d = [
                    terms.zero
                    if count == 0
                    else convert(b, b.vload(pixels, [row, column, channel], lanes, count), shape.element, f32)
                    for column, count in enumerate(counts)
                ]
                for column, value in enumerate(terms.to_coordinates(tile, d)):
                    b.vstore(value, square, [row, column, 0])
                for column in range(side, side + tile):  # distance from the tile to its right neighbour
                    b.prefetch(pixels, [row, column, channel])

            def column(column: Index, _: Sequence[SSAValue]) -> None:
                d = [b.vload(square, [row, column, 0], lanes) for row in range(side)]
                for row, value in enumerate(terms.to_coordinates(tile, d)):
                    b.vstore(value, into, [row, column, channel])

            b.loop(0, told.first, outside, unrolled=False)
            b.loop(told.first, told.last, inside, unrolled=False)
            b.loop(told.last, side, outside, unrolled=False)
            b.loop(0, side, column, unrolled=False)

        _registers(b, told.channels, lanes, shape.whole, register)

    columns = "any" if shape.columns is None else "{}to{}".format(*shape.columns)
    common.call(b, f"winograd_{tile}_in_{columns}", shape, told, write)


def transform_filters(common: CommonFunctions, b: LoopBuilder, tile: int, lanes: int, told: FilterRow) -> None:
    """G applied to a row of filters, one matrix for each coordinate; `count` is a multiple of a register's lanes."""
    side = tile + FILTER - 1

    def write(b: LoopBuilder, told: FilterRow) -> None:
        filters = b.view(told.filters.place, 0, [FILTER, told.count], [told.filters.next, 1])
        into = b.view(told.into.place, 0, [side - 2, told.count], [told.into.next, 1])
        terms = _Terms(b, lanes)

        def register(at: Index, _: Index | None) -> None:
            g = [b.vload(filters, [tap, at], lanes) for tap in range(FILTER)]
            for coordinate, value in enumerate(terms.to_filters(tile, g)):
                b.vstore(value, into, [coordinate, at])

        _registers(b, told.count, lanes, True, register)

    common.call(b, f"winograd_{tile}_filters", (tile, lanes), told, write)


def transform_output(
    common: CommonFunctions, b: LoopBuilder, shape: OutputShape, epilogue: FusedOps, told: OutputTile
) -> None:
    """A^T s A of a tile's sums, with bias and epilogue."""

    def write(b: LoopBuilder, told: OutputTile) -> None:
        _OutputWriter(b, shape, epilogue, told).write()

    key: Hashable = (shape, epilogue.key)
    stem = f"winograd_{shape.tile}_out{epilogue.stem}{'_max_pool' if shape.pooled else ''}"
    common.call(b, stem, key, told, write)


def _varies(operand: PixelKind | None) -> bool:
    """Whether an operand varies by pixel."""
    return operand is not None and operand.by_column and operand.by_channel


class _OutputWriter:
    """Builds the code for the results of a tile."""

    def __init__(self, b: LoopBuilder, shape: OutputShape, epilogue: FusedOps, told: OutputTile) -> None:
        self.b, self.shape, self.epilogue, self.told = b, shape, epilogue, told
        tile, self.lanes, self.side = shape.tile, shape.lanes, shape.tile + FILTER - 1
        self.terms = _Terms(b, self.lanes)
        self.sums = told.sums.window(b, tile, told.channels)
        self.out = told.out.window(b, shape.stored, shape.stored, told.channels)
        self.bias = None if told.bias is None else b.view(told.bias, 0, [told.channels], [1])
        self.operands = {
            value: self.out if pixels is None else pixels.window(b, tile, tile, told.channels)
            for value, pixels in zip(epilogue.operands, told.operands, strict=True)
        }
        varied = [window for window, kind in zip(self.operands.values(), shape.operands, strict=True) if _varies(kind)]
        self.ahead = [window for window in varied if window is not self.out]
        self.kinds = dict(zip(epilogue.operands, shape.operands, strict=True))
        self.square = b.alloca(f32, [self.side, tile, self.lanes])
        inline = epilogue.inline or shape.pooled
        self.waiting = None if inline else b.alloca(f32, [tile, tile, self.lanes])

    def write(self) -> None:
        _registers(self.b, self.told.channels, self.lanes, self.shape.whole, self._register)

    def _register(self, channel: Index, valid: Index | None) -> None:
        b, tile, lanes, terms, side = self.b, self.shape.tile, self.lanes, self.terms, self.side
        bias = None if self.bias is None else b.vload(self.bias, [channel], lanes, valid)

        def by_row(row: Index, _: Sequence[SSAValue]) -> None:
            s = [b.vload(self.sums, [row, column, channel], lanes) for column in range(side)]
            for column, value in enumerate(terms.to_results(tile, s)):
                b.vstore(value, self.square, [row, column, 0])

        def column(x: Index) -> list[SSAValue]:
            s = [b.vload(self.square, [row, x, 0], lanes) for row in range(side)]
            sums = terms.to_results(tile, s)
            return sums if bias is None else [terms.m.add(value, bias) for value in sums]

        def by_column(x: Index, _: Sequence[SSAValue]) -> None:
            for y in range(self.shape.stored):  # of the tile to the right
                at = [y, b.add(x, self.shape.stored), channel]
                b.prefetch_to_write(self.out, at)
                for window in self.ahead:
                    b.prefetch(window, at)
            if self.shape.pooled:
                self._pool(column, x, channel, valid)
                return
            for y, result in enumerate(column(x)):
                if self.waiting is not None:
                    b.vstore(result, self.waiting, [y, x, 0])
                else:
                    there = b.compare("slt", y, self.told.rows)
                    b.when(there, lambda y=y, result=result: self._store(result, y, x, channel, valid))

        def second_pass(y: Index, _: Sequence[SSAValue]) -> None:
            def pixel(x: Index, _: Sequence[SSAValue]) -> None:
                assert self.waiting is not None
                self._store(b.vload(self.waiting, [y, x, 0], lanes), y, x, channel, valid)

            b.loop(0, self.told.columns, pixel, unrolled=False)

        b.loop(0, side, by_row, unrolled=False)
        b.loop(0, self.told.columns, by_column, unrolled=False)
        if self.waiting is not None:
            b.loop(0, self.told.rows, second_pass, unrolled=False)

    def _pool(self, column: Callable[[Index], list[SSAValue]], x: Index, channel: Index, valid: Index | None) -> None:
        """Stores the maximum of each two rows of columns 2 x and 2 x + 1."""
        b, m = self.b, self.terms.m
        best: list[SSAValue] = []
        for at in (b.mul(x, 2), b.add(b.mul(x, 2), 1)):
            found = [self._finished(sums, y, at, channel, valid) for y, sums in enumerate(column(at))]
            largest = [m.max(one, other) for one, other in zip(found[::2], found[1::2], strict=True)]
            best = [m.max(one, other) for one, other in zip(best, largest, strict=True)] if best else largest

        for y, result in enumerate(best):
            there = b.compare("slt", y, self.told.rows)
            b.when(there, lambda y=y, result=result: b.vstore(result, self.out, [y, x, channel], valid))

    def _store(self, value: SSAValue, y: Index, x: Index, channel: Index, valid: Index | None) -> None:
        """Applies the epilogue to one pixel's sums and stores the result."""
        result = self._finished(value, y, x, channel, valid)
        self.b.vstore(stored(self.b, result, memref_type(self.out).element_type), self.out, [y, x, channel], valid)

    def _finished(self, value: SSAValue, y: Index, x: Index, channel: Index, valid: Index | None) -> SSAValue:
        """Applies the epilogue to one pixel's sums."""
        b, lanes = self.b, self.lanes

        def load(operand: SSAValue) -> SSAValue:
            window, kind = self.operands[operand], self.kinds[operand]
            at = [y if kind is None or kind.by_row else 0, x if kind is None or kind.by_column else 0]
            if kind is None or kind.by_channel:
                return loaded(b, b.vload(window, [*at, channel], lanes, valid))
            return b.splat(loaded(b, b.load(window, [*at, 0])), lanes)

        return self.epilogue.emit(b, value, lanes, load)
