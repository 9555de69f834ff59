"""The attention schedule: register tiles as for a matrix product, one head per thread at a time.

Scratch for each thread holds one head's keys in panels and `mr` rows of scores, so it grows with the number of keys
and not with its square.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override

from .....dialects.graph.attention import AttentionOp
from .....dialects.graph.structure import KernelOp
from .....dialects.graph.values import element_type_of_value
from .....dialects.kernel_attributes import InterfaceAttr
from .....dialects.targets import CpuAttr
from ....work import seconds
from ...forms.attention import attention_sizes, check_attention, direct_operands
from ...kernel_facts import item_bytes, the_root
from ..schedule import Schedule, TileSize
from ..scratch import ScratchLayout
from .panels import beside_float_sums


@dataclass(frozen=True)
class Attention(Schedule[CpuAttr]):
    """A head at a time, its keys in panels and whole rows of scores."""

    name = "attention"

    mr: TileSize
    """Rows of a tile: queries."""
    nr: TileSize
    """Columns of a tile, and keys of a panel."""
    lanes: TileSize
    """Elements of one register."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """Tile sizes from the target's registers; CompileError where there is no code."""
        root = the_root(kernel, AttentionOp)
        check_attention(root)
        lanes = target.lanes(8 * item_bytes(root.result))
        yield cls(max(1, (target.registers.data - beside_float_sums(target)) // 2), 2 * lanes, lanes)

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        return seconds(kernel, target)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return InterfaceAttr.of(
            strided_operands=direct_operands(kernel), strided_results=[0], per_thread=self.scratch(kernel).per_thread
        )

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """One head's keys in panels, and a tile's rows of scores."""
        root = the_root(kernel, AttentionOp)
        sizes, element = attention_sizes(root), element_type_of_value(root.result)
        panels = -(-sizes.keys // self.nr)
        keys, scores = (panels, sizes.depth, self.nr), (self.mr, panels * self.nr)
        return ScratchLayout.of([("keys", element, keys), ("scores", element, scores)])
