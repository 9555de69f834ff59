"""Inner steps of register tiles: how a few elements of the inner sum are read, and added to the sums.

A tile holds rows x lanes sums. One step takes `depth` elements of the inner sum from every row of the left-hand side
and from every column of the panel, which lie side by side there: 1 for a multiply-add of two vectors; an instruction
that adds up several products, as CPUs have for small integers and bf16, takes as many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from xdsl.dialects.builtin import i8, i32
from xdsl.dialects.vector import InsertOp
from xdsl.ir import Attribute, SSAValue

from ....dialects.byte_dot import GROUP, DotOp
from ...kernel_code.arithmetic import convert, loaded
from ...kernel_code.builder import Index, LoopBuilder, memref_type, vector_of


class InnerStep(Protocol):
    """One step of a tile's inner sum. Equal steps write the same code."""

    @property
    def depth(self) -> int:
        """Elements of the inner sum that a step takes."""
        ...

    @property
    def sums(self) -> Attribute:
        """The element type of the sums; that of the result may be another one."""
        ...

    def column(self, b: LoopBuilder, panel: SSAValue, at: Sequence[Index], lanes: int) -> SSAValue:
        """What the step reads of `lanes` columns, from element `at` of the panel on: `lanes * depth` elements."""
        ...

    def row(self, b: LoopBuilder, a: SSAValue, at: Sequence[Index], lanes: int) -> SSAValue:
        """What the step reads of one row, from element `at` of the left-hand side on, for `lanes` columns."""
        ...

    def part(self, b: LoopBuilder, a: SSAValue, at: Sequence[Index], count: int) -> SSAValue:
        """As `row`, where of the step's elements only `count` are left: zeros stand for the others."""
        ...

    def padding(self, b: LoopBuilder, value: int) -> SSAValue:
        """As `row`, all elements of which are the number that a picture is padded with."""
        ...

    def accumulate(self, b: LoopBuilder, row: SSAValue, column: SSAValue, total: SSAValue) -> SSAValue:
        """The sums of `lanes` columns with the step's products added."""
        ...


@dataclass(frozen=True)
class MultiplyAdd:
    """total + a * b with one rounding, on f32 or f64. The panel may hold numbers of another, narrower type."""

    sums: Attribute
    panel: Attribute | None = None
    depth: int = 1

    def column(self, b: LoopBuilder, panel: SSAValue, at: Sequence[Index], lanes: int) -> SSAValue:
        """A vector of the panel."""
        return convert(b, loaded(b, b.vload(panel, at, lanes)), self.panel or self.sums, self.sums)

    def row(self, b: LoopBuilder, a: SSAValue, at: Sequence[Index], lanes: int) -> SSAValue:
        """One element in every lane."""
        return b.splat(b.load(a, at), lanes)

    def part(self, b: LoopBuilder, a: SSAValue, at: Sequence[Index], count: int) -> SSAValue:
        """Never less than the one element."""
        raise AssertionError(count)

    def padding(self, b: LoopBuilder, value: int) -> SSAValue:
        """Floats are padded with 0, which adds nothing."""
        raise AssertionError(value)

    def accumulate(self, b: LoopBuilder, row: SSAValue, column: SSAValue, total: SSAValue) -> SSAValue:
        """A fused multiply-add."""
        return b.fma(row, column, total)


@dataclass(frozen=True)
class ByteDot:
    """Sums of 32 bits of products of bytes, which are unsigned where that is said."""

    unsigned_row: bool
    unsigned_columns: bool

    @property
    def depth(self) -> int:
        """A group."""
        return GROUP

    @property
    def sums(self) -> Attribute:
        """32 bits."""
        return i32

    def column(self, b: LoopBuilder, panel: SSAValue, at: Sequence[Index], lanes: int) -> SSAValue:
        """A group of each column."""
        return loaded(b, b.vload(panel, at, GROUP * lanes))

    def row(self, b: LoopBuilder, a: SSAValue, at: Sequence[Index], lanes: int) -> SSAValue:
        """A group, which stands for all columns."""
        neighbours = (memref_type(a).get_strides() or [None])[-1] == 1
        return loaded(b, b.vload(a, at, GROUP)) if neighbours else self.part(b, a, at, GROUP)

    def part(self, b: LoopBuilder, a: SSAValue, at: Sequence[Index], count: int) -> SSAValue:
        """A group of which only `count` bytes are there, with zeros behind them."""
        group = self.padding(b, 0)
        for byte in range(count):
            element = loaded(b, b.load(a, [*at[:-1], b.add(at[-1], byte)]))
            group = b.insert(InsertOp(element, group, [byte]))
        return group

    def padding(self, b: LoopBuilder, value: int) -> SSAValue:
        """The number as the bits of a signed byte."""
        return b.constant((value + 128) % 256 - 128, vector_of(i8, GROUP))

    def accumulate(self, b: LoopBuilder, row: SSAValue, column: SSAValue, total: SSAValue) -> SSAValue:
        """Four products more in each sum."""
        return b.insert(DotOp(row, column, total, self.unsigned_row, self.unsigned_columns))
