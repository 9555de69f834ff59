"""Greedy planners: they place one buffer after another, without backtracking.

Each is an order and a fit: which buffer comes next, and into which hole between the buffers already placed it goes. In
order of birth the holes are those of an allocator's free list that coalesces released blocks. Pinned buffers are placed
before all others. Orders by birth: the allocators of textbooks (first, best and worst fit). By size and by breadth:
Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .occupancy import Occupancy, Range
from .planning_instance import Instance

Fit = Callable[[Instance, int, Sequence[Range], int], int]  # instance, buffer, taken ranges, height so far -> offset


def place_in_order(instance: Instance, order: Iterable[int], fit: Fit) -> list[int]:
    """Offsets in units, from placing the free buffers in the given order."""
    offsets = list(instance.pinned)
    occupancy = Occupancy(instance)
    height = 0
    for index in instance.pinned_indices():
        occupancy.place(index, offsets[index])
        height = max(height, offsets[index] + instance.sizes[index])
    for index in order:
        offset = fit(instance, index, occupancy.taken(index), height)
        occupancy.place(index, offset)
        offsets[index] = offset
        height = max(height, offset + instance.sizes[index])
    return offsets


def first_fit(instance: Instance, index: int, taken: Sequence[Range], height: int) -> int:
    """The lowest hole that is large enough."""
    size = instance.sizes[index]
    offset = 0
    for low, high in taken:
        if offset + size <= low:
            break
        offset = instance.align(index, high)
    return offset


def best_fit(instance: Instance, index: int, taken: Sequence[Range], height: int) -> int:
    """The smallest hole that is large enough; the arena grows only when there is none."""
    return _fit_by_slack(instance, index, taken, height, 1)


def worst_fit(instance: Instance, index: int, taken: Sequence[Range], height: int) -> int:
    """The largest hole that is large enough; the arena grows only when there is none."""
    return _fit_by_slack(instance, index, taken, height, -1)


def _fit_by_slack(instance: Instance, index: int, taken: Sequence[Range], height: int, sign: int) -> int:
    size = instance.sizes[index]
    best, best_slack, offset = -1, 0, 0
    for low, high in taken:
        slack = sign * (low - offset)
        if offset + size <= low and (best < 0 or slack < best_slack):
            best, best_slack = offset, slack
        offset = instance.align(index, high)
    if offset + size <= height and (best < 0 or sign * (height - offset) < best_slack):
        best = offset
    return best if best >= 0 else offset


def naive(instance: Instance) -> list[int]:
    """Disjoint bytes for every buffer, above the pinned ones."""
    offsets = list(instance.pinned)
    top = max((offsets[i] + instance.sizes[i] for i in instance.pinned_indices()), default=0)
    for index in range(len(instance)):
        if offsets[index] < 0:
            offsets[index] = instance.align(index, top)
            top = offsets[index] + instance.sizes[index]
    return offsets


def by_size(instance: Instance) -> list[int]:
    """Free buffers, largest first; the longer-lived first among equals."""
    free = instance.free_by_birth()
    return sorted(free, key=lambda i: (-instance.sizes[i], instance.birth(i) - instance.death(i)))


def by_area(instance: Instance) -> list[int]:
    """Free buffers by size times lifetime, largest first."""
    free = instance.free_by_birth()
    return sorted(free, key=lambda i: -instance.sizes[i] * (instance.death(i) - instance.birth(i)))


def by_length(instance: Instance) -> list[int]:
    """Free buffers, longest-lived first; the larger first among equals."""
    free = instance.free_by_birth()
    return sorted(free, key=lambda i: (instance.birth(i) - instance.death(i), -instance.sizes[i]))


def by_breadth(instance: Instance) -> list[int]:
    """Steps by live units, most first; of each step the buffers not yet listed, largest first."""
    breadth: dict[int, int] = {}
    for index in range(len(instance)):
        for birth, death in instance.live[index]:
            breadth[birth] = breadth.get(birth, 0) + instance.sizes[index]
            breadth[death] = breadth.get(death, 0) - instance.sizes[index]
    steps = sorted(breadth)
    level = 0
    for step in steps:
        level += breadth[step]
        breadth[step] = level
    return _by_rank(instance, sorted(steps, key=lambda step: (-breadth[step], step)))


def _by_rank(instance: Instance, ranked_steps: Sequence[int]) -> list[int]:
    """The free buffers, each at the best rank of the steps at which it is live."""
    rank = [0] * (max(ranked_steps, default=0) + 1)
    for position, step in enumerate(ranked_steps):
        rank[step] = position
    table = RangeMinimum(rank)
    free = instance.free_by_birth()
    best = {i: min(table.query(low, high) for low, high in instance.live[i]) for i in free}
    return sorted(free, key=lambda i: (best[i], -instance.sizes[i], i))


class RangeMinimum:
    """A sparse table for range minimum queries: minima of ranges whose length is a power of two."""

    def __init__(self, values: Sequence[int]) -> None:
        self._rows = [list(values)]
        width = 1
        while 2 * width <= len(values):
            row = self._rows[-1]
            self._rows.append([min(row[i], row[i + width]) for i in range(len(row) - width)])
            width *= 2

    def query(self, low: int, high: int) -> int:
        """The minimum of values[low:high], which must not be empty."""
        level = (high - low).bit_length() - 1
        row = self._rows[level]
        return min(row[low], row[high - (1 << level)])


PLANNERS: dict[str, tuple[Callable[[Instance], list[int]], Fit]] = {
    "first-fit": (Instance.free_by_birth, first_fit),
    "best-fit": (Instance.free_by_birth, best_fit),
    "worst-fit": (Instance.free_by_birth, worst_fit),
    "greedy-by-size": (by_size, best_fit),
    "greedy-by-breadth": (by_breadth, best_fit),
    "greedy-by-area": (by_area, first_fit),
    "greedy-by-length": (by_length, first_fit),
}
"""The order in which each planner places buffers, and its fit."""


def place(instance: Instance, planner: str) -> list[int]:
    """Offsets in units, by the greedy planner of that name."""
    order, fit = PLANNERS[planner]
    return place_in_order(instance, order(instance), fit)
