"""The schedule of convolutions with a fused max pool: the convolution's result exists a band of rows at a time.

Weights are read once for each band. Rows that two bands need are kept in scratch from one to the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

from typing_extensions import override

from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.ops.windows import MaxPoolOp
from ......dialects.graph.values import element_type_of_value, ints, shape_of
from ......dialects.kernel.targets import CpuAttr
from ......dialects.sizes.sizes import now
from ....forms.contraction import ContractionForm, contraction_form
from ....kernel_facts import item_bytes
from ...schedule import TileSize
from ...scratch import ScratchLayout
from .blocks_in_scratch import BlocksInScratch


@dataclass(frozen=True)
class PooledPanels(BlocksInScratch):
    """Tiles over packed panels, by bands of rows that a pool reads from scratch."""

    forms = ("contraction",)

    band: TileSize = 1
    """Rows of the pool's result that are made at a time."""

    @override
    @classmethod
    def suits(cls, form: ContractionForm, packed: bool) -> bool:
        del packed
        return form.pool is not None

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """Bands as large as fit a quarter of the second-level cache, but one for every thread."""
        form = contraction_form(kernel)
        for schedule in super().candidates(kernel, target):
            if form.pool is not None:
                yield replace(schedule, band=_band(form.pool, item_bytes(form.root.results[0]), target))

    @override
    def pieces(self, form: ContractionForm) -> int:
        """The number of bands, if one needs rows of the previous band."""
        pool = form.pool
        if pool is None or ints(pool.kernel)[0] <= ints(pool.strides)[0]:
            return 0
        images, height = shape_of(pool.result)[:2]
        return now(images * -(-height // self.band))

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """The rows of the convolution that a band of pooled rows reads."""
        form = contraction_form(kernel)
        if (pool := form.pool) is None:
            return ScratchLayout()
        _, _, width, channels = shape_of(pool.x)
        rows = (self.band - 1) * ints(pool.strides)[0] + ints(pool.kernel)[0]
        return ScratchLayout.of([("band", element_type_of_value(form.root.results[0]), (rows, width, channels))])


def _band(pool: MaxPoolOp, size: int, target: CpuAttr) -> int:
    """Number of pooled rows computed at a time, from elements of `size` bytes."""
    _, _, width, channels = shape_of(pool.x)
    images, height = shape_of(pool.result)[:2]
    window, stride = ints(pool.kernel)[0], ints(pool.strides)[0]
    fitting = (target.l2.data // 4 // (width * channels * size) - window) // stride + 1
    return max(1, min(fitting, height, -(-images * height // target.threads.data)))
