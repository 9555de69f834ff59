"""The winograd schedule: 3x3 convolutions of stride 1 with fewer multiplications, a block of tiles at a time.

A thread transforms a block of tiles of the picture for all input channels, multiplies each coordinate by its matrix of
transformed filters with the register tiles of `panels`, a chunk of output channels at a time, and transforms the sums
back. What a block takes of scratch does not have to fit the second-level cache (measured on Zen 5, VGG-16 and ResNet).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Self

from typing_extensions import override
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import Operation

from .....dialects.errors import CompileError
from .....dialects.graph.ops.contraction import ConvOp, MatmulOp
from .....dialects.graph.ops.structure import KernelOp
from .....dialects.graph.ops.windows import MaxPoolOp
from .....dialects.graph.packing.winograd_filters import FILTER, POINTS, WinogradPacking
from .....dialects.graph.values import element_type_of_value, ints, shape_of
from .....dialects.kernel.kernel_attributes import InterfaceAttr, ScheduleAttr
from .....dialects.kernel.targets import CpuAttr
from .....dialects.sizes.sizes import bounds_of, is_fixed, now
from ....cost_model import bytes_of, instruction_seconds, moving_seconds, multiplying_seconds, operations
from ...element_flow import same_place_pairs
from ...forms.contraction import ConvGeometry, contraction_form, conv_geometry
from ...kernel_facts import argument_index, constant_operands, item_bytes, plain_operands
from ..schedule import Count, Schedule, TileSize
from ..scratch import ScratchLayout
from .products import tiled_product
from .tuning import (
    WINOGRAD_BLOCK,
    WINOGRAD_BUSY,
    WINOGRAD_CHUNK,
    WINOGRAD_FEW,
    WINOGRAD_HIDDEN,
    WINOGRAD_LARGE_PICTURE,
    WINOGRAD_MADE,
    WINOGRAD_MOVED,
    WINOGRAD_WAITED,
)

APART = CpuAttr.CACHE_LINE // 4
"""Elements between the matrices of two coordinates, so that they do not all fall on the same lines of a cache."""


@dataclass(frozen=True)
class Winograd(Schedule[CpuAttr]):
    """Transformed tiles, by coordinate, in blocks."""

    forms = ("contraction",)

    tile: TileSize
    """Rows and columns of results of a tile: 2 or 4."""
    block: TileSize
    """Tiles of a block, at most."""
    mr: TileSize
    """Rows of a register tile, at most: tiles of the picture."""
    nr: TileSize
    """Columns of a register tile and of a panel: output channels."""
    panels: TileSize
    """Panels of a chunk."""
    lanes: TileSize
    """Channels of one register."""
    inline: bool
    """Whether the epilogue runs on results in registers, as it does with a pool, not in a second pass over the tile."""
    prefetch: Count = 0
    """Elements of a cache line, where the next panel is asked for while one is used; 0: it is not."""
    half: bool = False
    """Whether filters are packed transformed by rows alone, and by columns where they are used."""

    @override
    @classmethod
    def of(cls, attribute: ScheduleAttr) -> Self:
        made = super().of(attribute)
        if made.tile not in POINTS:
            raise CompileError(f"the schedule 'winograd' has tile = {made.tile}; it must be 2 or 4")
        return made

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """Tiles of 4 and of 2, in nearly equal blocks."""
        form = contraction_form(kernel)
        if not fits(form.root) or form.prologue or form.blocks is not None or form.means is not None:
            return
        if form.pool is not None and not pools(form.pool):
            return
        assert isinstance(form.root, ConvOp)
        narrow = element_type_of_value(form.rhs) != (f32 if form.root.sums is None else bf16)
        if narrow or argument_index(kernel, form.rhs) not in constant_operands(kernel):
            return
        g = conv_geometry(form.root)
        lanes = target.lanes(32)
        nr = lanes if g.filters <= lanes else 2 * lanes
        mr = max(1, (target.registers.data - tiled_product.beside_float_sums(target)) // 2)
        panels = -(-g.filters // nr)
        together = max(each for each in range(1, max(1, WINOGRAD_CHUNK // nr) + 1) if panels % each == 0)
        for tile in sorted(POINTS, reverse=True):
            most = -(-WINOGRAD_BLOCK // mr) * mr
            filters = (tile + FILTER - 1) ** 2 * g.channels * g.filters * item_bytes(form.root.result)
            larger = most if filters <= target.l2.data else 2 * most
            inline, line = tiled_product.runs_inline(form), target.CACHE_LINE // 4
            count = tile_count(g, tile)
            block = _block_size(count, most, larger, target.threads.data)
            yield cls(tile, block, mr, nr, together, lanes, inline, line)
            yield cls(tile, _block_size(count, 2 * most, 2 * most), mr, nr, 1, lanes, inline, line, half=True)

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        """Products, the transforms before and after them, and the traffic meanwhile.

        Tiles overlap in the image. Filters are loaded during products, and again for each block if no cache holds them.
        """
        form = contraction_form(kernel)
        root = form.root
        assert isinstance(root, ConvOp)
        g = conv_geometry(root)
        tiles = now(tile_count(g, self.tile))
        channels, filters = (-(-each // self.lanes) * self.lanes for each in (g.channels, g.filters))
        blocks, side = self._blocks(root), self.tile + FILTER - 1
        nbytes = prod(self._packing_of(root).packed_shape(shape_of(root.weight))) * item_bytes(root.result)
        far = nbytes * (2 if self.half else 1) > target.far_bytes
        moved = WINOGRAD_MOVED * self.coordinates * tiles * (channels + filters)
        if self.half:
            moved += side * (side + 1) * g.channels * filters * WINOGRAD_MADE * (blocks - 2 / 3)
        products = multiplying_seconds(self.coordinates * tiles * max(WINOGRAD_FEW, g.channels) * filters, target)
        transforms = instruction_seconds(moved + now(operations(kernel)[1]), target)
        picture = moving_seconds(bytes_of(root.x), target) * self.coordinates / self.tile**2
        beside = [each for each in kernel.arguments if each not in (form.lhs, form.rhs)]
        rest = sum(moving_seconds(bytes_of(each), target) for each in (*beside, *kernel.terminator.operands))
        rounds = -(-blocks // target.threads.data)  # threads read filters for a block each at the same time
        read = moving_seconds(nbytes, target, rounds if far else 1)
        waiting = max(WINOGRAD_WAITED * read, read - WINOGRAD_HIDDEN * products)
        return WINOGRAD_BUSY * products + transforms + picture + rest + waiting

    @override
    def precedence(self, kernel: KernelOp) -> int:
        """First with tiles of 4 or 2, by the size of a picture, where there are channels enough."""
        root = contraction_form(kernel).root
        assert isinstance(root, ConvOp)
        g = conv_geometry(root)
        tile = 4 if min(now(g.out_height), now(g.out_width)) >= WINOGRAD_LARGE_PICTURE else 2
        return 0 if pays(root) and self.tile == tile and not self.half else 3

    @property
    def coordinates(self) -> int:
        """Products of a tile, for each input and output channel."""
        return (self.tile + FILTER - 1) ** 2

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        form = contraction_form(kernel)
        packed = argument_index(kernel, form.rhs)
        plain = plain_operands(kernel, [form.root, *form.epilogue])
        return InterfaceAttr.of(
            strided_operands=[operand for operand in plain if operand != packed],
            strided_results=[0],
            inplace=same_place_pairs(kernel),
            packed={packed: self._packing_of(form.root)},
            per_thread=self.scratch(kernel).per_thread,
            pieces=self._blocks(form.root),
        )

    def _packing_of(self, root: MatmulOp | ConvOp) -> WinogradPacking:
        return WinogradPacking(self.nr, self.tile, self.panels, self.half, widened=root.sums is not None)

    def _blocks(self, root: Operation) -> int:
        """Number of blocks; every share of a block's chunks repeats its input transforms."""
        assert isinstance(root, ConvOp)
        return -(-now(tile_count(conv_geometry(root), self.tile)) // self.block)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """For each coordinate a block's transformed tiles of all input channels, and a chunk of their sums.

        A number of tiles of run time is divided into as few blocks, so that the largest has so many of them.
        """
        root = contraction_form(kernel).root
        assert isinstance(root, ConvOp)
        channels, count = conv_geometry(root).channels, tile_count(conv_geometry(root), self.tile)
        row = -(-channels // self.lanes) * self.lanes
        block = self.block if is_fixed(count) else 1 + (count - 1) // -(-count // self.block)
        parts = [
            ("tiles", f32, (self.coordinates, block * row + APART)),
            ("sums", f32, (self.coordinates, block * self.panels * self.nr + APART)),
        ]
        if self.half:
            parts.append(("filters", f32, (self.tile + FILTER - 3, channels * self.nr + APART)))
        return ScratchLayout.of(parts)


def fits(root: Operation) -> bool:
    """Whether a root is supported: f32, channels-last, 3x3, stride and dilation 1, one group, any number of pixels.

    Pictures and filters of bf16 are widened as they are transformed: bf16 would round transformed ones, which cancel
    each other.
    """
    if not isinstance(root, ConvOp) or not tiled_product.fits(root) or len(shape_of(root.result)) != 4:
        return False
    types = {element_type_of_value(value) for value in (root.x, root.weight, root.result)}
    if types != ({f32} if root.sums is None else {bf16, f32}):
        return False
    g = conv_geometry(root)
    plain = g.kernel == (FILTER, FILTER) and g.stride == g.dilation == (1, 1) and g.groups == 1
    return plain and is_fixed(g.channels, g.filters)


def pays(root: Operation) -> bool:
    """Whether the transforms save more than a fused pool that doesn't fit tiles."""
    return (
        fits(root) and isinstance(root, ConvOp) and root.sums is None and min(shape_of(root.weight)[:2]) >= WINOGRAD_FEW
    )


def pools(pool: MaxPoolOp) -> bool:
    """Whether tiles hold whole windows of a pool: 2x2 results each, all inside the image."""
    _, height, width, _ = shape_of(pool.result)
    given = [*ints(pool.kernel), *ints(pool.strides), *ints(pool.dilations), *ints(pool.pads)]
    plain = pool.layout.data == "NHWC" and element_type_of_value(pool.x) == f32
    if not plain or given != [2, 2, 2, 2, 1, 1, 0, 0, 0, 0]:
        return False
    return 2 * height <= shape_of(pool.x)[1] and 2 * width <= shape_of(pool.x)[2]


def tile_count(g: ConvGeometry, tile: int) -> int:
    """Tiles of all images."""
    return -(-g.out_height // tile) * -(-g.out_width // tile) * g.batch


def _block_size(count: int, most: int, largest: int, threads: int = 1) -> int:
    """Tiles of a block: of nearly equal blocks of `largest` at most, and of `most` while there are fewer than threads.

    With a `count` of run time, the limit that holds for the current one: the code makes nearly equal blocks below it.
    """
    if not is_fixed(count):
        return min(bounds_of(count)[1], largest if -(-now(count) // largest) >= threads else most)
    blocks = max(-(-count // largest), min(-(-count // most), threads))
    if blocks >= threads:  # as many for each: 8 of 56x56x64 take 2 threads 0.86 of what 7 do (Zen 5)
        blocks = -(-blocks // threads) * threads
    return -(-count // blocks)
