"""The blocks in which Linux maps the pages of a file."""

from __future__ import annotations

BLOCK, HUGE_BLOCK = 2**16, 2**21
"""Bytes that are mapped at once: Linux's fault_around_bytes, and a huge page, which files have on some file systems."""
_HUGE_FROM = 16 * HUGE_BLOCK
_ALIGNED_FROM = 4 * HUGE_BLOCK
LEAST_BUDGET = 4 * BLOCK
"""Bytes of the smallest budget for mapped pages."""


def block_for(budget: int) -> int:
    """The bytes of a block where so many bytes may be mapped: large enough to be fast, small beside the budget."""
    return HUGE_BLOCK if budget >= _HUGE_FROM else BLOCK


def alignment_for(nbytes: int) -> int:
    """Where so many bytes of a file begin, in the file and in memory, so that they can have the largest pages."""
    return HUGE_BLOCK if nbytes >= _ALIGNED_FROM else BLOCK
