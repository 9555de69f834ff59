"""The end of a register tile: its finished sums go through the epilogue to rows of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue

from ...kernel_code.arithmetic import Arithmetic, convert, loaded, stored
from ...kernel_code.loop_builder import Index, LoopBuilder, memref_type
from .fused_ops import Epilogue


@dataclass(frozen=True)
class TileOperand:
    """How an operand of the epilogue varies over the tile."""

    element: Attribute
    in_place: bool  # that of the result itself
    by_row: bool  # whether it varies by row
    by_column: bool  # whether it varies by column


@dataclass(frozen=True)
class MemoryRows:
    """Rows in memory: the address of the first, and their stride in elements."""

    place: SSAValue
    stride: Index


@dataclass(frozen=True)
class ResultShape:
    """`rows` x `lanes` sums, of which an epilogue that joins two `halves` of the columns makes half as many."""

    rows: int
    lanes: int
    halves: bool
    sums: Attribute  # the element type of the sums
    result: Attribute  # that of the epilogue's input

    @property
    def stored(self) -> int:
        """Number of columns that are stored."""
        return self.lanes // 2 if self.halves else self.lanes


class TileResults:
    """Stores a tile's sums.

    The result and the operands of the epilogue start at the first tile of the strip; the tile's own begin with row
    `first` and column `column` from there. Of the columns, `valid` exist.
    """

    def __init__(
        self,
        b: LoopBuilder,
        shape: ResultShape,
        epilogue: Epilogue,
        kinds: Sequence[TileOperand],
        out: MemoryRows,
        operands: Sequence[MemoryRows | None],  # None: that of the result itself
        first: Index,
        valid: Index,
        column: Index = 0,
    ) -> None:
        self.b, self.shape, self.epilogue, self.valid = b, shape, epilogue, valid

        def window(rows: MemoryRows, column: Index) -> SSAValue:
            at = b.add(b.mul(first, rows.stride), column)
            return b.view(rows.place, at, [shape.rows, shape.stored], [rows.stride, 1])

        self.out = window(out, column)
        self.windows = {
            value: self.out if rows is None else window(rows, column if kind.by_column else 0)
            for value, rows, kind in zip(epilogue.operands, operands, kinds, strict=True)
        }
        self.operands = dict(zip(epilogue.operands, kinds, strict=True))

    def store(self, sums: Sequence[SSAValue]) -> None:
        """Stores what the epilogue makes of each row's sums."""
        b, shape = self.b, self.shape
        if self.epilogue.inline:
            store = self._row_store()
            for row in range(shape.rows):
                store(sums[row], row)
            return
        element = memref_type(self.out).element_type
        # Sums wait for the second pass in the result's memory, unless they are of another type or twice as many. What
        # a masked store writes is not forwarded to loads, which wait until it is in the cache.
        fit = shape.sums == element and not shape.halves and self.valid == shape.lanes
        waiting, valid = (self.out, self.valid) if fit else (b.alloca(shape.sums, [shape.rows, shape.lanes]), None)
        for row in range(shape.rows):
            b.vstore(sums[row], waiting, [row, 0], valid)
        self.store_kept(waiting, valid)

    def store_kept(self, kept: SSAValue, valid: Index | None = None, more: SSAValue | None = None) -> None:
        """Stores what the epilogue makes of sums in memory, of which `valid` columns exist, plus `more` on each row."""
        b, shape, store = self.b, self.shape, self._row_store()

        def row(row: Index, _: Sequence[SSAValue]) -> None:
            sums = b.vload(kept, [row, 0], shape.lanes, valid)
            store(sums if more is None else Arithmetic(b, sums.type).add(sums, more), row)

        b.loop(0, shape.rows, row)

    def _row_store(self) -> Callable[[SSAValue, Index], None]:
        """What stores a row's sums; operands that do not vary by row are loaded once, here."""
        b, shape = self.b, self.shape
        fixed = {value: self._load(value, 0) for value, operand in self.operands.items() if not operand.by_row}
        element = memref_type(self.out).element_type

        def store(sums: SSAValue, row: Index) -> None:
            def load(value: SSAValue) -> SSAValue:
                return fixed[value] if value in fixed else self._load(value, row)

            finished = convert(b, sums, shape.sums, shape.result)
            made = self.epilogue.emit(b, finished, shape.stored, load)
            b.vstore(stored(b, made, element), self.out, [row, 0], self.valid)

        return store

    def _load(self, value: SSAValue, row: Index) -> SSAValue:
        window, lanes = self.windows[value], self.shape.stored
        if not self.operands[value].by_column:
            return self.b.splat(loaded(self.b, self.b.load(window, [row, 0])), lanes)
        return loaded(self.b, self.b.vload(window, [row, 0], lanes, self.valid))
