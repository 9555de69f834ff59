"""Matrix products and channels-last convolutions as register tiles over packed panels.

Both are one loop over (right-hand side, panel of nr columns, row of pixels) and its strip of tiles, cut evenly over
the threads. A convolution is an implicit matrix product: for one filter row the taps of a pixel are contiguous in the
input, so no patch matrix is made; rows of the filter that fall outside the picture are not visited, and tiles at
the left and right border have functions of their own that leave out the taps outside.

    for item in this thread's share:                    item = (right-hand side, panel, pixel row)
        tiles(a, panel, bias, epilogue operands, out, how many, and every stride)

Where rows are shared out and not panels, a thread has its share of the items of each panel.

A right-hand side that is not a weight is packed a panel at a time into the thread's scratch; then an item is a
(right-hand side, panel) and the rows are an inner loop. So it is with weights of few bits: see block_weights.py. What
is fused in front of the left-hand side, and a pool behind a convolution, have loops of their own: see
prologue_contraction.py and pooled_contraction.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from .....dialects.errors import CompileError
from .....dialects.graph.base import describe
from .....dialects.graph.ops.contraction import MatmulOp
from .....dialects.graph.packing.unpack import UnpackOp
from .....dialects.graph.values import shape_of
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....passes.kernels.forms.contraction import ContractionForm, contraction_form
from .....passes.kernels.schedules.cpu.panels import Panels
from ....kernel_code.loop_builder import Index
from ...kernel_instance import KernelInstance
from ...tiles.byte_panels import pack_bytes
from ...tiles.fused_ops import FusedOps
from ...tiles.inner_steps import ByteDot
from .block_weights import write_with_blocks
from .contraction_nest import argument_buffer, nest_of, rhs_batch_strides
from .pooled_contraction import write_pooled
from .prologue_contraction import write_with_prologue
from .tile_calls import Site, TileCalls, Tiling, tiles_of


def lower(k: KernelInstance, rows_first: bool = False) -> None:
    """Builds the kernel's loops; `rows_first`: a row of pixels goes through all panels before the next row."""
    form = contraction_form(k.kernel)
    check_packed(k, form)
    epilogue = FusedOps.of(k, form, k.schedule_as(Panels).inline)
    if form.pool is not None:
        write_pooled(k, form, epilogue, form.pool)
    elif form.prologue:
        write_with_prologue(k, form, epilogue)
    else:
        tiling = Tiling.of(k, form, nest_of(k, form, epilogue, k.schedule_as(Panels).mr))
        if form.blocks is not None:
            write_with_blocks(k, tiling, form, epilogue, form.blocks)
        elif form.unpack is not None:
            weight, by_rows = k.buffers.index(argument_buffer(k, form.rhs)), k.schedule_as(Panels).by_rows

            def write(k: KernelInstance, tiling: Tiling) -> None:
                _write_packed(k, TileCalls(k, tiling, form, epilogue), weight, rows_first, by_rows)

            k.outlined("rows" if rows_first else "panels", tiling, (weight, epilogue.key, by_rows), write)
        else:
            _write_computed(k, tiling, form, epilogue)


def check_packed(k: KernelInstance, form: ContractionForm) -> None:
    """Raises CompileError for weights that should be packed and aren't."""
    interface = k.kernel.interface
    weights = [form.unpack] if form.blocks is None else [operand.owner for operand in form.blocks.operands]
    packed = all(isinstance(each, UnpackOp) for each in weights)
    if isinstance(interface, InterfaceAttr) and interface.packed.data and not packed:
        raise CompileError(f"{describe(form.root)}: its weight is not packed; run pack-weights first")


def site_of(
    k: KernelInstance, tiling: Tiling, weight: int, rhs: Sequence[Index], panel: Index, row: Sequence[Index]
) -> Site:
    """The site of a row of tiles whose panel is packed in buffer `weight`."""
    b = k.b
    block: Index = 0  # right-hand sides, and the panels of each, follow each other
    for each, count in zip((*rhs, panel), (*tiling.nest.outer, tiling.panels), strict=True):
        block = b.add(b.mul(block, count), each)
    return Site(tuple(rhs), panel, tuple(row), k.places[weight], b.mul(block, b.mul(tiling.depth, tiling.nr)))


