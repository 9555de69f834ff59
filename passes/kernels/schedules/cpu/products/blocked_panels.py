"""The schedule of panels in blocks: some rows meet a group of panels, and of long inner sums a part at a time.

Tile by tile and panel by panel, `panels` reads all rows once for each panel, from memory where they don't fit into a
cache. Here a block of rows stays in the second-level cache while it meets every panel. Of a long inner sum it is a
part of the rows that stays there, with the same part of every panel of a group, and sums wait in scratch in between
(Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", 2008). The parts are those in which
`panels` adds up long sums, so both schedules give the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Self

from typing_extensions import override
from xdsl.ir import Operation

from ......dialects.graph.ops.contraction import ConvOp, MatmulOp, is_byte
from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.values import element_type_of_value, shape_of
from ......dialects.kernel.targets import CpuAttr
from ......dialects.sizes.sizes import bounds_of, is_fixed, now
from ....forms.contraction import contraction_form, conv_geometry
from ....kernel_facts import item_bytes
from ...schedule import TileSize
from ...scratch import ScratchLayout
from ..tuning import (
    BLOCKED_PANELS_ITEMS_PER_THREAD,
    BLOCKED_PANELS_LONG,
    BLOCKED_PANELS_LONG_SHARE,
    BLOCKED_PANELS_MOST_TILES,
    BLOCKED_PANELS_WAITING,
    PANELS_PART,
    PANELS_ROWS_SHARE,
)
from .tiled_product import TiledProduct, bytes_of_rows, depth_of, fits


@dataclass(frozen=True)
class BlockedPanels(TiledProduct):
    """Tiles over packed panels, by blocks of rows."""

    forms = ("contraction",)
    rank = 1

    group: TileSize = 1
    """Panels of a group."""
    tall: TileSize = 1
    """Tiles of a block of rows."""
    ahead: bool = False
    """Whether tiles of a group's first panel ask for the next tile's rows, where there are several blocks."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """For float products with one tap and more than a tile of rows, whose weights are packed ahead."""
        root = contraction_form(kernel).root
        if not fits(root) or is_byte(element_type_of_value(root.operands[0])) or not is_fixed(depth := depth_of(root)):
            return
        if isinstance(root, ConvOp) and not conv_geometry(root).pointwise:
            return
        rows, most_rows = _rows_of(root)
        for schedule in super().candidates(kernel, target):
            if rows <= max(schedule.mr, 3):
                continue
            length = min(depth, PANELS_PART) if _is_divided(root) else depth
            tile = schedule.mr * length * item_bytes(root.operands[0])
            tiles, most = (
                -(-most_rows // schedule.mr),
                max(1, min(BLOCKED_PANELS_MOST_TILES, target.l2.data // 2 // tile)),
            )
            tall = -(-tiles // -(-tiles // most))  # blocks alike: a short one would read all panels for few rows
            panels = -(-now(shape_of(root.results[0])[-1]) // schedule.nr)
            group = panels
            if _is_divided(root):
                group = min(panels, BLOCKED_PANELS_WAITING)
            elif target.threads.data > 1:
                blocks = -(-rows // (tall * schedule.mr))
                group = max(1, panels * blocks // (BLOCKED_PANELS_ITEMS_PER_THREAD * target.threads.data))
            ahead = tiles > tall and _are_read_again(root, schedule.nr, target)
            yield replace(schedule, tall=tall, group=min(panels, group), ahead=ahead)

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        """Rows come from the cache, and where sums are kept in scratch, long panels are a twentieth faster."""
        root = contraction_form(kernel).root
        long = (
            _is_divided(root)
            and depth_of(root) * self.nr * item_bytes(root.results[0]) > BLOCKED_PANELS_LONG_SHARE * target.l2.data
        )
        return self.least_cost(kernel, target) * (BLOCKED_PANELS_LONG if long else 1)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """The partial sums of a block by a group."""
        root = contraction_form(kernel).root
        if not _is_divided(root):
            return ScratchLayout()
        element = element_type_of_value(root.results[0])
        return ScratchLayout.of([("sums", element, (self.tall * self.mr, self.group * self.nr))])


def _is_divided(root: MatmulOp | ConvOp) -> bool:
    """Whether sums are added up in parts; those of bf16 are not, whose operands are rounded far more than sums."""
    return root.sums is None and depth_of(root) > PANELS_PART


def _are_read_again(root: MatmulOp | ConvOp, nr: int, target: CpuAttr) -> bool:
    """Whether the largest possible rows are read for several panels, and are too large for a cache.

    They then come from memory, or from a cache that is nearly as far: prefetched, 4096 x 256 x 256 takes 0.93 of the
    time, 4096 x 1024 x 256 0.98 (Zen 5).
    """
    return now(shape_of(root.results[0])[-1]) > nr and bytes_of_rows(root) > PANELS_ROWS_SHARE * target.l2.data


def _rows_of(root: Operation) -> tuple[int, int]:
    """The number of rows of a product at present, and the largest at run time."""
    rows = prod(shape_of(root.results[0])[:-1])
    return now(rows), bounds_of(rows)[1]
