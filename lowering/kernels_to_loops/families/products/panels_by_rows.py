"""Packed register tiles whose rows are shared out: a thread has its share of the tiles of each panel.

for panel:
    for row of pixels in this thread's share:
        tiles(a, panel, ...)
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
    write_packed(k, "panels", _write)


def _write(k: KernelInstance, calls: TileCalls, weight: int) -> None:
    b, tiling, nest = k.b, calls.tiling, calls.nest
    rows, tiles = nest.pixels[:-1], tiles_of(b, nest)

    def all_rows(panel: Index, _: Sequence[SSAValue]) -> None:
        def some(row: Index, first: Index, last: Index) -> None:
            calls.strips(site_of(k, tiling, weight, (), panel, b.delinearize(row, rows)), first, last)

        k.runs(b.product(rows), tiles, some)

    b.loop(0, tiling.panels, all_rows)
