"""Tiles of sums in shared memory: of one block, or of a cluster, whose blocks have parts of one tile's depth (split-K).

each block:   tile = its sums;  barrier of the cluster
              for each item of its share of the tile:
                  result[item] = epilogue(tile[item] of block 0 + of block 1 + ...)      in order of the depth
              barrier of the cluster: a block must not end while another one reads its tile
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from .....passes.kernels.schedules.cuda.products import SUMS_PAD
from ....kernel_code.arithmetic import Arithmetic
from ....kernel_code.loop_builder import Index
from ...gpu_kernel import Grid
from ...thread_builder import ThreadBuilder
from .outputs import Output

Use = Callable[[Index, Index, int, Callable[[], SSAValue]], None]


@dataclass
class SharedWriter:
    """Leaves a block's tile of sums in its shared memory, in place of the operands' tiles."""

    output: Output
    b: ThreadBuilder
    rows: int
    columns: int

    def __post_init__(self) -> None:
        self.b.barrier()
        shape = (self.rows, self.columns + SUMS_PAD)
        self._tile = self.b.shared(self.output.sums, shape, "sums_tile", over=True)

    def write(self, row: Index, column: Index, sums: SSAValue, lanes: int) -> None:
        """Stores the sums of `lanes` columns, at a row and column of the tile."""
        if lanes == 1:
            self.b.store(sums, self._tile, [row, column])
        else:
            self.b.vstore(sums, self._tile, [row, column])

    def add(self, grid: Grid, rank: Index, blocks: int, use: Use) -> None:
        """Calls use(row, column, lanes, sums) for this block's share, where sums() adds those of `lanes` columns.

        What is added must be stored, so that no read is in flight when a block ends.
        """
        b, lanes = self.b, self.output.lanes(4)
        threads, groups = grid.block, self.columns // lanes

        def one(item: Index, _: Sequence[SSAValue]) -> None:
            row = b.named(b.div(item, groups), "row")
            column = b.named(b.mul(b.rem(item, groups), lanes), "column")

            def part(rank: Index) -> SSAValue:
                if blocks == 1:
                    at = [row, column]
                    return b.load(self._tile, at) if lanes == 1 else b.vload(self._tile, at, lanes)
                return b.load_of_block(rank, self._tile, [row, column], lanes)

            def add(i: Index, sums: Sequence[SSAValue]) -> list[SSAValue]:
                return [Arithmetic(b, sums[0].type).add(sums[0], part(b.add(i, 1)))]

            use(row, column, lanes, lambda: b.folded(blocks - 1, [part(0)], add)[0])

        meet = b.barrier if blocks == 1 else b.cluster_barrier
        meet()
        first = b.add(b.mul(rank, threads), grid.lane)
        b.loop(first, self.rows * groups, one, step=blocks * threads)
        if blocks > 1:
            meet()
