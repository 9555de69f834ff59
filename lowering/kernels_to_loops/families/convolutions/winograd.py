"""3x3 convolutions by Winograd's transforms, a block of tiles at a time.

    for each block of tiles, and chunks [first, last) of output channels that this thread's share has of it:
        transform each tile's pixels into scratch                           tiles[coordinate][tile][channel]
        for each chunk:
            for each coordinate, panel of the chunk: strips of register tiles over the block's tiles, into scratch
                (half-transformed packed filters: by rows of coordinates, transformed before each)
            transform each tile's sums back, with bias, epilogue and pool, into the result

For tiles at the border of the image, the numbers of rows and columns inside are arguments of the transforms; no padded
copy is made. The register tiles are those of panels: see tiles/microkernel.py. A share that begins within a block
repeats its input transforms. Where the number of tiles is a run-time value, so are those of blocks and of tiles in
each; register tiles of all sizes that a block may then be divided into have code, and so have tiles at any border.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from .....dialects.errors import CompileError
from .....dialects.graph.base import describe
from .....dialects.graph.ops.contraction import ConvOp
from .....dialects.graph.packing.winograd_filters import FILTER
from .....dialects.sizes.sizes import bounds_of, is_fixed
from .....passes.kernels.forms.contraction import ContractionForm, ConvGeometry, contraction_form, conv_geometry
from .....passes.kernels.schedules.cpu.winograd import Winograd, tile_count
from ....kernel_code.extents import Extent
from ....kernel_code.loop_builder import Index, memref_type
from ....kernel_code.merged_axes import picture_strides
from ...kernel_instance import KernelInstance
from ...tiles.fused_ops import FusedOps
from ...tiles.inner_steps import MultiplyAdd
from ...tiles.microkernel import Strip, Tile, call_tiles
from ...tiles.split_sums import Parts, chains_of
from ...tiles.tile_classes import TileClass, by_class, counted_classes, tile_classes
from ...tiles.tile_results import MemoryRows
from ...tiles.winograd_transforms import (
    FilterRow,
    InputShape,
    InputTile,
    Matrices,
    OutputShape,
    OutputTile,
    PixelKind,
    Pixels,
    transform_filters,
    transform_input,
    transform_output,
)
from ..products.contraction_nest import Access, access, aligned_strides, argument_buffer

LONG, PART = 256, 128
"""Channels beyond which sums are split into parts, and a part's elements: the back-transform amplifies rounding.

