"""Splitting of a register tile's contraction into interleaved chains and consecutive parts.

Every addition has a rounding error relative to the sum so far: a sequential sum of n numbers is off by about sqrt(n)
roundings, one of m chains or parts by sqrt(n / m). Both are decided for a whole kernel, not for a tile, because the
tiling of rows depends on the buffers, and results must not.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from ....dialects.kernel.targets import CpuAttr
from ....dialects.sizes.sizes import bounds_of, is_fixed, now
from ....passes.kernels.schedules.cpu.tuning import PANELS_PART as PART

Parts: TypeAlias = Literal["none", "filter rows", "runs"]
"""Kind of part: rows of the filter, or elements of a run (of a tap, or of contiguous taps)."""


def chains_of(rows: int, depth: int, target: CpuAttr) -> int:
    """The number of independent accumulators per element of a product with few rows and a long contraction.

    A multiply-add has a latency of four cycles at two per cycle (Zen 5), and a row is two registers: fewer than four
    rows would be bound by latency. Where results are reproducible there is one, as rows may be those of a batch.
    """
    if target.reproducible:
        return 1
    chains = {1: 8, 2: 4, 3: 2}.get(rows, 1)
    return chains if now(depth) >= chains else 1


def parts_of(depth: int, run: int, taps: int, chains: int) -> tuple[Parts, int]:
    """How a contraction of `depth` elements is split into separate sums: the kind of part, and its size.

    Parts end where taps do, so that it doesn't matter which taps are merged into one loop.
    """
    most, row = PART * chains, run * taps
    if bounds_of(depth)[1] <= most:
        return "none", 0
    if not is_fixed(depth):  # of a product: a single part is the same as none
        return "runs", most
    if row < depth and row <= 2 * most:
        return "filter rows", max(1, most // row)
    if taps == 1:
        return "runs", most
    count = next(count for count in range(-(-run // most), run + 1) if run % count == 0)
    if 4 * run // count >= most:
        return "runs", run // count
    return ("filter rows", 1) if row < depth else ("none", 0)
