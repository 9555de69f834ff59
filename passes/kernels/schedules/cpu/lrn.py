"""The lrn schedule: normalisation over channels, with a pixel's squares in scratch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Operation

from .....dialects.graph.ops.structure import KernelOp
from .....dialects.graph.ops.windows import LrnOp
from .....dialects.graph.values import element_type_of_value, shape_of
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import CpuAttr
from ....cost_model import seconds
from ...kernel_facts import item_bytes, the_root
from ..schedule import Schedule, TileSize
from ..scratch import ScratchLayout


@dataclass(frozen=True)
class Lrn(Schedule[CpuAttr]):
    """One pixel at a time, in place: its squares are in scratch before it is overwritten."""

    forms = ("windows",)

    vector: TileSize
    """Channels of one vector: several registers."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """Vectors of two registers."""
        roots = [op for op in kernel.body.block.ops if fits(op)]
        if len(roots) == 1:
            yield cls(2 * target.lanes(8 * item_bytes(the_root(kernel, LrnOp).x)))

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        return seconds(kernel, target)

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
        """A pixel's squares, zero-padded, with the elements that the last vector reads beyond them."""
        root = the_root(kernel, LrnOp)
        held = shape_of(root.x)[-1] + root.size.value.data - 1 + self.vector
        return ScratchLayout.of([("squares", element_type_of_value(root.x), (held,))])


def fits(root: Operation) -> bool:
    """Whether a root is supported: f32 or f64, channels-last."""
    return isinstance(root, LrnOp) and root.layout.data == "NHWC" and element_type_of_value(root.x) in (f32, f64)
