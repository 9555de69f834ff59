"""Symbols for the offsets of arena buffers that depend on the shapes. No IR here."""

from __future__ import annotations

from dataclasses import dataclass

from .polynomials import Symbol


@dataclass(frozen=True, eq=False, repr=False)
class Offset(Symbol):
    """A buffer's byte offset, which differs from shape to shape, and the steps in which it is live.

    Buffers that are live at a common step never share a byte.
    """

    live: tuple[tuple[int, int], ...] = ()

    def is_apart_from(self, other: Offset) -> bool:
        """Whether both buffers are live at a common step, and so share no byte."""
        return any(low < end and start < high for low, high in self.live for start, end in other.live)
