"""Depthwise convolution, channels-last: one vector register of channels at a time, over a tile of output pixels.

    for item in this thread's share:              item = (image, row group, chunk of channels)
        for each class of column tiles:           a shared function; the number of tiles is an argument
            for each tile, for each register of filters:
                keep the tile's sums (rows x columns) in registers;
                load each input pixel once and feed every (row, tap) that uses it

Tiles are sized so that the sums, the filter and one input fit the registers. Tiles at the border of the image have
functions of their own without the taps that fall outside, so there is no padded copy; where bytes are padded with
another number than 0, those taps multiply it. Tiles of one row iterate over the filter rows inside the image, with the
same code for all rows. An image whose height is symbolic has such tiles only above and below those of several rows, and
so has each band of it. Bytes are widened to 32 bits when loaded. Where a channel has several filters, a pixel's lanes
are repeated when loaded; where the filters of whole channels do not fill a register, its last lanes are unused. Under
filters of one column the picture is turned: tiles are columns of pixels.

Where the means of rows are also a result, each tile adds its pixels' share to the means of its rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import reduce
from itertools import product

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType, i64
from xdsl.ir import Attribute, SSAValue

from .....dialects.errors import CompileError
from .....dialects.extensions.arith import IndexCastOp
from .....dialects.graph.base import describe
from .....dialects.graph.ops.contraction import ConvOp
from .....dialects.graph.values import element_type_of_value
from .....dialects.sizes.sizes import is_fixed
from .....passes.kernels.forms.contraction import ContractionForm, ConvGeometry, contraction_form, conv_geometry
from .....passes.kernels.schedules.cpu.depthwise import Depthwise, Group, is_turned
from ....kernel_code.arithmetic import Arithmetic, convert, loaded, stored
from ....kernel_code.loop_builder import Index, LoopBuilder, memref_type, strides_of
from ...kernel_instance import KernelInstance
from ...tiles.fused_ops import FusedOps
from ...tiles.tile_classes import TileClass, by_class, inner_classes, tile_classes
from ..products.contraction_nest import aligned_strides, argument_buffer

CHANNELS_HELD = 4  # channels of a group whose taps of a row of 3 share 32 registers with the sums of 14 pixels


@dataclass(frozen=True)
class Patch:
    """The shape of a tile: a class of rows, a class of columns, and whether filter rows are a loop."""

    rows: TileClass
    columns: TileClass
    loops: bool

    @property
    def repeats(self) -> bool:
        """Whether there may be several such tiles in a row: those inside the image."""
        return self.columns.whole

    @property
    def key(self) -> tuple[object, ...]:
        """Patches with equal keys run the same code."""
        return (self.loops, self.rows.rows, self.rows.taps, self.columns.rows, self.columns.taps)


@dataclass(frozen=True)
class _Pixels:
    """Pixels in memory: the first one's position, and the strides of rows and columns, in elements.

    `kind` says along which of rows, columns and channels they vary, and the element type.
    """

    place: SSAValue
    row: Index
    column: Index
    kind: tuple[bool, bool, bool, Attribute]


@dataclass(frozen=True)
class _Means:
    """The means of rows of pixels, and the weight of one pixel in a mean."""

    rows: _Pixels
    share: SSAValue


@dataclass(frozen=True)
class _PatchArguments:
    """Run-time arguments of a patch's function: the position of the first tile, and the number of tiles."""

    x: _Pixels
    out: _Pixels
    operand: tuple[_Pixels | None, ...]  # None: that of the result itself
    filter: SSAValue
    bias: SSAValue | None
    means: _Means | None
    first: Index  # of the registers of filters
    last: Index
    filters: Index
    filter_rows: tuple[Index, ...]  # [first, last), where filter rows are a loop
    tiles: Index


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    form = contraction_form(k.kernel)
    assert isinstance(form.root, ConvOp)
    x, out = Pictures(argument_buffer(k, form.lhs)), Pictures(k.results[0])
    DepthwiseRows(k, form, x, out, turned=is_turned(form)).write()


