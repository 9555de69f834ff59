"""The schedule of products by block-quantised matrices whose rows may be rounded: dot products of bytes.

Rows are rounded to bytes by the matrix's blocks, as many at a time as half of the second-level cache holds, and meet
all panels of a thread's share. Numbers are unpacked in registers: memory is read in their few bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Self

from typing_extensions import override
from xdsl.dialects.builtin import f32, i8, i32

from ......dialects.graph.ops.contraction import MatmulOp
from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.packing.block_panels import WORD
from ......dialects.graph.values import element_type_of_value, shape_of
from ......dialects.kernel.targets import CpuAttr
from ......dialects.sizes.sizes import bounds_of, now
from .....cost_model import seconds
from ....forms.contraction import ContractionForm, contraction_form
from ...schedule import TileSize
from ...scratch import ScratchLayout
from ..tuning import BLOCK_DOTS_BESIDE_SUMS, BLOCK_DOTS_ROWS
from .tiled_product import TiledProduct, beside_float_sums, has_whole_rows, is_plain, runs_inline

MOST_SUMMED = 2**31 // (255 * 127)
"""Numbers of a block whose products with bytes fit sums of 32 bits."""


@dataclass(frozen=True)
class BlockDots(TiledProduct):
    """Tiles of integers over panels of numbers of few bits."""

    forms = ("contraction",)

    block: TileSize = 1
    """Rows that are rounded at a time."""

    @override
    @classmethod
    def suits(cls, form: ContractionForm, packed: bool) -> bool:
        del packed
        root, blocks = form.root, form.blocks
        if blocks is None or not isinstance(root, MatmulOp) or root.lhs_as != i8 or not is_plain(form):
            return False
        return (
            has_whole_rows(form) and element_type_of_value(root.lhs) == f32 and blocks.block.value.data <= MOST_SUMMED
        )

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """Tiles whose integers and floats fit the registers, in blocks of rows that fit half the second-level cache."""
        form = contraction_form(kernel)
        if not cls.suits(form, True):
            return
        lanes = target.lanes(32)
        nr = 2 * lanes
        beside = BLOCK_DOTS_BESIDE_SUMS + beside_float_sums(target)
        mr = max(1, (target.registers.data - beside) // 4)
        fitting = target.l2.data // 2 // _row_bytes(form)
        rows = bounds_of(prod(shape_of(form.root.result)[:-1]))[1]
        yield cls(mr, nr, lanes, runs_inline(form), block=max(1, min(BLOCK_DOTS_ROWS, rows, fitting)))

    @override
    def neighbours(self, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """Tiles of fewer rows."""
        del kernel, target
        if self.mr > 1:
            yield replace(self, mr=self.mr - 1)

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        """Three instructions to scale the sums of a block, and two to unpack four numbers for each tile."""
        form = contraction_form(kernel)
        assert isinstance(form.root, MatmulOp) and form.blocks is not None
        columns = shape_of(form.root.result)[-1]
        padded = -(-columns // self.nr) * self.nr / columns
        rows = now(prod(shape_of(form.root.result)[:-1]))
        scaled = 3 * rows * columns * shape_of(form.blocks.scale)[1]
        unpacked = -(-rows // self.mr) * prod(shape_of(form.blocks.result)) // 2
        speed = target.byte_speed(alike=False, narrow=form.blocks.bits.value.data < 8)
        return seconds(kernel, target, wasted=padded / speed, more=scaled + unpacked)

    @override
    def precedence(self, kernel: KernelOp) -> int:
        return 0

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """A block of rows as bytes, with a scale and a start of the sums for each of their blocks."""
        form = contraction_form(kernel)
        if form.blocks is None:
            return ScratchLayout()
        blocks, padded = _blocks(form)
        sizes = (("bytes", i8, blocks * padded), ("scales", f32, blocks), ("starts", i32, blocks))
        return ScratchLayout.of([(name, type, (self.block, size)) for name, type, size in sizes])


def _blocks(form: ContractionForm) -> tuple[int, int]:
    """Blocks of a row, and numbers of one of them in whole words."""
    assert form.blocks is not None
    bits, block, _, _ = form.blocks.numbers
    span = WORD // bits
    return shape_of(form.blocks.scale)[1], -(-block // span) * span


def _row_bytes(form: ContractionForm) -> int:
    """Bytes of a rounded row."""
    blocks, padded = _blocks(form)
    return blocks * (padded + 8)
