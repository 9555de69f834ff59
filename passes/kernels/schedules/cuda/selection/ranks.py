"""The ranks schedule: TopK by a thread for each element, which counts the elements that precede it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from typing_extensions import override

from ......dialects.graph.ops.selection import TopKOp
from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.values import shape_of
from ......dialects.kernel.kernel_attributes import InterfaceAttr
from ......dialects.kernel.targets import GpuAttr
from ....kernel_facts import the_root
from ...schedule import Schedule, TileSize
from ..cost import bytes_of, memory_seconds
from ..tuning import LAUNCH, STEP


@dataclass(frozen=True)
class Ranks(Schedule[GpuAttr]):
    """Every element of a row is compared with every other, in parallel; a heap would be sequential."""

    forms = ("selection",)

    block: TileSize = 128
    """Threads of a block."""

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        root = the_root(kernel, TopKOp)
        shape = shape_of(root.x)
        waves = -(-prod(shape) // (self.block * target.multiprocessors.data))
        return LAUNCH + memory_seconds(bytes_of(kernel), target) + waves * shape[root.axis.value.data] * STEP

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return InterfaceAttr.of(strided_operands=[0], strided_results=[0])
