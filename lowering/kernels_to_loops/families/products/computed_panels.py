"""Products by a matrix that is no weight: each of its panels is packed into the thread's scratch before its tiles.

for item in this thread's share:                    item = (right-hand side, panel)
    scratch[k, 0:nr] = the panel
    for row of pixels: tiles(a, scratch, ...)

Where a right-hand side has a single row of tiles, each element is used once, and whole panels are read where they are
if their rows are contiguous. Panels whose columns are contiguous are transposed in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from .....dialects.graph.ops.contraction import MatmulOp
from .....dialects.graph.values import shape_of
from .....dialects.sizes.sizes import bounds_of
from .....passes.kernels.forms.contraction import ContractionForm
from .....passes.kernels.schedules.cpu.products.computed_panels import ComputedPanels
from ....kernel_code.loop_builder import Index
from ....kernel_code.register_transposes import transposed
from ...kernel_instance import KernelInstance
from ...tiles.grouped_panel import pack_groups
from .contraction_nest import rhs_batch_strides
from .tile_calls import Site, TileCalls, Tiling, tiles_of, useful_rows
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

    reads_in_place = _reads_in_place(k, tiling, form)

    def item(i: Index) -> None:
        index = b.delinearize(i, outer)
        rhs, panel = tuple(index[:-1]), index[-1]
        source = _panel_of(k, tiling, root, rhs, panel)

        def every_row(place: SSAValue, panel_row: Index | None) -> None:
            def row(j: Index, _: Sequence[SSAValue]) -> None:
                pixels = tuple(b.delinearize(j, rows))
                calls.strips(Site(rhs, panel, pixels, place, 0, panel_row=panel_row), 0, tiles)

            b.loop(0, b.product(rows), row)

        def packed() -> None:
            _pack_panel(k, tiling, source, scratch, panel)
            every_row(k.places[-1], None)

        def in_place() -> None:
            every_row(source.place, source.depth_stride)

        if not reads_in_place:
            packed()
        elif tiling.tail == tiling.nr:
            in_place()
        else:
            b.when(b.compare("eq", panel, b.sub(tiling.panels, 1)), packed, in_place)

    k.items(b.product(outer), item)


@dataclass(frozen=True)
class _Panel:
    """A panel of a right-hand side where it lies: the address of its first element, and its strides in elements."""

    place: SSAValue
    depth_stride: Index
    column_stride: Index


def _strides(k: KernelInstance, root: MatmulOp) -> tuple[Index, Index]:
    """The strides of the right-hand side's contracted dimension and of its columns."""
    depth, column = k.window(root.rhs).strides[-2:]
    return (depth, column) if root.transpose_b is None else (column, depth)


def _reads_in_place(k: KernelInstance, tiling: Tiling, form: ContractionForm) -> bool:
    """Whether whole panels are read where they are: rows are contiguous, and one row of tiles reads them."""
    assert isinstance(form.root, MatmulOp)
    one_tile = bounds_of(useful_rows(form))[1] <= k.schedule_as(ComputedPanels).mr
    return one_tile and tiling.step.depth == 1 and _strides(k, form.root)[1] == 1


def _panel_of(k: KernelInstance, tiling: Tiling, root: MatmulOp, rhs: Sequence[Index], panel: Index) -> _Panel:
    """One panel of one right-hand side."""
    b, view = k.b, k.window(root.rhs)
    depth_stride, column_stride = _strides(k, root)
    shape = shape_of(root.results[0])
    batch = rhs_batch_strides(k, root, len(shape))
    steps = [step for axis, step in enumerate(batch) if step != 0 and shape[axis] != 1]
    at = b.add(b.linear(rhs, steps, view.offset), b.mul(panel, b.mul(tiling.nr, column_stride)))
    return _Panel(b.place(view.base, at), depth_stride, column_stride)


def _pack_panel(k: KernelInstance, tiling: Tiling, panel: _Panel, scratch: SSAValue, number: Index) -> None:
    """Copies one panel of the right-hand side to this thread's scratch, [k][nr]."""
    b, depth, nr, lanes = k.b, tiling.nest.depth, tiling.nr, tiling.lanes
    source = b.view(panel.place, 0, [depth, nr], [panel.depth_stride, panel.column_stride])
    valid: Index = nr
    if tiling.tail != nr:
        valid = b.min(b.sub(tiling.nest.columns, b.mul(number, nr)), nr)

    if (size := tiling.step.depth) > 1:
        pack_groups(b, source, scratch, depth, nr, valid, size, by_rows=panel.column_stride == 1)
        return

    def by_row(i: Index, _: Sequence[SSAValue]) -> None:
        b.vstore(b.vload(source, [i, 0], nr, valid), scratch, [i, 0])

    def by_squares(first: Index, _: Sequence[SSAValue]) -> None:
        """Beyond the last column is that one again."""
        columns = b.view(panel.place, 0, [nr, depth], [panel.column_stride, 1])
        numbers = [b.min(b.add(first, lane), b.sub(valid, 1)) for lane in range(lanes)]

        def square(i: Index, _: Sequence[SSAValue]) -> None:
            for offset, row in enumerate(transposed(b, [b.vload(columns, [number, i], lanes) for number in numbers])):
                b.vstore(row, scratch, [b.add(i, offset), first])

        b.loop(0, squares, square, step=lanes)

    def by_column(column: Index, _: Sequence[SSAValue]) -> None:
        def element(i: Index, _: Sequence[SSAValue]) -> None:
            b.store(b.load(source, [i, column]), scratch, [i, column])

        b.loop(squares, depth, element)

    if panel.column_stride == 1:
        b.loop(0, depth, by_row)
        return
    squares = b.mul(b.div(depth, lanes), lanes) if panel.depth_stride == 1 else 0  # elements of each column
    b.loop(0, valid, by_squares, step=lanes)
    b.loop(0, valid, by_column)
