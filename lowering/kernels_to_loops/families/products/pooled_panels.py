"""A convolution fused with a max pool: the convolution's result exists only a band of rows at a time.

    for each band of pooled rows in this thread's share:
        for panel, for each row of the convolution that the band needs and the last one didn't, for tile: into scratch
        for each pooled row and pixel of the band: the maximum over its window in scratch

Scratch is a ring of rows: row y of the convolution lies in slot y % slots until another takes its place. Rows that two
bands need are computed once, but where a thread's share begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from .....dialects.graph.ops.contraction import ConvOp
from .....dialects.graph.ops.windows import MaxPoolOp
from .....dialects.graph.values import ints, shape_of
from .....passes.kernels.forms.contraction import conv_geometry
from .....passes.kernels.schedules.cpu.products.pooled_panels import PooledPanels
from ....kernel_code.arithmetic import Arithmetic
from ....kernel_code.loop_builder import Index, memref_type
from ...kernel_instance import KernelInstance
from ...tiles.tile_classes import tile_classes
from .contraction_nest import SCRATCH, Access, argument_buffer, conv_nest
from .tile_calls import Site, TileCalls, Tiling, tiles_of
from .tiled_product import product_of

# Columns of a window that are written out, as in a pool of its own (kernel_code/elements/window_rules.py).
_MOST_WRITTEN_OUT = 8


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    form, epilogue = product_of(k)
    pool = form.pool
    assert pool is not None and isinstance(form.root, ConvOp)
    b, g = k.b, conv_geometry(form.root)
    options = k.schedule_as(PooledPanels)
    band = options.band
    (window, _), (stride, _), pad = ints(pool.kernel), ints(pool.strides), ints(pool.pads)[0]
    height = shape_of(pool.result)[1]
    row = g.out_width * g.filters
    scratch = k.scratch_part("band")
    (slots, *_) = memref_type(scratch).get_shape()
    k = k.placed(scratch)
    into = Access(SCRATCH, 0, (), (0, 0, g.filters), 1)
    nest = conv_nest(k, form, epilogue, form.root, options.mr, into)
    calls = TileCalls(k, Tiling.of(k, form, nest), form, epilogue)
    pooling = _PoolRows(k, pool, scratch)
    bands = -(-height // band)
    begin, end = k.part(g.batch * bands)

    def item(i: Index, _: Sequence[SSAValue]) -> None:
        image, index = b.delinearize(i, [g.batch, bands])
        first = b.mul(index, band)
        count = band if height % band == 0 else b.min(band, b.sub(height, first))
        top = b.sub(b.mul(first, stride), pad)  # the first row of the convolution that the band would look at
        low = b.max(0, top)
        high = b.min(g.out_height, b.add(top, b.add(b.mul(b.sub(count, 1), stride), window)))
        # The band before, if this thread has made it, was whole and of the same image.
        there = b.max(low, b.min(g.out_height, b.add(top, window - stride)))
        is_first = b.make(arith.OrIOp, b.compare("eq", i, begin), b.compare("eq", index, 0))
        start = b.select(is_first, b.index(low), b.index(there))
        _rows(k, calls, argument_buffer(k, form.rhs), image, start, high, (slots, row))
        b.loop(0, count, lambda pooled, _: pooling.write(image, b.add(first, pooled)))

    b.loop(begin, end, item)


def _rows(
    k: KernelInstance,
    calls: TileCalls,
    panels: SSAValue,
    image: Index,
    low: Index,
    high: Index,
    ring: tuple[int, int],
) -> None:
    """Rows [low, high) of the convolution, into a ring buffer of `ring` (slots, elements per slot)."""
    b, nest, tiling = k.b, calls.nest, calls.tiling
    slots, size = ring

    def panel(index: Index, _: Sequence[SSAValue]) -> None:
        def row(y: Index, _: Sequence[SSAValue]) -> None:
            here = replace(nest, out=replace(nest.out, offset=b.mul(b.rem(y, slots), size)))
            site = Site((), index, (image, y), panels, b.mul(index, b.mul(tiling.depth, tiling.nr)))
            calls.strips(site, 0, tiles_of(b, nest), here)

        b.loop(low, high, row)

    b.loop(0, tiling.panels, panel)


class _PoolRows:
    """Rows of the pool, from the band in scratch to the kernel's result."""

    def __init__(self, k: KernelInstance, pool: MaxPoolOp, scratch: SSAValue) -> None:
        self.k, self.pool, self.scratch = k, pool, scratch
        self.lanes = k.schedule_as(PooledPanels).lanes
        _, self.in_height, self.in_width, self.channels = shape_of(pool.x)
        self.width = shape_of(pool.result)[2]

    def write(self, image: Index, pooled: Index) -> None:
        """Pooled row `pooled`."""
        b = self.k.b
        (kh, kw), (sh, sw), pads = ints(self.pool.kernel), ints(self.pool.strides), ints(self.pool.pads)
        start = b.sub(b.mul(pooled, sh), pads[0])
        low, high = b.max(0, start), b.min(self.in_height, b.add(start, kh))
        rows: list[Index] | tuple[Index, Index] = (low, high)
        if kh <= _MOST_WRITTEN_OUT:  # rows outside of the picture are its first or last, whose maximum it is as well
            last = b.sub(high, 1)
            rows = [self._slot(b.min(b.max(b.add(start, tap), low), last)) for tap in range(kh)]
        if kw > _MOST_WRITTEN_OUT:

            def any_pixel(x: Index, _: Sequence[SSAValue]) -> None:
                left = b.sub(b.mul(x, sw), pads[1])
                self._pixel([image, pooled, x], rows, (b.max(0, left), b.min(self.in_width, b.add(left, kw))))

            b.loop(0, self.width, any_pixel)
            return
        # Tiles of one pixel: border pixels are classes of their own, which know the columns they see.
        for pixels in tile_classes(self.k.b, self.width, 1, kw, sw, pads[1], 1, self.in_width):
            inside = [tap for tap, seen in enumerate(pixels.taps) if seen == (0, 1)]

            def pixel(i: Index, _: Sequence[SSAValue], first: Index = pixels.start, taps: list[int] = inside) -> None:
                x = b.add(i, first)
                left = b.sub(b.mul(x, sw), pads[1])
                self._pixel([image, pooled, x], rows, [b.add(left, tap) for tap in taps])

            b.loop(0, pixels.count, pixel)

    def _slot(self, y: Index) -> Index:
        """The address in scratch of row y of the convolution."""
        return self.k.b.rem(y, memref_type(self.scratch).get_shape()[0])

    def _pixel(
        self, at: Sequence[Index], rows: list[Index] | tuple[Index, Index], columns: list[Index] | tuple[Index, Index]
    ) -> None:
        """The maximum over some rows and columns.

        Each is a list (of slots, or of columns) or a range (of rows of the convolution, or of columns).
        """
        b, out = self.k.b, self.k.results[0]
        type = VectorType(memref_type(out).element_type, [self.lanes])
        m = Arithmetic(b, type)
        whole = self.channels // self.lanes * self.lanes

        def block(channel: Index, valid: Index | None) -> None:
            def over_columns(slot: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                def column(x: Index, best: Sequence[SSAValue]) -> Sequence[SSAValue]:
                    return [m.max(best[0], b.vload(self.scratch, [slot, x, channel], self.lanes, valid))]

                if isinstance(columns, tuple):
                    return b.loop(*columns, column, carried=carried)
                for x in columns:
                    carried = column(x, carried)
                return carried

            best: Sequence[SSAValue] = [m.constant(-inf)]
            if isinstance(rows, tuple):
                best = b.loop(*rows, lambda y, carried: over_columns(self._slot(y), carried), carried=best)
            else:
                for slot in rows:
                    best = over_columns(slot, best)
            b.vstore(best[0], out, [*at, channel], valid)

        b.loop(0, whole, lambda channel, _: block(channel, None), step=self.lanes)
        if whole < self.channels:
            block(whole, self.channels - whole)
