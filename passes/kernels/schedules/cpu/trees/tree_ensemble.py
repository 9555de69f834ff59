"""The tree_ensemble schedule: several walks down trees at once, of rows down one tree, or of one row down several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override

from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.ops.tree_ensemble import TreeEnsembleOp
from ......dialects.kernel.kernel_attributes import InterfaceAttr
from ......dialects.kernel.targets import CpuAttr
from .....cost_model import seconds
from ....kernel_facts import the_root
from ...schedule import Schedule, TileSize
from ..tuning import TREE_ROWS, TREE_WALKS


@dataclass(frozen=True)
class TreeEnsemble(Schedule[CpuAttr]):
    """Blocks of rows, each through all trees of a group."""

    forms = ("tree_ensemble",)

    walks: TileSize
    """Walks at once: of so many rows down one tree, or of one row down so many trees; groups have a multiple of it."""
    rows: TileSize
    """Rows of a block, which stay in the cache while the group's trees pass."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """The only candidate: of trees that are no multiple, one at a time."""
        padded = the_root(kernel, TreeEnsembleOp).groups[1]
        yield cls(TREE_WALKS if padded % TREE_WALKS == 0 else 1, TREE_ROWS)

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        return seconds(kernel, target, vectors=False)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return InterfaceAttr.of(strided_operands=[0], strided_results=[0])
