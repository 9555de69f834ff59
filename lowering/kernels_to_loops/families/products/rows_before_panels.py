"""Packed register tiles in row-first order: a row of pixels goes through all panels before the next row.

    for item in this thread's share:                    item = (right-hand side, pixel row, panel)
        tiles(a, panel, ...)

Where there is a single row of pixels, as in a matrix product, each of its tiles goes through all panels.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ....kernel_code.loop_builder import Index
from ...kernel_instance import KernelInstance
from .tile_calls import TileCalls, tiles_of
from .tiled_product import site_of, write_packed


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    write_packed(k, "rows", _write)


def _write(k: KernelInstance, calls: TileCalls, weight: int) -> None:
    b, tiling, nest = k.b, calls.tiling, calls.nest
    tiles, rank = tiles_of(b, nest), len(nest.outer)
    if len(nest.pixels) > 1:
        sizes = [*nest.outer, *nest.pixels[:-1], tiling.panels]

        def strip(item: Index, first: Index, last: Index) -> None:
            *index, panel = b.delinearize(item, sizes)
            calls.strips(site_of(k, tiling, weight, index[:rank], panel, index[rank:]), first, last)

        k.runs(b.product(sizes), tiles, strip)
        return
    sizes = [*nest.outer, tiles]

    def through_panels(item: Index, first: Index, last: Index) -> None:
        *rhs, tile = b.delinearize(item, sizes)

        def strip(panel: Index, _: Sequence[SSAValue]) -> None:
            calls.strips(site_of(k, tiling, weight, rhs, panel, ()), tile, b.add(tile, 1))

        b.loop(first, last, strip)

    k.runs(b.product(sizes), tiling.panels, through_panels)
