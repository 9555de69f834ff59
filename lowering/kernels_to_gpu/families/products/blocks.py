"""Mapping of a grid's blocks to tiles of products: rows, columns and (split-K) part of the depth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import Attribute

from .....passes.kernels.schedules.cuda.products import PARTIALS
from ....kernel_code.loop_builder import Index
from ...gpu_kernel import GpuKernel, Grid
from ...thread_builder import ACCESS, ThreadBuilder
from .block_operand import block_operand
from .operands import WIDEST, Operand, left_operand, right_operand
from .outputs import Output, PartialWriter, Writer
from .tile_copies import TileCopy


@dataclass(frozen=True)
class Blocks:
    """Tiles of `bm` x `bn` sums in steps of `bk` along the depth, which is split into `splits` parts."""

    bm: int
    bn: int
    bk: int
    splits: int
    output: Output

    @property
    def grid(self) -> tuple[int, int, int]:
        """Number of blocks along rows, columns, and products times parts of the depth."""
        batch, rows, columns = self.output.sizes
        return -(-rows // self.bm), -(-columns // self.bn), batch * self.splits

    @property
    def tiles(self) -> int:
        """Number of tiles of the depth that a block processes."""
        steps = -(-self.output.depth // self.bk)
        return -(-steps // self.splits)

    @property
    def padded_depth(self) -> int:
        """The depth in whole tiles of all parts."""
        return self.tiles * self.splits * self.bk

    def here(self, k: GpuKernel, grid: Grid, widest: int = WIDEST) -> Block:
        """The tile of this launch's block; operands are read in at most `widest` elements."""
        b, batch = grid.b, self.output.sizes[0]
        number: Index = b.block_id(2) if batch * self.splits != 1 else 0
        product: Index = 0
        split = number
        if batch != 1:
            product, split = b.named(b.div(number, self.splits), "product"), b.rem(number, self.splits)
        return Block(
            blocks=self,
            k=k,
            grid=grid,
            product=product,
            split=b.named(split, "split"),
            first_row=b.named(b.mul(b.block_id(0), self.bm), "first_row"),
            first_column=b.named(b.mul(b.block_id(1), self.bn), "first_column"),
            first_depth=b.named(b.mul(split, self.tiles * self.bk), "first_depth"),
            widest=widest,
        )

    def where_row(self, b: ThreadBuilder, row: Index, write: Callable[[], None]) -> None:
        """Runs write() if the row is in range."""
        _where(b, row, self.output.sizes[1], self.bm, write)

    def where_column(self, b: ThreadBuilder, column: Index, write: Callable[[], None]) -> None:
        """Runs write() if the column is in range."""
        _where(b, column, self.output.sizes[2], self.bn, write)


def _where(b: ThreadBuilder, at: Index, size: int, tile: int, write: Callable[[], None]) -> None:
    if size % tile == 0:
        write()
    else:
        b.when(b.compare("slt", at, size), write)


@dataclass(frozen=True)
class Block:
    """One block's tile of sums: its product, part of the depth, and first row and column."""

    blocks: Blocks
    k: GpuKernel
    grid: Grid
    product: Index
    split: Index
    first_row: Index
    first_column: Index
    first_depth: Index
    widest: int
    """Most elements of an operand that are read at once."""

    @cached_property
    def left(self) -> Operand:
        """The left-hand side."""
        return left_operand(self.k, self.grid, self.blocks.output.form, self.product, self.widest)

    @cached_property
    def right(self) -> Operand:
        """The right-hand side, unless it is packed for bulk copies."""
        form = self.blocks.output.form
        if form.blocks is not None:
            return block_operand(self.grid, form.blocks)
        return right_operand(self.k, self.grid, form, self.product, self.widest)

    def copies(self, element: Attribute | None, stages: int, *, by_depth_pad: int, by_row_pad: int) -> list[TileCopy]:
        """The shared-memory copies of both operands' tiles, of numbers of one type, or each of its own.

        Pads are those of lines along the depth and along rows.
        """
        pads = (by_row_pad, by_depth_pad)
        left, right = self.left, self.right
        return [
            self._copy(left, element, stages, pads, self.blocks.bm, self.first_row, "left"),
            self._copy(right, element, stages, pads, self.blocks.bn, self.first_column, "right"),
        ]

    def left_copy(self, stages: int, *, by_depth_pad: int, by_row_pad: int) -> TileCopy:
        """The copies of the left operand's tiles, unchanged."""
        pads = (by_row_pad, by_depth_pad)
        return self._copy(self.left, None, stages, pads, self.blocks.bm, self.first_row, "left")

    def _copy(
        self,
        operand: Operand,
        element: Attribute | None,
        stages: int,
        pads: tuple[int, int],
        rows: int,
        first: Index,
        name: str,
    ) -> TileCopy:
        blocks, grid = self.blocks, self.grid
        return TileCopy(
            b=grid.b,
            operand=operand,
            element=element or operand.element,
            rows=rows,
            depth=blocks.bk,
            stages=stages,
            pad=pads[operand.by_depth],
            threads=grid.block,
            thread=grid.lane,
            first=first,
            masked=blocks.padded_depth != operand.depth,
            name=name,
        )

    def writer(self, most: int) -> tuple[Writer, int]:
        """The writer of the sums, and the number of adjacent columns it takes at once (at most `most`)."""
        output = self.blocks.output
        if self.blocks.splits == 1:
            return output.writer(self.grid, self.product), output.lanes(most)
        k = self.k
        assert k.scratch is not None
        whole = output.sizes[2] % most == 0 and k.aligned[k.scratch] == ACCESS
        partials = self.grid.scratch_part(PARTIALS)
        return PartialWriter(output, self.grid.b, partials, self.split, self.product), most if whole else 1
