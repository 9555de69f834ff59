"""The block_scan schedule: running sums or products of a row by a block, or by several where rows are few and long.

Of split rows, a first launch adds up each part; the second begins each part with what those before it add up to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Self

from typing_extensions import override

from .....dialects.graph.ops.reduction import CumulativeOp
from .....dialects.graph.ops.structure import KernelOp
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import GpuAttr
from .....dialects.sizes.sizes import now
from ...forms.rows import RowForm, row_form, the_row_form
from ...kernel_facts import item_bytes
from ..schedule import Between, Schedule, TileSize
from ..scratch import ScratchLayout
from .cost import bytes_of, stream_seconds
from .rows import interface_of
from .tuning import ARRIVING, LATENCY, LAUNCH, MEETING, PRODUCTS_CACHE_SPEED, SHUFFLES

BLOCKS = (128, 256, 512, 1024)
MOST_PARTS = 1024
"""Each block reads the sums of all parts before its own."""


@dataclass(frozen=True)
class BlockScan(Schedule[GpuAttr]):
    """Running sums by blocks."""

    forms = ("rows",)

    block: TileSize
    """Threads of a block, a power of two and at least two warps."""
    parts: Annotated[int, Between(1, MOST_PARTS)] = 1
    """Blocks that share a row."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        form = row_form(kernel)
        if form is None or not isinstance(form.root, CumulativeOp) or form.rows == 0:
            return
        for block in BLOCKS:
            parts, most = 1, min(MOST_PARTS, now(form.length) // block)
            while parts <= max(1, most):
                yield cls(block, parts)
                parts *= 2

    def turns(self, form: RowForm) -> int:
        """How often a block takes an element for each of its threads."""
        return -(-form.length // (self.parts * self.block))

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        form = the_row_form(kernel)
        size, blocks = item_bytes(form.root.x), now(form.rows) * self.parts
        x = now(form.rows) * now(form.length) * (size if form.along else GpuAttr.SECTOR / PRODUCTS_CACHE_SPEED)
        meeting = MEETING + ARRIVING * self.block / GpuAttr.WARP
        waves = max(1.0, blocks * self.block / (GpuAttr.THREADS * target.multiprocessors.data))
        time = now(self.turns(form)) * waves * (2 * meeting + 3 * SHUFFLES)
        time += LAUNCH + stream_seconds(max(bytes_of(kernel), 2 * x), x, blocks, self.block, size, target)
        if self.parts == 1:
            return time
        return time + LAUNCH + LATENCY + 2 * meeting + stream_seconds(x, x, blocks, self.block, 4 * size, target)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return interface_of(kernel, self.scratch(kernel))

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """What each part of a row adds up to."""
        form = the_row_form(kernel)
        if self.parts == 1:
            return ScratchLayout()
        return ScratchLayout.of(shared=[("sums", form.number, (form.rows * self.parts,))])
