"""What prologue_panels and pooled_panels share: blocks of rows in scratch, of the size that suits the tiles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override

from ......dialects.graph.ops.structure import KernelOp
from ......dialects.kernel.targets import CpuAttr
from .tiled_product import TiledProduct


@dataclass(frozen=True)
class BlocksInScratch(TiledProduct):
    """Tiles over packed panels, by blocks of rows in scratch; itself no schedule, as it has no `forms`."""

    @override
    def neighbours(self, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """None: blocks are made for these tiles."""
        return iter(())

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        """A block's rows stay in the cache while they meet all panels."""
        return self.least_cost(kernel, target)
