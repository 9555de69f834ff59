"""Register tiles of products by block-quantised weights, which are unpacked in registers.

    for each block:
        sums = 0
        for each word of the block: sums[i] += a[i, numbers of the word] . the word's numbers of each column
        totals[i] += sums[i] * scale[column, block] * scale[row i, block]

The rows are either rounded to bytes by blocks, with sums of 32 bits, or floats. A block's sums are made on their own
and added to the totals in order, whatever the number of rows: a row has the same result in every tile. Sums of bytes
start with what the zero points take off: -zero times the sum of the row's block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import override
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.dialects.vector import BitcastOp
from xdsl.ir import SSAValue

from ....dialects.byte_dot import GROUP, DotOp
from ...kernel_code.arithmetic import Arithmetic, convert, lanes_of, loaded
from ...kernel_code.loop_builder import Index, LoopBuilder, vector_of
from ..kernel_instance import KernelInstance
from .block_panel import BlockNumbers, BlockPanel, Level, PanelPlaces
from .fused_ops import Epilogue
from .tile_results import MemoryRows, ResultShape, TileOperand, TileResults

_TOGETHER, _PART = 256, 64
"""Numbers of a column whose products with floats are summed on their own, as in split_sums.py: of several blocks, and
of parts of longer ones. So sums are off no more than ONNX Runtime's, on the chains of bench/block_products.py. Where
rows are bytes, rounding them is off by far more than sums are."""
_CHAINS = 2
"""Independent sums of each float of a tile: one alone would wait for each addition."""


@dataclass(frozen=True)
class BlockTile:
    """A tile of `rows` by `registers` vectors of `lanes` columns: what code is specialised for.

    `valid` of the columns that it stores exist; 0: their number is an argument of the strip.
    """

    rows: int
    registers: int
    lanes: int
    valid: int
    halves: bool
    numbers: BlockNumbers
    rounded: bool  # whether rows are bytes
    signed: bool  # whether numbers of 8 bits are moved by 128 for a dot product of signed bytes
    written_out: int  # numbers of a column whose code is written out
    operands: tuple[TileOperand, ...]

    @property
    def stem(self) -> str:
        """Base name of the tile's function."""
        columns = self.valid or f"upto{self.registers * self.lanes}"
        pairs = "_pairs" if self.halves else ""
        return f"{'dots' if self.rounded else 'blocks'}_{self.rows}x{columns}{pairs}"


@dataclass(frozen=True)
class RoundedRows:
    """Beside rows of bytes: the scale of each of a row's blocks, and the number that its sums start with."""

    scales: MemoryRows
    starts: MemoryRows


@dataclass(frozen=True)
class BlockStrip:
    """Run-time arguments of a strip of tiles that follow each other in the rows."""

    tiles: Index
    blocks: Index  # whole ones; of rounded rows, all
    a: MemoryRows
    rounded: RoundedRows | None
    panel: PanelPlaces
    out: MemoryRows
    operands: tuple[MemoryRows | None, ...]
    columns: Index  # the number of columns, if it is no constant


def call_block_tiles(k: KernelInstance, tile: BlockTile, epilogue: Epilogue, strip: BlockStrip) -> None:
    """Calls the module's function for a strip of such tiles, building it at its first use."""
    writer = _DotWriter if tile.rounded else _FloatWriter

    def write(b: LoopBuilder, strip: BlockStrip) -> None:
        b.loop(0, strip.tiles, lambda number, _: writer(b, tile, epilogue, strip, number).write())

    k.common.call(k.b, tile.stem + epilogue.stem, (tile, epilogue.key), _told(k.b, tile, strip), write)


def _told(b: LoopBuilder, tile: BlockTile, strip: BlockStrip) -> BlockStrip:
    """The strip with only those arguments that tiles of this shape use."""

    def rows(given: MemoryRows, by_row: bool = True) -> MemoryRows:
        return MemoryRows(given.place, b.index(given.stride) if by_row else 0)

    rounded = strip.rounded
    return BlockStrip(
        b.index(strip.tiles),
        b.index(strip.blocks),
        rows(strip.a),
        None if rounded is None else RoundedRows(rows(rounded.scales), rows(rounded.starts)),
        strip.panel,
        rows(strip.out),
        tuple(
            None if given is None else rows(given, operand.by_row)
            for given, operand in zip(strip.operands, tile.operands, strict=True)
        ),
        0 if tile.valid else b.index(strip.columns),
    )


