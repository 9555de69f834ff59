"""Matrix products and channels-last convolutions as register tiles over packed panels.

Both are one loop over (right-hand side, panel of nr columns, row of pixels) and its strip of tiles, cut evenly over
the threads. A convolution is an implicit matrix product: for one filter row the taps of a pixel are contiguous in the
input, so no patch matrix is made; rows of the filter that fall outside the picture are not visited, and tiles at
the left and right border have functions of their own that leave out the taps outside.

    for item in this thread's share:                    item = (right-hand side, panel, pixel row)
        tiles(a, panel, bias, epilogue operands, out, how many, and every stride)
"""

from __future__ import annotations

from ....kernel_code.loop_builder import Index
from ...kernel_instance import KernelInstance
from .tile_calls import TileCalls, tiles_of
from .tiled_product import site_of, write_packed


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    write_packed(k, "panels", _write)


def _write(k: KernelInstance, calls: TileCalls, weight: int) -> None:
    """One flat loop over all tiles, with a panel's tiles consecutive, so that it stays cached."""
    b, tiling, nest = k.b, calls.tiling, calls.nest
    tiles, rank = tiles_of(b, nest), len(nest.outer)
    sizes = [*nest.outer, tiling.panels, *nest.pixels[:-1]]

    def strip(item: Index, first: Index, last: Index) -> None:
        index = b.delinearize(item, sizes)
        calls.strips(site_of(k, tiling, weight, index[:rank], index[rank], index[rank + 1 :]), first, last)

    k.runs(b.product(sizes), tiles, strip)
