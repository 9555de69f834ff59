"""The sorted_scatter schedule: updates are sorted by the rows that they target, and each row is updated once.

The time doesn't grow with the product of rows and updates. Updates of one row stay in order, so that they are added up
as on a CPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Annotated, Self

from typing_extensions import override
from xdsl.dialects.builtin import i64

from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.values import shape_of
from ......dialects.kernel.kernel_attributes import InterfaceAttr
from ......dialects.kernel.targets import GpuAttr
from ......dialects.sizes.sizes import bounds_of
from ....kernel_facts import ScatterOp, all_operands, item_bytes, scatter_of, scatter_pairs
from ...schedule import Between, Schedule, TileSize
from ...scratch import ScratchLayout
from ..cost import bytes_of, memory_seconds
from ..tuning import LATENCY, LAUNCH, PRODUCTS_CACHE_SPEED
from .scatter import rows_of, updates_of
from .sorted_runs import LARGEST_SORTED, SortedRuns

MOST = 2**31 - 1
"""Of rows and of updates: a row and the number of an update share 64 bits."""


@dataclass(frozen=True)
class SortedScatter(Schedule[GpuAttr]):
    """A copy of x, the sort, and a thread for each element of each update."""

    forms = ("map",)

    tile: Annotated[int, Between(2, LARGEST_SORTED)]
    """Updates that a block sorts in shared memory, a power of two."""
    ways: TileSize = 2
    """Runs that are merged at once."""
    block: TileSize = 128
    """Threads of a block of the other launches."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        """If the kernel is a scatter of some updates."""
        op = scatter_of(kernel)
        if op is None or bounds_of(updates_of(op))[0] < 1 or 0 in shape_of(op.result):
            return
        if max(bounds_of(rows_of(op))[1], bounds_of(updates_of(op))[1]) <= MOST:
            yield from (cls(*options) for options in SortedRuns.options(updates_of(op)))

    def runs(self, op: ScatterOp) -> SortedRuns:
        """The sort of all updates."""
        return SortedRuns(1, updates_of(op), updates_of(op), 1, self.tile, self.ways)

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        """The copy can be left out where the kernel works in place, which isn't known yet."""
        op = scatter_of(kernel)
        assert op is not None
        row = prod(shape_of(op.updates)) // updates_of(op) * item_bytes(op.updates)
        scattered = updates_of(op) * max(GpuAttr.SECTOR, row) / PRODUCTS_CACHE_SPEED
        reading = LATENCY + memory_seconds(scattered, target)
        return self.runs(op).seconds(target) + 2 * (LAUNCH + reading) + memory_seconds(bytes_of(kernel), target)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        """In place over x, if it has no other use."""
        scatter = scatter_of(kernel)
        assert scatter is not None
        return InterfaceAttr.of(
            inplace=scatter_pairs(kernel, scatter),
            strided_operands=all_operands(kernel),
            scratch=self.scratch(kernel).together,
        )

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """The sorted updates, and what sorting needs."""
        op = scatter_of(kernel)
        assert op is not None
        return ScratchLayout.of(shared=[("sorted", i64, (updates_of(op),)), *self.runs(op).scratch()])