def _write_packed(k: KernelInstance, calls: TileCalls, weight: int, rows_first: bool, by_rows: bool) -> None:
    """One flat loop over all tiles, with a panel's tiles (or those of a row) consecutive, so that it stays cached."""
    b, tiling, nest = k.b, calls.tiling, calls.nest
    rows, tiles, rank = nest.pixels[:-1], tiles_of(b, nest), len(nest.outer)

    def site(rhs: Sequence[Index], panel: Index, row: Sequence[Index]) -> Site:
        return site_of(k, tiling, weight, rhs, panel, row)

    if by_rows and not rows_first:

        def all_rows(panel: Index, _: Sequence[SSAValue]) -> None:
            def some(row: Index, first: Index, last: Index) -> None:
                calls.strips(site((), panel, b.delinearize(row, rows)), first, last)

            k.runs(b.product(rows), tiles, some)

        b.loop(0, tiling.panels, all_rows)
        return
    if rows_first and not rows:  # a tile is one
        sizes = [*nest.outer, tiles]

        def through_panels(item: Index, first: Index, last: Index) -> None:
            *rhs, tile = b.delinearize(item, sizes)
            b.loop(first, last, lambda panel, _: calls.strips(site(rhs, panel, ()), tile, b.add(tile, 1)))

        k.runs(b.product(sizes), tiling.panels, through_panels)
        return
    sizes = [*nest.outer, *rows, tiling.panels] if rows_first else [*nest.outer, tiling.panels, *rows]

    def strip(item: Index, first: Index, last: Index) -> None:
        index = b.delinearize(item, sizes)
        rhs, place = index[:rank], index[rank:]
        panel, row = (place[-1], place[:-1]) if rows_first else (place[0], place[1:])
        calls.strips(site(rhs, panel, row), first, last)

    k.runs(b.product(sizes), tiles, strip)


def _write_computed(k: KernelInstance, tiling: Tiling, form: ContractionForm, epilogue: FusedOps) -> None:
    """A loop over panels, each packed into scratch before its tiles."""
    nest, b = tiling.nest, k.b
    root = form.root
    assert isinstance(root, MatmulOp)
    scratch = k.scratch_part("panel")
    k = k.placed(scratch)
    calls = TileCalls(k, tiling, form, epilogue)
    outer, rows = [*nest.outer, tiling.panels], nest.pixels[:-1]
    tiles = tiles_of(b, nest)

    def item(i: Index) -> None:
        index = b.delinearize(i, outer)
        rhs, panel = tuple(index[:-1]), index[-1]
        _pack_panel(k, tiling, root, scratch, rhs, panel)

        def row(j: Index, _: Sequence[SSAValue]) -> None:
            site = Site(rhs, panel, tuple(b.delinearize(j, rows)), k.places[-1], 0)
            calls.strips(site, 0, tiles)

        b.loop(0, b.product(rows), row)

    k.items(b.product(outer), item)


def _pack_panel(
    k: KernelInstance, tiling: Tiling, root: MatmulOp, scratch: SSAValue, rhs: Sequence[Index], panel: Index
) -> None:
    """Copies one panel of the right-hand side to this thread's scratch, [k][nr]."""
    b, nest, nr = k.b, tiling.nest, tiling.nr
    view = k.window(root.rhs)
    depth_stride, column_stride = view.strides[-2:]
    if root.transpose_b is not None:
        depth_stride, column_stride = column_stride, depth_stride
    shape = shape_of(root.results[0])
    batch = rhs_batch_strides(k, root, len(shape))
    steps = [step for axis, step in enumerate(batch) if step != 0 and shape[axis] != 1]
    at = b.add(b.linear(rhs, steps, view.offset), b.mul(panel, nr * column_stride))
    source = b.view(view.base, at, [nest.depth, nr], [depth_stride, column_stride])
    valid: Index = nr
    if tiling.tail != nr:
        valid = b.min(b.sub(nest.columns, b.mul(panel, nr)), nr)

    if isinstance(tiling.step, ByteDot):
        pack_bytes(b, source, scratch, nest.depth, nr, valid, by_rows=column_stride == 1)
        return

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
