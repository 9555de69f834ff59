"""The depthwise schedule: a tile of output pixels by one register of channels.

The sums of the tile, the filter's taps and one input pixel share the registers. Several rows at once let each input
pixel serve several of them: with 32 registers, 3 rows by 7 columns for a 3x3 filter ran up to 1.5 times faster than
one row on Zen 5. Their code names every tap. That of one row is a loop over the rows of the filter: MobileNet-v3 was
compiled in a quarter less than with code that names all 9 or 25 taps, which runs at 0.91 to 1.07 of the time of the
loop on Zen 3. A row count that divides the picture needs fewer variants of code and is preferred where the picture is
tall.

Pictures under a filter of one column are turned, columns for rows: each pixel then serves all taps of its tile.

A channel may have several filters, which lie side by side, all in the same register. A pixel's lanes are repeated for
them as it is loaded, once for all taps that read it. So it is with small groups of channels, whose filters fill less
than half a register: each channel of a group in turn is repeated for the group's filters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

from typing_extensions import override
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Operation

from .....dialects.graph.ops.contraction import ConvOp
from .....dialects.graph.ops.structure import KernelOp
from .....dialects.graph.packing.packings import DepthwisePacking
from .....dialects.graph.values import element_type_of_value, shape_of
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import CpuAttr
from .....dialects.sizes.sizes import bounds_of, is_fixed, now
from ....cost_model import seconds
from ...element_flow import same_place_pairs
from ...forms.contraction import ContractionForm, ConvGeometry, contraction_form, conv_geometry
from ...kernel_facts import argument_index, plain_operands
from ..schedule import Schedule, TileSize
from .products import tiled_product
from .tuning import (
    DEPTHWISE_BUSY,
    DEPTHWISE_COLUMNS,
    DEPTHWISE_ITEMS_PER_THREAD,
    DEPTHWISE_MOST_COLUMNS,
    DEPTHWISE_TALL,
    DEPTHWISE_WRITTEN_OUT,
)


@dataclass(frozen=True)
class Depthwise(Schedule[CpuAttr]):
    """Tiles of pixels by one register of channels."""

    forms = ("contraction",)

    tile_rows: TileSize
    """Rows of pixels of a tile."""
    tile_columns: TileSize
    """Pixels of each row of a tile."""
    lanes: TileSize
    """Elements of one register."""
    chunks: TileSize
    """Parts that the filters of a tile are cut into for the threads."""
    inline: bool
    """Whether the epilogue runs on the sums in registers, not in a second pass over the stored tile."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """The tile that fits the target's registers, and the division of channels between threads."""
        found = cls.of_form(contraction_form(kernel), target)
        if found is not None:
            yield found

    @classmethod
    def of_form(cls, form: ContractionForm, target: CpuAttr, *, may_turn: bool = True) -> Self | None:
        """The same for a contraction, None for an unsupported one; with pictures as they are if they may not turn."""
        if not isinstance(form.root, ConvOp) or not fits(form.root) or form.prologue or form.pool is not None:
            return None
        g = tiled_geometry(form) if may_turn else conv_geometry(form.root)
        taps = g.kernel[0] * g.kernel[1]
        lanes = target.lanes(32)
        group = Group.of(g)
        if not is_fixed(group.channels, group.filters, *g.kernel):
            return None  # which lanes are repeated, and taps, stand in the code, which tiles of other kernels share
        if not group.panel(lanes) or (group.channels > 1 and group.filters * 2 > lanes):
            return None
        registers = target.registers.data
        several = taps <= DEPTHWISE_WRITTEN_OUT and group.channels == 1
        row = min(g.kernel[1], DEPTHWISE_COLUMNS)  # a pixel is read by one tap of each column's row
        held = taps if several and taps < registers // 2 else row
        wide = DEPTHWISE_COLUMNS if several else 2 * DEPTHWISE_COLUMNS
        columns = min(wide, now(g.out_width), max(1, registers - held - 2))
        rows = max(1, min(3, now(g.out_height), (registers - held - 1) // columns)) if several else 1
        if is_fixed(g.out_height) and g.out_height > DEPTHWISE_TALL:
            rows = max(candidate for candidate in range(1, rows + 1) if g.out_height % candidate == 0)
        row_groups = now(g.batch * -(-g.out_height // rows))
        blocks = -(-g.filters // group.panel(lanes))
        wanted = DEPTHWISE_ITEMS_PER_THREAD * target.threads.data
        chunks = 1 if target.threads.data == 1 else min(blocks, -(-wanted // row_groups))
        return cls(rows, columns, lanes, chunks, tiled_product.runs_inline(form))

    @override
    def neighbours(self, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """Tiles with one row less, and with fewer pixels per row, if there are several."""
        if self.tile_rows > 1:
            yield replace(self, tile_rows=self.tile_rows - 1)
            yield replace(self, tile_rows=1)
        for columns in (self.tile_columns - 1, self.tile_columns // 2):
            if columns > 0:
                yield replace(self, tile_columns=columns)

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        return seconds(kernel, target, wasted=self.wasted(tiled_geometry(contraction_form(kernel))))

    def wasted(self, g: ConvGeometry) -> float:
        """Filters are padded to whole registers, and lanes are repeated for each of several channels."""
        group = Group.of(g)
        wasted = -(-g.filters // group.panel(self.lanes)) * self.lanes / g.filters
        repeated = 0.0
        if group.channels > 1:
            read = (self.tile_columns - 1) * g.stride[1] + g.kernel[1]  # pixels, by so many times columns' taps
            repeated = read / (self.tile_columns * g.kernel[1])
        return DEPTHWISE_BUSY * wasted * (1 + repeated)

    @override
    def precedence(self, kernel: KernelOp) -> int:
        return 0

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        form = contraction_form(kernel)
        packed = argument_index(kernel, form.rhs)
        plain = plain_operands(kernel, [form.root, *form.epilogue])
        return InterfaceAttr.of(
            strided_operands=[operand for operand in plain if operand != packed],
            strided_results=[0],
            inplace=same_place_pairs(kernel) if self.inline and form.means is None else [],
            packed={packed: DepthwisePacking(Group.of(tiled_geometry(form)).panel(self.lanes))},
        )


def fits(root: Operation) -> bool:
    """Whether a root is supported: channels-last of rank 1 or 2, in f32, or bytes with one channel per group."""
    if not isinstance(root, ConvOp) or not tiled_product.fits(root) or root.groups.value.data == 1:
        return False
    channels = shape_of(root.weight)[1]
    if element_type_of_value(root.result) not in ((f32, i32) if channels == 1 else (f32,)):
        return False
    return shape_of(root.weight)[-1] * channels <= DEPTHWISE_MOST_COLUMNS


def makes_means(root: ConvOp) -> bool:
    """Whether means of rows are supported, and no other schedule might be chosen."""
    if not fits(root) or len(shape_of(root.result)) != 4 or element_type_of_value(root.result) != f32:
        return False
    g = conv_geometry(root)
    return g.groups == g.channels and bounds_of(g.out_width)[0] > 1


def tiled_geometry(form: ContractionForm) -> ConvGeometry:
    """The sizes of a supported convolution as it is tiled: turned, where filters of one column are laid down."""
    assert isinstance(form.root, ConvOp)
    g = conv_geometry(form.root)
    return g.turned if is_turned(form) else g


def is_turned(form: ContractionForm) -> bool:
    """Whether tiles lie along the columns of pictures: under filters of one column, where nothing is asked of rows."""
    assert isinstance(form.root, ConvOp)
    g = conv_geometry(form.root)
    column = g.kernel[1] == 1 < g.kernel[0] <= DEPTHWISE_MOST_COLUMNS
    if not column or form.means is not None or not is_fixed(g.height, g.width):
        return False
    return g.out_height >= min(g.out_width, DEPTHWISE_COLUMNS)


@dataclass(frozen=True)
class Group:
    """Channels that share filters: `channels` and `filters` per group."""

    channels: int
    filters: int

    @classmethod
    def of(cls, g: ConvGeometry) -> Self:
        """The groups of a convolution."""
        return cls(g.channels // g.groups, g.filters // g.groups)

    def panel(self, lanes: int) -> int:
        """Filters of the whole groups that, like their channels, fit a register of `lanes`; possibly 0."""
        return min(lanes // self.filters, lanes // self.channels) * self.filters
