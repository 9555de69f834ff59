"""Calls of register tiles: which function a tile runs, and the windows it gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import func
from xdsl.ir import SSAValue

from ....dialects.graph import ConvOp, shape_of
from ....passes.kernels.forms.contraction import ContractionForm, conv_geometry
from ....passes.kernels.schedules.cpu.panels import Panels
from ..instance import KernelInstance
from ..tiles.epilogue import Epilogue
from ..tiles.microkernel import Tile, chains_of, tile_function
from ..tiles.tiles import TileClass
from ..writing.builder import Index, LoopBuilder
from .contraction_nest import Access, Nest, argument_buffer, outer_steps


@dataclass(frozen=True)
class Site:
    """Where a tile lies: its right-hand side, panel of columns and row of pixels, and where its panel is."""

    rhs: tuple[Index, ...]
    panel: Index
    row: tuple[Index, ...]  # all pixel dimensions but the last
    panels: SSAValue
    at: Index  # elements from the start of `panels`


class TileCalls:
    """Writes calls of tiles of one kernel; equal tiles share a function."""

    def __init__(self, k: KernelInstance, form: ContractionForm, epilogue: Epilogue, columns: int) -> None:
        self.k, self.form, self.epilogue = k, form, epilogue
        self.b: LoopBuilder = k.b
        self.options = k.schedule_as(Panels)
        self.nr, self.mr, self.lanes = self.options.nr, self.options.mr, self.options.lanes
        self.panels = -(-columns // self.nr)
        self.tail = columns - (self.panels - 1) * self.nr
        self.chains = chains_of(_rows(form))
        self.functions: dict[Tile, func.FuncOp] = {}

    def by_width(self, panel: Index, body: Callable[[int], None]) -> None:
        """Run `body` with the number of columns that the panel really has: fewer in the last one."""
        if self.tail == self.nr or self.panels == 1:
            body(self.tail)
        else:
            is_last = self.b.compare("eq", panel, self.panels - 1)
            self.b.when(is_last, lambda: body(self.tail), lambda: body(self.nr))

    def chosen(self, nest: Nest, classes: Sequence[TileClass], site: Site, index: Index) -> None:
        """The tile number `index` of a row cut into `classes`."""
        self.by_width(site.panel, lambda valid: self._by_class(nest, classes, site, index, valid))

    def _by_class(self, nest: Nest, classes: Sequence[TileClass], site: Site, index: Index, valid: int) -> None:
        first, b = classes[0], self.b

        def call() -> None:
            pixel = b.add(b.mul(b.sub(index, first.first), first.rows), first.start)
            self.call(nest, first, site, pixel, valid)

        if len(classes) == 1:
            call()
        else:
            before = b.compare("slt", index, classes[1].first)
            b.when(before, call, lambda: self._by_class(nest, classes[1:], site, index, valid))

    def call(self, nest: Nest, shape: TileClass, site: Site, pixel: Index, valid: int) -> None:
        """A tile of the class `shape` that starts at `pixel`, with `valid` columns."""
        b = self.b
        taps = len(shape.taps)
        # Taps that lie side by side are one loop; not with several chains, which would take turns in another order.
        side_by_side = nest.tap_stride == nest.run and self.chains == 1
        merged = shape.whole and (taps == 1 or side_by_side)
        run = nest.run * taps if merged else nest.run
        lanes = -(-valid // self.lanes) * self.lanes
        tap_rows = ((0, shape.rows),) if merged else shape.taps
        prefetch = self.options.prefetch if self.panels > 1 else 0
        rows = nest.rows
        tile = Tile(shape.rows, lanes, valid, tap_rows, run, rows.count, rows.clipped, self.chains, prefetch)
        pixels = [*site.row, pixel]
        low, count = self._filter_rows(nest, site.row)
        a_at = b.add(self._offset(nest.a, site.rhs, pixels, 0), b.mul(low, rows.dilation * rows.row))
        a_strides = [rows.dilation * rows.row, nest.a.pixels[-1], nest.tap_stride, nest.a.column]
        a = b.view(nest.a.buffer, a_at, [rows.count, shape.rows, len(tap_rows), run], a_strides)
        filter_row = taps * nest.run
        panel_at = b.add(site.at, b.mul(low, filter_row * self.nr))
        panel_strides = [filter_row * self.nr, self.nr, 1]
        weights = b.view(site.panels, panel_at, [rows.count, filter_row, self.nr], panel_strides)
        column = b.mul(site.panel, self.nr)
        out = self._window(nest.out, site.rhs, pixels, column, tile)
        bias = None
        if self.form.bias is not None:
            channel = b.linear(site.rhs, outer_steps(nest.outer, nest.columns), column)
            bias = b.view(argument_buffer(self.k, self.form.bias), channel, [lanes], [1])
        operands = [
            None if access.buffer is nest.out.buffer else self._window(access, site.rhs, pixels, column, tile)
            for access in nest.operands
        ]
        if tile not in self.functions:
            bias_type = None if bias is None else bias.type
            types = [None if window is None else window.type for window in operands]
            self.functions[tile] = tile_function(
                self.k, tile, a.type, weights.type, bias_type, types, out.type, self.epilogue
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

    def _filter_rows(self, nest: Nest, row: Sequence[Index]) -> tuple[Index, Index]:
        """The first filter row that lies in the picture, and how many do."""
        rows, b = nest.rows, self.b
        if not rows.clipped:
            return 0, rows.count
        top = b.sub(b.mul(row[-1], rows.stride), rows.pad)  # picture row under filter row 0
        low = b.div(b.max(0, b.sub(rows.dilation - 1, top)), rows.dilation)
        below = b.add(b.sub(rows.height - 1, top), rows.dilation)  # > 0 where at least filter row 0 is inside
        high = b.min(rows.count, b.div(b.max(0, below), rows.dilation))
        return low, b.max(0, b.sub(high, low))


def _rows(form: ContractionForm) -> int:
    """The most rows that a tile could have, whatever the buffers' strides: those of a product, the pixels of a row."""
    shape = shape_of(form.root.results[0])
    if isinstance(form.root, ConvOp):
        return prod(shape[:-1]) if conv_geometry(form.root).pointwise else shape[-2]
    rhs = (*[1] * len(shape), *shape_of(form.root.rhs))[-len(shape) :]
    shared = [size for size, matrices in zip(shape[:-2], rhs[:-2], strict=True) if matrices == 1]
    return prod(shared) * shape[-2]
