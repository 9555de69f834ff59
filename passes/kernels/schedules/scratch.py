"""Scratch layouts: named parts of the bytes that a kernel's code uses privately while it runs.

A schedule defines one layout. The interface's bytes are computed from it, and the code looks up parts by name, so that
there is one definition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Attribute

from ....dialects.graph.values import numpy_dtype
from ....dialects.kernel.targets import CpuAttr


@dataclass(frozen=True)
class ScratchPart:
    """A dense array of `shape`, `offset` bytes from the start of the thread's scratch, or of the shared one."""

    name: str
    element: Attribute
    shape: tuple[int, ...]
    offset: int

    @property
    def end(self) -> int:
        """One past its last byte."""
        return self.offset + prod(self.shape) * numpy_dtype(self.element).itemsize


@dataclass(frozen=True)
class ScratchLayout:
    """Parts of each thread's `own` scratch, and of the scratch that all threads `share`."""

    own: tuple[ScratchPart, ...] = ()
    shared: tuple[ScratchPart, ...] = ()

    @classmethod
    def of(
        cls,
        own: Iterable[tuple[str, Attribute, Sequence[int]]] = (),
        shared: Iterable[tuple[str, Attribute, Sequence[int]]] = (),
    ) -> ScratchLayout:
        """(name, element type, shape) of each part, in sequence."""
        return cls(_placed(own), _placed(shared))

    @property
    def per_thread(self) -> int:
        """Bytes per thread, in whole cache lines."""
        return _bytes(self.own)

    @property
    def together(self) -> int:
        """Bytes shared by all threads, in whole cache lines."""
        return _bytes(self.shared)


def _placed(parts: Iterable[tuple[str, Attribute, Sequence[int]]]) -> tuple[ScratchPart, ...]:
    placed: list[ScratchPart] = []
    for name, element, shape in parts:
        size = numpy_dtype(element).itemsize
        end = placed[-1].end if placed else 0
        placed.append(ScratchPart(name, element, tuple(shape), -(-end // size) * size))
    return tuple(placed)


def _bytes(parts: Sequence[ScratchPart]) -> int:
    return -(-max((part.end for part in parts), default=0) // CpuAttr.CACHE_LINE) * CpuAttr.CACHE_LINE
