"""Matrix products and channels-last convolutions as register tiles over packed panels.

Both are one loop over (right-hand side, panel of nr columns, row of pixels, tile of the row), cut evenly over the
threads. A convolution is an implicit matrix product: for one filter row the taps of a pixel are contiguous in the
input, so no patch matrix is made; rows of the filter that fall outside the picture are not visited, and tiles at
the left and right border have functions of their own that leave out the taps outside.

    for item in this thread's share:                    item = (right-hand side, panel, pixel row, tile)
        tile(a window, panel, filter rows, bias, epilogue operands, out window)

A right-hand side that is not a weight is packed a panel at a time into the thread's scratch; then an item is a
(right-hand side, panel) and the tiles are an inner loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.ir import SSAValue

from ...dialects.errors import CompileError
from ...dialects.graph import ConvOp, MatmulOp, describe, shape_of
from ...dialects.kernel import InterfaceAttr
from ...passes.contraction_form import ContractionForm, contraction_form, conv_geometry
from ...passes.strided_views import row_major
from .builder import Index, LoopBuilder, memref_type, strides_of
from .epilogue import Epilogue
from .instance import KernelInstance
from .microkernel import Tile, tile_function
from .tiles import TileClass, collapse, tile_classes


@dataclass(frozen=True)
class Access:
    """How a buffer is addressed: offset + right-hand side index + pixel index + column, in elements."""

    buffer: SSAValue
    offset: int
    outer: tuple[int, ...]  # strides over right-hand sides
    pixels: tuple[int, ...]  # strides over pixel dimensions, the last one tiled
    column: int  # stride over columns (for a: over the inner sum)


@dataclass(frozen=True)
class FilterRows:
    """The vertical extent of a filter: `count` rows at `dilation`, `stride` input rows per pixel row."""

    count: int
    stride: int
    pad: int
    dilation: int
    height: int  # rows of the picture
    row: int  # elements from one picture row to the next


@dataclass(frozen=True)
class Nest:
    """A contraction as the loops see it."""

    outer: tuple[int, ...]  # sizes: how many right-hand sides
    pixels: tuple[int, ...]  # sizes; the last dimension is cut into tiles
    columns: int
    depth: int  # length of the whole inner sum
    run: int  # contiguous part of it
    taps: tuple[int, int, int, int]  # filter columns, stride, pad, dilation
    tap_stride: int
    width: int | None  # of the picture's rows; None where no tap can fall outside
    rows: FilterRows
    a: Access
    out: Access
    operands: tuple[Access, ...]


def lower(k: KernelInstance) -> None:
    """Write the kernel's loops."""
    form = contraction_form(k.kernel)
    interface = k.kernel.interface
    if isinstance(interface, InterfaceAttr) and interface.packed.data and form.unpack is None:
        raise CompileError(f"{describe(form.root)}: its weight is not packed; run pack-weights first")
    epilogue = Epilogue.of(k, form)
    if isinstance(form.root, ConvOp):
        nest = _conv_nest(k, form, epilogue, form.root)
    else:
        nest = _matmul_nest(k, form, epilogue, form.root)
    _Writer(k, form, epilogue, nest).write()


def _aligned_strides(k: KernelInstance, value: SSAValue, rank: int) -> list[int]:
    """Strides of a kernel argument broadcast to `rank` dimensions: 0 where it is repeated."""
    buffer = k.buffer_of(value)
    assert buffer is not None
    shape, strides = shape_of(value), strides_of(memref_type(buffer))
    own = [0 if size == 1 else stride for size, stride in zip(shape, strides, strict=True)]
    return [0] * (rank - len(own)) + own


def _argument(k: KernelInstance, value: SSAValue) -> SSAValue:
    buffer = k.buffer_of(value)
    assert buffer is not None
    return buffer


