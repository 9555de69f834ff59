"""The tree_ensemble schedule: a thread for each row and group of trees."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override

from .....dialects.graph.ops.structure import KernelOp
from .....dialects.graph.ops.tree_ensemble import TreeEnsembleOp
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import GpuAttr
from ...kernel_facts import the_root
from ..schedule import Schedule, TileSize
from .cost import bytes_of, memory_seconds
from .tuning import LAUNCH, STEP


@dataclass(frozen=True)
class TreeEnsemble(Schedule[GpuAttr]):
    """Rows and groups of trees, independent of each other."""

    forms = ("tree_ensemble",)

    block: TileSize = 64
    """Threads of a block."""

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        """Each node of a path waits for the one above it."""
        root = the_root(kernel, TreeEnsembleOp)
        steps = root.trees.value.data * (root.depth.value.data + 1)
        return LAUNCH + memory_seconds(bytes_of(kernel), target) + steps * STEP

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return InterfaceAttr.of(strided_operands=[0], strided_results=[0])
