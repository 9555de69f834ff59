"""The tiles schedule: a product of f32 by blocks of threads, each thread a tile of sums in registers.

A block makes bm x bn sums; `bk` of the depth at a time its part of both operands lies in shared memory, in `stages`
buffers: while one is used, the next are copied. A thread has tm x tn sums in registers. Where bm x bn tiles are few,
the depth is cut in `splits` parts, whose sums are added by a second launch, or by the blocks that made them where these
are a cluster: in the same order in both ways.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override

from .....dialects.graph.ops.structure import KernelOp
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import GpuAttr
from .....dialects.sizes.sizes import bounds_of
from ...forms.contraction import ContractionForm, contraction_form
from ...forms.product import product_shape
from ...kernel_facts import item_bytes
from ..schedule import Schedule, TileSize
from ..scratch import ScratchLayout
from .products import MOST_ALONG_Z, Tiled, bytes_of_right, code_for, interface_of, partial_sums, splits_for
from .tuning import TILES_REACHED

SIZES = (
    (128, 128, 16, 8, 8),
    (128, 64, 16, 8, 8),
    (64, 128, 16, 8, 8),
    (128, 32, 16, 8, 4),
    (64, 64, 16, 8, 4),
    (64, 64, 16, 4, 4),
    (32, 64, 16, 4, 4),
    (32, 32, 16, 4, 4),
    (16, 64, 16, 4, 4),
    (16, 128, 16, 4, 4),
)
"""bm, bn, bk, tm, tn. A warp is 4 x 8 threads; each tile has whole warps."""

STAGES = 3
WARP_ROWS, WARP_COLUMNS = 4, 8


@dataclass(frozen=True)
class Tiles(Schedule[GpuAttr]):
    """Tiles of sums in registers."""

    forms = ("contraction",)

    bm: TileSize
    """Rows of a block."""
    bn: TileSize
    """Columns of a block."""
    bk: TileSize
    """Depth of what is in shared memory at a time."""
    tm: TileSize
    """Rows of a thread."""
    tn: TileSize
    """Columns of a thread."""
    stages: TileSize = STAGES
    """Tiles of each operand in shared memory, at least two."""
    splits: TileSize = 1
    """Parts of the depth that are summed up by themselves."""
    cluster: bool = False
    """Whether the blocks of a tile's parts are a cluster, and add their sums themselves."""

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return (self.bm // self.tm) * (self.bn // self.tn)

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        """Blocks of several sizes that fit a multiprocessor, and split-K factors for each."""
        form = code_for(kernel, of_blocks=True)
        if form is None:
            return
        shape = product_shape(form.root)
        for bm, bn, bk, tm, tn in SIZES:
            if max(bounds_of(shape.batch)[1], bounds_of(-(-shape.columns // bn))[1]) > MOST_ALONG_Z:
                continue
            for splits, cluster in splits_for(kernel, bm, bn, bk, target):
                found = cls(bm, bn, bk, tm, tn, splits=splits, cluster=cluster)
                if found._tiled(form, target).resident(target):
                    yield found

    def _tiled(self, form: ContractionForm, target: GpuAttr) -> Tiled:
        lines = self.bm * (self.bk + 4) + self.bn * (self.bk + 4)
        registers = self.tm * self.tn + 4 * self.tm + self.tn + 32
        return Tiled(
            self.bm,
            self.bn,
            self.bk,
            self.splits,
            self.cluster,
            self.threads,
            registers,
            4 * self.stages * lines,
            target.gflops.data * TILES_REACHED,
            left_bytes=item_bytes(form.lhs),
            right_bytes=bytes_of_right(form),
        )

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        return self._tiled(contraction_form(kernel), target).seconds(kernel, target)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return interface_of(kernel, scratch=self.scratch(kernel).together)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """Partial sums under split-K without clusters."""
        return partial_sums(kernel, self.splits, self.cluster)
