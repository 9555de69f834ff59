"""The schedule of products by a matrix that is computed: each of its panels is packed into scratch before its tiles."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override

from ......dialects.bf16_dot import PAIR
from ......dialects.graph.ops.contraction import is_byte
from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.packing.grouped_panels import whole_groups
from ......dialects.graph.values import element_type_of_value
from ....forms.contraction import ContractionForm, contraction_form
from ...scratch import ScratchLayout
from .tiled_product import TiledProduct, depth_of, is_plain


@dataclass(frozen=True)
class ComputedPanels(TiledProduct):
    """Tiles over panels of a right-hand side that is not packed ahead."""

    forms = ("contraction",)

    @override
    @classmethod
    def suits(cls, form: ContractionForm, packed: bool) -> bool:
        return not packed and is_plain(form) and form.blocks is None

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """One panel of the right-hand side."""
        form = contraction_form(kernel)
        element, depth = element_type_of_value(form.rhs), depth_of(form.root)
        if is_byte(element):
            depth = whole_groups(depth)
        elif form.root.sums is not None:
            depth = whole_groups(depth, PAIR)
        return ScratchLayout.of([("panel", element, (depth, self.nr))])
