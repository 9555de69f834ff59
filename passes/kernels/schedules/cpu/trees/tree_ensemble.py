"""The tree_ensemble schedule: several walks down trees at once, of rows down one tree, or of one row down several.

Trees that have tests are tested on vectors of rows where there are enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override

from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.ops.tree_ensemble import TreeEnsembleOp, word_type
from ......dialects.graph.values import element_type_of_value, shape_of
from ......dialects.kernel.kernel_attributes import InterfaceAttr
from ......dialects.kernel.targets import CpuAttr
from ......dialects.sizes.sizes import bounds_of, is_fixed
from .....cost_model import seconds
from ....kernel_facts import item_bytes, the_root
from ...schedule import Count, Schedule, TileSize
from ...scratch import ScratchLayout
from ..tuning import TREE_CACHE, TREE_FEW, TREE_FEW_LINKED, TREE_ROWS, TREE_VECTORS, TREE_WALKS


@dataclass(frozen=True)
class TreeEnsemble(Schedule[CpuAttr]):
    """Blocks of rows, each through all trees of a group."""

    forms = ("tree_ensemble",)

    walks: TileSize
    """Walks at once: of so many rows down one tree, or of one row down so many trees; groups have a multiple of it."""
    rows: TileSize
    """Rows of a block, which stay in the cache while the group's trees pass."""
    lanes: TileSize
    """Rows of a vector that is tested."""
    vectors: Count = 0
    """Vectors that are tested at once; 0: rows walk down the trees."""
    few: Count = 0
    """Rows left of whole vectors that are tested; fewer walk."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """Rows by tests if there are any, and walking."""
        op = the_root(kernel, TreeEnsembleOp)
        walks = TREE_WALKS if op.groups[1] % TREE_WALKS == 0 else 1
        rows, features = shape_of(op.x)
        size = item_bytes(op.x)
        lanes = target.lanes(8 * size)
        few = (
            0 if op.tests is None else shape_of(op.tests)[2] // (TREE_FEW if op.roots is None else TREE_FEW_LINKED) + 1
        )
        if op.tests is not None and is_fixed(features) and bounds_of(rows)[1] >= few:
            fitting = target.l2.data // TREE_CACHE // (max(features, 1) * size)
            block = min(TREE_ROWS, fitting // lanes * lanes)
            if block:
                yield cls(walks, block, lanes, min(TREE_VECTORS, block // lanes), few)
                return
        yield cls(walks, TREE_ROWS, lanes)

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        return seconds(kernel, target, vectors=False)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return InterfaceAttr.of(strided_operands=[0], strided_results=[0], per_thread=self.scratch(kernel).per_thread)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """The features of a block's rows by columns, and the leaves that the tested ones reach in a tree."""
        op = the_root(kernel, TreeEnsembleOp)
        if not self.vectors:
            return ScratchLayout()
        element, features = element_type_of_value(op.x), max(1, shape_of(op.x)[1])
        leaves = ("leaves", word_type(element), (self.vectors * self.lanes,))
        return ScratchLayout.of([("columns", element, (features, self.rows)), leaves])
