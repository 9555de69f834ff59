"""A fused chain of convolution, depthwise convolution and optional 1x1 convolution, a band of rows at a time.

    for each band of rows of the depthwise convolution's result in this thread's share:
        move the rows shared with the previous band to the start of scratch
        for panel, for each other row the band reads, for tile: first convolution, into scratch
        for each row of tiles of the band, for each tile, register of channels: the depthwise convolution
        for panel, for each row, for tile: the 1x1 convolution, from scratch to the result

Scratch begins with the first row that a band reads, inside of the image or not. Rows that two bands read are computed
once, except at the start of a thread's share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from .....dialects.graph.ops.contraction import ConvOp
from .....dialects.sizes.sizes import bounds_of, is_fixed
from .....passes.kernels.forms.contraction import ContractionForm
from .....passes.kernels.forms.separable import SeparableForm, geometry_of, separable_form
from .....passes.kernels.schedules.cpu.bands import Bands, rows_read
from .....passes.kernels.schedules.cpu.products.tiled_product import runs_inline
from ....kernel_code.loop_builder import Index, memref_type
from ...kernel_instance import KernelInstance
from ...tiles.fused_ops import FusedOps
from ...tiles.tile_classes import counted_classes
from ..products.contraction_nest import SCRATCH, Access, Nest, argument_buffer, conv_nest
from ..products.tile_calls import Site, TileCalls, Tiling, tiles_of
from ..products.tiled_product import check_packed
from .depthwise import DepthwiseRows, Pictures


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    form = separable_form(k.kernel)
    for each in (form.expand, form.project):
        if each is not None:
            check_packed(k, each)
    _Writer(k, form).write()


class _Writer:
    def __init__(self, k: KernelInstance, form: SeparableForm) -> None:
        self.k, self.b, self.form = k, k.b, form
        self.options, self.g = k.schedule_as(Bands), geometry_of(form.depthwise)
        self.read = k.scratch_part("read")
        self.made = k.results[0] if form.project is None else k.scratch_part("made")
        self.expand = _Product(k, form.expand, into=self.read)
        self.project = None if form.project is None else _Product(k, form.project, source=self.made)
        stage = replace(k, schedule=self.options.pixels_of(runs_inline(form.depthwise)))
        self.depthwise = DepthwiseRows(stage, form.depthwise, Pictures(self.read), Pictures(self.made))

    def write(self) -> None:
        b, g, options = self.b, self.g, self.options
        height, band, stride = g.out_height, options.band, g.stride[0]
        bands = -(-height // band)
        begin, end = self.k.part(b.mul(g.batch, bands))
        kept = max(0, rows_read(g, 1) - stride)  # rows that consecutive bands share

        def item(i: Index, _: Sequence[SSAValue]) -> None:
            image, index = b.delinearize(i, [g.batch, bands])
            y = b.mul(index, band)
            count = band if is_fixed(height) and height % band == 0 else b.min(band, b.sub(height, y))
            behind = b.add(y, count)
            top = b.sub(b.mul(y, stride), g.pad[0])  # the first row that the band would read
            low = b.max(0, top)
            high = b.min(g.height, b.add(top, b.add(b.mul(count, stride), rows_read(g, 1) - stride)))
            # The previous band, if computed by this thread, was complete and of the same image.
            there = b.max(low, b.min(g.height, b.add(top, kept)))
            is_first = b.make(arith.OrIOp, b.compare("eq", i, begin), b.compare("eq", index, 0))
            if kept:
                b.when(is_first, lambda: None, lambda: self._keep(kept, band * stride))
            self.expand.rows(image, b.select(is_first, b.index(low), b.index(there)), high, top)
            made = Pictures(self.made) if self.project is None else Pictures(self.made, alone=True, top=y)
            self.depthwise.write_rows(image, (y, behind), Pictures(self.read, alone=True, top=top), made)
            if self.project is not None:
                self.project.rows(image, y, behind, y)

        b.loop(begin, end, item)

    def _keep(self, rows: int, distance: int) -> None:
        """Moves `rows` rows of scratch from `distance` on to its start."""
        b, lanes = self.b, self.options.lanes
        row = self.g.width * self.g.channels
        elements = b.view(self.read, 0, [(distance + rows) * row], [1])
        size = rows * row
        whole = size // lanes * lanes

        def vector(at: Index, valid: Index | None = None) -> None:
            b.vstore(b.vload(elements, [b.add(at, distance * row)], lanes, valid), elements, [at], valid)

        b.loop(0, whole, lambda at, _: vector(at), step=lanes)
        if size - whole != 0:
            vector(whole, size - whole)


class _Product:
    """The first or last convolution: writes `into` scratch, or reads from scratch as its `source`."""

    def __init__(
        self, k: KernelInstance, form: ContractionForm, into: SSAValue | None = None, source: SSAValue | None = None
    ) -> None:
        scratch = into or source
        assert scratch is not None and isinstance(form.root, ConvOp)
        options = k.schedule_as(Bands).products_of(runs_inline(form))
        self.k = k = replace(k.placed(scratch), schedule=options)
        self.b, self.reads = k.b, into is None
        _, _, width, channels = memref_type(scratch).get_shape()
        self.row = width * channels
        access = Access(SCRATCH, 0, (), (0, self.row, channels), 1)
        epilogue = FusedOps.of(k, form, options.inline)
        nest = conv_nest(k, form, epilogue, form.root, options.mr, *([None, access] if self.reads else [access]))
        self.calls = TileCalls(k, Tiling.of(k, form, nest), form, epilogue)
        self.panels = argument_buffer(k, form.rhs)
        self.height, self.width = geometry_of(form).out_height, geometry_of(form).out_width
        adjoin = geometry_of(form).pointwise and _rows_adjoin(nest)
        self.adjoin = adjoin and (not is_fixed(self.width) or len(nest.classes) == 1)

    def rows(self, image: Index, low: Index, high: Index, top: Index) -> None:
        """Rows [low, high) of an image; row `top` is the first one in scratch."""
        b, nest, tiling = self.b, self.calls.nest, self.calls.tiling
        offset = b.sub(0, b.mul(top, self.row))
        if self.reads:
            here = replace(nest, a=replace(nest.a, offset=offset))
        else:
            here = replace(nest, out=replace(nest.out, offset=offset))
        tiles = tiles_of(b, nest)
        if self.adjoin and is_fixed(self.width):
            tiles = b.mul(tiles, b.sub(high, low))
        elif self.adjoin:
            pixels = b.mul(self.width, b.sub(high, low))
            bounds = bounds_of(self.width)[0], bounds_of(self.width * self.height)[1]
            classes = counted_classes(b, pixels, bounds, self.calls.tallest)
            here, tiles = replace(here, classes=tuple(classes)), b.sum(each.count for each in classes)

        def panel(index: Index, _: Sequence[SSAValue]) -> None:
            def row(y: Index, _: Sequence[SSAValue]) -> None:
                site = Site((), index, (image, y), self.panels, b.mul(index, b.mul(tiling.depth, tiling.nr)))
                self.calls.strips(site, 0, tiles, here)

            if self.adjoin:
                row(low, ())
            else:
                b.loop(low, high, row)

        b.loop(0, tiling.panels, panel)


def _rows_adjoin(nest: Nest) -> bool:
    """Whether consecutive rows are contiguous in every buffer."""
    width = nest.pixels[-1]
    steps = [each.pixels[-2:] for each in (nest.a, nest.out, *nest.operands)]
    return isinstance(width, int) and all(row == width * pixel for row, pixel in steps if isinstance(pixel, int))