def _matmul_nest(k: KernelInstance, form: ContractionForm, epilogue: Epilogue, root: MatmulOp) -> Nest:
    out_shape = shape_of(root.results[0])
    rank, columns = len(out_shape), out_shape[-1]
    view = k.window(form.lhs)
    strides = [0 if size == 1 else stride for size, stride in zip(view.sizes, view.strides, strict=True)]
    depth_axis = -2 if root.transpose_a is not None else -1
    row_axis = -1 if root.transpose_a is not None else -2
    depth, depth_stride = view.sizes[depth_axis], view.strides[depth_axis]
    a = [0] * (rank - len(strides)) + strides[:-2] + [strides[row_axis]]
    # A right-hand side with matrices of its own per batch is walked in the outer loop, else batches are rows.
    batch = _rhs_batch_strides(k, form, root, rank)
    outer = [axis for axis in range(rank - 2) if batch[axis] != 0 and out_shape[axis] != 1]
    inner = [axis for axis in range(rank - 1) if axis not in outer]
    operands = epilogue.operands
    out_strides = list(strides_of(memref_type(k.results[0])))
    aligned = [_aligned_strides(k, value, rank) for value in operands]
    pixel_strides = [[table[axis] for axis in inner] for table in (a, out_strides, *aligned)]
    pixels, merged = collapse([out_shape[axis] for axis in inner], pixel_strides)

    def access(buffer: SSAValue, table: Sequence[int], pixel: Sequence[int], column: int, offset: int = 0) -> Access:
        return Access(buffer, offset, tuple(table[axis] for axis in outer), tuple(pixel), column)

    return Nest(
        outer=tuple(out_shape[axis] for axis in outer),
        pixels=tuple(pixels),
        columns=columns,
        depth=depth,
        run=depth,
        taps=(1, 1, 0, 1),
        tap_stride=0,
        width=None,
        rows=FilterRows(1, 1, 0, 1, 1, 0),
        a=access(view.base, a, merged[0], depth_stride, view.offset),
        out=access(k.results[0], out_strides, merged[1], 1),
        operands=tuple(
            access(_argument(k, value), table, pixel, table[-1])
            for value, table, pixel in zip(operands, aligned, merged[2:], strict=True)
        ),
    )


def _rhs_batch_strides(k: KernelInstance, form: ContractionForm, root: MatmulOp, rank: int) -> list[int]:
    """Strides of the right-hand side's batch dimensions, aligned to the result's."""
    if form.unpack is not None:
        return [0] * (rank - 2)
    view = k.window(root.rhs)
    own = [0 if size == 1 else stride for size, stride in zip(view.sizes, view.strides, strict=True)][:-2]
    return [0] * (rank - 2 - len(own)) + own


def _conv_nest(k: KernelInstance, form: ContractionForm, epilogue: Epilogue, root: ConvOp) -> Nest:
    g = conv_geometry(root)
    channels, filters = g.channels // g.groups, g.filters // g.groups
    buffer = _argument(k, form.lhs)
    (kh, kw), (sh, sw), (ph, pw), (dh, dw) = g.kernel, g.stride, g.pad, g.dilation
    image, row, column = _picture_strides(buffer)
    a = [image, sh * row, sw * column]
    sizes = [g.batch, g.out_height, g.out_width]
    out = list(_picture_strides(k.results[0]))
    rank = len(shape_of(root.results[0]))
    operands = epilogue.operands
    aligned = [_aligned_strides(k, value, rank) for value in operands]
    tables = [[t[0], t[1] if rank == 4 else 0, *t[-2:]] for t in aligned]
    pixel_strides = [a, out, *(table[:3] for table in tables)]
    pixels, merged = collapse(sizes, pixel_strides) if g.pointwise else (sizes, pixel_strides)
    grouped = g.groups > 1
    outer = (g.groups,) if grouped else ()

    def access(buffer: SSAValue, step: int, pixel: Sequence[int], column: int, offset: int = 0) -> Access:
        return Access(buffer, offset, (step,) if grouped else (), tuple(pixel), column)

    last_column = (g.out_width - 1) * sw + (kw - 1) * dw - pw
    return Nest(
        outer=outer,
        pixels=tuple(pixels),
        columns=filters,
        depth=g.depth,
        run=channels,
        taps=(kw, sw, pw, dw),
        tap_stride=dw * column,
        width=None if pw == 0 and last_column < g.width else g.width,
        rows=FilterRows(kh, sh, ph, dh, g.height, row),
        a=access(buffer, channels, merged[0], 1, -pw * column - ph * row),
        out=access(k.results[0], filters, merged[1], 1),
        operands=tuple(
            access(_argument(k, value), filters * table[-1], pixel, table[-1])
            for value, table, pixel in zip(operands, tables, merged[2:], strict=True)
        ),
    )


def _picture_strides(buffer: SSAValue) -> tuple[int, int, int]:
    """Strides of [image, row, column] of a channels-last buffer; a 1-D one has a single row."""
    strides = strides_of(memref_type(buffer))
    return (strides[0], strides[1], strides[2]) if len(strides) == 4 else (strides[0], 0, strides[1])


