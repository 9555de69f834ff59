"""Products by a matrix that is no weight: each of its panels is packed into the thread's scratch before its tiles.

for item in this thread's share:                    item = (right-hand side, panel)
    scratch[k, 0:nr] = the panel
    for row of pixels: tiles(a, scratch, ...)
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from .....dialects.graph.ops.contraction import MatmulOp
from .....dialects.graph.values import shape_of
from ....kernel_code.loop_builder import Index
from ...kernel_instance import KernelInstance
from ...tiles.byte_panels import pack_bytes
from ...tiles.inner_steps import ByteDot
from .contraction_nest import rhs_batch_strides
from .tile_calls import Site, TileCalls, Tiling, tiles_of
from .tiled_product import product_of, tiling_of


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    form, epilogue = product_of(k)
    tiling = tiling_of(k, form, epilogue)
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
