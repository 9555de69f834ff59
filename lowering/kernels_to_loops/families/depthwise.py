"""Depthwise convolution, channels-last: one vector register of channels at a time, over a tile of output pixels.

    for item in this thread's share:              item = (image, row group, column tile, chunk of channels)
        for each register of channels:
            keep the tile's sums (rows x columns) and the filter in registers;
            load each input pixel once and feed every (row, tap) that uses it

Tiles are cut so that the sums, the filter and one input fit the registers. Those at the border of the picture have
functions of their own, without the taps that fall outside; so there is no padded copy. Large filters are visited row by
row, in a loop over those that lie inside the picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import IndexType, VectorType
from xdsl.ir import Attribute, SSAValue

from ....dialects.errors import CompileError
from ....dialects.graph import ConvOp, describe, shape_of
from ....passes.kernels.forms.contraction import ConvGeometry, contraction_form, conv_geometry
from ....passes.kernels.schedules.cpu.depthwise import Depthwise
from ..instance import KernelInstance
from ..tiles.epilogue import Epilogue
from ..tiles.tiles import TileClass, tile_classes
from ..writing.builder import Index, LoopBuilder, memref_type, strides_of
from .contraction_nest import argument_buffer


@dataclass(frozen=True)
class Patch:
    """A tile's shape: a class of rows and a class of columns."""

    rows: TileClass
    columns: TileClass

    @property
    def key(self) -> tuple[object, ...]:
        """Patches with equal keys run the same code."""
        return (self.rows.rows, self.rows.taps, self.columns.rows, self.columns.taps)


def lower(k: KernelInstance) -> None:
    """Write the kernel's loops."""
    form = contraction_form(k.kernel)
    assert isinstance(form.root, ConvOp)
    if form.unpack is None:
        raise CompileError(f"{describe(form.root)}: its weight is not packed; run pack-weights first")
    _Writer(k, form.root, form.rhs, form.bias, Epilogue.of(k, form, k.schedule_as(Depthwise).inline), form.lhs).write()