@dataclass(frozen=True)
class Pictures:
    """A buffer of all images, or of one at a time; row `top` of the image is its first row."""

    buffer: SSAValue
    alone: bool = False
    top: Index = 0


class DepthwiseRows:
    """Computes rows of the kernel's depthwise convolution, tiled as the schedule says; `turned`: columns for rows."""

    def __init__(
        self, k: KernelInstance, form: ContractionForm, x: Pictures, out: Pictures, *, turned: bool = False
    ) -> None:
        root = form.root
        assert isinstance(root, ConvOp)
        if form.unpack is None:
            raise CompileError(f"{describe(root)}: its weight is not packed; run pack-weights first")
        group, lanes = Group.of(conv_geometry(root)), k.schedule_as(Depthwise).lanes
        if not group.panel(lanes):
            raise CompileError(
                f"{describe(root)}: a group of {group.channels} channels and {group.filters} filters does not fit a "
                f"register of {lanes}"
            )
        self.k, self.b, self.epilogue = k, k.b, FusedOps.of(k, form, k.schedule_as(Depthwise).inline)
        self.x, self.out = x, out
        self.sums, self.padding = element_type_of_value(root.result), root.padding
        self.turned = turned
        self.g: ConvGeometry = conv_geometry(root).turned if turned else conv_geometry(root)
        options = k.schedule_as(Depthwise)
        self.lanes, self.chunks = options.lanes, options.chunks
        g = self.g
        self.group = group
        self.panel = self.group.panel(self.lanes)
        (kh, kw), (sh, sw), (ph, pw), (dh, dw) = g.kernel, g.stride, g.pad, g.dilation
        several = kh > 1 or self.group.channels > 1
        self.loops = several and (options.tile_rows == 1 or not is_fixed(g.out_height))  # over rows of the filter
        self.tiling = g.out_height, options.tile_rows, kh, sh, ph, dh, g.height
        self.rows = (inner_classes if self.loops else tile_classes)(k.b, *self.tiling)
        self.columns = tile_classes(k.b, g.out_width, options.tile_columns, kw, sw, pw, dw, g.width)
        self.means = None if form.means is None else k.results[1]
        self.weight = argument_buffer(k, form.rhs)
        self.bias = None if form.bias is None else argument_buffer(k, form.bias)
        self.operands = {value: argument_buffer(k, value) for value in self.epilogue.operands}
        self.whole = g.filters % self.panel == 0

    def write(self) -> None:
        """Builds the loops over all items of this share."""
        b, g = self.b, self.g
        blocks = -(-g.filters // self.panel)
        chunks = min(self.chunks, blocks)
        sizes = [g.batch, b.sum(c.count for c in self.rows), chunks]

        def item(i: Index) -> None:
            image, row, chunk = b.delinearize(i, sizes)
            low = b.div(b.mul(chunk, blocks), chunks)
            high = b.div(b.mul(b.add(chunk, 1), blocks), chunks)
            self._row(image, row, low, high)

        self.k.items(b.product(sizes), item)

    def write_rows(self, image: Index, rows: tuple[Index, Index], x: Pictures, out: Pictures) -> None:
        """Rows [rows[0], rows[1]) of an image, from `x` to `out` (the kernel's buffers, or bands of them).

        They are whole tiles of the image, or any rows where filter rows are loops.
        """
        b, there = self.b, copy(self)
        there.x, there.out = x, out
        blocks = -(-self.g.filters // self.panel)
        if self.loops:
            there.rows = inner_classes(b, *self.tiling, part=rows)
            first, last = 0, b.sum(each.count for each in there.rows)
        else:
            first, last = (b.div(row, self.tiling[1]) for row in rows)
        b.loop(first, last, lambda row, _: there._row(image, row, 0, blocks))

    def _row(self, image: Index, row: Index, low: Index, high: Index) -> None:
        """Row `row` of tiles of an image, for registers [low, high) of filters."""
        b = self.b

        def tiles(rows: TileClass) -> None:
            if self.means is not None:
                y = self._first_row(rows, row)
                b.loop(y, b.add(y, rows.rows), lambda y, _: self._clear(image, y, low, high))
            for columns in self.columns:
                patch = Patch(rows, columns, self.loops and rows.rows == 1)

                def call(patch: Patch = patch) -> None:
                    self._call(patch, image, row, low, high)

                if isinstance(columns.count, int):
                    call()
                else:
                    b.when(b.compare("sgt", columns.count, 0), call)

        by_class(b, self.rows, row, tiles)

    def _call(self, patch: Patch, image: Index, row: Index, low: Index, high: Index) -> None:
        b, g = self.b, self.g
        y = self._first_row(patch.rows, row)
        x = patch.columns.start
        top = b.sub(b.mul(y, g.stride[0]), g.pad[0])
        left = b.sub(b.mul(x, g.stride[1]), g.pad[1])
        told = _PatchArguments(
            x=self._pixels(self.x.buffer, self._at(self.x, image, top, left)),
            out=self._pixels(self.out.buffer, self._at(self.out, image, y, x)),
            operand=tuple(
                None if buffer is self.out.buffer else self._pixels(buffer, [image, y, x], value)
                for value, buffer in self.operands.items()
            ),
            filter=b.place(self.weight, 0),
            bias=None if self.bias is None else b.place(self.bias, 0),
            means=self._means(image, y),
            first=b.index(low),
            last=b.index(high),
            filters=b.index(g.filters),
            filter_rows=self._filter_rows(y) if patch.loops else (),
            tiles=b.index(patch.columns.count) if patch.repeats else 1,
        )

        def write(b: LoopBuilder, told: _PatchArguments) -> None:
            def tile(number: Index, _: Sequence[SSAValue]) -> None:
                there = _Patch(self, b, patch, told, number)
                b.loop(told.first, told.last, lambda block, _: there.write(block))

            b.loop(0, told.tiles, tile)

        lanes = self.lanes, self.group, self.whole
        key = (patch.key, g.kernel, g.stride, g.dilation, lanes, self.padding, self.epilogue.key)
        stem = f"patch_{patch.rows.rows}x{patch.columns.rows}{self.epilogue.stem}"
        self.k.common.call(b, stem, key, told, write)

    def _first_row(self, rows: TileClass, row: Index) -> Index:
        """The first row of pixels in row `row` of tiles, which has class `rows`."""
        b = self.b
        return b.add(b.mul(b.sub(row, rows.first), rows.rows), rows.start)

    def _means(self, image: Index, y: Index) -> _Means | None:
        """The means of an image's rows from y on; None if they are not a result."""
        if self.means is None:
            return None
        return _Means(self._pixels(self.means, [image, y, 0]), self._share())

    def _share(self) -> SSAValue:
        """The weight of a pixel in the mean of its row."""
        b, width = self.b, self.g.out_width
        if is_fixed(width):
            return b.constant(1 / width, self.sums)
        count = convert(b, b.insert(IndexCastOp(b.index(width), i64)), i64, self.sums)
        return b.insert(arith.DivfOp(b.constant(1.0, self.sums), count))

    def _clear(self, image: Index, y: Index, low: Index, high: Index) -> None:
        """Clears the means of row y of an image for registers [low, high) of filters."""
        b, panel, filters = self.b, self.panel, self.g.filters
        assert self.means is not None
        means, zero = self.means, Arithmetic(b, VectorType(self.sums, [self.lanes])).constant(0)

        def clear(block: Index, _: Sequence[SSAValue]) -> None:
            channel = b.mul(block, panel)
            valid = panel if self.whole else b.min(b.sub(filters, channel), panel)
            b.vstore(zero, means, [image, y, 0, channel], valid)

        b.loop(low, high, clear)

    def _filter_rows(self, y: Index) -> tuple[SSAValue, SSAValue]:
        """[first, last): the rows of the filter inside the image for output row y."""
        b, g = self.b, self.g
        above = b.sub(g.pad[0], b.mul(y, g.stride[0]))  # rows of the image inside, possibly negative
        step = g.dilation[0]

        def reached(rows: Index) -> Index:
            return b.div(b.add(b.max(rows, 0), step - 1), step)

        last = b.min(reached(b.add(above, g.height)), g.kernel[0])
        return b.index(reached(above)), b.index(last)

    def _at(self, pictures: Pictures, image: Index, row: Index, column: Index) -> Sequence[Index]:
        return [0 if pictures.alone else image, self.b.sub(row, pictures.top), column]

    def _pixels(self, buffer: SSAValue, at: Sequence[Index], value: SSAValue | None = None) -> _Pixels:
        """The pixels from `at` (image, row, column) on of a buffer of images, or of a `value` broadcast to one."""
        rank = len(memref_type(self.k.results[0]).get_shape())
        strides = strides_of(memref_type(buffer)) if value is None else aligned_strides(self.k, value, rank)
        image, row, column, channel = strides if rank == 4 else (strides[0], 0, *strides[1:])
        row, column = (column, row) if self.turned else (row, column)
        place = self.b.place(buffer, self.b.linear(at, (image, row, column)))
        element = memref_type(buffer).element_type
        return _Pixels(place, self.b.index(row), self.b.index(column), (row != 0, column != 0, channel != 0, element))


class _Patch:
    """The code of a tile, at a number of tiles to the right of the first."""

    def __init__(self, of: DepthwiseRows, b: LoopBuilder, patch: Patch, told: _PatchArguments, number: Index) -> None:
        g = of.g
        self.b, self.g, self.patch, self.epilogue = b, g, patch, of.epilogue
        self.lanes, self.group, self.panel, self.whole = of.lanes, of.group, of.panel, of.whole
        self.filter_rows, self.padding = told.filter_rows, of.padding
        self.m = Arithmetic(b, VectorType(of.sums, [of.lanes]))
        taps = self.group.channels * g.kernel[0] * g.kernel[1]
        self.weight = b.view(told.filter, 0, [told.last, taps, of.panel], [taps * of.panel, of.panel, 1])
        self.filters = told.filters
        self.bias = None if told.bias is None else b.view(told.bias, 0, [told.filters], [1])
        rows = (patch.rows.rows - 1) * g.stride[0] + (g.kernel[0] - 1) * g.dilation[0] + 1
        columns = (patch.columns.rows - 1) * g.stride[1] + (g.kernel[1] - 1) * g.dilation[1] + 1
        x = b.mul(number, patch.columns.rows)

        def window(pixels: _Pixels, x: Index, rows: int, columns: int, channels: Index = told.filters) -> SSAValue:
            at = b.mul(x, pixels.column)
            return b.view(pixels.place, at, [rows, columns, channels], [pixels.row, pixels.column, 1])

        size = patch.rows.rows, patch.columns.rows
        self.source = window(told.x, b.mul(x, g.stride[1]), rows, columns, self._channels(told.filters))
        self.out = window(told.out, x, *size)
        pairs = [
            (value, told.out if each is None else each)
            for value, each in zip(self.epilogue.operands, told.operand, strict=True)
        ]
        self.windows = {value: self.out if each is told.out else window(each, x, *size) for value, each in pairs}
        self.kinds = {value: each.kind for value, each in pairs}
        self.means = None if told.means is None else window(told.means.rows, 0, patch.rows.rows, 1)
        self.share = None if told.means is None else b.splat(told.means.share, of.lanes)

    def write(self, block: Index) -> None:
        """Computes one register of filters."""
        b, lanes, patch, out = self.b, self.lanes, self.patch, self.out
        channel = b.mul(block, self.panel)
        valid = self.panel if self.whole else b.min(b.sub(self.filters, channel), self.panel)
        type = self.m.element
        start = self.m.constant(0) if self.bias is None else b.vload(self.bias, [channel], lanes, valid)
        if self.padding and self.filter_rows:
            start = self.m.add(start, self._rows_outside(block))
        sums = (self._looped_sums if self.filter_rows else self._sums)(block, valid, start)
        fixed: dict[SSAValue, SSAValue] = {}

        def emit(value: SSAValue, y: Index, x: Index) -> SSAValue:
            def load(operand: SSAValue) -> SSAValue:
                window, (by_row, by_column, by_channel, _) = self.windows[operand], self.kinds[operand]
                if operand in fixed:
                    return fixed[operand]
                if by_channel:
                    found = loaded(b, b.vload(window, [y, x, channel], lanes, valid))
                else:
                    found = b.splat(loaded(b, b.load(window, [y, x, 0])), lanes)
                if window is not out and not by_row and not by_column and self.epilogue.inline:
                    fixed[operand] = found
                return found

            return self.epilogue.emit(b, value, lanes, load)

        element = memref_type(out).element_type

        def store(value: SSAValue, y: Index, x: Index) -> SSAValue:
            result = emit(value, y, x)
            b.vstore(stored(b, result, element), out, [y, x, channel], valid)
            return result

        if self.epilogue.inline:
            self._add_to_means(channel, valid, {place: store(value, *place) for place, value in sums.items()})
            return
        # Sums wait for the second pass in the result's memory, unless they are of another type. What a masked store
        # writes is not forwarded to loads, which wait until it is in the cache.
        size = [patch.rows.rows, patch.columns.rows]
        fit = type == element and valid == lanes
        there, at = (out, channel) if fit else (b.alloca(type, [*size, lanes]), 0)
        for (y, x), value in sums.items():
            b.vstore(value, there, [y, x, at])

        def second_pass(position: Sequence[Index]) -> None:
            store(b.vload(there, [*position, at], lanes), *position)

        b.nest(size, second_pass)
        if self.means is not None:
            positions = [(y, x) for y in range(patch.rows.rows) for x in range(patch.columns.rows)]
            self._add_to_means(channel, valid, {at: b.vload(out, [*at, channel], lanes, valid) for at in positions})

    def _add_to_means(self, channel: Index, valid: Index, results: Mapping[tuple[int, int], SSAValue]) -> None:
        """Adds the tile's pixels to the means of their rows."""
        b = self.b
        if self.means is None or self.share is None:
            return
        for y in range(self.patch.rows.rows):
            total = reduce(self.m.add, [results[y, x] for x in range(self.patch.columns.rows)])
            mean = b.vload(self.means, [y, 0, channel], self.lanes, valid)
            b.vstore(b.fma(total, self.share, mean), self.means, [y, 0, channel], valid)

    def _sums(self, block: Index, valid: Index, start: SSAValue) -> dict[tuple[int, int], SSAValue]:
        """The tile's sums, each input pixel loaded once."""
        g, patch = self.g, self.patch
        height, width = patch.rows.rows, patch.columns.rows
        sums = {(y, x): start for y in range(height) for x in range(width)}
        filters: dict[tuple[int, int, int], SSAValue] = {}
        uses: dict[tuple[int, int], list[tuple[int, int, int, int]]] = {}
        outside: list[tuple[int, int, int, int]] = []
        for y, kh, x, kw in product(range(height), range(g.kernel[0]), range(width), range(g.kernel[1])):
            pixel = y * g.stride[0] + kh * g.dilation[0], x * g.stride[1] + kw * g.dilation[1]
            inside = patch.rows.has(y, kh) and patch.columns.has(x, kw)
            (uses.setdefault(pixel, []) if inside else outside).append((y, x, kh, kw))

        def add(values: Sequence[SSAValue], taps: Sequence[tuple[int, int, int, int]]) -> None:
            for channel, value in enumerate(values):
                for y, x, kh, kw in taps:
                    if (channel, kh, kw) not in filters:
                        filters[channel, kh, kw] = self._filter(block, channel, kh, kw)
                    sums[y, x] = self._fused(value, filters[channel, kh, kw], sums[y, x])

        for pixel in sorted(uses):
            add(self._pixel(pixel, block, valid), uses[pixel])
        if self.padding:
            add([self.m.constant(self.padding)] * self.group.channels, outside)
        return sums

    def _filter(self, block: Index, channel: Index, kh: Index, kw: int) -> SSAValue:
        """One tap of a channel of each group; its type in memory may be narrower."""
        b, (rows, columns) = self.b, self.g.kernel
        tap = b.sum([b.mul(channel, rows * columns), b.mul(kh, columns), kw])
        element = memref_type(self.weight).element_type
        there = loaded(b, b.vload(self.weight, [block, tap, 0], self.lanes, self.panel))
        return convert(b, there, element, self.m.element)

    def _channels(self, filters: Index) -> Index:
        """The channels that the filters of whole groups read."""
        return self.b.mul(self.b.div(filters, self.group.filters), self.group.channels)

    def _pixel(
        self, at: tuple[Index, int], block: Index, valid: Index, first: Index = 0, count: int | None = None
    ) -> list[SSAValue]:
        """A pixel's channel for each filter.

        One vector for each of the group's channels: `count` of them (None: all), from channel `first` on.
        """
        b, element, group = self.b, memref_type(self.source).element_type, self.group
        channels = self.panel // group.filters * group.channels
        lanes = 1 << (channels - 1).bit_length()  # beyond the last register
        place = [*at, b.add(b.mul(block, channels), first)]
        there = loaded(b, b.vload(self.source, place, lanes, b.sub(self._channels(valid), first)))
        value = convert(b, there, element, self.m.element)
        if group == Group(1, 1):
            return [value]
        start = [lane // group.filters * group.channels for lane in range(self.lanes)]
        return [
            b.shuffle(value, value, [min(lane + channel, lanes - 1) for lane in start])
            for channel in range(group.channels if count is None else count)
        ]

    def _rows_outside(self, block: Index) -> SSAValue:
        """What filter rows outside of the image add to a sum: the padding value times their taps."""

        def row(kh: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            (total,) = sums
            for channel in range(self.group.channels):
                for kw in range(self.g.kernel[1]):
                    total = self.m.add(total, self._filter(block, channel, kh, kw))
            return [total]

        first, last = self.filter_rows
        total = self.m.constant(0)
        for low, high in ((0, first), (last, self.g.kernel[0])):
            (total,) = self.b.loop(low, high, row, carried=[total], unrolled=False)
        return self.m.mul(total, self.m.constant(self.padding))

    def _fused(self, pixel: SSAValue, filter: SSAValue, total: SSAValue) -> SSAValue:
        """total + pixel * filter"""
        return self.b.fma(pixel, filter, total) if self.m.is_float else self.m.add(total, self.m.mul(pixel, filter))

    def _looped_sums(self, block: Index, valid: Index, start: SSAValue) -> dict[tuple[int, int], SSAValue]:
        """The sums of a one-row tile: in each filter row, each input pixel is loaded once for several channels.

        The taps of those channels are held in registers.
        """
        b, g, patch = self.b, self.g, self.patch
        uses: dict[int, list[tuple[int, int]]] = {}
        outside: list[tuple[int, int]] = []
        for x, kw in product(range(patch.columns.rows), range(g.kernel[1])):
            pixel = x * g.stride[1] + kw * g.dilation[1]
            (uses.setdefault(pixel, []) if patch.columns.has(x, kw) else outside).append((x, kw))
        some = max(count for count in range(1, CHANNELS_HELD + 1) if self.group.channels % count == 0)

        def channels(kh: Index, first: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            sums = list(carried)
            filters: dict[tuple[int, int], SSAValue] = {}

            def add(values: Sequence[SSAValue], taps: Sequence[tuple[int, int]]) -> None:
                for channel, value in enumerate(values):
                    for x, kw in taps:
                        if (channel, kw) not in filters:
                            filters[channel, kw] = self._filter(block, b.add(first, channel), kh, kw)
                        sums[x] = self._fused(value, filters[channel, kw], sums[x])

            for pixel in sorted(uses):
                add(self._pixel((b.mul(kh, g.dilation[0]), pixel), block, valid, first, some), uses[pixel])
            if self.padding:
                add([self.m.constant(self.padding)] * some, outside)
            return sums

        def filter_row(kh: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            if some == self.group.channels:
                return channels(kh, 0, carried)
            return b.loop(
                0,
                self.group.channels // some,
                lambda part, sums: channels(kh, b.mul(part, some), sums),
                carried=carried,
                unrolled=False,
            )

        first, last = self.filter_rows
        sums = b.loop(first, last, filter_row, carried=[start] * patch.columns.rows, unrolled=False)
        return {(0, x): value for x, value in enumerate(sums)}
