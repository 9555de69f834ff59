"""A contraction whose left-hand side is computed by elementwise ops: a block of rows of it at a time, in scratch.

    for each block of pixels in this thread's share:
        scratch[pixels, depth] = the elementwise ops
        for panel, for tile of the block: tile(scratch, panel, ...)

Every element is computed once, however many panels there are; the panels are read once per block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects import func
from xdsl.ir import Attribute, SSAValue

from ....dialects.graph import shape_of
from ....passes.kernels.forms.contraction import ContractionForm
from ....passes.kernels.schedules.cpu.panels import Panels
from ..instance import KernelInstance
from ..tiles.epilogue import Epilogue, arguments_of
from ..tiles.tiles import TileClass, collapse, tile_classes
from ..writing.builder import Index, memref_type, strides_of
from .contraction_nest import Access, FilterRows, Nest, aligned_strides, argument_buffer, product
from .tile_calls import Site, TileCalls


def write_with_prologue(k: KernelInstance, form: ContractionForm, epilogue: Epilogue) -> None:
    """Write the kernel's loops."""
    _Writer(k, form, epilogue).write()


class _Writer:
    def __init__(self, k: KernelInstance, form: ContractionForm, epilogue: Epilogue) -> None:
        self.k, self.b, self.form = k, k.b, form
        shape = shape_of(form.lhs)
        self.depth, rank = shape[-1], len(shape)
        self.operands = arguments_of(k, form.prologue)
        self.prologue = Epilogue(self.operands[0], form.lhs, form.prologue, self.operands, True)
        self.block = k.schedule_as(Panels).block
        self.scratch = k.scratch_part("block")
        out = list(strides_of(memref_type(k.results[0])))
        after = [aligned_strides(k, value, rank) for value in epilogue.operands]
        before = [aligned_strides(k, value, rank) for value in self.operands]
        pixels, merged = collapse(shape[:-1], [table[:-1] for table in (out, *after, *before)])
        self.sources = [
            Access(argument_buffer(k, value), 0, (), tuple(steps), table[-1])
            for value, steps, table in zip(self.operands, merged[1 + len(after) :], before, strict=True)
        ]
        self.nest = Nest(
            outer=(),
            pixels=tuple(pixels),
            columns=shape_of(form.root.results[0])[-1],
            depth=self.depth,
            run=self.depth,
            taps=(1, 1, 0, 1),
            tap_stride=0,
            width=None,
            rows=FilterRows.single(),
            a=Access(self.scratch, 0, (), (*[0] * (len(pixels) - 1), self.depth), 1),
            out=Access(k.results[0], 0, (), tuple(merged[0]), 1),
            operands=tuple(
                Access(argument_buffer(k, value), 0, (), tuple(steps), table[-1])
                for value, steps, table in zip(epilogue.operands, merged[1 : 1 + len(after)], after, strict=True)
            ),
        )
        self.calls = TileCalls(k, form, epilogue, self.nest.columns)
        self.fills: dict[int, func.FuncOp] = {}

    def write(self) -> None:
        b, k = self.b, self.k
        blocks = tile_classes(self.nest.pixels[-1], self.block)
        sizes = [*self.nest.pixels[:-1], sum(c.count for c in blocks)]

        def item(i: Index) -> None:
            index = b.delinearize(i, sizes)
            self._by_class(blocks, tuple(index[:-1]), index[-1])

        k.items(product(sizes), item)

    def _by_class(self, blocks: Sequence[TileClass], row: tuple[Index, ...], index: Index) -> None:
        first, b = blocks[0], self.b

        def block() -> None:
            self._block(first.rows, row, b.add(b.mul(b.sub(index, first.first), first.rows), first.start))

        if len(blocks) == 1:
            block()
        else:
            b.when(b.compare("slt", index, blocks[1].first), block, lambda: self._by_class(blocks[1:], row, index))

    def _block(self, rows: int, row: tuple[Index, ...], start: Index) -> None:
        """`rows` pixels from `start` on."""
        b = self.b
        windows = [
            b.view(
                access.buffer,
                b.linear([*row, start], access.pixels),
                [rows, self.depth],
                [access.pixels[-1], access.column],
            )
            for access in self.sources
        ]
        if rows not in self.fills:
            self.fills[rows] = self._fill_function(rows, [window.type for window in windows])
        b.call(self.fills[rows], [*windows, self.scratch])
        here = replace(self.nest, a=replace(self.nest.a, offset=b.mul(start, -self.depth)))
        panels = argument_buffer(self.k, self.form.rhs)

        def panel(index: Index, _: Sequence[SSAValue]) -> None:
            site = Site((), index, row, panels, b.mul(index, self.depth * self.calls.nr))
            for tiles in tile_classes(rows, self.calls.mr):

                def tile(i: Index, _: Sequence[SSAValue], tiles: TileClass = tiles) -> None:
                    pixel = b.add(start, b.add(b.mul(i, tiles.rows), tiles.start))
                    self.calls.by_width(index, lambda valid: self.calls.call(here, tiles, site, pixel, valid))

                b.loop(0, tiles.count, tile)

        b.loop(0, self.calls.panels, panel)

    def _fill_function(self, rows: int, types: Sequence[Attribute]) -> func.FuncOp:
        """(windows on the prologue's operands, scratch): rows of the left-hand side."""
        function, b = self.k.helper(f"prologue_{rows}", [*types, self.scratch.type])
        *windows, scratch = function.body.block.args
        sources = dict(zip(self.operands, windows, strict=True))
        lanes = self.calls.nr
        whole = self.depth // lanes * lanes

        def pixel(i: Index, _: Sequence[SSAValue]) -> None:
            def vector(at: Index, valid: int | None) -> None:
                def load(value: SSAValue) -> SSAValue:
                    window = sources[value]
                    if strides_of(memref_type(window))[1] == 0:
                        return b.splat(b.load(window, [i, 0]), lanes)
                    return b.vload(window, [i, at], lanes, valid)

                b.vstore(self.prologue.emit(b, load(self.operands[0]), lanes, load), scratch, [i, at], valid)

            b.loop(0, whole, lambda at, _: vector(at, None), step=lanes)
            if whole < self.depth:
                vector(whole, self.depth - whole)

        b.loop(0, rows, pixel)
        b.ret()
        return function
