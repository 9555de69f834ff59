"""The suppression schedule: boxes of a batch and class by score, compared with those that were chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt
from typing import Self

from typing_extensions import override
from xdsl.dialects.builtin import f32, i32, i64

from .....dialects.graph.ops.structure import KernelOp
from .....dialects.graph.values import shape_of
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import CpuAttr
from .....dialects.sizes.sizes import now
from ....cost_model import seconds
from ...kernel_facts import argument_index, suppression_of
from ..schedule import Schedule, TileSize
from ..scratch import ScratchLayout

LEAST_BLOCK = 64
"""Candidates of a block, at least: half of what is looked at to find the next one, where there are 2048."""
LARGEST_BLOCK = 1024
CORNERS = 5
"""Numbers of a chosen box: two corners and the area."""


@dataclass(frozen=True)
class Suppression(Schedule[CpuAttr]):
    """Rows of boxes independently."""

    forms = ("suppression",)

    vector: TileSize
    """f32 lanes of a register."""
    block: TileSize = LEAST_BLOCK
    """Candidates of which the best is kept: a power of two."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """To find the next candidate, the best ones of all blocks are looked at, and those of one block."""
        root = suppression_of(kernel)
        count = 0 if root is None else now(shape_of(root.scores)[2])
        block = 1 << (isqrt(2 * count).bit_length() - 1) if count else 0
        yield cls(target.lanes(32), min(max(block, LEAST_BLOCK), LARGEST_BLOCK))

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        return seconds(kernel, target)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        root = suppression_of(kernel)
        strided = [] if root is None else [argument_index(kernel, each) for each in (root.boxes, root.scores)]
        return InterfaceAttr.of(strided_operands=strided, per_thread=self.scratch(kernel).per_thread)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """A row's candidates, the best of each block, and the chosen boxes."""
        root = suppression_of(kernel)
        if root is None:
            return ScratchLayout()
        blocks = -(-shape_of(root.scores)[2] // self.block)
        return ScratchLayout.of(
            [
                ("keys", i64, (blocks * self.block + self.vector,)),
                ("numbers", i32, (blocks * self.block,)),
                ("best", i64, (blocks + self.vector,)),
                ("corners", f32, (CORNERS, root.rows.value.data + 2 * self.vector)),
            ]
        )
