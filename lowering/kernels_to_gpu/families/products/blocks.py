"""Mapping of a grid's blocks to tiles of products: rows, columns and (split-K) part of the depth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import Attribute, SSAValue

from .....dialects.errors import CompileError
from .....dialects.graph.base import describe
from .....dialects.graph.ops.normalization import NormalizeOp
from .....passes.kernels.schedules.cuda.products import PARTIALS
from ....kernel_code.arithmetic import bits_of
from ....kernel_code.loop_builder import Index
from ...gpu_kernel import GpuKernel, Grid
from ...thread_builder import ACCESS, ThreadBuilder
from .block_operand import block_operand
from .cluster_sums import SharedWriter
from .operands import WIDEST, Operand, left_operand, right_operand
from .outputs import Output, OutputWriter, PartialWriter, Writer, add_partials
from .row_statistics import RowStatistics
from .tile_copies import TileCopy


@dataclass(frozen=True)
class Blocks:
    """Tiles of `bm` x `bn` sums in steps of `bk` along the depth, which is split into `splits` parts.

    With `cluster`, the blocks of a tile's parts are adjacent along x, a cluster, and add up their sums themselves;
    without, a second launch does.
    """

    bm: int
    bn: int
    bk: int
    splits: int
    cluster: bool
    output: Output

    @property
    def grid(self) -> tuple[int, int, int]:
        """Number of blocks along rows, columns and products; parts of the depth are along x or z."""
        batch, rows, columns = self.output.sizes
        x, y, z = -(-rows // self.bm), -(-columns // self.bn), batch
        return (x * self.splits, y, z) if self.cluster else (x, y, z * self.splits)

    def launch(self, k: GpuKernel, threads: int, write: Callable[[Grid], None]) -> None:
        """Builds the kernel's launch, and under split-K without clusters a second one."""
        if self.cluster and not k.target.has_clusters:
            raise CompileError(f"{describe(self.output.form.root)}: {k.target.architecture.data} has no clusters")
        k.launch(self.grid, threads, write, cluster=self.splits if self.cluster else 1)
        if self.splits > 1 and not self.cluster:
            add_partials(k, self.output, self.splits)

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
        if self.cluster:
            x = b.block_id(0)
            row, split = b.div(x, self.splits), b.rem(x, self.splits)
            product: Index = b.block_id(2) if batch != 1 else 0
        else:
            z: Index = b.block_id(2) if batch * self.splits != 1 else 0
            product, split = (0, z) if batch == 1 else (b.div(z, self.splits), b.rem(z, self.splits))
            row = b.block_id(0)
        return Block(
            blocks=self,
            k=k,
            grid=grid,
            product=b.named(product, "product"),
            split=b.named(split, "split"),
            first_row=b.named(b.mul(row, self.bm), "first_row"),
            first_column=b.named(b.mul(b.block_id(1), self.bn), "first_column"),
            first_depth=b.named(b.mul(split, self.tiles * self.bk), "first_depth"),
            widest=widest,
        )

    @property
    def in_shared(self) -> bool:
        """Whether sums go through shared memory: adjacent threads have adjacent columns of a row then."""
        return self.cluster or self.output.form.moments is not None

    def where_row(self, b: ThreadBuilder, row: Index, write: Callable[[], None]) -> None:
        """Runs write() if the row is in range, of the result or of the tile in shared memory."""
        _where(b, row, self.bm if self.in_shared else self.output.sizes[1], self.bm, write)

    def where_column(self, b: ThreadBuilder, column: Index, write: Callable[[], None]) -> None:
        """Runs write() if the column is in range."""
        _where(b, column, self.bn if self.in_shared else self.output.sizes[2], self.bn, write)


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
        blocks, grid, element = self.blocks, self.grid, element or operand.element
        turns = bits_of(element) == 8 and not operand.by_depth  # ldmatrix transposes numbers of 16 bits only
        return TileCopy(
            b=grid.b,
            operand=operand,
            element=element,
            rows=rows,
            depth=blocks.bk,
            stages=stages,
            pad=pads[operand.by_depth or turns],
            threads=grid.block,
            thread=grid.lane,
            first=first,
            masked=blocks.padded_depth != operand.depth,
            turns=turns,
            name=name,
        )

    @cached_property
    def left_statistics(self) -> RowStatistics | None:
        """Of the left-hand side's rows, if they are normalised; to be asked for before other shared arrays."""
        op = self.blocks.output.form.normalised
        return None if op is None else self._statistics(op)

    @cached_property
    def statistics(self) -> list[RowStatistics]:
        """Of rows that the epilogue normalises; likewise."""
        return [self._statistics(op) for op in self.blocks.output.form.normalises]

    def _statistics(self, op: NormalizeOp) -> RowStatistics:
        return RowStatistics(self.grid, op, self.first_row, self.blocks.bm, self.blocks.output.sizes[1])

    def _results(self) -> OutputWriter:
        return self.blocks.output.writer(self.grid, self.product, self.statistics)

    @property
    def corner(self) -> tuple[Index, Index]:
        """The row and column of the tile's first sum, as its writer counts them."""
        return (0, 0) if self.blocks.in_shared else (self.first_row, self.first_column)

    def writer(self, most: int) -> tuple[Writer | SharedWriter, int]:
        """The writer of the sums, and the number of adjacent columns it takes at once (at most `most`)."""
        blocks, output = self.blocks, self.blocks.output
        if blocks.in_shared:
            return SharedWriter(output, self.grid.b, blocks.bm, blocks.bn), most
        if blocks.splits == 1:
            return self._results(), output.lanes(most)
        k = self.k
        assert k.scratch is not None
        whole = output.sizes[2] % most == 0 and k.aligned[k.scratch] == ACCESS
        partials = self.grid.scratch_part(PARTIALS)
        return PartialWriter(output, self.grid.b, partials, self.split, self.product), most if whole else 1

    def finish(self, writer: Writer | SharedWriter) -> None:
        """Adds and stores what the writer has left in shared memory."""
        if not isinstance(writer, SharedWriter):
            return
        b, (_, rows, columns) = self.grid.b, self.blocks.output.sizes
        results = self._results()

        def use(row: Index, column: Index, lanes: int, sums: Callable[[], SSAValue]) -> None:
            row, column = b.add(self.first_row, row), b.add(self.first_column, column)

            if self.blocks.output.form.moments is not None:
                # Lanes of rows out of range take part in the shuffles of others.
                inside = None if rows % self.blocks.bm == 0 else b.compare("slt", row, rows)
                results.write(row if inside is None else b.min(row, b.sub(rows, 1)), column, sums(), lanes, inside)
                return

            def write() -> None:
                results.write(row, column, sums(), lanes)

            _where(b, row, rows, self.blocks.bm, lambda: _where(b, column, columns, self.blocks.bn, write))

        writer.add(self.grid, self.split, self.blocks.splits, use)
