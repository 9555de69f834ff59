"""Calls of register-tile functions: selection of the function, and the windows of each strip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from .....dialects.graph.ops.contraction import ConvOp, is_byte
from .....dialects.graph.values import element_type_of_value, shape_of
from .....dialects.sizes.sizes import bounds_of, is_fixed, pinned
from .....passes.kernels.forms.contraction import ContractionForm, conv_geometry
from .....passes.kernels.schedules.cpu.products.tiled_product import TiledProduct
from ....kernel_code.arithmetic import is_unsigned
from ....kernel_code.extents import Extent
from ....kernel_code.loop_builder import Index, LoopBuilder, memref_type
from ...kernel_instance import KernelInstance
from ...tiles.fused_ops import FusedOps
from ...tiles.inner_steps import Bf16Dot, ByteDot, InnerStep, MultiplyAdd
from ...tiles.microkernel import Strip, Tile, call_tiles
from ...tiles.split_sums import Parts, chains_of, parts_of
from ...tiles.tile_classes import TileClass
from ...tiles.tile_results import MemoryRows, TileOperand
from .contraction_nest import Access, Nest


@dataclass(frozen=True)
class Tiling:
    """A contraction tiled into rows of pixels by panels of `nr` columns.

    A panel has `depth` elements for each column, `run` of them for each tap, both in whole steps. A tile stores
    `columns` columns, half as many as it computes where the epilogue joins two halves; the last panel's tile stores
    `tail`.
    """

    nest: Nest
    step: InnerStep
    run: Index
    depth: Index
    rest: int  # elements of a tap's inner sum after its last whole step
    panels: Index
    tail: Index
    nr: int
    columns: int
    lanes: int  # lanes of a vector register
    chains: int
    parts: Parts
    part: Index
    prefetch: int  # prefetch distance of the next panel: elements of a cache line; 0: no prefetch
    padding: int  # the value of pixels outside of a picture
    matrix: int  # elements of the inner sum that one product of tiles takes; 0: it is multiplied in registers

    @classmethod
    def of(cls, k: KernelInstance, form: ContractionForm, nest: Nest) -> Tiling:
        """The tiling that the kernel's schedule asks for."""
        options = k.schedule_as(TiledProduct)
        nr = options.nr
        columns = nr // 2 if form.halves else nr
        assert isinstance(nest.columns, int) and isinstance(nest.run, int) and isinstance(nest.depth, int)
        panels = -(-nest.columns // columns)
        step = _step_of(form)
        run = -(-nest.run // step.depth) * step.depth
        chains = 1 if options.matrix else chains_of(useful_rows(form), nest.run, k.target)
        parts, part = (
            parts_of(nest.depth, nest.run, nest.taps, chains) if isinstance(step, MultiplyAdd) else ("none", 0)
        )
        return cls(
            nest,
            step,
            Extent(run),
            Extent(nest.depth // nest.run * run),
            pinned(nest.run % step.depth),
            Extent(panels),
            nest.columns - (panels - 1) * columns,
            nr,
            columns,
            options.lanes,
            chains,
            parts,
            Extent(part),
            options.prefetch if bounds_of(panels)[1] > 1 else 0,
            form.root.padding if isinstance(form.root, ConvOp) else 0,
            options.matrix,
        )


@dataclass(frozen=True)
class Site:
    """The position of a row of tiles: right-hand side, panel of columns, row of pixels, and the panel's address."""

    rhs: tuple[Index, ...]
    panel: Index
    row: tuple[Index, ...]  # all pixel dimensions but the last
    panels: SSAValue
    at: Index  # elements from the start of `panels`
    start: Index = 0  # the first pixel of tile 0
    panel_row: Index | None = None  # elements between the panel's rows; None: they follow each other


@dataclass(frozen=True)
class DepthPart:
    """A part of the contracted dimension: `depth` elements from `start` on; it may be the `first` or `last` one.

    Partial sums are kept in scratch, in rows of `row` elements from `sums` on; the first belongs to tile `tile`.
    """

    start: Index
    depth: Index
    first: bool
    last: bool
    sums: SSAValue
    row: Index
    tile: Index


@dataclass(frozen=True)
class _Row:
    """The position of a site's first pixel in every buffer, in elements, and other facts common to its tiles."""

    a: Index
    panel: SSAValue
    out: Index
    operands: Sequence[Index]
    bias: SSAValue | None
    filter_rows: Index
    above: Index
    below: Index
    a_filter_row: Index
    ahead: MemoryRows | None
    panel_row: Index


@dataclass(frozen=True)
class _Width:
    """`valid` columns of a tile of `lanes` are stored; 0: the number in the last panel, a run-time value."""

    lanes: int
    valid: int


class TileCalls:
    """Builds calls of strips of tiles; `k.places` are the addresses of the nest's buffers."""

    def __init__(self, k: KernelInstance, tiling: Tiling, form: ContractionForm, epilogue: FusedOps) -> None:
        self.k, self.tiling, self.epilogue = k, tiling, epilogue
        self.nest: Nest = tiling.nest
        self.b: LoopBuilder = k.b
        self.result = element_type_of_value(form.root.results[0])
        self.tallest = k.schedule_as(TiledProduct).mr

    def strips(
        self,
        site: Site,
        first: Index,
        last: Index,
        nest: Nest | None = None,
        part: DepthPart | None = None,
        asks_rows: bool = False,
    ) -> None:
        """Tiles [first, last) of a row, of the tiling's nest or of one that differs in offsets only.

        With `part` they sum only a part of the contracted dimension; with `asks_rows` they prefetch the next tile's
        rows.
        """
        row = self._row(nest or self.nest, site, 0 if part is None else part.start)
        self.by_width(
            site.panel, lambda width: self._by_class(nest or self.nest, row, first, last, width, part, asks_rows)
        )

    def by_width(self, panel: Index, body: Callable[[_Width], None]) -> None:
        """Runs `body` with the number of columns that the panel has: fewer in the last one."""
        b, tiling = self.b, self.tiling
        nr, tail, lanes, columns = tiling.nr, tiling.tail, tiling.lanes, tiling.columns
        if isinstance(tail, int) and is_fixed(tail):
            last = _Width(-(-tail // lanes) * lanes if columns == nr else nr, tail)
            if tail == columns or tiling.panels == 1:
                body(last)
            else:
                is_last = b.compare("eq", panel, b.sub(tiling.panels, 1))
                b.when(is_last, lambda: body(last), lambda: body(_Width(nr, columns)))
            return

        def some() -> None:
            if lanes < nr == columns:
                b.when(b.compare("sle", tail, lanes), lambda: body(_Width(lanes, 0)), lambda: body(_Width(nr, 0)))
            else:
                body(_Width(nr, 0))

        is_last = b.compare("eq", panel, b.sub(tiling.panels, 1))
        b.when(b.conjunction(is_last, b.compare("slt", tail, columns)), some, lambda: body(_Width(nr, columns)))

    def _by_class(
        self,
        nest: Nest,
        row: _Row,
        first: Index,
        last: Index,
        width: _Width,
        part: DepthPart | None,
        asks_rows: bool,
    ) -> None:
        b = self.b
        if len(nest.classes) == 1:
            (only,) = nest.classes
            self._strip(nest, only, row, first, b.sub(last, first), width, part, asks_rows)
            return
        for each in nest.classes:
            low = b.max(first, each.first)
            count = b.sub(b.min(last, b.add(each.first, each.count)), low)

            def strip(each: TileClass = each, low: Index = low, count: Index = count) -> None:
                self._strip(nest, each, row, low, count, width, part, asks_rows)

            b.when(b.compare("sgt", count, 0), strip)

    def _row(self, nest: Nest, site: Site, skipped: Index) -> _Row:
        b, rows, nr = self.b, nest.rows, self.tiling.nr
        low, visited, behind = self._filter_rows(nest, site.row)
        a_filter_row = b.mul(rows.dilation, rows.row)
        panel_size = b.mul(b.mul(self.tiling.run, nest.taps), nr)  # of one filter row
        column = b.mul(site.panel, self.tiling.columns)

        def start(access: Access, column: Index) -> Index:
            at = b.linear(site.rhs, access.outer, access.offset)
            at = b.linear([*site.row, site.start], access.pixels, at)
            return b.add(at, b.mul(column, access.column))

        panel = b.add(b.add(site.at, b.mul(low, panel_size)), b.mul(skipped, nr))
        # The same row of the next panel, which begins where this one ends.
        following = b.add(panel, b.mul(rows.count, panel_size))
        return _Row(
            a=b.add(b.add(start(nest.a, 0), b.mul(low, a_filter_row)), b.mul(skipped, nest.a.column)),
            panel=b.place(site.panels, panel),
            out=start(nest.out, column),
            operands=[0 if each.buffer == nest.out.buffer else start(each, column) for each in nest.operands],
            bias=None if nest.bias is None else b.place(self.k.places[nest.bias], self._channel(nest, site, column)),
            filter_rows=visited,
            above=low,
            below=behind,
            a_filter_row=a_filter_row,
            ahead=MemoryRows(b.place(site.panels, following), nr) if self.tiling.prefetch else None,
            panel_row=nr if site.panel_row is None else site.panel_row,
        )

    def _strip(
        self,
        nest: Nest,
        shape: TileClass,
        row: _Row,
        first: Index,
        count: Index,
        width: _Width,
        part: DepthPart | None,
        asks_rows: bool,
    ) -> None:
        """`count` tiles of class `shape` and the given width, from tile `first` of the row on."""
        b, tiling = self.b, self.tiling
        # Contiguous taps are one loop, except with several chains, whose order of addition would change, and
        # where a tap ends within a step.
        taps, step = shape.taps, tiling.step
        adjoin = nest.side_by_side and tiling.chains == 1 and not tiling.rest
        merged = shape.whole and (len(taps) == 1 or adjoin)
        tile = Tile(
            step=step,
            rows=shape.rows,
            lanes=width.lanes,
            valid=width.valid,
            halves=tiling.columns < tiling.nr,
            taps=((0, shape.rows),) if merged else taps,
            result=self.result,
            operands=tuple(self.operand(nest, each) for each in nest.operands),
            has_bias=nest.bias is not None,
            filter_rows=nest.rows.clipped or nest.rows.count != 1,
            taps_adjoin=adjoin and not merged,
            neighbours=nest.a.column == 1,
            chains=tiling.chains,
            parts=tiling.parts if part is None else "none",
            prefetch=tiling.prefetch,
            rest=tiling.rest,
            padding=tiling.padding,
            matrix=tiling.matrix,
            asks_rows=asks_rows,
            resumes=part is not None and not part.first,
            waits=part is not None and not part.last,
        )
        pixel = b.add(b.mul(b.sub(first, shape.first), shape.rows), shape.start)

        def rows(access: Access, at: Index) -> MemoryRows:
            stride = access.pixels[-1]
            return MemoryRows(b.place(self.k.places[access.buffer], b.add(at, b.mul(pixel, stride))), stride)

        depth, sums = (b.mul(nest.run, len(taps)) if merged else nest.run), None
        if part is not None:
            rows_before = b.mul(b.sub(first, part.tile), self.tallest)
            depth, sums = part.depth, MemoryRows(b.place(part.sums, b.mul(rows_before, part.row)), part.row)
        strip = Strip(
            tiles=count,
            columns=0 if width.valid else tiling.tail,
            depth=depth,
            a=rows(nest.a, row.a),
            panel=row.panel,
            panel_row=row.panel_row,
            out=rows(nest.out, row.out),
            operands=[
                None if each.buffer == nest.out.buffer else rows(each, at)
                for each, at in zip(nest.operands, row.operands, strict=True)
            ],
            bias=row.bias,
            filter_rows=row.filter_rows,
            above=row.above,
            below=row.below,
            part=tiling.part,
            a_filter_row=row.a_filter_row,
            a_tap=nest.tap_stride,
            a_step=nest.a.column,
            ahead=row.ahead,
            sums=sums,
        )
        call_tiles(self.k, tile, self.epilogue, strip)

    def operand(self, nest: Nest, access: Access) -> TileOperand:
        element = memref_type(self.k.places[access.buffer]).element_type
        in_place = access.buffer == nest.out.buffer
        return TileOperand(element, in_place, in_place or access.pixels[-1] != 0, in_place or access.column != 0)

    def _channel(self, nest: Nest, site: Site, column: Index) -> Index:
        """The output channel of a panel's first column, numbered over all right-hand sides."""
        at = column
        step = nest.columns
        for index, size in zip(reversed(site.rhs), reversed(nest.outer), strict=True):
            at = self.b.add(at, self.b.mul(index, step))
            step = self.b.mul(step, size)
        return at

    def _filter_rows(self, nest: Nest, row: Sequence[Index]) -> tuple[Index, Index, Index]:
        """The numbers of filter rows above, inside and below the image."""
        rows, b = nest.rows, self.b
        if not rows.clipped:
            return 0, rows.count, 0
        top = b.sub(b.mul(row[-1], rows.stride), rows.pad)  # image row under filter row 0
        low = b.div(b.max(0, b.sub(b.sub(rows.dilation, 1), top)), rows.dilation)
        below = b.add(b.sub(b.sub(rows.height, 1), top), rows.dilation)  # > 0 where at least filter row 0 is inside
        high = b.min(rows.count, b.div(b.max(0, below), rows.dilation))
        visited = b.max(0, b.sub(high, low))
        if not self.tiling.padding:
            return low, visited, 0
        above = b.min(low, rows.count)
        return above, visited, b.sub(b.sub(rows.count, above), visited)


def _step_of(form: ContractionForm) -> InnerStep:
    """The inner step of a contraction's tiles."""
    types = [element_type_of_value(operand) for operand in form.root.operands[:2]]
    if all(map(is_byte, types)):
        return ByteDot(*(is_unsigned(type) for type in types))
    if form.root.sums is not None:
        return Bf16Dot()
    return MultiplyAdd(element_type_of_value(form.root.results[0]), element_type_of_value(form.rhs))


def tiles_of(b: LoopBuilder, nest: Nest) -> Index:
    """The number of tiles in a row of pixels."""
    return b.sum(each.count for each in nest.classes)


def useful_rows(form: ContractionForm) -> int:
    """The largest useful tile height, independent of strides: the rows of a product, or the pixels of a row."""
    shape = shape_of(form.root.results[0])
    if isinstance(form.root, ConvOp):
        return prod(shape[:-1]) if conv_geometry(form.root).pointwise else shape[-2]
    rhs = (*[1] * len(shape), *shape_of(form.root.rhs))[-len(shape) :]
    shared = [size for size, matrices in zip(shape[:-2], rhs[:-2], strict=True) if matrices == 1]
    return prod(shared) * shape[-2]
