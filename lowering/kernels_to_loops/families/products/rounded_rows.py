"""Rows of floats rounded to bytes by blocks, for products of integers.

    for row, for block:
        scale = max |x| / 127
        bytes = x / scale, rounded to nearest even
        start = (sum of the bytes) * factor

Magnitudes are compared by their bits, so that a NaN is the largest; a scale that isn't finite is NaN, and so is what
becomes of its block. Blocks are zero-padded to whole words of the weight's numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import SSAValue

from .....dialects.extensions.arith import TruncIOp
from .....dialects.extensions.vector import ReductionOp
from ....kernel_code.arithmetic import Arithmetic
from ....kernel_code.loop_builder import Index, LoopBuilder, vector_of
from ...kernel_instance import KernelInstance
from ...tiles.tile_results import MemoryRows

LARGEST = 127
"""Of the bytes: the smallest is its negative."""
_ROUNDING = 1.5 * 2**23
"""Added to a number below 2^22 it leaves no bits behind the point; the sum's bits less its own are the integer."""
_ROUNDING_BITS = 0x4B400000
_WRITTEN_OUT = 8
"""Vectors of a block whose code is written out; more are a loop."""


@dataclass(frozen=True)
class Rounding:
    """Rows of `blocks` whole blocks of `block` numbers and one of `tail`, if any, padded to `padded`."""

    block: int
    tail: int
    padded: int
    factor: int
    lanes: int


@dataclass(frozen=True)
class _Rows:
    """Arguments of the function: how many rows, their addresses and those of what they become."""

    rows: Index
    blocks: Index
    x: MemoryRows
    bytes: MemoryRows
    scales: MemoryRows
    starts: MemoryRows


def round_rows(
    k: KernelInstance, rounding: Rounding, rows: Index, blocks: Index, x: MemoryRows, into: Sequence[MemoryRows]
) -> None:
    """Rounds rows into those of bytes, scales and starts; code with one shape of blocks is shared."""

    def write(b: LoopBuilder, told: _Rows) -> None:
        b.loop(0, told.rows, lambda row, _: _RowWriter(b, rounding, told, row).write())

    def rows_of(given: MemoryRows) -> MemoryRows:
        return MemoryRows(given.place, k.b.index(given.stride))

    told = _Rows(k.b.index(rows), k.b.index(blocks), *map(rows_of, (x, *into)))
    k.common.call(k.b, f"round_blocks_of_{rounding.block}", rounding, told, write)


class _RowWriter:
    """Builds the code for one row."""

    def __init__(self, b: LoopBuilder, rounding: Rounding, rows: _Rows, row: Index) -> None:
        self.b, self.rounding, self.blocks = b, rounding, rows.blocks
        self.x, self.bytes, self.scales, self.starts = (
            b.view(each.place, b.mul(row, each.stride), [1], [1])
            for each in (rows.x, rows.bytes, rows.scales, rows.starts)
        )
        self.floats, self.integers = vector_of(f32, rounding.lanes), vector_of(i32, rounding.lanes)

    def write(self) -> None:
        """All blocks of the row."""
        self.b.loop(0, self.blocks, lambda block, _: self._block(block, self.rounding.block), unrolled=False)
        if self.rounding.tail:
            self._block(self.blocks, self.rounding.tail)

    def _block(self, block: Index, count: int) -> None:
        b, m = self.b, Arithmetic(self.b, self.integers)
        magnitude = m.constant(2**31 - 1)

        def largest(at: Index, valid: int, found: SSAValue) -> SSAValue:
            bits = m.binary("and", self._bits(self._loaded(block, at, valid)), magnitude)
            return b.make(arith.MaxSIOp, found, bits)

        peak = b.insert(ReductionOp(self._vectors(count, largest), "maxsi"))
        scalar = Arithmetic(b, f32, contract=False)
        peak = b.insert(arith.BitcastOp(peak, f32))
        scale = scalar.div(peak, scalar.constant(LARGEST))
        scale = scalar.add(scale, scalar.sub(peak, peak))  # NaN if it isn't finite
        b.store(scale, self.scales, [block])
        nothing = scalar.compare("eq", scale, scalar.constant(0))
        divisor = b.splat(scalar.select(nothing, scalar.constant(1), scale), self.rounding.lanes)

        def rounded(at: Index, valid: int, total: SSAValue) -> SSAValue:
            numbers = self._rounded(self._loaded(block, at, valid), divisor)
            narrow = b.insert(TruncIOp(numbers, vector_of(i8, self.rounding.lanes)))
            b.vstore(narrow, self.bytes, [b.add(b.mul(block, self.rounding.padded), at)], valid)
            return m.add(total, numbers)

        total = b.insert(ReductionOp(self._vectors(count, rounded), "add"))
        b.store(b.make(arith.MuliOp, total, b.constant(self.rounding.factor, i32)), self.starts, [block])
        zero, end = b.constant(0, i8), b.mul(block, self.rounding.padded)
        b.loop(count, self.rounding.padded, lambda at, _: b.store(zero, self.bytes, [b.add(end, at)]))

    def _vectors(self, count: int, body: Callable[[Index, int, SSAValue], SSAValue]) -> SSAValue:
        """`body(position, elements, value)` from zeros on for each vector of `count` elements."""
        b, lanes = self.b, self.rounding.lanes
        value = b.constant(0, self.integers)
        whole = count // lanes * lanes

        def vector(at: Index, carried: Sequence[SSAValue]) -> list[SSAValue]:
            return [body(at, lanes, carried[0])]

        if whole <= _WRITTEN_OUT * lanes:
            for at in range(0, whole, lanes):
                (value,) = vector(at, [value])
        else:
            (value,) = b.loop(0, whole, vector, step=lanes, carried=[value])
        return body(whole, count - whole, value) if whole < count else value

    def _loaded(self, block: Index, at: Index, valid: int) -> SSAValue:
        start = self.b.add(self.b.mul(block, self.rounding.block), at)
        return self.b.vload(self.x, [start], self.rounding.lanes, valid)

    def _bits(self, x: SSAValue) -> SSAValue:
        return self.b.insert(arith.BitcastOp(x, self.integers))

    def _rounded(self, x: SSAValue, divisor: SSAValue) -> SSAValue:
        """x / divisor as integers of [-LARGEST, LARGEST]; any of them for a NaN."""
        b, m, f = self.b, Arithmetic(self.b, self.integers), Arithmetic(self.b, self.floats, contract=False)
        moved = f.add(f.div(x, divisor), f.constant(_ROUNDING))
        numbers = m.sub(self._bits(moved), m.constant(_ROUNDING_BITS))
        numbers = b.make(arith.MinSIOp, numbers, m.constant(LARGEST))
        return b.make(arith.MaxSIOp, numbers, m.constant(-LARGEST))