class _Writer:
    def __init__(
        self,
        k: KernelInstance,
        root: ConvOp,
        weight: SSAValue,
        bias: SSAValue | None,
        epilogue: Epilogue,
        x: SSAValue,
    ) -> None:
        self.k, self.b, self.epilogue = k, k.b, epilogue
        self.g: ConvGeometry = conv_geometry(root)
        options = k.schedule_as(Depthwise)
        self.lanes, self.chunks, self.loops = options.lanes, options.chunks, options.filter_loop
        g = self.g
        (kh, kw), (sh, sw), (ph, pw), (dh, dw) = g.kernel, g.stride, g.pad, g.dilation
        if self.loops:
            self.rows = tile_classes(g.out_height, 1)
        else:
            self.rows = tile_classes(g.out_height, options.tile_rows, kh, sh, ph, dh, g.height)
        self.columns = tile_classes(g.out_width, options.tile_columns, kw, sw, pw, dw, g.width)
        self.x, self.weight = argument_buffer(k, x), argument_buffer(k, weight)
        self.bias = None if bias is None else argument_buffer(k, bias)
        self.operands = {value: argument_buffer(k, value) for value in epilogue.operands}
        self.functions: dict[tuple[object, ...], func.FuncOp] = {}

    def write(self) -> None:
        b, g = self.b, self.g
        blocks = -(-g.channels // self.lanes)
        chunks = min(self.chunks, blocks)
        row_groups = b.sum(c.count for c in self.rows)
        column_tiles = b.sum(c.count for c in self.columns)
        sizes = [g.batch, row_groups, column_tiles, chunks]

        def item(i: Index) -> None:
            image, row, column, chunk = b.delinearize(i, sizes)
            low = b.div(b.mul(chunk, blocks), chunks)
            high = b.div(b.mul(b.add(chunk, 1), blocks), chunks)
            self._by_row(self.rows, image, row, column, low, high)

        self.k.items(b.product(sizes), item)

    def _by_row(
        self, classes: Sequence[TileClass], image: Index, row: Index, column: Index, low: Index, high: Index
    ) -> None:
        if len(classes) == 1:
            self._by_column(classes[0], self.columns, image, row, column, low, high)
            return
        self.b.when(
            self.b.compare("slt", row, classes[1].first),
            lambda: self._by_column(classes[0], self.columns, image, row, column, low, high),
            lambda: self._by_row(classes[1:], image, row, column, low, high),
        )

    def _by_column(
        self,
        rows: TileClass,
        classes: Sequence[TileClass],
        image: Index,
        row: Index,
        column: Index,
        low: Index,
        high: Index,
    ) -> None:
        if len(classes) == 1:
            self._call(Patch(rows, classes[0]), image, row, column, low, high)
            return
        self.b.when(
            self.b.compare("slt", column, classes[1].first),
            lambda: self._call(Patch(rows, classes[0]), image, row, column, low, high),
            lambda: self._by_column(rows, classes[1:], image, row, column, low, high),
        )

    def _call(self, patch: Patch, image: Index, row: Index, column: Index, low: Index, high: Index) -> None:
        b, g = self.b, self.g
        y = b.add(b.mul(b.sub(row, patch.rows.first), patch.rows.rows), patch.rows.start)
        x = b.add(b.mul(b.sub(column, patch.columns.first), patch.columns.rows), patch.columns.start)
        in_strides = strides_of(memref_type(self.x))[:3]
        top = b.sub(b.mul(y, g.stride[0]), g.pad[0])
        left = b.sub(b.mul(x, g.stride[1]), g.pad[1])
        in_rows = (patch.rows.rows - 1) * g.stride[0] + (g.kernel[0] - 1) * g.dilation[0] + 1
        in_columns = (patch.columns.rows - 1) * g.stride[1] + (g.kernel[1] - 1) * g.dilation[1] + 1
        source_at = b.linear([image, top, left], in_strides)
        source = b.view(self.x, source_at, [in_rows, in_columns, g.channels], [*in_strides[1:], 1])
        out = self._window(self.k.results[0], patch, image, y, x)
        windows = [
            None if buffer is self.k.results[0] else self._window(buffer, patch, image, y, x, value)
            for value, buffer in self.operands.items()
        ]
        if patch.key not in self.functions:
            types = [None if window is None else window.type for window in windows]
            self.functions[patch.key] = self._patch_function(patch, source.type, types, out.type)
        passed = [self.bias] if self.bias is not None else []
        passed += [window for window in windows if window is not None]
        filter_rows = self._filter_rows(y) if self.loops else ()
        b.call(self.functions[patch.key], [source, self.weight, *passed, out, low, high, *filter_rows])

    def _filter_rows(self, y: Index) -> tuple[Index, Index]:
        """[first, last): rows of the filter that lie inside the picture for the output row y."""
        b, g = self.b, self.g
        above = b.sub(g.pad[0], b.mul(y, g.stride[0]))  # rows of the picture, perhaps fewer than none
        step = g.dilation[0]

        def reached(rows: Index) -> Index:
            return b.div(b.add(b.max(rows, 0), step - 1), step)

        return reached(above), b.min(reached(b.add(above, g.height)), g.kernel[0])

    def _window(
        self, buffer: SSAValue, patch: Patch, image: Index, y: Index, x: Index, value: SSAValue | None = None
    ) -> SSAValue:
        """The tile's window on a buffer of the result's shape, or on one that is broadcast to it."""
        strides = list(strides_of(memref_type(buffer)))
        if value is not None:
            shape = shape_of(value)
            own = [0 if size == 1 else stride for size, stride in zip(shape, strides, strict=True)]
            strides = [0] * (4 - len(own)) + own
        at = self.b.linear([image, y, x], strides[:3])
        return self.b.view(buffer, at, [patch.rows.rows, patch.columns.rows, self.g.channels], strides[1:])

    def _patch_function(
        self,
        patch: Patch,
        source_type: Attribute,
        operand_types: Sequence[Attribute | None],
        out_type: Attribute,
    ) -> func.FuncOp:
        """(input window, filter, [bias], [epilogue operands], result window, bounds of blocks, [and of filter rows])"""
        given = [source_type, self.weight.type]
        given += [self.bias.type] if self.bias is not None else []
        given += [type for type in operand_types if type is not None]
        name = f"patch_{patch.rows.rows}x{patch.columns.rows}_{len(self.functions)}"
        bounds = [IndexType()] * (4 if self.loops else 2)
        function, b = self.k.helper(name, [*given, out_type, *bounds])
        source, weight, *rest = function.body.block.args
        out, low, high, *filter_rows = rest[-1 - len(bounds) :]
        del rest[-1 - len(bounds) :]
        bias = rest.pop(0) if self.bias is not None else None
        windows: dict[SSAValue, SSAValue] = {
            value: out if type is None else rest.pop(0)
            for value, type in zip(self.operands, operand_types, strict=True)
        }

        def block(i: Index, _: Sequence[SSAValue]) -> None:
            channel = b.mul(i, self.lanes)
            whole = self.g.channels % self.lanes == 0
            valid = None if whole else b.min(b.sub(self.g.channels, channel), self.lanes)
            self._channels(b, patch, i, channel, valid, source, weight, bias, windows, out, filter_rows)

        b.loop(low, high, block)
        b.ret()
        return function

    def _channels(
        self,
        b: LoopBuilder,
        patch: Patch,
        block: Index,
        channel: Index,
        valid: Index | None,
        source: SSAValue,
        weight: SSAValue,
        bias: SSAValue | None,
        windows: dict[SSAValue, SSAValue],
        out: SSAValue,
        filter_rows: Sequence[SSAValue],
    ) -> None:
        """One register of channels of a tile."""
        lanes = self.lanes
        type = VectorType(memref_type(source).element_type, [lanes])
        start = b.constant(0.0, type) if bias is None else b.vload(bias, [channel], lanes, valid)
        if filter_rows:
            sums = self._looped_sums(b, patch, block, channel, valid, source, weight, start, filter_rows)
        else:
            sums = self._sums(b, patch, block, channel, valid, source, weight, start)
        fixed: dict[SSAValue, SSAValue] = {}

        def emit(value: SSAValue, y: Index, x: Index) -> SSAValue:
            def load(operand: SSAValue) -> SSAValue:
                window = windows[operand]
                strides = strides_of(memref_type(window))
                if operand in fixed:
                    return fixed[operand]
                if strides[2] == 0:
                    loaded = b.splat(b.load(window, [y, x, 0]), lanes)
                else:
                    loaded = b.vload(window, [y, x, channel], lanes, valid)
                if window is not out and strides[:2] == (0, 0) and self.epilogue.inline:
                    fixed[operand] = loaded
                return loaded

            return self.epilogue.emit(b, value, lanes, load)

        for (y, x), value in sums.items():
            b.vstore(emit(value, y, x) if self.epilogue.inline else value, out, [y, x, channel], valid)
        if not self.epilogue.inline:

            def second_pass(position: Sequence[Index]) -> None:
                y, x = position
                b.vstore(emit(b.vload(out, [y, x, channel], lanes, valid), y, x), out, [y, x, channel], valid)

            b.nest([patch.rows.rows, patch.columns.rows], second_pass)

    def _sums(
        self,
        b: LoopBuilder,
        patch: Patch,
        block: Index,
        channel: Index,
        valid: Index | None,
        source: SSAValue,
        weight: SSAValue,
        start: SSAValue,
    ) -> dict[tuple[int, int], SSAValue]:
        """The tile's sums, each input pixel loaded once."""
        g, lanes = self.g, self.lanes
        height, width = patch.rows.rows, patch.columns.rows
        sums = {(y, x): start for y in range(height) for x in range(width)}
        filters: dict[tuple[int, int], SSAValue] = {}
        uses: dict[tuple[int, int], list[tuple[int, int, int, int]]] = {}
        for y in range(height):
            for kh in range(g.kernel[0]):
                if not patch.rows.taps[kh][0] <= y < patch.rows.taps[kh][1]:
                    continue
                for x in range(width):
                    for kw in range(g.kernel[1]):
                        if patch.columns.taps[kw][0] <= x < patch.columns.taps[kw][1]:
                            pixel = (
                                y * g.stride[0] + kh * g.dilation[0],
                                x * g.stride[1] + kw * g.dilation[1],
                            )
                            uses.setdefault(pixel, []).append((y, x, kh, kw))
        for pixel in sorted(uses):
            value = b.vload(source, [*pixel, channel], lanes, valid)
            for y, x, kh, kw in uses[pixel]:
                if (kh, kw) not in filters:
                    filters[kh, kw] = b.vload(weight, [block, kh * g.kernel[1] + kw, 0], lanes)
                sums[y, x] = b.fma(value, filters[kh, kw], sums[y, x])
        return sums

    def _looped_sums(
        self,
        b: LoopBuilder,
        patch: Patch,
        block: Index,
        channel: Index,
        valid: Index | None,
        source: SSAValue,
        weight: SSAValue,
        start: SSAValue,
        filter_rows: Sequence[SSAValue],
    ) -> dict[tuple[int, int], SSAValue]:
        """The sums of a tile of one row: in each row of the filter, each input pixel is loaded once."""
        g, lanes = self.g, self.lanes
        uses: dict[int, list[tuple[int, int]]] = {}
        for x in range(patch.columns.rows):
            for kw, (low, high) in enumerate(patch.columns.taps):
                if low <= x < high:
                    uses.setdefault(x * g.stride[1] + kw * g.dilation[1], []).append((x, kw))

        def filter_row(kh: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            sums = list(carried)
            filters: dict[int, SSAValue] = {}
            for pixel in sorted(uses):
                value = b.vload(source, [b.mul(kh, g.dilation[0]), pixel, channel], lanes, valid)
                for x, kw in uses[pixel]:
                    if kw not in filters:
                        filters[kw] = b.vload(weight, [block, b.add(b.mul(kh, g.kernel[1]), kw), 0], lanes)
                    sums[x] = b.fma(value, filters[kw], sums[x])
            return sums

        first, last = filter_rows
        sums = b.loop(first, last, filter_row, carried=[start] * patch.columns.rows)
        return {(0, x): value for x, value in enumerate(sums)}
