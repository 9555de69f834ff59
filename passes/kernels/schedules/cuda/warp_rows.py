"""The warp_rows schedule: a warp, or a part of one, per row; several rows per block.

Neighbouring lanes read neighbouring elements, 16 bytes each where they are aligned. Sums are put together by shuffles;
no thread waits for another warp.
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
from .rows import interface_of, rows_for, seconds
from .tuning import SHUFFLES, STEP, WARP_ROWS_MOST_EACH

BLOCKS = (32, 64, 128, 256)


@dataclass(frozen=True)
class WarpRows(Schedule[GpuAttr]):
    """Rows by warps or parts of them."""

    forms = ("rows",)

    width: TileSize
    """Lanes that share a row, a power of two."""
    block: TileSize
    """Threads of a block."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        """Lanes of a warp diverge only at the last rows: parts of a warp need whole warps of rows."""
        form = rows_for(kernel, along=True)
        if form is None:
            return
        for width in (1, 2, 4, 8, 16, GpuAttr.WARP):
            parts_of_warp = width in (1, GpuAttr.WARP) or form.rows * width % GpuAttr.WARP == 0
            fits = width == GpuAttr.WARP or (
                (width == 1 or width < form.length) and form.length <= WARP_ROWS_MOST_EACH * width
            )
            if isinstance(form.root, CumulativeOp):
                fits = width in (1, GpuAttr.WARP)
            if parts_of_warp and fits:
                yield from (cls(width, block) for block in BLOCKS)

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        form = the_row_form(kernel)
        blocks = -(-form.rows * self.width // self.block)
        exchange = SHUFFLES * (self.width.bit_length() - 1) / 5
        time = seconds(kernel, target, blocks=blocks, block=self.block, threads=self.width, parts=1, exchange=exchange)
        if isinstance(form.root, CumulativeOp):  # up the lanes, and on to the next ones
            time += form.length * STEP if self.width == 1 else -(-form.length // GpuAttr.WARP) * 2 * SHUFFLES
        return time

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return interface_of(kernel, ScratchLayout())
