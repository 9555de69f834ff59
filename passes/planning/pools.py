"""Planners that share memory by whole pools: a pool holds one buffer at a time, at its first byte.

Simple to read and to report, and never better than offsets, since a pool has the size of its largest member throughout.
Pinned buffers stay outside; the pools lie above them.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from math import lcm

from .planning_instance import Instance
from .problem import Interval


@dataclass
class Colour:
    """A pool (a colour of the interference graph) and its members so far."""

    size: int = 0  # units
    align: int = 1  # units
    members: list[int] = field(default_factory=list[int])
    _busy: list[Interval] = field(default_factory=list[Interval])  # disjoint, sorted

    def admits(self, instance: Instance, index: int) -> bool:
        """Whether the buffer interferes with no member of the pool."""
        for birth, death in instance.live[index]:
            position = bisect_left(self._busy, (birth, birth))
            if position < len(self._busy) and self._busy[position][0] < death:
                return False
            if position and self._busy[position - 1][1] > birth:
                return False
        return True

    def add(self, instance: Instance, index: int) -> None:
        self.members.append(index)
        self.size = max(self.size, instance.sizes[index])
        self.align = lcm(self.align, instance.aligns[index])
        for interval in instance.live[index]:
            self._busy.insert(bisect_left(self._busy, interval), interval)


def colour_by_size(instance: Instance) -> list[Colour]:
    """Greedy colouring of the interference graph: largest buffer first, into the first pool without a conflict."""
    free = instance.free_by_birth()
    pools: list[Colour] = []
    for index in sorted(free, key=lambda i: (-instance.sizes[i], i)):
        _add_to_first(instance, pools, index, must_be_large_enough=False)
    return pools


def first_free_pool(instance: Instance) -> list[Colour]:
    """In order of birth, into the first pool that is free and large enough, else into a new one."""
    pools: list[Colour] = []
    for index in instance.free_by_birth():
        _add_to_first(instance, pools, index, must_be_large_enough=True)
    return pools


def _add_to_first(instance: Instance, pools: list[Colour], index: int, *, must_be_large_enough: bool) -> None:
    for pool in pools:
        large_enough = pool.size >= instance.sizes[index] and pool.align % instance.aligns[index] == 0
        if (large_enough or not must_be_large_enough) and pool.admits(instance, index):
            pool.add(instance, index)
            return
    pools.append(Colour())
    pools[-1].add(instance, index)


def stack(instance: Instance, pools: list[Colour]) -> tuple[list[int], list[int]]:
    """Stacks the pools: offsets in units of every buffer, and of every pool."""
    offsets = list(instance.pinned)
    top = max((offsets[i] + instance.sizes[i] for i in instance.pinned_indices()), default=0)
    starts: list[int] = []
    for pool in pools:
        start = -(-top // pool.align) * pool.align
        for index in pool.members:
            offsets[index] = start
        starts.append(start)
        top = start + pool.size
    return offsets, starts
