"""The schedule of panels for long inner sums: a part of the sum at a time, for a block of rows and a group of panels.

A tile over the whole inner sum reads its rows from beyond the second-level cache once for every panel where they don't
fit. Here a part of the rows of a block stays in that cache while it meets the same part of every panel of a group, and
sums wait in scratch in between (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008). The
parts are those in which `panels` adds up long sums, so both schedules give the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Self

from typing_extensions import override

from .....dialects.graph.contraction import ConvOp, is_byte
from .....dialects.graph.structure import KernelOp
from .....dialects.graph.values import element_type_of_value, shape_of
from .....dialects.symbolic.sizes import is_fixed, now
from .....dialects.targets import CpuAttr
from ...forms.contraction import contraction_form, conv_geometry
from ...kernel_facts import item_bytes
from ..schedule import TileSize
from ..scratch import ScratchLayout
from .panels import PART, Panels, depth_of, fits, packed_operands

# Tiles of a block, so that 512 elements of all its rows lie in half a second-level cache of 1 MB. On Zen 5, with 196
# rows, 8, 16 and 24 tiles by 2, 4 and 8 panels are within 3 % of each other.
MOST_TILES = 16
# Of the second-level cache, from which on a panel of the whole inner sum is too long. With 1 MB (Zen 5), 196 x 3072 x
# 768 runs at 238 GFLOP/s instead of 222, 512 x 4096 x 512 at 232 instead of 211, 64 x 3072 x 768 at 235 instead of 232;
# 784 x 2304 x 256 and 196 x 2048 x 768 gain 1 %, 196 x 1024 x 768 loses 1 %.
PANEL_SHARE = 0.3


@dataclass(frozen=True)
class BlockedPanels(Panels):
    """Tiles over parts of packed panels."""

    name = "blocked_panels"

    group: TileSize = 4
    """Panels of a group."""
    tall: TileSize = 1
    """Tiles of a block of rows."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """For inner sums of several parts, of one tap, of floats, whose weights are packed ahead."""
        form = contraction_form(kernel)
        root = form.root
        if form.pool is not None or form.prologue or form.blocks or not fits(root):
            return
        if is_byte(element_type_of_value(root.operands[0])) or not is_fixed(depth := depth_of(root)):
            return
        if isinstance(root, ConvOp) and not conv_geometry(root).pointwise:
            return
        rows = now(prod(shape_of(root.results[0])[:-1]))
        for schedule in super().candidates(kernel, target):
            if depth > PART and rows > max(schedule.mr, 3) and packed_operands(kernel, form, schedule.nr):
                yield replace(schedule, tall=min(MOST_TILES, -(-rows // schedule.mr)), by_rows=False)

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        """Pays where a panel takes much of the second-level cache, and is as fast as `panels` where it doesn't."""
        root = contraction_form(kernel).root
        panel = depth_of(root) * self.nr * item_bytes(root.results[0])
        return super().cost(kernel, target) * (0.95 if panel > PANEL_SHARE * target.l2.data else 1.01)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """The sums of a block by a group."""
        element = element_type_of_value(contraction_form(kernel).root.results[0])
        return ScratchLayout.of([("sums", element, (self.tall * self.mr, self.group * self.nr))])
