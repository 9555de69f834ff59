"""An index of placed buffers by lifetime, which keeps the greedy planners far from quadratic.

A live interval of length in [2^k, 2^(k+1)) is filed at level k under its birth divided by 2^k. The intervals that meet
a given one are then found in a few cells of each level, with hardly any false candidates.
"""

from __future__ import annotations

from .planning_instance import Instance
from .problem import Interval

Range = tuple[int, int]  # [low, high) in units of the arena


class Occupancy:
    """The placed buffers of an instance."""

    def __init__(self, instance: Instance) -> None:
        self._live = instance.live
        self._sizes = instance.sizes
        self._levels: dict[int, dict[int, list[tuple[int, int, int, int]]]] = {}

    def place(self, index: int, offset: int) -> None:
        """Records that buffer `index` occupies its size from `offset` while it is live."""
        size = self._sizes[index]
        if not size:
            return
        for birth, death in self._live[index]:
            level = (death - birth).bit_length() - 1
            cells = self._levels.setdefault(level, {})
            entry = (offset, offset + size, birth, death)
            cell = cells.get(birth >> level)
            if cell is None:
                cells[birth >> level] = [entry]
            else:
                cell.append(entry)

    def taken(self, index: int) -> list[Range]:
        """The ranges that the buffer must avoid: sorted, merged where they touch."""
        found: list[Range] = []
        for interval in self._live[index]:
            self._collect(interval, found)
        return merged(found)

    def _collect(self, interval: Interval, found: list[Range]) -> None:
        birth, death = interval
        for level, cells in self._levels.items():
            first = (birth - (2 << level) + 1) >> level  # an entry born earlier has died by `birth`
            last = (death - 1) >> level
            if last - first < len(cells):
                candidates = [cells[number] for number in range(first, last + 1) if number in cells]
            else:
                candidates = [cell for number, cell in cells.items() if first <= number <= last]
            for cell in candidates:
                for low, high, other_birth, other_death in cell:
                    if other_birth < death and birth < other_death:
                        found.append((low, high))


def merged(ranges: list[Range]) -> list[Range]:
    """The union of the ranges as disjoint ranges in order. Sorts the argument."""
    ranges.sort()
    result: list[Range] = []
    start, end = -1, -1
    for low, high in ranges:
        if low > end:
            if end >= 0:
                result.append((start, end))
            start, end = low, high
        elif high > end:
            end = high
    if end >= 0:
        result.append((start, end))
    return result
