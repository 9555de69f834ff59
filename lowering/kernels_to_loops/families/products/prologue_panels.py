"""A contraction with a fused elementwise prologue: a block of left-hand rows is computed in scratch at a time.

    for each block of pixels in this thread's share:
        scratch[pixels, depth] = the elementwise ops
        for panel, for tile of the block: tile(scratch, panel, ...)

Every element is computed once, however many panels there are; the panels are read once per block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from xdsl.ir import SSAValue

from .....dialects.graph.values import shape_of
from .....passes.kernels.forms.contraction import ContractionForm
from .....passes.kernels.schedules.cpu.products.prologue_panels import ProloguePanels
from ....kernel_code.arithmetic import loaded
from ....kernel_code.extents import Extent, extents
from ....kernel_code.loop_builder import Index, LoopBuilder, memref_type, strides_of
from ....kernel_code.merged_axes import collapse
from ...kernel_instance import KernelInstance
from ...tiles.fused_ops import FusedOps, arguments_of
from ...tiles.tile_classes import TileClass, block_classes, by_class, tile_classes
from .contraction_nest import SCRATCH, Access, FilterRows, Nest, access, aligned_strides, argument_buffer
from .tile_calls import Site, TileCalls, Tiling, tiles_of
from .tiled_product import product_of


@dataclass(frozen=True)
class RowBlock:
    """Consecutive equally tiled blocks of a row of pixels, of `rows` pixels each; TileClass for blocks."""

    first: Index
    count: Index
    start: Index
    rows: Index
    tiles: tuple[TileClass, ...]


class Ending(Enum):
    """How the last vector of a row of the left-hand side is computed."""

    WHOLE = "whole"  # with a whole vector
    AGAIN = "again"  # with a vector that begins before the end of the one before: some elements are computed twice
    SHORT = "short"  # with a part of the only vector


@dataclass(frozen=True)
class Blocks:
    """A contraction with a prologue: its blocks, and the operands of the prologue."""

    panels: Tiling
    blocks: tuple[RowBlock, ...]
    sources: tuple[Access, ...]
    ending: Ending


@dataclass(frozen=True)
class _Window:
    """An operand of the prologue: its address for the first pixel of a block, and the stride between pixels."""

    place: SSAValue
    row: Index
    by_column: bool


@dataclass(frozen=True)
class _Fill:
    """Arguments of the function that computes rows."""

    operand: tuple[_Window, ...]
    scratch: SSAValue
    rows: Index
    depth: Index


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    form, epilogue = product_of(k)
    operands = arguments_of(k, form.prologue)
    prologue = FusedOps(None, form.lhs, form.prologue, operands, True)
    work = _blocks_of(k, form, epilogue, prologue)
    weight = k.buffers.index(argument_buffer(k, form.rhs))
    scratch = k.scratch_part("block")

    def write(k: KernelInstance, work: Blocks) -> None:
        _Writer(k, work, TileCalls(k, work.panels, form, epilogue), prologue, weight).write()

    k.outlined("blocks", work, (weight, epilogue.key, prologue.key), write, scratch)


def _blocks_of(k: KernelInstance, form: ContractionForm, epilogue: FusedOps, prologue: FusedOps) -> Blocks:
    shape, options = shape_of(form.lhs), k.schedule_as(ProloguePanels)
    depth, rank = shape[-1], len(shape)
    out = list(strides_of(memref_type(k.results[0])))
    after = [aligned_strides(k, value, rank) for value in epilogue.operands]
    before = [aligned_strides(k, value, rank) for value in prologue.operands]
    pixels, merged = collapse(shape[:-1], [table[:-1] for table in (out, *after, *before)])

    def accesses(
        values: Sequence[SSAValue], steps: Sequence[Sequence[int]], tables: Sequence[Sequence[int]]
    ) -> tuple[Access, ...]:
        return tuple(
            access(k, argument_buffer(k, value), (), pixel, table[-1])
            for value, pixel, table in zip(values, steps, tables, strict=False)
        )

    nest = Nest(
        outer=(),
        pixels=extents(pixels),
        columns=Extent(shape_of(form.stored)[-1]),
        depth=Extent(depth),
        run=Extent(depth),
        taps=1,
        tap_stride=0,
        side_by_side=True,
        rows=FilterRows.single(),
        classes=(),
        a=Access(SCRATCH, 0, (), extents((*[0] * (len(pixels) - 1), depth)), 1),
        out=access(k, k.results[0], (), merged[0], 1),
        operands=accesses(epilogue.operands, merged[1:], after),
        bias=None if form.bias is None else k.buffers.index(argument_buffer(k, form.bias)),
    )
    blocks = tuple(
        RowBlock(each.first, each.count, each.start, Extent(each.rows), tuple(tile_classes(k.b, each.rows, options.mr)))
        for each in block_classes(k.b, pixels[-1], options.block, options.mr)
    )
    panels = Tiling.of(k, form, nest)
    ending = Ending.WHOLE if depth % panels.nr == 0 else Ending.AGAIN if depth > panels.nr else Ending.SHORT
    sources = accesses(prologue.operands, merged[1 + len(after) :], before)
    return Blocks(panels, blocks, sources, ending)


class _Writer:
    """The loops over blocks; `k.places` are the addresses of buffers."""

    def __init__(self, k: KernelInstance, work: Blocks, calls: TileCalls, prologue: FusedOps, weight: int) -> None:
        self.k, self.b, self.work, self.calls, self.prologue = k, k.b, work, calls, prologue
        self.nest, self.weight = work.panels.nest, k.places[weight]

    def write(self) -> None:
        b = self.b
        sizes = [*self.nest.pixels[:-1], b.sum(each.count for each in self.work.blocks)]

        def item(i: Index) -> None:
            index = b.delinearize(i, sizes)
            by_class(b, self.work.blocks, index[-1], lambda each: self._block(each, tuple(index[:-1]), index[-1]))

        self.k.items(b.product(sizes), item)

    def _block(self, block: RowBlock, row: tuple[Index, ...], index: Index) -> None:
        """Block number `index` of a row of pixels."""
        b, depth, panels = self.b, self.nest.depth, self.work.panels
        start = b.add(b.mul(b.sub(index, block.first), block.rows), block.start)
        self._fill(block.rows, [*row, start])
        here = replace(
            self.nest,
            a=replace(self.nest.a, offset=b.sub(0, b.mul(start, depth))),
            classes=block.tiles,
        )

        def panel(index: Index, _: Sequence[SSAValue]) -> None:
            site = Site((), index, row, self.weight, b.mul(index, b.mul(panels.depth, panels.nr)), start)
            self.calls.strips(site, 0, tiles_of(b, here), here)

        b.loop(0, panels.panels, panel)

    def _fill(self, rows: Index, pixel: Sequence[Index]) -> None:
        """Computes rows of the left-hand side into scratch, by a function shared by kernels with an equal prologue."""
        b, places, sources = self.b, self.k.places, self.work.sources
        lanes, ending, prologue = self.work.panels.nr, self.work.ending, self.prologue
        by_columns = [each.column != 0 for each in sources]
        windows = tuple(
            _Window(b.place(places[each.buffer], b.linear(pixel, each.pixels, each.offset)), each.pixels[-1], by_column)
            for each, by_column in zip(sources, by_columns, strict=True)
        )
        facts = _Fill(windows, places[SCRATCH], b.index(rows), b.index(self.nest.depth))

        def write(b: LoopBuilder, told: _Fill) -> None:
            size = [told.rows, told.depth]
            views = [b.view(each.place, 0, size, (each.row, int(each.by_column))) for each in told.operand]
            _write_rows(
                b,
                prologue,
                dict(zip(prologue.operands, zip(views, by_columns, strict=True), strict=True)),
                b.view(told.scratch, 0, size, [told.depth, 1]),
                told.rows,
                told.depth,
                lanes,
                ending,
            )

        self.k.common.call(b, f"fill{prologue.stem}", (prologue.key, lanes, ending), facts, write)


def _write_rows(
    b: LoopBuilder,
    prologue: FusedOps,
    sources: dict[SSAValue, tuple[SSAValue, bool]],
    scratch: SSAValue,
    rows: Index,
    depth: Index,
    lanes: int,
    ending: Ending,
) -> None:
    """scratch[rows, depth] = the prologue of windows, some of which have one element per row."""

    def pixel(i: Index, _: Sequence[SSAValue]) -> None:
        def vector(at: Index, valid: Index | None) -> None:
            def load(value: SSAValue) -> SSAValue:
                window, by_column = sources[value]
                if not by_column:
                    return b.splat(loaded(b, b.load(window, [i, 0])), lanes)
                return loaded(b, b.vload(window, [i, at], lanes, valid))

            b.vstore(prologue.emit(b, None, lanes, load), scratch, [i, at], valid)

        if ending is Ending.SHORT:
            vector(0, depth)
            return
        last = b.sub(depth, lanes)
        b.loop(0, b.add(last, 1), lambda at, _: vector(at, None), step=lanes)
        if ending is Ending.AGAIN:  # 55 us where masked stores took 59, on Zen 3
            vector(last, None)

    b.loop(0, rows, pixel)
