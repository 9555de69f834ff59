"""Products of integers by block-quantised matrices, of rows that are rounded to bytes a block of them at a time.

    for each block of rows, and panels in this thread's share:
        scratch = the rows rounded by blocks of their elements
        for panel, for tile of the rows: tile(scratch, panel, ...)

A thread rounds the rows of its own share: so several may round the same ones, which takes far less time than to wait
for each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from .....dialects.sizes.sizes import is_fixed
from .....passes.kernels.schedules.cpu.products.block_dots import BlockDots
from ....kernel_code.extents import Extent
from ....kernel_code.loop_builder import Index
from ...kernel_instance import KernelInstance
from ...tiles.block_tile import RoundedRows
from ...tiles.tile_classes import TileClass, by_class, classes_of_few_sizes, tile_classes
from ...tiles.tile_results import MemoryRows
from .block_calls import BlockCalls
from .rounded_rows import Rounding, round_rows
from .tiled_product import product_of, tiling_of


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    form, epilogue = product_of(k)
    tiling, parts = tiling_of(k, form, epilogue), [k.scratch_part(name) for name in ("bytes", "scales", "starts")]
    k = k.placed()
    _Writer(k, BlockCalls(k, tiling, form, epilogue), parts).write()


class _Writer:
    """The loops over blocks of rows; `parts` of scratch are bytes, scales and starts."""

    def __init__(self, k: KernelInstance, calls: BlockCalls, parts: Sequence[SSAValue]) -> None:
        self.k, self.b, self.calls, self.parts, self.nest = k, k.b, calls, parts, calls.nest
        self.options, numbers = k.schedule_as(BlockDots), calls.numbers
        padded = numbers.words * numbers.span
        self.strides = (calls.blocks * padded, calls.blocks, calls.blocks)
        middle = numbers.middle - (128 if calls.signed else 0)
        factor = -middle if numbers.zero is None else -1
        self.rounding = Rounding(numbers.block, numbers.tail, padded, factor, calls.tiling.lanes)

    def write(self) -> None:
        """Pieces of work are panels, those of a block of rows following each other."""
        b, largest = self.b, self.options.block
        *outer, pixels = self.nest.pixels
        assert isinstance(pixels, int)
        blocks = tile_classes(b, pixels, largest) if is_fixed(pixels) else []
        sizes = [*outer, b.sum(each.count for each in blocks) if blocks else -(-pixels // largest)]

        def some(item: Index, first: Index, last: Index) -> None:
            *row, number = b.delinearize(item, sizes)

            def of_class(block: TileClass) -> None:
                start = b.add(b.mul(b.sub(number, block.first), block.rows), block.start)
                self._block(row, start, Extent(block.rows), tile_classes(b, block.rows, self.options.mr), first, last)

            if blocks:
                by_class(b, blocks, number, of_class)
                return
            start = b.mul(number, largest)
            rows = b.min(largest, b.sub(pixels, start))
            self._block(row, start, rows, classes_of_few_sizes(b, rows, self.options.mr), first, last)

        self.k.runs(b.product(sizes), self.calls.tiling.panels, some)

    def _block(
        self, row: Sequence[Index], start: Index, rows: Index, tiles: Sequence[TileClass], first: Index, last: Index
    ) -> None:
        """`rows` rows from pixel `start` of a row of pixels on, by panels [first, last)."""
        b, a, calls = self.b, self.nest.a, self.calls
        at = b.linear([*row, start], a.pixels, a.offset)
        x = MemoryRows(b.place(self.k.places[a.buffer], at), a.pixels[-1])
        whole = calls.blocks - (calls.numbers.tail > 0)
        round_rows(self.k, self.rounding, rows, whole, x, self._scratch(0))

        def rounded(pixel: Index) -> tuple[MemoryRows, RoundedRows]:
            bytes, scales, starts = self._scratch(pixel)
            return bytes, RoundedRows(scales, starts)

        b.loop(first, last, lambda panel, _: calls.panel(panel, row, start, tiles, rounded))

    def _scratch(self, pixel: Index) -> list[MemoryRows]:
        """What rows of a block are rounded to, from a pixel of it on."""
        pairs = zip(self.parts, self.strides, strict=True)
        return [MemoryRows(self.b.place(part, self.b.mul(pixel, stride)), stride) for part, stride in pairs]
