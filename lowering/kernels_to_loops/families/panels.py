"""Matrix products and channels-last convolutions as register tiles over packed panels.

Both are one loop over (right-hand side, panel of nr columns, row of pixels, tile of the row), cut evenly over the
threads. A convolution is an implicit matrix product: for one filter row the taps of a pixel are contiguous in the
input, so no patch matrix is made; rows of the filter that fall outside the picture are not visited, and tiles at
the left and right border have functions of their own that leave out the taps outside.

    for item in this thread's share:                    item = (right-hand side, panel, pixel row, tile)
        tile(a window, panel, filter rows, bias, epilogue operands, out window)

A right-hand side that is not a weight is packed a panel at a time into the thread's scratch; then an item is a
(right-hand side, panel) and the tiles are an inner loop. What is fused in front of the left-hand side, and a pool
behind a convolution, have loops of their own: see prologue_contraction.py and pooled_contraction.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ....dialects.errors import CompileError
from ....dialects.graph import MatmulOp, describe, shape_of
from ....dialects.kernel import InterfaceAttr
from ....passes.kernels.forms.contraction import contraction_form
from ....passes.kernels.schedules.cpu.panels import Panels
from ..instance import KernelInstance
from ..tiles.epilogue import Epilogue
from ..tiles.tiles import TileClass, tile_classes
from ..writing.builder import Index
from .contraction_nest import Nest, argument_buffer, nest_of, outer_steps, product, rhs_batch_strides
from .pooled_contraction import write_pooled
from .prologue_contraction import write_with_prologue
from .tile_calls import Site, TileCalls


def lower(k: KernelInstance, rows_first: bool = False) -> None:
    """Write the kernel's loops; `rows_first` where a row of pixels goes through all panels before the next one."""
    form = contraction_form(k.kernel)
    interface = k.kernel.interface
    if isinstance(interface, InterfaceAttr) and interface.packed.data and form.unpack is None:
        raise CompileError(f"{describe(form.root)}: its weight is not packed; run pack-weights first")
    epilogue = Epilogue.of(k, form, k.schedule_as(Panels).inline)
    if form.pool is not None:
        write_pooled(k, form, epilogue, form.pool)
    elif form.prologue:
        write_with_prologue(k, form, epilogue)
    else:
        nest = nest_of(k, form, epilogue)
        calls = TileCalls(k, form, epilogue, nest.columns)
        if form.unpack is not None:
            _write_packed(k, nest, calls, rows_first)
        else:
            _write_computed(k, nest, calls)


def _write_packed(k: KernelInstance, nest: Nest, calls: TileCalls, rows_first: bool) -> None:
    """One flat loop over all tiles; a panel's tiles, or those of a row, follow each other: it stays in the cache."""
    b = k.b
    classes = _classes(nest, calls.mr)
    tiles, rows = sum(c.count for c in classes), nest.pixels[:-1]
    # Where there are no rows, a tile is one.
    order = [calls.panels, *rows, tiles]
    if rows_first:
        order = [*rows, calls.panels, tiles] if rows else [tiles, calls.panels]
    sizes = [*nest.outer, *order]
    panels = argument_buffer(k, calls.form.rhs)
    size = nest.depth * calls.nr
    rhs_rank = len(nest.outer)

    def item(i: Index) -> None:
        index = b.delinearize(i, sizes)
        rhs, place = index[:rhs_rank], index[rhs_rank:]
        if rows_first:
            *row, panel, tile = place if rows else reversed(place)
        else:
            panel, *row, tile = place
        at = b.linear(rhs, outer_steps(nest.outer, calls.panels * size), b.mul(panel, size))
        site = Site(tuple(rhs), panel, tuple(row), panels, at)
        calls.chosen(nest, classes, site, tile)

    k.items(product(sizes), item)


def _write_computed(k: KernelInstance, nest: Nest, calls: TileCalls) -> None:
    """A loop over panels, each packed into scratch before its tiles."""
    b = k.b
    classes = _classes(nest, calls.mr)
    outer = [*nest.outer, calls.panels]
    inner = [*nest.pixels[:-1], sum(c.count for c in classes)]

    def item(i: Index) -> None:
        index = b.delinearize(i, outer)
        rhs, panel = tuple(index[:-1]), index[-1]
        scratch = _pack_panel(k, nest, calls, rhs, panel)

        def tile(j: Index, _: Sequence[SSAValue]) -> None:
            place = b.delinearize(j, inner)
            calls.chosen(nest, classes, Site(rhs, panel, tuple(place[:-1]), scratch, 0), place[-1])

        b.loop(0, product(inner), tile)

    k.items(product(outer), item)


def _pack_panel(k: KernelInstance, nest: Nest, calls: TileCalls, rhs: Sequence[Index], panel: Index) -> SSAValue:
    """Copy one panel of the right-hand side into this thread's scratch, [k][nr]."""
    b, root, nr = k.b, calls.form.root, calls.nr
    assert isinstance(root, MatmulOp)
    view = k.window(root.rhs)
    depth_stride, column_stride = view.strides[-2:]
    if root.transpose_b is not None:
        depth_stride, column_stride = column_stride, depth_stride
    shape = shape_of(root.results[0])
    batch = rhs_batch_strides(k, calls.form, root, len(shape))
    steps = [step for axis, step in enumerate(batch) if step != 0 and shape[axis] != 1]
    scratch = k.scratch_part("panel")
    at = b.add(b.linear(rhs, steps, view.offset), b.mul(panel, nr * column_stride))
    source = b.view(view.base, at, [nest.depth, nr], [depth_stride, column_stride])
    valid: Index = nr
    if calls.tail != nr:
        valid = b.min(b.sub(nest.columns, b.mul(panel, nr)), nr)

    def by_row(i: Index, _: Sequence[SSAValue]) -> None:
        b.vstore(b.vload(source, [i, 0], nr, valid), scratch, [i, 0])

    def by_column(column: Index, _: Sequence[SSAValue]) -> None:
        def element(i: Index, _: Sequence[SSAValue]) -> None:
            b.store(b.load(source, [i, column]), scratch, [i, column])

        b.loop(0, nest.depth, element)

    if column_stride == 1:
        b.loop(0, nest.depth, by_row)
    else:
        b.loop(0, valid, by_column)
    return scratch


def _classes(nest: Nest, mr: int) -> list[TileClass]:
    taps, stride, pad, dilation = nest.taps
    return tile_classes(nest.pixels[-1], mr, taps, stride, pad, dilation, nest.width)
