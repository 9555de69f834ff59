"""The schedule of normalisation over channels: a pixel's squares in scratch, with room for the neighbours outside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override

from .....dialects.graph import KernelOp, LrnOp, element_type_of_value, shape_of
from .....dialects.kernel import InterfaceAttr, TargetAttr
from ...kernel_facts import item_bytes, the_root
from ..schedule import Schedule, TileSize
from ..scratch import ScratchLayout


@dataclass(frozen=True)
class Lrn(Schedule):
    """A pixel at a time, in place: its squares are in scratch before it is written."""

    name = "lrn"

    vector: TileSize
    """Channels of one vector: several registers."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: TargetAttr) -> Iterator[Self]:
        """Two registers at a time."""
        yield cls(2 * target.lanes(8 * item_bytes(the_root(kernel, LrnOp).x)))

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return InterfaceAttr.of(
            inplace=[(0, 0)],
            strided_operands=[0],
            strided_results=[0],
            per_thread=self.scratch(kernel).per_thread,
        )

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """A pixel's squares, zeros for its neighbours outside, and what the last vector reads beyond them."""
        root = the_root(kernel, LrnOp)
        held = shape_of(root.x)[-1] + root.size.value.data - 1 + self.vector
        return ScratchLayout.of([("squares", element_type_of_value(root.x), (held,))])
