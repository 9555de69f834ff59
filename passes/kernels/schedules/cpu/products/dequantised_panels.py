"""The schedule of products by a block-quantised matrix: each of its panels is dequantised in scratch before its tiles.

Numbers, scales and zeros of the matrix lie in panels of their own, packed ahead.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override

from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.values import element_type_of_value, shape_of
from ....forms.contraction import ContractionForm, contraction_form
from ...scratch import ScratchLayout
from .tiled_product import TiledProduct, is_plain


@dataclass(frozen=True)
class DequantisedPanels(TiledProduct):
    """Tiles over panels of weights of few bits."""

    forms = ("contraction",)

    @override
    @classmethod
    def suits(cls, form: ContractionForm, packed: bool) -> bool:
        del packed
        return form.blocks is not None and is_plain(form)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """One dequantised panel, of whole blocks."""
        form = contraction_form(kernel)
        if form.blocks is None:
            return ScratchLayout()
        depth = shape_of(form.blocks.scale)[1] * form.blocks.block.value.data
        return ScratchLayout.of([("panel", element_type_of_value(form.root.results[0]), (depth, self.nr))])
