"""Offsets of buffers that hang on the shapes, as symbols. Knows no IR."""

from __future__ import annotations

from dataclasses import dataclass

from .polynomials import Symbol


@dataclass(frozen=True, eq=False, repr=False)
class Offset(Symbol):
    """Where a buffer lies: an offset in bytes that is another one at other shapes, and the steps that it lives through.

    Buffers that live at one step never share a byte.
    """

    live: tuple[tuple[int, int], ...] = ()

    def is_apart_from(self, other: Offset) -> bool:
        """Whether both buffers live at one step."""
        return any(low < end and start < high for low, high in self.live for start, end in other.live)
