"""Products of integers by block-quantised matrices, of rows that are rounded to bytes a block of them at a time.

    for each block of rows, and panels in this thread's share:
        scratch = the rows rounded by blocks of their elements
        for panel, for tile of the rows: tile(scratch, panel, ...)

A thread rounds the rows of its own share: so several may round the same ones, which takes far less time than to wait
for each other.
"""

from __future__ import annotations

from .....dialects.graph.values import shape_of
from .....passes.kernels.schedules.cpu.products.block_dots import BlockDots
from ....kernel_code.extents import Extent
from ....kernel_code.loop_builder import Index
from ...kernel_instance import KernelInstance
from ...tiles.block_tile import RoundedRows
from ...tiles.tile_classes import block_classes, by_class, tile_classes
from ...tiles.tile_results import MemoryRows
from .block_calls import BlockCalls, numbers_of
from .prologue_panels import RowBlock
from .rounded_rows import Rounding, round_rows
from .tiled_product import product_of, tiling_of


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    form, epilogue = product_of(k)
    tiling, options = tiling_of(k, form, epilogue), k.schedule_as(BlockDots)
    nest = tiling.nest
    *outer, pixels = nest.pixels
    assert form.blocks is not None and isinstance(pixels, int)
    parts = [k.scratch_part(name) for name in ("bytes", "scales", "starts")]
    k = k.placed()
    b, calls, numbers = k.b, BlockCalls(k, tiling, form, epilogue), numbers_of(form.blocks)
    count = shape_of(form.blocks.scale)[1]
    padded = numbers.words * numbers.span
    strides = (count * padded, count, count)
    moved = 128 if calls.signed else 0
    factor = moved - numbers.middle if numbers.zero is None else -1
    rounding = Rounding(numbers.block, numbers.tail, padded, factor, tiling.lanes)
    blocks = [
        RowBlock(each.first, each.count, each.start, Extent(each.rows), tuple(tile_classes(b, each.rows, options.mr)))
        for each in block_classes(b, pixels, options.block, options.mr)
    ]
    sizes = [*outer, b.sum(each.count for each in blocks)]

    def rounded(pixel: Index) -> tuple[MemoryRows, RoundedRows]:
        bytes, scales, starts = (
            MemoryRows(b.place(part, b.mul(pixel, stride)), stride) for part, stride in zip(parts, strides, strict=True)
        )
        return bytes, RoundedRows(scales, starts)

    def some(item: Index, first: Index, last: Index) -> None:
        *row, number = b.delinearize(item, sizes)

        def of_block(block: RowBlock) -> None:
            start = b.add(b.mul(b.sub(number, block.first), block.rows), block.start)
            at = b.linear([*row, start], nest.a.pixels, nest.a.offset)
            x = MemoryRows(b.place(k.places[nest.a.buffer], at), nest.a.pixels[-1])
            bytes, beside = rounded(0)
            whole = count - (numbers.tail > 0)
            round_rows(k, rounding, block.rows, whole, x, (bytes, beside.scales, beside.starts))
            b.loop(first, last, lambda panel, _: calls.panel(panel, row, start, block.tiles, rounded))

        by_class(b, blocks, number, of_block)

    k.runs(b.product(sizes), tiling.panels, some)
