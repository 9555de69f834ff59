"""The planning problem in the planners' form: buffers by index, bytes in units, steps renumbered densely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .problem import Interval, Problem


@dataclass(frozen=True)
class Instance:
    """A planning problem; buffer i is row i of every list, and a unit is the problem's alignment in bytes.

    Steps without births or deaths are left out; the rest are numbered 0, 1, ... This preserves which lifetimes
    intersect.
    """

    unit: int  # bytes
    sizes: list[int]  # units
    aligns: list[int]  # units
    pinned: list[int]  # units; -1 where free
    live: list[tuple[Interval, ...]]  # dense steps

    def __len__(self) -> int:
        return len(self.sizes)

    def birth(self, index: int) -> int:
        return self.live[index][0][0]

    def death(self, index: int) -> int:
        return self.live[index][-1][1]

    def align(self, index: int, offset: int) -> int:
        """The lowest valid offset of the buffer at or above the given one."""
        unit = self.aligns[index]
        return -(-offset // unit) * unit

    def height(self, offsets: Sequence[int]) -> int:
        """The highest end, in units."""
        return max((o + s for o, s in zip(offsets, self.sizes, strict=True) if s), default=0)

    def free_by_birth(self) -> list[int]:
        """The buffers that are not pinned, by birth; the larger first among those of equal birth."""
        free = [i for i in range(len(self)) if self.pinned[i] < 0]
        return sorted(free, key=lambda i: (self.birth(i), -self.sizes[i], i))

    def pinned_indices(self) -> list[int]:
        return [i for i in range(len(self)) if self.pinned[i] >= 0]


def instance_of(problem: Problem) -> Instance:
    """The same problem in indices and units."""
    unit = problem.alignment
    steps = sorted({step for b in problem.buffers for interval in b.live for step in interval})
    dense = {step: number for number, step in enumerate(steps)}
    return Instance(
        unit=unit,
        sizes=[-(-b.size // unit) for b in problem.buffers],
        aligns=[max(1, b.alignment // unit) for b in problem.buffers],
        pinned=[-1 if b.offset is None else b.offset // unit for b in problem.buffers],
        live=[tuple((dense[low], dense[high]) for low, high in b.live) for b in problem.buffers],
    )


def components(instance: Instance) -> list[list[int]]:
    """Groups of buffers with no step in common, which can be planned separately."""
    groups: list[list[int]] = []
    end = -1
    for index in sorted(range(len(instance)), key=lambda i: (instance.birth(i), i)):
        if instance.birth(index) >= end:
            groups.append([])
        groups[-1].append(index)
        end = max(end, instance.death(index))
    return groups


def part(instance: Instance, members: Sequence[int]) -> Instance:
    """The sub-instance of some buffers; its buffer k is `members[k]`."""
    return Instance(
        unit=instance.unit,
        sizes=[instance.sizes[i] for i in members],
        aligns=[instance.aligns[i] for i in members],
        pinned=[instance.pinned[i] for i in members],
        live=[instance.live[i] for i in members],
    )


def most_live(instance: Instance) -> int:
    """A lower bound in units: the peak of live units, or the end of the highest pinned buffer."""
    changes: dict[int, int] = {}
    highest = 0
    for index, size in enumerate(instance.sizes):
        for birth, death in instance.live[index]:
            changes[birth] = changes.get(birth, 0) + size
            changes[death] = changes.get(death, 0) - size
        if size and instance.pinned[index] >= 0:
            highest = max(highest, instance.pinned[index] + size)
    level = 0
    for step in sorted(changes):
        level += changes[step]
        highest = max(highest, level)
    return highest
