"""The column_rows schedule: strided rows, so adjacent threads have adjacent rows.

A block has `columns` threads along the innermost axis, each with up to `vector` rows, times `shares` threads for parts
of these rows; their sums are combined in shared memory. Few and long rows are split between blocks as in block_rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override

from .....dialects.graph.ops.reduction import CumulativeOp
from .....dialects.graph.ops.structure import KernelOp
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import GpuAttr
from ...forms.rows import the_row_form
from ..schedule import Schedule, TileSize
from ..scratch import ScratchLayout
from .rows import interface_of, partial_sums, rows_for, seconds, splits
from .tuning import ARRIVING, COLUMN_ROWS_MOST_THREADS, MEETING, STEP

COLUMNS = ((8, 4), (16, 4), (32, 4), (32, 1), (128, 1))  # threads, and rows of each
SHARES = (1, 4, 8, 16, 32)


@dataclass(frozen=True)
class ColumnRows(Schedule[GpuAttr]):
    """Rows by columns of threads."""

    forms = ("rows",)
    rank = 1

    columns: TileSize
    """Threads of a block along the innermost axis."""
    vector: TileSize
    """Rows of a thread at most: as many as lie together in 16 aligned bytes."""
    shares: TileSize
    """Threads that share a row."""
    parts: TileSize = 1
    """Blocks that share a row, a power of two."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        form = rows_for(kernel, along=False)
        if form is None:
            return
        for columns, vector in COLUMNS:
            for shares in (1,) if isinstance(form.root, CumulativeOp) else SHARES:
                threads = columns * shares
                if GpuAttr.WARP <= threads <= COLUMN_ROWS_MOST_THREADS and shares <= max(1, form.length):
                    blocks = -(-form.rows // (columns * vector))
                    for parts in splits(form, blocks, shares, target):
                        yield cls(columns, vector, shares, parts)

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        form = the_row_form(kernel)
        blocks = -(-form.rows // (self.columns * self.vector)) * self.parts
        in_order = form.length * STEP if isinstance(form.root, CumulativeOp) else 0
        return in_order + seconds(
            kernel,
            target,
            blocks=blocks,
            block=self.columns * self.shares,
            threads=self.shares,
            parts=self.parts,
            exchange=MEETING + ARRIVING * self.columns * self.shares / GpuAttr.WARP if self.shares > 1 else 0,
            vector=self.vector,
        )

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return interface_of(kernel, self.scratch(kernel))

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        return partial_sums(the_row_form(kernel), self.parts)
