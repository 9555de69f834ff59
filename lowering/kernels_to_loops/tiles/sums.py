"""How the inner sum of a register tile is made up: chains that take turns, and parts that follow each other.

Every addition rounds by what the sum is by then: a sum of n numbers, one added to the other, is off by about sqrt(n)
roundings, one of m chains or parts by sqrt(n / m). Both are decided for a whole kernel and not for a tile, because how
rows are cut into tiles depends on the buffers, and no bit of a result may.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from ....dialects.sizes.sizes import bounds_of, is_fixed, now
from ....passes.kernels.schedules.cpu.panels import PART

Parts: TypeAlias = Literal["none", "filter rows", "runs"]
"""What is summed apart: rows of the filter, or elements of a run (of a tap, or of taps that adjoin)."""


def chains_of(rows: int, depth: int) -> int:
    """How many independent sums each element of a product with so few rows and so long an inner sum is made of.

    A multiply-add takes four cycles at two per cycle (Zen 5), and a row is two registers: fewer than four rows would
    wait for themselves.
    """
    chains = {1: 8, 2: 4, 3: 2}.get(rows, 1)
    return chains if now(depth) >= chains else 1


def parts_of(depth: int, run: int, taps: int, chains: int) -> tuple[Parts, int]:
    """What of an inner sum of `depth` elements is summed apart, and how many rows of the filter or elements that is.

    Parts end where taps do, so that it doesn't matter which of them are one loop.
    """
    most, row = PART * chains, run * taps
    if bounds_of(depth)[1] <= most:
        return "none", 0
    if not is_fixed(depth):  # of a product: one part sums as none does
        return "runs", most
    if row < depth and row <= 2 * most:
        return "filter rows", max(1, most // row)
    if taps == 1:
        return "runs", most
    count = next(count for count in range(-(-run // most), run + 1) if run % count == 0)
    if 4 * run // count >= most:
        return "runs", run // count
    return ("filter rows", 1) if row < depth else ("none", 0)
