"""Byte-level state for verify-arena: the bytes that a value covers, and the last writer of each byte."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np
from xdsl.ir import SSAValue


@dataclass(frozen=True)
class Region:
    """The bytes that a value covers: rows of `run` bytes in a space (the arena, or one argument or weight)."""

    space: SSAValue
    owner: object  # the number of an arena buffer, else the space itself
    start: int
    dims: tuple[tuple[int, int], ...]  # (count, stride in bytes), the largest stride first
    run: int

    @classmethod
    def of(
        cls, space: SSAValue, owner: object, start: int, itemsize: int, sizes: Sequence[int], strides: Sequence[int]
    ) -> Region:
        """Elements of so many bytes from byte `start` on; strides count elements."""
        pairs = zip(sizes, strides, strict=True)
        axes = sorted(((count, stride * itemsize) for count, stride in pairs if count != 1), key=lambda axis: -axis[1])
        run = itemsize if prod(sizes) else 0
        while run and axes and axes[-1][1] == run:
            run *= axes.pop()[0]
        return cls(space, owner, start, tuple(axes) if run else (), run)

    @property
    def count(self) -> int:
        """Its bytes."""
        return self.run * prod(count for count, _ in self.dims)

    @property
    def end(self) -> int:
        return self.start + sum((count - 1) * stride for count, stride in self.dims) + self.run

    def meets(self, other: Region) -> bool:
        """Whether the regions share a byte."""
        if not (self.run and other.run) or self.space is not other.space:
            return False
        if self.start >= other.end or other.start >= self.end:
            return False
        a, b = self.rows(), other.rows()
        # As many rows of `other` begin before the end of a row as end before its start, unless one meets it.
        begun = np.searchsorted(b, a + self.run, "left")
        ended = np.searchsorted(b + other.run, a, "right")
        return bool((begun > ended).any())

    def shared(self, other: Region) -> int:
        """How many bytes the regions, whose rows do not overlap, have in common."""
        if not (self.run and other.run) or self.space is not other.space:
            return 0
        if self == other:
            return self.count
        if not (self.dims or other.dims):
            return max(0, min(self.end, other.end) - max(self.start, other.start))
        if self.start >= other.end or other.start >= self.end:
            return 0
        a, b = self.rows(), other.rows()

        def before(ends: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> int:
            """The bytes of `other` below each of these bytes, all together."""
            begun = np.searchsorted(b, ends, "left")
            cut = np.where(begun > 0, np.maximum(b[begun - 1] + other.run - ends, 0), 0)
            return int((begun * other.run - cut).sum())

        return before(a + self.run) - before(a)

    def rows(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """The first byte of each row, ascending."""
        return self._rows

    @cached_property
    def _rows(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        starts = np.array([self.start], np.int64)
        for count, stride in self.dims:
            starts = (starts[:, None] + np.arange(count, dtype=np.int64) * stride).reshape(-1)
        return np.sort(starts)


@dataclass
class ByteMap:
    """The last writer of each byte of a space: disjoint intervals in order."""

    starts: list[int] = field(default_factory=list[int])
    ends: list[int] = field(default_factory=list[int])
    owners: list[object] = field(default_factory=list[object])

    def write(self, start: int, end: int, owner: object) -> None:
        """Makes `owner` the last writer of [start, end)."""
        first = bisect_right(self.ends, start)
        last = bisect_left(self.starts, end)
        kept: list[tuple[int, int, object]] = []
        if first < last:
            if self.starts[first] < start:
                kept.append((self.starts[first], start, self.owners[first]))
            kept.append((start, end, owner))
            if self.ends[last - 1] > end:
                kept.append((end, self.ends[last - 1], self.owners[last - 1]))
        else:
            kept.append((start, end, owner))
        self.starts[first:last] = [entry[0] for entry in kept]
        self.ends[first:last] = [entry[1] for entry in kept]
        self.owners[first:last] = [entry[2] for entry in kept]

    def strangers(self, start: int, end: int, owner: object) -> Iterator[tuple[int, object]]:
        """The parts of [start, end) last written by another owner, or (None) never."""
        position = start
        for index in range(bisect_right(self.ends, start), bisect_left(self.starts, end)):
            if self.starts[index] > position:
                yield position, None
            if self.owners[index] != owner:
                yield max(start, self.starts[index]), self.owners[index]
            position = self.ends[index]
        if position < end:
            yield position, None
