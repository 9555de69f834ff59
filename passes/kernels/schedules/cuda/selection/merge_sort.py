"""The merge_sort schedule: TopK by sorting rows in shared memory, and long ones by merging sorted parts of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Annotated, Self

from typing_extensions import override

from ......dialects.graph.ops.selection import TopKOp
from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.values import shape_of
from ......dialects.kernel.kernel_attributes import InterfaceAttr
from ......dialects.kernel.targets import GpuAttr
from ....kernel_facts import item_bytes, the_root
from ...schedule import Between, Schedule, TileSize
from ...scratch import ScratchLayout
from ..cost import bytes_of, memory_seconds
from .sorted_runs import LARGEST_SORTED, SortedRuns


@dataclass(frozen=True)
class MergeSort(Schedule[GpuAttr]):
    """Every row by n log n comparisons, in one launch or by merging."""

    forms = ("selection",)

    tile: Annotated[int, Between(2, LARGEST_SORTED)]
    """Items that a block sorts in shared memory, a power of two."""
    ways: TileSize = 2
    """Runs that are merged at once."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        root = the_root(kernel, TopKOp)
        yield from (cls(*options) for options in SortedRuns.options(shape_of(root.x)[root.axis.value.data]))

    def runs(self, root: TopKOp) -> SortedRuns:
        """The sort of a kernel's rows."""
        shape, axis = shape_of(root.x), root.axis.value.data
        rows = prod(shape[:axis]) * prod(shape[axis + 1 :])
        fields = 1 if item_bytes(root.x) <= 4 else 2  # a key with the place beside it, or both in one number
        return SortedRuns(rows, shape[axis], root.count.value.data, fields, self.tile, self.ways)

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        return self.runs(the_root(kernel, TopKOp)).seconds(target) + memory_seconds(bytes_of(kernel), target)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return InterfaceAttr.of(strided_operands=[0], strided_results=[0], scratch=self.scratch(kernel).together)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        return ScratchLayout.of(shared=self.runs(the_root(kernel, TopKOp)).scratch())