With 512 channels and tiles of 4 the largest error fell by 1.4 and the mean one by 1.9, for 0.5 % of the time (Zen 5);
256 channels would take up to 4 % more.
"""


@dataclass(frozen=True)
class Columns:
    """Tiles of a row, `count` from tile `first` on, whose pixels in columns [low, high) lie inside the image."""

    first: Index
    count: Index
    low: int
    high: int


@dataclass(frozen=True)
class Sizes:
    """Run-time arguments of the code: tiles per image, blocks, chunks, and strides of buffers.

    The first `longer` blocks have `block` tiles, the others one less; a number of tiles of run time is divided when the
    kernel runs. `row` is the stride between tiles of a coordinate's matrix, `next` that between matrices, of pixels and
    of sums.
    """

    total: Index  # tiles of all images
    blocks: Index
    longer: Index
    block: int  # 0: a run-time value
    fewest: int  # tiles of a block of run time, at least
    rows: Index  # tiles per image
    columns: Index
    pad: tuple[Index, Index]
    height: Index
    width: Index
    out_height: Index  # strides of the stored result, possibly of a pool
    out_width: Index
    channels: Index
    filters: Index
    chunks: Index
    panels: int
    tiles: SSAValue
    tiles_row: Index
    tiles_next: Index
    sums: SSAValue
    sums_next: Index
    made: SSAValue | None  # a row of transformed filters
    made_next: Index
    classes: tuple[Columns, ...]  # none where the width is a run-time value
    x: Access
    out: Access
    operands: tuple[Access, ...]
    bias: int | None
    part: Index


@dataclass(frozen=True)
class Code:
    """What the code is specialised for, beside the sizes."""

    options: Winograd
    whole: bool  # whether input channels are whole registers, and whether output channels are
    whole_filters: bool
    tail: int  # columns of the last panel, rounded up to whole registers
    kinds: tuple[PixelKind | None, ...]
    chains: int
    parts: Parts
    pooled: bool  # whether the largest of each 2x2 results is stored

    @property
    def stored(self) -> int:
        """Rows and columns stored for a tile."""
        return self.options.tile // 2 if self.pooled else self.options.tile


@dataclass(frozen=True)
class Block:
    """`count` tiles from tile `start` on, of those of all images; `longer`: one more than in others."""

    start: Index
    count: Index
    longer: SSAValue


@dataclass(frozen=True)
class Strips:
    """The classes of register tiles of a block, or `others` unless it is `longer` than other blocks."""

    classes: Sequence[TileClass]
    longer: SSAValue | None = None
    others: Sequence[TileClass] = ()


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    form = contraction_form(k.kernel)
    assert isinstance(form.root, ConvOp)
    if form.unpack is None:
        raise CompileError(f"{describe(form.root)}: its weight is not packed; run pack-weights first")
    options, g = k.schedule_as(Winograd), conv_geometry(form.root)
    epilogue = FusedOps.of(k, form, options.inline)
    sizes, code = _sizes_of(k, form, g, epilogue, options)
    weight = k.buffers.index(argument_buffer(k, form.rhs))
    sums = FusedOps(form.root.result, form.root.result, (), (), True)

    def write(k: KernelInstance, sizes: Sizes) -> None:
        _Writer(k, sizes, code, sums, epilogue, weight).write()

    k.outlined("winograd", sizes, (weight, code, epilogue.key), write)


def _sizes_of(
    k: KernelInstance, form: ContractionForm, g: ConvGeometry, epilogue: FusedOps, options: Winograd
) -> tuple[Sizes, Code]:
    tile, lanes = options.tile, options.lanes
    total = tile_count(g, tile)
    blocks = -(-total // options.block)
    shorter, longer = divmod(total, blocks) if is_fixed(total) else (0, 0)
    chains = chains_of(bounds_of(total)[1], g.channels, k.target)
    parts: Parts = "runs" if g.channels > LONG and chains == 1 else "none"
    tiles, sums = k.scratch_part("tiles"), k.scratch_part("sums")
    filters = k.scratch_part("filters") if options.half else None
    result = k.results[0]

    def pixels(buffer: SSAValue, strides: Sequence[int]) -> Access:
        return access(k, buffer, [], strides[:3], strides[3])

    operands = tuple(pixels(argument_buffer(k, value), aligned_strides(k, value, 4)) for value in epilogue.operands)
    sizes = Sizes(
        total=Extent(total),
        blocks=Extent(blocks),
        longer=Extent(longer or blocks),
        block=shorter + (longer > 0),
        fewest=min(bounds_of(total)[0], options.block // 2),
        rows=Extent(-(-g.out_height // tile)),
        columns=Extent(-(-g.out_width // tile)),
        pad=(Extent(g.pad[0]), Extent(g.pad[1])),
        height=Extent(g.height),
        width=Extent(g.width),
        out_height=Extent(memref_type(result).get_shape()[1]),
        out_width=Extent(memref_type(result).get_shape()[2]),
        channels=Extent(g.channels),
        filters=Extent(g.filters),
        chunks=Extent(-(-g.filters // (options.panels * options.nr))),
        panels=options.panels,
        tiles=k.b.place(tiles, 0),
        tiles_row=Extent(-(-g.channels // lanes) * lanes),
        tiles_next=Extent(memref_type(tiles).get_shape()[1]),
        sums=k.b.place(sums, 0),
        sums_next=Extent(memref_type(sums).get_shape()[1]),
        made=None if filters is None else k.b.place(filters, 0),
        made_next=0 if filters is None else Extent(memref_type(filters).get_shape()[1]),
        classes=_classes(g, tile) if is_fixed(g.width, g.out_width) else (),
        x=access(k, argument_buffer(k, form.lhs), [], picture_strides(argument_buffer(k, form.lhs)), 1),
        out=access(k, result, [], picture_strides(result), 1),
        operands=operands,
        bias=None if form.bias is None else k.buffers.index(argument_buffer(k, form.bias)),
        part=Extent(PART),
    )
    out = k.buffers.index(result)
    kinds = tuple(None if each.buffer == out else _kind(k, each) for each in operands)
    tail = -(-((g.filters - 1) % options.nr + 1) // lanes) * lanes
    pooled = form.pool is not None
    code = Code(options, g.channels % lanes == 0, g.filters % lanes == 0, tail, kinds, chains, parts, pooled)
    return sizes, code


def _kind(k: KernelInstance, operand: Access) -> PixelKind:
    element = memref_type(k.buffers[operand.buffer]).element_type
    _, row, column = operand.pixels
    return PixelKind(row != 0, column != 0, operand.column != 0, element)


def _classes(g: ConvGeometry, tile: int) -> tuple[Columns, ...]:
    """The tiles of a row, grouped by which columns of their pixels lie inside the image."""
    side = tile + FILTER - 1
    seen: list[tuple[int, int]] = []
    for column in range(-(-g.out_width // tile)):
        left = column * tile - g.pad[1]
        low, high = min(side, max(0, -left)), max(0, min(side, g.width - left))
        seen.append((low, high) if low < high else (0, 0))
    starts = [i for i, each in enumerate(seen) if i == 0 or each != seen[i - 1]]
    ends = [*starts[1:], len(seen)]
    return tuple(
        Columns(Extent(start), Extent(end - start), *seen[start]) for start, end in zip(starts, ends, strict=True)
    )


class _Writer:
    """The loops over blocks, chunks and tiles."""

    def __init__(
        self, k: KernelInstance, sizes: Sizes, code: Code, sums: FusedOps, epilogue: FusedOps, weight: int
    ) -> None:
        self.k, self.b, self.sizes, self.code = k, k.b, sizes, code
        # Sums are stored without epilogue, which the output transform applies.
        self.sums, self.epilogue = sums, epilogue
        self.options = code.options
        self.tile = self.options.tile
        self.side = self.tile + FILTER - 1
        self.weights = k.places[weight]
        self.chunk = sizes.panels * self.options.nr  # output channels

    def write(self) -> None:
        b, s = self.b, self.sizes
        blocks = self._blocks()
        fewer, longer = (0, s.longer) if s.block else (b.div(s.total, blocks), b.rem(s.total, blocks))

        def item(index: Index, first: Index, last: Index) -> None:
            block = self._block(index, fewer, longer)
            b.loop(0, block.count, lambda number, _: self._input(block, number))
            strips = self._strips(block)

            def chunk(chunk: Index, _: Sequence[SSAValue]) -> None:
                if s.made is None:
                    self._products(chunk, strips)
                else:
                    self._products_of_rows(chunk, strips, s.made)
                b.loop(0, block.count, lambda number, _: self._output(block, number, chunk))

            b.loop(first, last, chunk)

        self.k.runs(blocks, s.chunks, item)

    def _blocks(self) -> Index:
        """The number of blocks; of run time, a multiple of the threads where there are enough (see the schedule)."""
        b, s, threads = self.b, self.sizes, self.k.target.threads.data
        if s.block:
            return s.blocks
        blocks = b.max(s.blocks, 1)
        if threads == 1:
            return blocks
        alike = b.mul(b.div(b.add(blocks, threads - 1), threads), threads)
        return b.select(b.compare("sge", blocks, threads), b.index(alike), b.index(blocks))

    def _block(self, index: Index, fewer: Index, longer: Index) -> Block:
        """Block `index`; `fewer` tiles are in those of run time from block `longer` on."""
        b, s = self.b, self.sizes
        is_longer = b.compare("slt", index, longer)
        if s.block:
            start = b.sub(b.mul(index, s.block), b.max(b.sub(index, longer), 0))
            return Block(start, b.sub(s.block, b.select(is_longer, b.index(0), b.index(1))), is_longer)
        start = b.add(b.mul(index, fewer), b.min(index, longer))
        return Block(start, b.add(fewer, b.select(is_longer, b.index(1), b.index(0))), is_longer)

    def _strips(self, block: Block) -> Strips:
        """The register tiles of a block: of its usual number of tiles, of one less, or of a run-time one."""
        b, s, mr = self.b, self.sizes, self.options.mr
        if not s.block:
            bounds = max(s.fewest, 1), self.options.block
            return Strips(counted_classes(b, block.count, bounds, mr))
        usual = tile_classes(b, s.block, mr)
        if s.longer == s.blocks:
            return Strips(usual)
        return Strips(usual, block.longer, tile_classes(b, s.block - 1, mr))

    def _tile(self, block: Block, number: Index) -> tuple[Index, Index, Index]:
        """The image, row and column of a block's tile `number`."""
        b, s = self.b, self.sizes
        image, row, column = b.delinearize(b.add(block.start, number), [1, s.rows, s.columns])
        return image, row, column

    def _place(self, of: Access, image: Index, y: Index, x: Index, channel: Index = 0) -> SSAValue:
        b = self.b
        at = b.linear([image, y, x], of.pixels, of.offset)
        return b.place(self.k.places[of.buffer], b.add(at, b.mul(channel, of.column)))

    def _pixels(self, of: Access, image: Index, y: Index, x: Index, channel: Index = 0) -> Pixels:
        row, column = (self.b.index(each) if each != 0 else 0 for each in of.pixels[1:])
        return Pixels(self._place(of, image, y, x, channel), row, column)

    def _input(self, block: Block, number: Index) -> None:
        b, s = self.b, self.sizes
        image, row, column = self._tile(block, number)
        top = b.sub(b.mul(row, self.tile), s.pad[0])
        left = b.sub(b.mul(column, self.tile), s.pad[1])
        first = b.min(b.max(b.sub(0, top), 0), self.side)
        last = b.max(b.min(b.sub(s.height, top), self.side), first)
        told = InputTile(
            pixels=self._pixels(s.x, image, top, left),
            first=b.index(first),
            last=b.index(last),
            channels=b.index(s.channels),
            into=Matrices(b.place(s.tiles, b.mul(number, s.tiles_row)), b.index(s.tiles_next)),
        )

        def transform(told: InputTile, columns: tuple[int, int] | None) -> None:
            element = memref_type(self.k.places[s.x.buffer]).element_type
            shape = InputShape(self.tile, self.options.lanes, self.code.whole, columns, element)
            transform_input(self.k.common, b, shape, told)

        if s.classes:
            by_class(b, s.classes, column, lambda columns: transform(told, (columns.low, columns.high)))
            return
        low, high = b.max(b.sub(0, left), 0), b.min(b.sub(s.width, left), self.side)
        inside = b.conjunction(b.compare("eq", low, 0), b.compare("eq", high, self.side))
        border = replace(told, columns=(b.index(low), b.index(high)))
        b.when(inside, lambda: transform(told, (0, self.side)), lambda: transform(border, None))

    def _products(self, chunk: Index, strips: Strips) -> None:
        """The sums of a chunk's output channels, for all coordinates."""
        b, s, nr = self.b, self.sizes, self.options.nr
        size = b.mul(s.channels, nr)  # of a panel
        coordinates = self.side * self.side
        begin = b.mul(b.mul(chunk, coordinates * s.panels), size)

        def panel(number: Index, _: Sequence[SSAValue]) -> None:
            coordinate, panel = b.delinearize(number, [coordinates, s.panels])
            weights = b.add(begin, b.mul(number, size))
            ahead = MemoryRows(b.place(self.weights, b.add(weights, size)), nr)
            self._panel(
                coordinate, b.add(b.mul(chunk, s.panels), panel), panel, b.place(self.weights, weights), ahead, strips
            )

        b.loop(0, coordinates * s.panels, panel)

    def _products_of_rows(self, chunk: Index, strips: Strips, made: SSAValue) -> None:
        """The same for half-transformed filters: their columns are transformed here, one row of coordinates at a time.

        The first and last columns need no transform. The next row's source is prefetched meanwhile, a part during each
        coordinate.
        """
        b, s, nr = self.b, self.sizes, self.options.nr
        size = b.mul(s.channels, nr)

        def row(row: Index, _: Sequence[SSAValue]) -> None:
            at = b.mul(b.add(b.mul(chunk, self.side), row), b.mul(size, FILTER))
            told = FilterRow(
                Matrices(b.place(self.weights, at), b.index(size)),
                Matrices(made, b.index(s.made_next)),
                b.index(size),
            )
            transform_filters(self.k.common, b, self.tile, self.options.lanes, told)
            following = b.add(at, b.mul(size, FILTER))

            def column(column: Index, _: Sequence[SSAValue]) -> None:
                part = b.mul(b.mul(column, s.channels), FILTER * nr // self.side)
                ahead = MemoryRows(b.place(self.weights, b.add(following, part)), FILTER * nr // self.side)
                first, last = b.compare("eq", column, 0), b.compare("eq", column, self.side - 1)
                weights = b.place(made, b.mul(b.sub(column, 1), s.made_next))
                weights = b.select(first, b.place(self.weights, at), weights)
                weights = b.select(last, b.place(self.weights, b.add(at, b.mul(size, FILTER - 1))), weights)
                self._panel(b.add(b.mul(row, self.side), column), chunk, 0, weights, ahead, strips)

            b.loop(0, self.side, column)

        b.loop(0, self.side, row)

    def _panel(
        self, coordinate: Index, number: Index, panel: Index, weights: SSAValue, ahead: MemoryRows, strips: Strips
    ) -> None:
        """The products of one coordinate with panel `number`, which is `panel` of its chunk."""
        b, s = self.b, self.sizes
        a = b.mul(coordinate, s.tiles_next)
        out = b.add(b.mul(coordinate, s.sums_next), b.mul(panel, self.options.nr))

        def those(classes: Sequence[TileClass], columns: int) -> None:
            for each in classes:
                if isinstance(each.count, int):
                    self._strip(each, a, weights, out, ahead, columns, last=each is classes[-1])
                else:  # any of them may be the last
                    some = b.compare("sgt", each.count, 0)
                    b.when(some, lambda each=each: self._strip(each, a, weights, out, ahead, columns, last=True))

        def rows(columns: int) -> None:
            if strips.longer is None:
                those(strips.classes, columns)
            else:
                b.when(strips.longer, lambda: those(strips.classes, columns), lambda: those(strips.others, columns))

        tail, nr = self.code.tail, self.options.nr
        if tail == nr:
            rows(nr)
        else:
            is_last = b.compare("eq", number, b.sub(b.mul(s.chunks, s.panels), 1))
            b.when(is_last, lambda: rows(tail), lambda: rows(nr))

    def _strip(
        self, rows: TileClass, a: Index, weights: SSAValue, out: Index, ahead: MemoryRows, columns: int, last: bool
    ) -> None:
        b, s, nr, code = self.b, self.sizes, self.options.nr, self.code
        tile = Tile(
            step=MultiplyAdd(f32, f32),
            rows=rows.rows,
            lanes=columns,
            valid=columns,
            taps=((0, rows.rows),),
            result=f32,
            chains=code.chains,
            parts=code.parts,
            prefetch=self._asked() if last else 0,
        )
        strip = Strip(
            tiles=rows.count,
            depth=s.channels,
            a=MemoryRows(b.place(s.tiles, b.add(a, b.mul(rows.start, s.tiles_row))), s.tiles_row),
            panel=weights,
            panel_row=nr,
            out=MemoryRows(b.place(s.sums, b.add(out, b.mul(rows.start, self.chunk))), self.chunk),
            ahead=ahead if last and self.options.prefetch else None,
            part=s.part,
        )
        call_tiles(self.k, tile, self.sums, strip)

    def _asked(self) -> int:
        """Distance in elements of prefetched lines within a step: smaller for half-transformed filters."""
        line, nr = self.options.prefetch, self.options.nr
        if not line or not self.options.half:
            return line
        lines = -(-(FILTER * nr // self.side) // line)
        return max(line, nr // lines)

    def _output(self, block: Block, number: Index, chunk: Index) -> None:
        b, s = self.b, self.sizes
        image, row, column = self._tile(block, number)
        y, x, channel = b.mul(row, self.tile), b.mul(column, self.tile), b.mul(chunk, self.chunk)
        stored = self.code.stored
        to_y, to_x = b.mul(row, stored), b.mul(column, stored)
        told = OutputTile(
            sums=Matrices(b.place(s.sums, b.mul(number, self.chunk)), b.index(s.sums_next)),
            out=self._pixels(s.out, image, to_y, to_x, channel),
            operands=tuple(
                None if kind is None else self._pixels(each, image, y, x, channel)
                for each, kind in zip(s.operands, self.code.kinds, strict=True)
            ),
            bias=None if s.bias is None else b.place(self.k.places[s.bias], channel),
            rows=b.index(b.min(b.sub(s.out_height, to_y), stored)),
            columns=b.index(b.min(b.sub(s.out_width, to_x), stored)),
            channels=b.index(b.min(b.sub(s.filters, channel), self.chunk)),
        )
        code = self.code
        shape = OutputShape(self.tile, self.options.lanes, code.whole_filters, code.kinds, code.pooled)
        transform_output(self.k.common, b, shape, self.epilogue, told)
