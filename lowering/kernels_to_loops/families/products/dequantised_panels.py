"""Products by block-quantised matrices of floats: many rows by panels dequantised in scratch, few in registers.

    for panel:
        scratch[k, 0:nr] = (number - zero) * scale            numbers, zeros and scales lie in panels of their own
        for tile of the rows: tile(a, scratch, ...)

    for panel: for tile of the few rows: tile(a, panel, ...)

Numbers are read from memory in their few bits, and those in scratch unpacked once, however many rows there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import SSAValue

from .....dialects.graph.values import shape_of
from .....dialects.sizes.sizes import bounds_of
from .....passes.kernels.schedules.cpu.products.dequantised_panels import DequantisedPanels
from ....kernel_code.extents import Extent
from ....kernel_code.loop_builder import Index, LoopBuilder
from ...kernel_instance import KernelInstance
from ...tiles.block_panel import BlockPanel, PanelPlaces
from ...tiles.tile_classes import tile_classes
from ...tiles.tile_results import MemoryRows
from .block_calls import BlockCalls
from .tile_calls import Site, TileCalls, tiles_of
from .tiled_product import product_of, tiling_of

_PART = 128
"""Elements of a part of an inner sum, a fourth of what other products have: as many as ONNX Runtime's."""


@dataclass(frozen=True)
class _Panel:
    """Arguments of the function that dequantises a panel of so many whole blocks into scratch."""

    blocks: Index
    places: PanelPlaces
    scratch: SSAValue


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops: for a run-time number of rows both, and a choice between them."""
    form, epilogue = product_of(k)
    tiling, options = tiling_of(k, form, epilogue), k.schedule_as(DequantisedPanels)
    rows, depth = prod(shape_of(form.root.results[0])[:-1]), shape_of(form.root.operands[1])[1]
    least, most = bounds_of(rows)
    scratch = k.scratch_part("panel") if most > options.few else None
    k = k.placed(scratch)
    parts = replace(tiling, parts="runs", part=Extent(_PART)) if depth > _PART else tiling
    blocks, tiles = BlockCalls(k, tiling, form, epilogue), TileCalls(k, parts, form, epilogue)

    def in_registers() -> None:
        _in_registers(k, blocks, options.few_rows)

    def in_scratch() -> None:
        _in_scratch(k, blocks, tiles)

    if most <= options.few:
        in_registers()
    elif least > options.few:
        in_scratch()
    else:
        k.b.when(k.b.compare("sle", rows, options.few), in_registers, in_scratch)


def _in_registers(k: KernelInstance, calls: BlockCalls, tallest: int) -> None:
    b, nest = k.b, calls.nest
    *outer, last = nest.pixels
    assert isinstance(last, int)
    classes = tile_classes(b, last, tallest)

    def some(item: Index, first: Index, end: Index) -> None:
        row = b.delinearize(item, outer)

        def rows(pixel: Index) -> tuple[MemoryRows, None]:
            at = b.linear([*row, pixel], nest.a.pixels, nest.a.offset)
            return MemoryRows(b.place(k.places[nest.a.buffer], at), nest.a.pixels[-1]), None

        b.loop(first, end, lambda panel, _: calls.panel(panel, row, 0, classes, rows))

    k.runs(b.product(outer), calls.tiling.panels, some)


def _in_scratch(k: KernelInstance, blocks: BlockCalls, calls: TileCalls) -> None:
    b, tiling = k.b, calls.tiling
    rows, tiles = tiling.nest.pixels[:-1], tiles_of(k.b, tiling.nest)

    def share(panel: Index, first: Index, last: Index) -> None:
        _make_panel(k, blocks, panel)
        if not rows:
            calls.strips(Site((), panel, (), k.places[-1], 0), first, last)
            return

        def row(number: Index, _: Sequence[SSAValue]) -> None:
            calls.strips(Site((), panel, tuple(b.delinearize(number, rows)), k.places[-1], 0), 0, tiles)

        b.loop(first, last, row)

    k.runs(tiling.panels, b.product(rows) if rows else tiles, share)


def _make_panel(k: KernelInstance, calls: BlockCalls, panel: Index) -> None:
    """Dequantises one panel of the matrix."""
    numbers, registers, lanes = calls.numbers, calls.tiling.nr // calls.tiling.lanes, calls.tiling.lanes

    def write(b: LoopBuilder, told: _Panel) -> None:
        reader = BlockPanel(b, numbers, told.places, registers, lanes)
        rows = b.view(told.scratch, 0, [1, registers * lanes], [registers * lanes, 1])

        def block(number: Index, count: int) -> None:
            level, scales, first = reader.levels(number), reader.scales(number), b.mul(number, numbers.block)

            def unpack(word: Index, held: int, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
                at = b.add(first, b.mul(word, numbers.span))
                for register, words in enumerate(reader.words(number, word)):
                    for place in range(held):
                        value = reader.m.mul(level(words, register, place), scales[register])
                        b.vstore(value, rows, [b.add(at, place), register * lanes])
                return ()

            reader.each_word(count, unpack, ())

        b.loop(0, told.blocks, lambda number, _: block(number, numbers.block), unrolled=False)
        if numbers.tail:
            block(told.blocks, numbers.tail)

    whole = k.b.index(calls.blocks - (numbers.tail > 0))
    told = _Panel(whole, calls.places_of(panel), k.places[-1])
    k.common.call(k.b, "dequantise", (numbers, registers, lanes), told, write)