class _BlockWriter(ABC):
    """Builds the code of one tile of a strip. Sums and totals have a vector for each register of each row."""

    def __init__(self, b: LoopBuilder, tile: BlockTile, epilogue: Epilogue, strip: BlockStrip, number: Index) -> None:
        self.b, self.tile, self.strip, self.numbers = b, tile, strip, tile.numbers
        self.first = b.mul(number, tile.rows)
        self.places = [(row, each) for row in range(tile.rows) for each in range(tile.registers)]
        self.panel = BlockPanel(b, tile.numbers, strip.panel, tile.registers, tile.lanes)
        self.floats, self.integers, self.m = self.panel.floats, self.panel.integers, self.panel.m
        self.a = self.rows_of(strip.a)
        shape = ResultShape(tile.rows, tile.registers * tile.lanes, tile.halves, f32, f32)
        valid = tile.valid or strip.columns
        self.results = TileResults(b, shape, epilogue, tile.operands, strip.out, strip.operands, self.first, valid)

    def rows_of(self, rows: MemoryRows) -> SSAValue:
        """The tile's rows of a buffer with one for each row of the strip."""
        return self.b.view(rows.place, self.b.mul(self.first, rows.stride), [self.tile.rows, 1], [rows.stride, 1])

    def write(self) -> None:
        """The tile's loop over blocks, and its end."""
        b, registers = self.b, self.tile.registers
        zeros = [b.constant(0.0, self.floats)] * len(self.places)
        whole, tail = self.numbers.block, 0 if self.tile.rounded else self.numbers.tail

        def block(number: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return self.block(number, whole, totals)

        def several(first: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            end = b.min(b.add(first, step), self.strip.blocks)
            made = b.loop(first, end, block, carried=zeros, unrolled=False)
            return [self.m.add(*pair) for pair in zip(totals, made, strict=True)]

        step = 1 if self.tile.rounded else _TOGETHER // whole
        one, blocks = (block, 1) if step <= 1 else (several, step)
        totals = b.loop(0, self.strip.blocks, one, step=blocks, carried=zeros, unrolled=False)
        if tail:
            totals = self.block(self.strip.blocks, tail, totals)
        self.results.store([self._joined(totals[at : at + registers]) for at in range(0, len(totals), registers)])

    def _joined(self, registers: Sequence[SSAValue]) -> SSAValue:
        """One vector of two, four, ..."""
        while len(registers) > 1:
            lanes = range(2 * lanes_of(registers[0]))
            registers = [self.b.shuffle(x, y, lanes) for x, y in zip(registers[::2], registers[1::2], strict=True)]
        return registers[0]

    @abstractmethod
    def block(self, number: Index, count: int, totals: Sequence[SSAValue]) -> list[SSAValue]:
        """The totals with `count` numbers of a block added."""


class _DotWriter(_BlockWriter):
    """Rows of bytes: sums are integers."""

    def __init__(self, b: LoopBuilder, tile: BlockTile, epilogue: Epilogue, strip: BlockStrip, number: Index) -> None:
        super().__init__(b, tile, epilogue, strip, number)
        assert strip.rounded is not None
        self.row_scales, self.starts = self.rows_of(strip.rounded.scales), self.rows_of(strip.rounded.starts)

    @override
    def block(self, number: Index, count: int, totals: Sequence[SSAValue]) -> list[SSAValue]:
        b, words, span = self.b, self.numbers.words, self.numbers.span

        def dots(word: Index, _: int, sums: Sequence[SSAValue]) -> list[SSAValue]:
            current = list(sums)
            vectors = self.panel.words(number, word)
            at = b.mul(b.add(b.mul(number, words), word), span)
            for part in range(span // GROUP):
                columns = [self._bytes(each, part) for each in vectors]
                for place, (row, register) in enumerate(self.places):
                    group = loaded(b, b.vload(self.a, [row, b.add(at, part * GROUP)], GROUP))
                    current[place] = self._dot(group, columns[register], current[place])
            return current

        sums = self.panel.each_word(words * span, dots, self._starts(number), self.tile.written_out)
        scales, by_row = self.panel.scales(number), self._by_rows(self.row_scales, number)
        values = [convert(b, each, i32, f32) for each in sums]
        if zeros := self.panel.float_zeros(number):
            starts = [convert(b, each, i32, f32) for each in self._by_rows(self.starts, number)]
            if self.tile.signed:
                zeros = [self.m.sub(each, self.m.constant(128)) for each in zeros]
            values = [
                b.fma(starts[row], zeros[register], value)
                for (row, register), value in zip(self.places, values, strict=True)
            ]
        return [
            b.fma(value, self.m.mul(scales[register], by_row[row]), total)
            for (row, register), value, total in zip(self.places, values, totals, strict=True)
        ]

    def _dot(self, row: SSAValue, columns: SSAValue, sums: SSAValue) -> SSAValue:
        kind = {"unsigned_columns": not self.tile.signed, "narrow_columns": self.numbers.bits < 8}
        return self.b.insert(DotOp(row, columns, sums, **kind))

    def _by_rows(self, window: SSAValue, block: Index) -> list[SSAValue]:
        """An element of each row, in all lanes."""
        b = self.b
        return [b.splat(b.load(window, [row, block]), self.tile.lanes) for row in range(self.tile.rows)]

    def _starts(self, block: Index) -> list[SSAValue]:
        """What the zero points of a block take off the sums."""
        m = Arithmetic(self.b, self.integers)
        if self.panel.float_zeros(block):
            return [m.constant(0)] * len(self.places)
        rows, zeros = self._by_rows(self.starts, block), self.panel.byte_zeros(block, i32)
        if not zeros:
            return [rows[row] for row, _ in self.places]
        if self.tile.signed:
            zeros = [m.sub(each, m.constant(128)) for each in zeros]
        return [m.mul(rows[row], zeros[register]) for row, register in self.places]

    def _bytes(self, words: SSAValue, part: int) -> SSAValue:
        """GROUP numbers of each column, from number `part` * GROUP of a word on."""
        b, bits = self.b, self.numbers.bits
        if bits < 8:
            words = self.panel.shifted(words, part * bits, (2**bits - 1) * 0x01010101)
        elif self.tile.signed:
            words = b.make(arith.XOrIOp, words, b.constant(0x80808080 - 2**32, self.integers))
        return b.insert(BitcastOp(words, vector_of(i8, self.tile.lanes * GROUP)))


class _FloatWriter(_BlockWriter):
    """Rows of floats."""

    @override
    def block(self, number: Index, count: int, totals: Sequence[SSAValue]) -> list[SSAValue]:
        b, scales, level = self.b, self.panel.scales(number), self.panel.levels(number)
        whole = count // _PART * _PART if count > _PART else 0

        def part(first: Index, sums: Sequence[SSAValue]) -> list[SSAValue]:
            return self._added(sums, self._part(level, number, first, _PART))

        sums: Sequence[SSAValue] = [b.constant(0.0, self.floats)] * len(self.places)
        sums = b.loop(0, whole, part, step=_PART, carried=sums, unrolled=False)
        if whole < count:
            rest = self._part(level, number, whole, count - whole)
            sums = self._added(sums, rest) if whole else rest
        return [
            b.fma(each, scales[register], total)
            for (_, register), each, total in zip(self.places, sums, totals, strict=True)
        ]

    def _added(self, sums: Sequence[SSAValue], others: Sequence[SSAValue]) -> list[SSAValue]:
        return [self.m.add(*pair) for pair in zip(sums, others, strict=True)]

    def _part(self, level: Level, number: Index, first: Index, count: int) -> list[SSAValue]:
        """The sums of `count` numbers of a block from its number `first` on, by several chains."""
        b, lanes, places, span = self.b, self.tile.lanes, len(self.places), self.numbers.span

        def products(word: Index, numbers: int, sums: Sequence[SSAValue]) -> list[SSAValue]:
            current = list(sums)
            vectors = self.panel.words(number, b.add(b.div(first, span), word))
            at = b.add(b.mul(number, self.numbers.block), b.add(first, b.mul(word, span)))
            for index in range(numbers):
                columns = [level(each, register, index) for register, each in enumerate(vectors)]
                for place, (row, register) in enumerate(self.places, index % _CHAINS * places):
                    x = b.splat(b.load(self.a, [row, b.add(at, index)]), lanes)
                    current[place] = b.fma(x, columns[register], current[place])
            return current

        sums = self.panel.each_word(count, products, [b.constant(0.0, self.floats)] * (places * _CHAINS))
        made = sums[:places]
        for chain in range(places, len(sums), places):
            made = self._added(made, sums[chain : chain + places])
        return [*made]
