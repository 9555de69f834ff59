"""Matrix products in f32 by tiles: operands in shared memory, sums in registers.

    for each tile of the depth:                     while the next ones are being copied
        for each depth k of the tile:
            a[tm] = rows of the left tile at k, b[tn] = columns of the right one
            sums[i][j] += a[i] * b[j]
    result[row][column] = epilogue(sums[i][j])

A warp is 4 x 8 threads. An operand that is contiguous along its depth is read several depths at a time, with rows
assigned to threads cyclically; one that is contiguous along its rows, four rows at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from .....passes.kernels.forms.contraction import contraction_form
from .....passes.kernels.schedules.cuda.tiles import WARP_COLUMNS, WARP_ROWS, Tiles
from ....kernel_code.arithmetic import Arithmetic
from ....kernel_code.loop_builder import Index
from ...gpu_kernel import GpuKernel, Grid
from ...thread_builder import WARP, ThreadBuilder
from .blocks import Blocks
from .outputs import Output
from .tile_copies import TileCopy, in_pairs, write_pipeline

PAD = 4
"""Padding of lines along the depth, in elements: rows that a warp reads together start in different banks."""


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launches."""
    schedule = k.schedule_as(Tiles)
    output = Output(k, contraction_form(k.kernel))
    blocks = Blocks(schedule.bm, schedule.bn, schedule.bk, schedule.splits, schedule.cluster, output)
    blocks.launch(k, schedule.threads, lambda grid: _write(k, grid, schedule, blocks))


def _write(k: GpuKernel, grid: Grid, schedule: Tiles, blocks: Blocks) -> None:
    b, here = grid.b, blocks.here(k, grid)
    left, right = here.left, here.right
    copies = here.copies(f32, schedule.stages, by_depth_pad=PAD, by_row_pad=0)
    run = 1 if not (left.by_depth or right.by_depth) else 2 if left.by_depth and right.by_depth else 4
    across = schedule.bn // schedule.tn
    y, x = _thread_of_block(b, grid.lane, across)
    a = _Fragment(b, copies[0], schedule.tm, y, schedule.bm // schedule.tm, run)
    c = _Fragment(b, copies[1], schedule.tn, x, across, run)
    sums = b.private(f32, (schedule.tm, schedule.tn), "sums")
    zero = b.constant(0.0, f32)
    b.unrolled(schedule.tm, lambda i: b.unrolled(schedule.tn, lambda j: b.store(zero, sums, [i, j])))

    def multiply(stage: Index) -> None:
        in_pairs(b, schedule.bk // run, lambda step: _multiply(b, sums, a, c, stage, b.mul(step, run), run))

    write_pipeline(b, copies, here.first_depth, blocks.tiles, multiply)
    writer, lanes = here.writer(4 if c.together else 1)
    first_row, first_column = here.corner

    def by_row(i: Index) -> None:
        row = b.named(b.add(first_row, a.row(i)), "row")

        def by_column(group: Index) -> None:
            j = b.mul(group, lanes)
            column = b.named(b.add(first_column, c.row(j)), "column")
            value = b.load(sums, [i, j]) if lanes == 1 else b.vload(sums, [i, j], lanes)
            blocks.where_column(b, column, lambda: writer.write(row, column, value, lanes))

        blocks.where_row(b, row, lambda: b.unrolled(schedule.tn // lanes, by_column))

    b.unrolled(schedule.tm, by_row)
    here.finish(writer)


def _thread_of_block(b: ThreadBuilder, thread: SSAValue, across: int) -> tuple[Index, Index]:
    """The thread's row and column in the block's arrangement of threads."""
    warp, lane = b.named(b.div(thread, WARP), "warp"), b.named(b.rem(thread, WARP), "lane")
    warps = across // WARP_COLUMNS
    y = b.add(b.mul(b.div(warp, warps), WARP_ROWS), b.div(lane, WARP_COLUMNS))
    x = b.add(b.mul(b.rem(warp, warps), WARP_COLUMNS), b.rem(lane, WARP_COLUMNS))
    return b.named(y, "thread_row"), b.named(x, "thread_column")


@dataclass
class _Fragment:
    """A thread's part of an operand's tile: `count` rows, those of thread `at` of `threads`."""

    b: ThreadBuilder
    copy: TileCopy
    count: int
    at: Index
    threads: int
    run: int

    def __post_init__(self) -> None:
        shape = (self.count, self.run) if self.copy.by_depth else (self.count,)
        self.held = self.b.private(f32, shape, f"{self.copy.name}_part")

    @property
    def together(self) -> bool:
        """Whether its rows come in groups of four adjacent ones, instead of every `threads`-th."""
        return not self.copy.by_depth

    def row(self, i: Index) -> Index:
        """The number in the tile of the thread's row i."""
        b = self.b
        if self.together:
            return b.add(b.mul(b.div(i, 4), 4 * self.threads), b.add(b.mul(self.at, 4), b.rem(i, 4)))
        return b.add(b.mul(i, self.threads), self.at)

    def read_run(self, stage: Index, depth: Index) -> None:
        """Loads what can be loaded for `run` depths at once."""
        if not self.together:

            def read(i: Index) -> None:
                value = self.b.vload(self.copy.shared, [stage, self.row(i), depth], self.run)
                self.b.vstore(value, self.held, [i, 0])

            self.b.unrolled(self.count, read)

    def read(self, stage: Index, depth: Index) -> None:
        """Loads what is loaded for each depth."""
        if self.together:

            def read(group: Index) -> None:
                i = self.b.mul(group, 4)
                value = self.b.vload(self.copy.shared, [stage, depth, self.row(i)], 4)
                self.b.vstore(value, self.held, [i])

            self.b.unrolled(self.count // 4, read)

    def value(self, i: Index, depth: Index) -> SSAValue:
        """The element of row i, `depth` behind the first of the run."""
        return self.b.load(self.held, [i] if self.together else [i, depth])


def _multiply(
    b: ThreadBuilder, sums: SSAValue, a: _Fragment, c: _Fragment, stage: Index, depth: Index, run: int
) -> None:
    """Adds the products of `run` depths of a tile."""
    a.read_run(stage, depth)
    c.read_run(stage, depth)

    def one(k: Index) -> None:
        a.read(stage, b.add(depth, k))
        c.read(stage, b.add(depth, k))

        def row(i: Index) -> None:
            def column(j: Index) -> None:
                product = Arithmetic(b, f32).mul(a.value(i, k), c.value(j, k))
                b.store(Arithmetic(b, f32).add(b.load(sums, [i, j]), product), sums, [i, j])

            b.unrolled(c.count, column)

        b.unrolled(a.count, row)

    b.unrolled(run, one)
