"""The bands schedule: a fused chain of convolutions, a band of rows at a time.

What the depthwise convolution reads, and what it makes for the one behind it, exists only as far as a band needs it, in
scratch that stays in the second-level cache. Rows that two bands need are kept from one to the next.

With one thread of Zen 5 the first blocks of MobileNet-v2, whose expanded pictures do not fit a second-level cache of
1 MB, took 0.90 ms instead of 0.96, the whole model 2.97 instead of 3.16 with an arena of 1.9 instead of 6.0 MB, and
8 pictures at once, without the last blocks, 18 ms instead of 26. Of pictures that fit the cache nothing is gained: a
block of 28x28x192 took 1.02 times as long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import mul
from typing import Self

from typing_extensions import override
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import Attribute

from .....dialects.graph.ops.contraction import ConvOp
from .....dialects.graph.ops.structure import KernelOp, WeightOp
from .....dialects.graph.packing.packings import DepthwisePacking
from .....dialects.graph.values import element_type_of_value, nbytes_of, shape_of, type_of
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import CpuAttr
from .....dialects.sizes.sizes import is_fixed, now
from ....cost_model import seconds
from ...forms.contraction import ConvGeometry, conv_geometry
from ...forms.separable import geometry_of, separable_form
from ...kernel_facts import argument_index, item_bytes, plain_operands
from ..schedule import Schedule, TileSize
from ..scratch import ScratchLayout
from . import depthwise, winograd
from .depthwise import Depthwise, Group
from .products import tiled_product
from .products.panels import Panels
from .products.tiled_product import packed_operands
from .tuning import BANDS_CACHE_SHARE, BANDS_TILE_ROWS, BANDS_WEIGHTS_SHARE


@dataclass(frozen=True)
class Bands(Schedule[CpuAttr]):
    """Two or three fused convolutions, a band of rows at a time."""

    forms = ("separable",)

    band: TileSize
    """Rows of the depthwise convolution's result that are made at a time: whole tiles."""
    mr: TileSize
    """Rows of a tile of the products in front of it and behind it."""
    nr: TileSize
    """Columns of a tile and of a panel."""
    lanes: TileSize
    """Elements of one register."""
    tile_rows: TileSize
    """Rows of pixels of a tile of the depthwise convolution."""
    tile_columns: TileSize
    """Pixels of each row of such a tile."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """The tiles of each convolution alone, and as many rows as fit the cache."""
        form = separable_form(kernel)
        products = Panels.of_form(kernel, form.expand, target)
        pixels = Depthwise.of_form(form.depthwise, target, may_turn=False)
        if products is None or pixels is None:
            return
        g = geometry_of(form.depthwise)
        height = now(g.out_height)
        whole = height % pixels.tile_rows == 0 if is_fixed(g.out_height) else g.kernel[0] > 1
        rows = pixels.tile_rows if whole else 1
        one = cls(rows, products.mr, products.nr, products.lanes, rows, pixels.tile_columns)
        room = target.l2.data // BANDS_CACHE_SHARE
        least, two = (now(replace(one, band=count * rows).scratch(kernel).per_thread) for count in (1, 2))
        most = rows * (1 + max(0, room - least) // (two - least))
        images = g.batch if is_fixed(g.batch) else 1
        most = min(most, -(-height * images // target.threads.data))
        bands = -(-height // most)
        yield replace(one, band=-(-height // (bands * rows)) * rows)

    @override
    def neighbours(self, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """Bands of half and of twice as many rows."""
        tiles = self.band // self.tile_rows
        height = now(geometry_of(separable_form(kernel).depthwise).out_height)
        for count in (tiles // 2, tiles * 2):
            if count and count * self.tile_rows <= height:
                yield replace(self, band=count * self.tile_rows)

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        """The sum over the convolutions, each with its waste."""
        form, tiles, pixels = separable_form(kernel), self.products_of(True), self.pixels_of(True)
        counts = [now(each.root.products) for each in form.stages]
        wasted = [
            pixels.wasted(geometry_of(each)) if each is form.depthwise else tiles.wasted(each.root, target)
            for each in form.stages
        ]
        return seconds(kernel, target, wasted=sum(map(mul, counts, wasted)) / sum(counts))

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        form = separable_form(kernel)
        g = geometry_of(form.depthwise)
        packed = {argument_index(kernel, form.depthwise.rhs): DepthwisePacking(Group.of(g).panel(self.lanes))}
        for each in (form.expand, form.project):
            packed |= {} if each is None else packed_operands(kernel, each, self.nr)
        plain = plain_operands(kernel, [op for each in form.stages for op in (each.root, *each.epilogue)])
        return InterfaceAttr.of(
            strided_operands=[operand for operand in plain if operand not in packed],
            strided_results=[0],
            packed=packed,
            per_thread=self.scratch(kernel).per_thread,
            pieces=now(g.batch) * -(-now(g.out_height) // self.band) if rows_read(g, 1) > g.stride[0] else 0,
        )

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """The rows that a band of the depthwise convolution reads, and, before a pointwise one, those it writes."""
        form = separable_form(kernel)
        g = geometry_of(form.depthwise)
        parts: list[tuple[str, Attribute, Sequence[int]]] = [
            ("read", f32, (1, rows_read(g, self.band), g.width, g.channels))
        ]
        if form.project is not None:
            parts.append(("made", element_type_of_value(form.project.lhs), (1, self.band, g.out_width, g.filters)))
        return ScratchLayout.of(parts)

    def products_of(self, epilogue: bool) -> Panels:
        """The schedule of the convolutions before and after the depthwise one."""
        return Panels(self.mr, self.nr, self.lanes, epilogue)

    def pixels_of(self, epilogue: bool) -> Depthwise:
        """The schedule of the depthwise convolution."""
        return Depthwise(self.tile_rows, self.tile_columns, self.lanes, 1, epilogue)


def rows_read(g: ConvGeometry, rows: int) -> int:
    """The number of input rows for that many output rows of a convolution."""
    return (rows - 1) * g.stride[0] + (g.kernel[0] - 1) * g.dilation[0] + 1


def takes_depthwise(root: ConvOp, then: ConvOp, l2: int) -> bool:
    """Whether fusing a depthwise convolution with the preceding one is supported and pays.

    It pays if the value between them does not fit a second-level cache of `l2` bytes, but a tile's rows and the weights
    do.
    """
    if not (_fits(root) and _fits(then) and tiled_product.fits(root) and depthwise.fits(then)) or winograd.pays(root):
        return False
    g, before = conv_geometry(then), conv_geometry(root)
    alike = g.groups == g.channels == g.filters and then.sums is None
    if not alike or before.groups != 1 or _too_heavy(root, l2):
        return False
    rows = rows_read(g, BANDS_TILE_ROWS) * now(g.width) * g.channels * item_bytes(then.x)
    read = nbytes_of(type_of(root.x)) + nbytes_of(type_of(then.x))
    return rows <= l2 // BANDS_CACHE_SHARE and now(read) > l2  # right at all shapes


def takes_pointwise(then: ConvOp, l2: int) -> bool:
    """Whether fusing a pointwise convolution after both is supported, and its weights are few."""
    if not _fits(then) or not tiled_product.fits(then) or _too_heavy(then, l2):
        return False
    g = conv_geometry(then)
    return g.pointwise and g.stride == (1, 1) and g.groups == 1


def _fits(root: ConvOp) -> bool:
    """Whether a convolution is f32, or of bf16 with sums of f32, and channels-last."""
    if len(shape_of(root.result)) != 4 or root.layout.data != "NHWC" or not isinstance(root.weight.owner, WeightOp):
        return False
    factor = f32 if root.sums is None else bf16
    if [element_type_of_value(each) for each in (root.x, root.weight, root.result)] != [factor, factor, f32]:
        return False
    return is_fixed(shape_of(root.x)[-1], shape_of(root.result)[-1])


def _too_heavy(root: ConvOp, l2: int) -> bool:
    return nbytes_of(type_of(root.weight)) > l2 // BANDS_WEIGHTS_SHARE
