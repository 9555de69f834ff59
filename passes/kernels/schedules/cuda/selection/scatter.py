"""The scatter schedule: a thread for each row that an update may replace, which scans all updates in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Self

from typing_extensions import override

from ......dialects.graph.ops.indexing import ScatterNdOp
from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.values import shape_of
from ......dialects.kernel.kernel_attributes import InterfaceAttr
from ......dialects.kernel.targets import GpuAttr
from ....kernel_facts import ScatterOp, all_operands, scatter_of, scatter_pairs
from ...schedule import Schedule, TileSize
from ..cost import bytes_of, memory_seconds, resident_blocks
from ..tuning import LATENCY, LAUNCH, SCATTER_ROWS, STEP


def rows_of(op: ScatterOp) -> int:
    """The number of rows of the result, each replaced as a whole by an update."""
    shape = shape_of(op.result)
    return prod(shape[: shape_of(op.indices)[-1]]) if isinstance(op, ScatterNdOp) else prod(shape)


def updates_of(op: ScatterOp) -> int:
    """The number of updates."""
    shape = shape_of(op.indices)
    return prod(shape[:-1] if isinstance(op, ScatterNdOp) else shape)


@dataclass(frozen=True)
class Scatter(Schedule[GpuAttr]):
    """Rows of the result independently, updates in order."""

    forms = ("map",)

    block: TileSize = 128
    """Threads of a block."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        """If the kernel is a scatter."""
        if scatter_of(kernel) is not None:
            yield cls()

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        """Each thread reads all indices, and copies its row alone."""
        op = scatter_of(kernel)
        assert op is not None
        threads = self.block * target.multiprocessors.data
        waves = max(1.0, rows_of(op) / (threads * resident_blocks(self.block)))
        alone = updates_of(op) * SCATTER_ROWS + prod(shape_of(op.result)) / max(1, rows_of(op)) * STEP
        return LAUNCH + LATENCY + waves * alone + memory_seconds(bytes_of(kernel), target)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        """In place over x, if it has no other use."""
        scatter = scatter_of(kernel)
        assert scatter is not None
        return InterfaceAttr.of(inplace=scatter_pairs(kernel, scatter), strided_operands=all_operands(kernel))
