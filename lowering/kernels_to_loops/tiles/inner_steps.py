"""Inner steps of register tiles: how elements of the contraction are loaded and accumulated.

A tile has rows x lanes sums. One step takes `depth` contiguous elements of the contraction from every row of the
left-hand side and every column of the panel: 1 for a multiply-add of two vectors; more for dot-product instructions, as
CPUs have for small integers and bf16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from xdsl.dialects.builtin import bf16, f32, i8, i32
from xdsl.dialects.vector import InsertOp
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.amx import TileMulFOp, TileMulIOp
from ....dialects.bf16_dot import PAIR, Bf16DotOp
from ....dialects.byte_dot import GROUP, DotOp
from ...kernel_code.arithmetic import convert, loaded
from ...kernel_code.loop_builder import Index, LoopBuilder, memref_type, vector_of


class InnerStep(Protocol):
    """One step of a tile's contraction. Equal steps build the same code."""

    @property
    def depth(self) -> int:
        """Number of elements of the contraction in one step."""
        ...

    @property
    def sums(self) -> Attribute:
        """The element type of the accumulators; that of the result may differ."""
        ...

    def column(self, b: LoopBuilder, panel: SSAValue, at: Sequence[Index], lanes: int) -> SSAValue:
        """Loads `lanes` columns from element `at` of the panel on: `lanes * depth` elements."""
        ...

    def row(self, b: LoopBuilder, a: SSAValue, at: Sequence[Index], lanes: int) -> SSAValue:
        """Loads one row from element `at` of the left-hand side on, broadcast to `lanes` columns."""
        ...

    def part(self, b: LoopBuilder, a: SSAValue, at: Sequence[Index], count: int) -> SSAValue:
        """As `row`, with only `count` elements of the step left: the others are zeros."""
        ...

    def padding(self, b: LoopBuilder, value: int) -> SSAValue:
        """As `row`, with all elements equal to the padding value of the image."""
        ...

    def accumulate(self, b: LoopBuilder, row: SSAValue, column: SSAValue, total: SSAValue) -> SSAValue:
        """Adds the step's products to the accumulators of `lanes` columns."""
        ...


@dataclass(frozen=True)
class MultiplyAdd:
    """total + a * b, rounded once, in f32 or f64. The panel may hold a narrower type."""

    sums: Attribute
    panel: Attribute | None = None
    depth: int = 1

    def column(self, b: LoopBuilder, panel: SSAValue, at: Sequence[Index], lanes: int) -> SSAValue:
        """A vector of the panel."""
        return convert(b, loaded(b, b.vload(panel, at, lanes)), self.panel or self.sums, self.sums)

    def row(self, b: LoopBuilder, a: SSAValue, at: Sequence[Index], lanes: int) -> SSAValue:
        """One element, broadcast to every lane."""
        return b.splat(b.load(a, at), lanes)

    def part(self, b: LoopBuilder, a: SSAValue, at: Sequence[Index], count: int) -> SSAValue:
        """Same as `row`: a step of one element is never partial."""
        raise AssertionError(count)

    def padding(self, b: LoopBuilder, value: int) -> SSAValue:
        """Floats are padded with 0, which contributes nothing."""
        raise AssertionError(value)

    def accumulate(self, b: LoopBuilder, row: SSAValue, column: SSAValue, total: SSAValue) -> SSAValue:
        """A fused multiply-add."""
        return b.fma(row, column, total)


@dataclass(frozen=True)
class ByteDot:
    """32-bit sums of products of bytes; each side is signed or unsigned."""

    unsigned_row: bool
    unsigned_columns: bool

    @property
    def depth(self) -> int:
        """Number of bytes in a group."""
        return GROUP

    @property
    def sums(self) -> Attribute:
        """32-bit integers."""
        return i32

    def column(self, b: LoopBuilder, panel: SSAValue, at: Sequence[Index], lanes: int) -> SSAValue:
        """A group of each column."""
        return loaded(b, b.vload(panel, at, GROUP * lanes))

    def row(self, b: LoopBuilder, a: SSAValue, at: Sequence[Index], lanes: int) -> SSAValue:
        """A group, broadcast to all columns."""
        neighbours = (memref_type(a).get_strides() or [None])[-1] == 1
        return loaded(b, b.vload(a, at, GROUP)) if neighbours else self.part(b, a, at, GROUP)

    def part(self, b: LoopBuilder, a: SSAValue, at: Sequence[Index], count: int) -> SSAValue:
        """A group of only `count` bytes, zero-padded."""
        group = self.padding(b, 0)
        for byte in range(count):
            element = loaded(b, b.load(a, [*at[:-1], b.add(at[-1], byte)]))
            group = b.insert(InsertOp(element, group, [byte]))
        return group

    def padding(self, b: LoopBuilder, value: int) -> SSAValue:
        """The number as the bits of a signed byte, repeated."""
        return b.constant(self.padding_value(value), vector_of(i8, GROUP))

    def padding_value(self, value: int) -> float:
        """The padding value of the image as an element of the left-hand side: the bits of a signed byte."""
        return (value + 128) % 256 - 128

    def accumulate(self, b: LoopBuilder, row: SSAValue, column: SSAValue, total: SSAValue) -> SSAValue:
        """Adds four products to each sum."""
        return b.insert(DotOp(row, column, total, self.unsigned_row, self.unsigned_columns))

    def tiles(self, rows: SSAValue, columns: SSAValue, total: SSAValue) -> Operation:
        """The product of two tiles (see amx.py) of several steps, added to a tile of accumulators."""
        return TileMulIOp(rows, columns, total, zext_lhs=self.unsigned_row, zext_rhs=self.unsigned_columns)


@dataclass(frozen=True)
class Bf16Dot:
    """f32 sums of products of bf16."""

    @property
    def depth(self) -> int:
        """Number of elements in a pair."""
        return PAIR

    @property
    def sums(self) -> Attribute:
        """f32."""
        return f32

    def column(self, b: LoopBuilder, panel: SSAValue, at: Sequence[Index], lanes: int) -> SSAValue:
        """A pair of each column."""
        return b.vload(panel, at, PAIR * lanes)

    def row(self, b: LoopBuilder, a: SSAValue, at: Sequence[Index], lanes: int) -> SSAValue:
        """A pair, broadcast to all columns."""
        neighbours = (memref_type(a).get_strides() or [None])[-1] == 1
        return b.vload(a, at, PAIR) if neighbours else self.part(b, a, at, PAIR)

    def part(self, b: LoopBuilder, a: SSAValue, at: Sequence[Index], count: int) -> SSAValue:
        """A pair of only `count` elements; the others are zeros."""
        pair = self.padding(b, 0)
        for place in range(count):
            pair = b.insert(InsertOp(b.load(a, [*at[:-1], b.add(at[-1], place)]), pair, [place]))
        return pair

    def padding(self, b: LoopBuilder, value: int) -> SSAValue:
        """A pair of equal numbers."""
        return b.constant(self.padding_value(value), vector_of(bf16, PAIR))

    def padding_value(self, value: int) -> float:
        """The padding value of the image as an element of the left-hand side."""
        return float(value)

    def accumulate(self, b: LoopBuilder, row: SSAValue, column: SSAValue, total: SSAValue) -> SSAValue:
        """Adds two products to each sum."""
        return b.insert(Bf16DotOp(row, column, total))

    def tiles(self, rows: SSAValue, columns: SSAValue, total: SSAValue) -> Operation:
        """The product of two tiles (see amx.py) of several steps, added to a tile of accumulators."""
        return TileMulFOp(rows, columns, total)
