"""Inner steps of register tiles: how a few elements of the inner sum are read, and added to the sums.

A tile holds rows x lanes sums. One step takes `depth` elements of the inner sum from every row of the left-hand side
and from every column of the panel, which lie side by side there: 1 for a multiply-add of two vectors; an instruction
that adds up several products, as CPUs have for small integers and bf16, takes as many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from xdsl.ir import Attribute, SSAValue

from ..writing.builder import Index, LoopBuilder


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

    def accumulate(self, b: LoopBuilder, row: SSAValue, column: SSAValue, total: SSAValue) -> SSAValue:
        """The sums of `lanes` columns with the step's products added."""
        ...


@dataclass(frozen=True)
class MultiplyAdd:
    """total + a * b with one rounding, on f32 or f64."""

    sums: Attribute
    depth: int = 1

    def column(self, b: LoopBuilder, panel: SSAValue, at: Sequence[Index], lanes: int) -> SSAValue:
        """A vector of the panel."""
        return b.vload(panel, at, lanes)

    def row(self, b: LoopBuilder, a: SSAValue, at: Sequence[Index], lanes: int) -> SSAValue:
        """One element in every lane."""
        return b.splat(b.load(a, at), lanes)

    def accumulate(self, b: LoopBuilder, row: SSAValue, column: SSAValue, total: SSAValue) -> SSAValue:
        """A fused multiply-add."""
        return b.fma(row, column, total)
