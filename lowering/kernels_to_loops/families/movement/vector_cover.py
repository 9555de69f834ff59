"""Vectors that cover a run of elements."""

from __future__ import annotations

from collections.abc import Callable

from .....dialects.sizes.sizes import is_fixed
from ....kernel_code.loop_builder import Index, LoopBuilder


def cover(b: LoopBuilder, size: int, lanes: int, run: Callable[[Index, int], None], start: int = 0) -> None:
    """run(first, valid) for vectors that cover [start, size): the last one overlaps others where that is possible."""
    whole = start + (size - start) // lanes * lanes
    b.loop(start, whole, lambda at, _: run(at, lanes), step=lanes)
    if not is_fixed(size):
        b.loop(whole, size, lambda at, _: run(at, size - whole), step=lanes)  # once, or not at all
    elif whole < size:
        run(*((size - lanes, lanes) if size >= lanes else (0, size)))
