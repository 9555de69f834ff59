"""The block_rows schedule: one block per row, or several where rows are few and long.

Sums are reduced by shuffles, then through shared memory. Partial results of split rows are stored to scratch by one
launch for each pass; the next launch starts by combining them.
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
from .tuning import ARRIVING, MEETING

BLOCKS = (64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class BlockRows(Schedule[GpuAttr]):
    """One block per row or part of a row."""

    forms = ("rows",)
    rank = 1

    block: TileSize
    """Threads of a block, a power of two and at least two warps."""
    parts: TileSize = 1
    """Blocks that share a row, a power of two."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        form = rows_for(kernel, along=True)
        if form is None or isinstance(form.root, CumulativeOp):
            return
        for block in BLOCKS:
            if block < 2 * form.length:
                yield from (cls(block, parts) for parts in splits(form, form.rows, block, target))

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        return seconds(
            kernel,
            target,
            blocks=the_row_form(kernel).rows * self.parts,
            block=self.block,
            threads=self.block,
            parts=self.parts,
            exchange=MEETING + ARRIVING * self.block / GpuAttr.WARP,
        )

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return interface_of(kernel, self.scratch(kernel))

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        return partial_sums(the_row_form(kernel), self.parts)
