"""The suppression schedule: a block for each row of boxes, which finds the best of those left again and again."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.dialects.builtin import i64

from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.values import shape_of
from ......dialects.kernel.kernel_attributes import InterfaceAttr
from ......dialects.kernel.targets import GpuAttr
from ....kernel_facts import argument_index, suppression_of
from ...schedule import Schedule, TileSize
from ...scratch import ScratchLayout
from ..cost import bytes_of, memory_seconds
from ..tuning import LAUNCH, STEP


@dataclass(frozen=True)
class Suppression(Schedule[GpuAttr]):
    """A row's boxes in parallel, one chosen box after the other."""

    forms = ("suppression",)

    block: TileSize = 128
    """Threads of a block."""

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        root, base = suppression_of(kernel), LAUNCH + memory_seconds(bytes_of(kernel), target)
        if root is None:
            return base
        return base + root.rows.value.data * -(-shape_of(root.scores)[2] // self.block) * STEP

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        root = suppression_of(kernel)
        strided = [] if root is None else [argument_index(kernel, each) for each in (root.boxes, root.scores)]
        return InterfaceAttr.of(strided_operands=strided, scratch=self.scratch(kernel).together)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """The keys of all boxes that are left."""
        root = suppression_of(kernel)
        return ScratchLayout() if root is None else ScratchLayout.of(shared=[("left", i64, shape_of(root.scores))])
