"""Stacking: the places of buffers of other sizes, from which of them lies below which in a known plan.

In a plan, one of two buffers that are live together lies below the other. With any sizes, each buffer as low as those
below it allow makes a plan again: the longest path to it. Where all sizes grow alike, so does the height.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .problem import Id, Plan, Problem

Bytes: TypeAlias = "npt.NDArray[np.int64]"
"""Numbers of bytes, one for each buffer."""


@dataclass(frozen=True)
class Stacking:
    """The indices of buffers from the lowest up, and for each of these those below it that are live with it."""

    order: tuple[tuple[int, tuple[int, ...]], ...]


class Stacks:
    """The stackings of a problem without pinned buffers; the sizes in it don't matter."""

    def __init__(self, problem: Problem) -> None:
        self._ids: tuple[Id, ...] = tuple(buffer.id for buffer in problem.buffers)
        self._lives = [buffer.live for buffer in problem.buffers]
        self._alignment = problem.alignment
        self._aligned = [max(problem.alignment, buffer.alignment) for buffer in problem.buffers]

    @cached_property
    def _events(self) -> list[tuple[int, int]]:
        """In order of steps, 1 and the index of a buffer that is born, -1 and that of one that has died before."""
        edges = [
            (step, sign, index)
            for index, lives in enumerate(self._lives)
            for live in lives
            for step, sign in zip(live, (1, -1), strict=True)
        ]
        return [(sign, index) for _, sign, index in sorted(edges)]

    @cached_property
    def _neighbours(self) -> list[set[int]]:
        """For each buffer those that are live with it."""
        found: list[set[int]] = [set() for _ in self._lives]
        live: set[int] = set()
        for sign, index in self._events:
            if sign < 0:
                live.discard(index)
                continue
            found[index] |= live
            for other in live:
                found[other].add(index)
            live.add(index)
        return found

    def of(self, plan: Plan) -> Stacking:
        """The stacking of a plan of the problem with some sizes."""
        offsets = [plan.offsets[each] for each in self._ids]
        order = sorted(range(len(offsets)), key=lambda index: (offsets[index], index))
        rank = {index: place for place, index in enumerate(order)}
        return Stacking(
            tuple((i, tuple(other for other in self._neighbours[i] if rank[other] < rank[i])) for i in order)
        )

    def padded(self, sizes: Sequence[int]) -> Bytes:
        """What buffers of these sizes occupy."""
        return -(-np.array(sizes, np.int64) // self._alignment) * self._alignment

    @cached_property
    def _changes(self) -> tuple[Bytes, Bytes]:
        """The events' signs and indices."""
        signs, indices = np.array(self._events or [(1, 0)], np.int64).T
        return signs, indices

    def peak(self, padded: Bytes) -> int:
        """The most bytes that are live at once: no plan is lower."""
        if not len(padded):
            return 0
        signs, indices = self._changes
        return int(np.cumsum(signs * padded[indices]).max())

    def place(self, stacking: Stacking, padded: Bytes) -> tuple[list[int], int]:
        """Offsets of buffers that occupy so many bytes, and the height."""
        offsets, ends, height = [0] * len(padded), [0] * len(padded), 0
        sizes: list[int] = padded.tolist()
        for index, below in stacking.order:
            start = max((ends[other] for other in below), default=0)
            unit = self._aligned[index]
            offsets[index] = start = -(-start // unit) * unit
            if size := sizes[index]:
                ends[index] = start + size
                height = max(height, start + size)
        return offsets, height
