"""The linear_attention schedule: a thread for each column of the state, through all steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Self

from typing_extensions import override

from ......dialects.graph.ops.linear_attention import LinearAttentionOp
from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.values import element_type_of_value, shape_of
from ......dialects.kernel.kernel_attributes import InterfaceAttr
from ......dialects.kernel.targets import GpuAttr
from ....forms.recurrence import check_floats
from ....kernel_facts import the_root
from ...schedule import Schedule, TileSize
from ...scratch import ScratchLayout
from ..cost import bytes_of, memory_seconds
from ..tuning import LAUNCH, STEP


@dataclass(frozen=True)
class LinearAttention(Schedule[GpuAttr]):
    """Columns of the state, independent of each other."""

    forms = ("linear_attention",)

    block: TileSize = 64
    """Threads of a block."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        """The only candidate. Raises CompileError for unsupported types."""
        root = the_root(kernel, LinearAttentionOp)
        check_floats(root, root.y)
        yield cls()

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        """Each row of the state is read and written once per step."""
        steps, size = shape_of(the_root(kernel, LinearAttentionOp).key)[1::2]
        return LAUNCH + memory_seconds(bytes_of(kernel), target) + 2 * steps * size * STEP

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return InterfaceAttr.of(scratch=self.scratch(kernel).together)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """The state, with all columns adjacent."""
        root = the_root(kernel, LinearAttentionOp)
        batch, groups, size, width = shape_of(root.last)
        return ScratchLayout.of(shared=[("state", element_type_of_value(root.y), (size, prod((batch, groups, width))))])
