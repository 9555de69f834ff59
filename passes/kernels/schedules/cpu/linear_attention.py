"""The schedule of linear attention: a vector of the state's columns at a time, through all steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override

from .....dialects.graph.ops.linear_attention import LinearAttentionOp
from .....dialects.graph.ops.structure import KernelOp
from .....dialects.graph.values import element_type_of_value, shape_of
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import CpuAttr
from ....cost_model import seconds
from ...forms.recurrence import check_floats
from ...kernel_facts import all_operands, all_results, item_bytes, the_root
from ..schedule import Schedule, TileSize
from ..scratch import ScratchLayout
from .tuning import LINEAR_ATTENTION_REGISTERS


@dataclass(frozen=True)
class LinearAttention(Schedule[CpuAttr]):
    """Columns of the state, independent of each other."""

    forms = ("linear_attention",)

    lanes: TileSize
    """Columns of one vector."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """Vectors of two registers, or of one for few columns. Raises CompileError for unsupported types."""
        root = the_root(kernel, LinearAttentionOp)
        check_floats(root, root.y)
        lanes = target.lanes(8 * item_bytes(root.y))
        yield cls(lanes * (LINEAR_ATTENTION_REGISTERS if shape_of(root.last)[3] > lanes else 1))

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        return seconds(kernel, target)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return InterfaceAttr.of(
            strided_operands=all_operands(kernel),
            strided_results=all_results(kernel),
            per_thread=self.scratch(kernel).per_thread,
        )

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """The state's columns."""
        root = the_root(kernel, LinearAttentionOp)
        return ScratchLayout.of([("state", element_type_of_value(root.y), (shape_of(root.key)[3], self.lanes))])
