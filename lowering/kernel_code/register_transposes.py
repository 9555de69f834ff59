"""Transposition of n vectors of n lanes in registers, for n a power of two."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from .loop_builder import LoopBuilder


def transposed(b: LoopBuilder, rows: Sequence[SSAValue]) -> list[SSAValue]:
    """The columns of a square, by log2(n) rounds of pairwise lane exchanges."""
    current, size = list(rows), len(rows)
    half = size // 2
    while half:
        upper = [size + lane - half if lane & half else lane for lane in range(size)]
        lower = [size + lane if lane & half else lane + half for lane in range(size)]
        for row in range(size):
            if not row & half:
                x, y = current[row], current[row + half]
                current[row], current[row + half] = b.shuffle(x, y, upper), b.shuffle(x, y, lower)
        half //= 2
    return current