class _Writer:
    """Writes the item loop, the choice of tile function and the windows each tile gets."""

    def __init__(self, k: KernelInstance, form: ContractionForm, epilogue: Epilogue, nest: Nest) -> None:
        self.k, self.form, self.nest = k, form, nest
        self.b: LoopBuilder = k.b
        self.nr, self.mr = k.schedule.get("nr"), k.schedule.get("mr")
        taps, stride, pad, dilation = nest.taps
        self.classes = tile_classes(nest.pixels[-1], self.mr, taps, stride, pad, dilation, nest.width)
        self.panels = -(-nest.columns // self.nr)
        self.tail = nest.columns - (self.panels - 1) * self.nr
        self.epilogue = epilogue
        self.functions: dict[Tile, func.FuncOp] = {}

    def write(self) -> None:
        nest, b = self.nest, self.b
        tiles_in_row = sum(c.count for c in self.classes)
        outer = [*nest.outer, self.panels]
        inner = [*nest.pixels[:-1], tiles_in_row]
        packed = self.form.unpack is not None
        total = _product(outer) * (_product(inner) if packed else 1)
        lower, upper = b.share(total, self.k.thread, self.k.threads)

        def packed_item(item: Index, _: Sequence[SSAValue]) -> None:
            index = b.delinearize(item, [*outer, *inner])
            rhs, panel, rest = index[: len(nest.outer)], index[len(nest.outer)], index[len(outer) :]
            size = nest.depth * self.nr
            matrix = self.panels * size
            at = b.linear(rhs, _outer_steps(nest.outer, matrix), b.mul(panel, size))
            self._tiles(rhs, panel, rest, _argument(self.k, self.form.rhs), at)

        def scratch_item(item: Index, _: Sequence[SSAValue]) -> None:
            index = b.delinearize(item, outer)
            rhs, panel = index[: len(nest.outer)], index[-1]
            scratch = self._pack_panel(rhs, panel)

            def tile(i: Index, _: Sequence[SSAValue]) -> None:
                self._tiles(rhs, panel, b.delinearize(i, inner), scratch, 0)

            b.loop(0, _product(inner), tile)

        b.loop(lower, upper, packed_item if packed else scratch_item)

    def _pack_panel(self, rhs: Sequence[Index], panel: Index) -> SSAValue:
        """Copy one panel of the right-hand side into this thread's scratch, [k][nr]."""
        nest, b, k, root = self.nest, self.b, self.k, self.form.root
        assert isinstance(root, MatmulOp)
        view = k.window(root.rhs)
        base = view.base
        depth_stride, column_stride = view.strides[-2:]
        if root.transpose_b is not None:
            depth_stride, column_stride = column_stride, depth_stride
        rank = len(shape_of(root.results[0]))
        batch = _rhs_batch_strides(k, self.form, root, rank)
        steps = [step for axis, step in enumerate(batch) if step != 0 and shape_of(root.results[0])[axis] != 1]
        element = memref_type(base).element_type
        scratch = k.own_scratch(0, element, [nest.depth, self.nr])
        at = b.add(b.linear(rhs, steps, view.offset), b.mul(panel, self.nr * column_stride))
        source = b.view(base, at, [nest.depth, self.nr], [depth_stride, column_stride])
        valid: Index = self.nr
        if self.tail != self.nr:
            valid = b.min(b.sub(nest.columns, b.mul(panel, self.nr)), self.nr)

        def by_row(i: Index, _: Sequence[SSAValue]) -> None:
            b.vstore(b.vload(source, [i, 0], self.nr, valid), scratch, [i, 0])

        def by_column(column: Index, _: Sequence[SSAValue]) -> None:
            def element_of(i: Index, _: Sequence[SSAValue]) -> None:
                b.store(b.load(source, [i, column]), scratch, [i, column])

            b.loop(0, nest.depth, element_of)

        if column_stride == 1:
            b.loop(0, nest.depth, by_row)
        else:
            b.loop(0, valid, by_column)
        return scratch

    def _tiles(self, rhs: Sequence[Index], panel: Index, index: Sequence[Index], panels: SSAValue, at: Index) -> None:
        """One tile: choose the function by the panel's width and the tile's place in its row."""

        def by_width(valid: int) -> Callable[[], None]:
            return lambda: self._by_class(self.classes, rhs, panel, index, panels, at, valid)

        if self.tail == self.nr or self.panels == 1:
            by_width(self.tail)()
        else:
            is_last = self.b.compare("eq", panel, self.panels - 1)
            self.b.when(is_last, by_width(self.tail), by_width(self.nr))

    def _by_class(
        self,
        classes: Sequence[TileClass],
        rhs: Sequence[Index],
        panel: Index,
        index: Sequence[Index],
        panels: SSAValue,
        at: Index,
        valid: int,
    ) -> None:
        first = classes[0]
        if len(classes) == 1:
            self._call(first, rhs, panel, index, panels, at, valid)
            return
        self.b.when(
            self.b.compare("slt", index[-1], classes[1].first),
            lambda: self._call(first, rhs, panel, index, panels, at, valid),
            lambda: self._by_class(classes[1:], rhs, panel, index, panels, at, valid),
        )

    def _call(
        self,
        shape: TileClass,
        rhs: Sequence[Index],
        panel: Index,
        index: Sequence[Index],
        panels: SSAValue,
        at: Index,
        valid: int,
    ) -> None:
        nest, b = self.nest, self.b
        taps = len(shape.taps)
        merged = shape.whole and (taps == 1 or nest.tap_stride == nest.run)
        run = nest.run * taps if merged else nest.run
        lanes = -(-valid // self.k.schedule.get("lanes")) * self.k.schedule.get("lanes")
        tap_rows = ((0, shape.rows),) if merged else shape.taps
        prefetch = self.k.schedule.get("prefetch") if self.panels > 1 else 0
        tile = Tile(shape.rows, lanes, valid, tap_rows, run, nest.rows.count, nest.rows.pad > 0, prefetch)
        pixel = b.add(b.mul(b.sub(index[-1], shape.first), shape.rows), shape.start)
        pixels = [*index[:-1], pixel]
        low, count = self._filter_rows(index)
        rows = nest.rows
        a_at = b.add(self._offset(nest.a, rhs, pixels, 0), b.mul(low, rows.dilation * rows.row))
        a_strides = [rows.dilation * rows.row, nest.a.pixels[-1], nest.tap_stride, nest.a.column]
        a = b.view(nest.a.buffer, a_at, [rows.count, shape.rows, len(tap_rows), run], a_strides)
        filter_row = taps * nest.run
        panel_at = b.add(at, b.mul(low, filter_row * self.nr))
        weights = b.view(panels, panel_at, [rows.count, filter_row, self.nr], [filter_row * self.nr, self.nr, 1])
        column = b.mul(panel, self.nr)
        out = self._window(nest.out, rhs, pixels, column, tile)
        bias = None
        if self.form.bias is not None:
            group = b.linear(rhs, _outer_steps(nest.outer, nest.columns), column)
            bias = b.view(_argument(self.k, self.form.bias), group, [lanes], [1])
        operands = [
            None if access.buffer is nest.out.buffer else self._window(access, rhs, pixels, column, tile)
            for access in nest.operands
        ]
        if tile not in self.functions:
            self.functions[tile] = tile_function(
                self.k,
                tile,
                a.type,
                weights.type,
                None if bias is None else bias.type,
                [None if window is None else window.type for window in operands],
                out.type,
                self.epilogue,
            )
        passed = [bias] if bias is not None else []
        passed += [window for window in operands if window is not None]
        b.call(self.functions[tile], [a, weights, count, *passed, out])

    def _offset(self, access: Access, rhs: Sequence[Index], pixels: Sequence[Index], column: Index) -> Index:
        at = self.b.linear(rhs, access.outer, access.offset)
        return self.b.add(self.b.linear(pixels, access.pixels, at), self.b.mul(column, access.column))

    def _window(
        self, access: Access, rhs: Sequence[Index], pixels: Sequence[Index], column: Index, tile: Tile
    ) -> SSAValue:
        at = self._offset(access, rhs, pixels, column)
        return self.b.view(access.buffer, at, [tile.rows, tile.lanes], [access.pixels[-1], access.column])

    def _filter_rows(self, index: Sequence[Index]) -> tuple[Index, Index]:
        """The first filter row that lies in the picture, and how many do."""
        rows, b = self.nest.rows, self.b
        if rows.count == 1 and rows.pad == 0:
            return 0, 1
        top = b.sub(b.mul(index[-2], rows.stride), rows.pad)  # picture row under filter row 0
        low = b.max(0, b.div(b.max(0, b.sub(rows.dilation - 1, top)), rows.dilation))
        below = b.add(b.sub(rows.height - 1, top), rows.dilation)  # > 0 where at least filter row 0 is inside
        high = b.min(rows.count, b.div(b.max(0, below), rows.dilation))
        return low, b.max(0, b.sub(high, low))


def _product(sizes: Sequence[int]) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result


def _outer_steps(sizes: Sequence[int], step: int) -> list[int]:
    """Row-major strides over `sizes` of blocks of `step` elements."""
    return [stride * step for stride in row_major(sizes)] if sizes else []
