"""The schedule of products by block-quantised matrices: many rows by panels dequantised in scratch, few in registers.

Numbers, scales and zeros of the matrix lie in panels of their own, packed ahead.
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
from ......dialects.sizes.sizes import bounds_of, now
from .....cost_model import seconds
from ....forms.contraction import ContractionForm, contraction_form
from ...schedule import Count, TileSize
from ...scratch import ScratchLayout
from ..tuning import DEQUANTISED_FEW_TILES, DEQUANTISED_FEW_TILES_OF_512
from .tiled_product import TiledProduct, has_whole_rows, is_plain


@dataclass(frozen=True)
class DequantisedPanels(TiledProduct):
    """Tiles over panels of weights of few bits."""

    forms = ("contraction",)

    few: Count = 0
    """Most rows for which numbers are unpacked in registers, by each tile."""
    few_rows: TileSize = 1
    """Rows of such a tile."""

    @override
    @classmethod
    def suits(cls, form: ContractionForm, packed: bool) -> bool:
        del packed
        return form.blocks is not None and is_plain(form)

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """As of other weights; a tile that unpacks them has two chains of sums, and totals."""
        for schedule in super().candidates(kernel, target):
            yield schedule._unpacking(kernel, target)

    @override
    def neighbours(self, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        for schedule in super().neighbours(kernel, target):
            yield schedule._unpacking(kernel, target)

    def _unpacking(self, kernel: KernelOp, target: CpuAttr) -> Self:
        """The same with tiles that unpack in the registers there are; those read whole rows."""
        if not has_whole_rows(contraction_form(kernel)):
            return replace(self, prefetch=0)
        tallest = max(1, (target.registers.data - 8) // (3 * self.nr // self.lanes))
        tiles = DEQUANTISED_FEW_TILES_OF_512 if target.vector_bits.data == 512 else DEQUANTISED_FEW_TILES
        return replace(self, prefetch=0, few=tiles * tallest, few_rows=tallest)

    @override
    def least_cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        """Four instructions for each number, each time that it is unpacked."""
        root = contraction_form(kernel).root
        rows, numbers = now(prod(shape_of(root.results[0])[:-1])), prod(shape_of(root.operands[1]))
        times = -(-rows // self.few_rows) if rows <= self.few else 1
        return seconds(kernel, target, wasted=self.wasted(root, target), more=4 * numbers * times)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """One dequantised panel."""
        form = contraction_form(kernel)
        if form.blocks is None or bounds_of(prod(shape_of(form.root.results[0])[:-1]))[1] <= self.few:
            return ScratchLayout()
        depth = shape_of(form.blocks.result)[1]
        return ScratchLayout.of([("panel", element_type_of_value(form.root.results[0]), (depth, self.nr))])
