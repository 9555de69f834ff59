"""The schedule of contractions with a fused elementwise prologue: the left-hand side is computed a few rows at a time.

All panels are read once for each of these blocks of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Self

from typing_extensions import override

from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.values import element_type_of_value, shape_of
from ......dialects.kernel.targets import CpuAttr
from ....forms.contraction import ContractionForm, contraction_form
from ....kernel_facts import item_bytes
from ...schedule import TileSize
from ...scratch import ScratchLayout
from ..tuning import PANELS_BLOCK_TILES
from .blocks_in_scratch import BlocksInScratch


@dataclass(frozen=True)
class ProloguePanels(BlocksInScratch):
    """Tiles over packed panels, by blocks of rows that are computed in scratch."""

    forms = ("contraction",)

    block: TileSize = 1
    """Rows of the left-hand side that are computed at a time."""

    @override
    @classmethod
    def suits(cls, form: ContractionForm, packed: bool) -> bool:
        del packed
        return bool(form.prologue) and form.pool is None

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """Blocks of a few tiles, in half the second-level cache."""
        form = contraction_form(kernel)
        for schedule in super().candidates(kernel, target):
            *rows, depth = shape_of(form.lhs)
            fitting = target.l2.data // 2 // (depth * item_bytes(form.root.results[0]))
            block = max(1, min(PANELS_BLOCK_TILES * schedule.mr, prod(rows), fitting))
            yield replace(schedule, block=block)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """A block of rows of the left-hand side."""
        form = contraction_form(kernel)
        return ScratchLayout.of([("block", element_type_of_value(form.lhs), (self.block, shape_of(form.lhs)[-1]))])
