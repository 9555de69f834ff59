"""The mma schedule: products on tensor cores, each warp with a tile of sums in registers.

Tiles lie in shared memory as with `tiles`; a warp multiplies its wm x wn part in pieces of 16 x 8. Numbers are rounded
as the target's precision says: constants when they are packed, others to tf32 on their way to registers, or to 16 bits
on their way to shared memory. As `3xtf32` each is split in two numbers of tf32, and of the four products all but the
smallest are summed up: that of infinity and anything is no number then. Sums are f32. Bytes are multiplied exactly at
every precision, with sums of i32; those of an operand that doesn't lie along the depth go through registers, and are
stored one by one as if it did.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override

from .....dialects.graph.ops.contraction import ConvOp
from .....dialects.graph.ops.structure import KernelOp
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import GpuAttr
from .....dialects.sizes.sizes import bounds_of
from ...forms.contraction import ContractionForm, contraction_form
from ...forms.product import product_shape
from ...kernel_facts import item_bytes
from ..schedule import Schedule, TileSize
from ..scratch import ScratchLayout
from .cost import product_gflops
from .products import (
    MOST_ALONG_Z,
    Tiled,
    bytes_of_right,
    code_for,
    interface_of,
    is_constant_matrix,
    lies_along_depth,
    multiplies_bytes,
    partial_sums,
    rounding_of,
    runs_along_depth,
    splits_for,
)
from .tuning import MMA_REACHED, MMA_READS, MMA_STORED_BYTE

SIZES = (
    (128, 128, 32, 64, 32),
    (128, 64, 32, 32, 32),
    (64, 128, 32, 32, 32),
    (64, 64, 32, 32, 32),
    (64, 32, 32, 32, 16),
    (32, 128, 32, 32, 32),
    (32, 64, 32, 16, 32),
    (32, 32, 32, 16, 16),
    (16, 64, 32, 16, 16),
    (16, 128, 32, 16, 32),
)
"""bm, bn, bk, wm, wn."""

STAGES = 3
"""Tiles of an operand in shared memory; where one comes through registers, which hold another one, there are two."""

WIDTH = {"tf32": 4, "3xtf32": 4, "fp16": 2, "bf16": 2, "bytes": 1}
"""Bytes of a number in shared memory."""


@dataclass(frozen=True)
class Mma(Schedule[GpuAttr]):
    """Tiles of sums by warps."""

    forms = ("contraction",)

    bm: TileSize
    """Rows of a block."""
    bn: TileSize
    """Columns of a block."""
    bk: TileSize
    """Depth of what is in shared memory at a time: a multiple of 16."""
    wm: TileSize
    """Rows of a warp: a multiple of 16."""
    wn: TileSize
    """Columns of a warp: a multiple of 16."""
    stages: TileSize
    """Tiles of each operand in shared memory, at least two."""
    splits: TileSize = 1
    """Parts of the depth that are summed up by themselves."""
    turned: bool = False
    """Whether filters and constant matrices lie along the depth: only fragments of 16 bits can be transposed."""
    f16: bool = False
    bf16: bool = False
    tf32: bool = False
    """How constants are rounded when they are packed."""
    cluster: bool = False
    """Whether the blocks of a tile's parts are a cluster, and add their sums themselves."""

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return GpuAttr.WARP * (self.bm // self.wm) * (self.bn // self.wn)

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        """Blocks of several sizes that fit a multiprocessor, and split-K factors for each."""
        form = code_for(kernel, of_bytes=True, of_blocks=True)
        if form is None or (kind := _kind(form, target)) not in WIDTH:
            return
        shape, rounding = product_shape(form.root), rounding_of(kernel, target)
        turned = isinstance(form.root, ConvOp) and shape.depth % 4 == 0
        if WIDTH[kind] != 2 and is_constant_matrix(kernel) and not runs_along_depth(form):
            turned = kind == "bytes" or (rounding == "tf32" and shape.depth % 4 == 0)
        right_bytes = WIDTH[kind] if rounding else bytes_of_right(form)
        is_copied = item_bytes(form.lhs) == right_bytes == WIDTH[kind]
        if kind == "bytes":
            is_copied = not _stored_bytes(form, 1, 1, turned)
        stages = STAGES if is_copied else 2
        for bm, bn, bk, wm, wn in SIZES:
            if max(bounds_of(shape.batch)[1], bounds_of(-(-shape.columns // bn))[1]) > MOST_ALONG_Z:
                continue
            bk = 2 * bk if kind == "bytes" else bk
            for splits, cluster in splits_for(kernel, bm, bn, bk, target):
                flags = {rounding: True} if rounding else {}
                found = cls(bm, bn, bk, wm, wn, stages, splits, turned, cluster=cluster, **flags)
                if found._tiled(form, target).resident(target):
                    yield found

    def _tiled(self, form: ContractionForm, target: GpuAttr) -> Tiled:
        kind = _kind(form, target)
        width = WIDTH[kind]
        lines = max(self.bm * (self.bk + 8) + self.bn * (self.bk + 8), self.bk * (self.bm + self.bn + 16))
        read = self.bm * self.bn * self.bk * (1 / self.wm + 1 / self.wn) * width
        if kind == "bytes":
            read += MMA_STORED_BYTE * self.bk * _stored_bytes(form, self.bm, self.bn, self.turned)
        held = self.wm // 4 + self.wn // 4
        registers = self.wm * self.wn // GpuAttr.WARP + held * (2 if kind == "3xtf32" else 1) + 48
        return Tiled(
            self.bm,
            self.bn,
            self.bk,
            self.splits,
            self.cluster,
            self.threads,
            registers,
            width * self.stages * lines,
            product_gflops(target, kind) * MMA_REACHED,
            read / MMA_READS,
            item_bytes(form.lhs),
            2 if self.f16 or self.bf16 else bytes_of_right(form),
        )

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        return self._tiled(contraction_form(kernel), target).seconds(kernel, target)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        rounding = "f16" if self.f16 else "bf16" if self.bf16 else "tf32" if self.tf32 else ""
        scratch = self.scratch(kernel).together
        return interface_of(kernel, transposed=self.turned, rounding=rounding, scratch=scratch)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """Partial sums under split-K without clusters."""
        return partial_sums(kernel, self.splits, self.cluster)


def _stored_bytes(form: ContractionForm, rows: int, columns: int, turned: bool) -> int:
    """Of so many rows and columns, those of operands whose bytes are stored to shared memory one by one."""
    return (0 if lies_along_depth(form) else rows) + (0 if turned or runs_along_depth(form) else columns)


def _kind(form: ContractionForm, target: GpuAttr) -> str:
    """What tensor cores multiply: bytes, or numbers of the target's precision."""
    return "bytes" if multiplies_bytes(form) else target.precision.data
