"""Arrays of the exact search, built from an instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .occupancy import merged
from .planning_instance import Instance

Ints = npt.NDArray[np.int64]

CLEAN, REST, LOWEST = 0, 1, 2


class Tables(NamedTuple):
    """The constant tables. Lists of lists are flattened: list i is `flat[start[i]:start[i + 1]]`.

    A section is a maximal set of buffers that are live together: two buffers meet exactly if they share a section.
    """

    size: Ints
    align: Ints
    rank: Ints  # order among equals
    first: Ints  # the first section of each buffer
    last: Ints  # one past its last section
    section_start: Ints  # sections of a buffer
    sections: Ints
    member_start: Ints  # buffers of a section
    members: Ints
    neighbour_start: Ints  # buffers that share a section with a buffer
    neighbours: Ints
    block_start: Ints  # ranges of the pinned buffers that a buffer meets, sorted: low, high, low, high, ...
    blocks: Ints
    wall_start: Ints  # ranges of the pinned buffers of a section, in the same form
    walls: Ints
    twin: Ints  # the next buffer of equal size, alignment and lifetime; -1 at the end of the chain


class State(NamedTuple):
    """The mutable state. The arrays before `cells` are views of it, so that one trail undoes changes to all of them."""

    offset: Ints  # by buffer: its offset, -1 while it isn't placed
    place: Ints  # by buffer: the lowest offset above the placed buffers that it meets
    bound: Ints  # by buffer: a lower bound of its offset
    refused: Ints  # by buffer: equals `place` where that place is refused and a neighbour must lift it
    lifter: Ints  # by refused buffer: the neighbour that may lift it least; -1 if it must be searched for
    lift: Ints  # by refused buffer: the lowest end of that neighbour
    rest: Ints  # by section: total size of its unplaced buffers
    lowest: Ints  # by section: the one among these with the smallest lower bound
    cells: Ints
    trail: Ints  # cell, old value, cell, old value, ...
    trail_length: Ints  # one number
    dirty: npt.NDArray[np.int8]  # by section: what changed since its last check, CLEAN, REST or LOWEST


def make_tables(instance: Instance) -> Tables:
    """The tables of an instance's free buffers, none of which may have size 0. Every rank is 0."""
    free = [i for i in range(len(instance)) if instance.pinned[i] < 0]
    number = {index: position for position, index in enumerate(free)}
    everyone = _sections(instance)
    sections = [[number[i] for i in live if i in number] for live in everyone]
    pinned = [[i for i in live if i not in number] for live in everyone]
    kept = [s for s, live in enumerate(sections) if live]
    sections = [sections[s] for s in kept]
    pinned = [pinned[s] for s in kept]
    own: list[list[int]] = [[] for _ in free]
    meets: list[set[int]] = [set() for _ in free]
    blocks: list[set[int]] = [set() for _ in free]
    for section, live in enumerate(sections):
        for buffer in live:
            own[buffer].append(section)
            meets[buffer].update(live)
            blocks[buffer].update(pinned[section])
    section_start, flat_sections = _flat(own)
    member_start, members = _flat(sections)
    neighbour_start, neighbours = _flat([sorted(met - {b}) for b, met in enumerate(meets)])
    block_start, flat_blocks = _flat([_ranges(instance, met) for met in blocks])
    wall_start, walls = _flat([_ranges(instance, met) for met in pinned])
    return Tables(
        size=np.array([instance.sizes[i] for i in free], dtype=np.int64),
        align=np.array([instance.aligns[i] for i in free], dtype=np.int64),
        rank=np.zeros(len(free), dtype=np.int64),
        first=np.array([sections_of[0] for sections_of in own], dtype=np.int64),
        last=np.array([sections_of[-1] + 1 for sections_of in own], dtype=np.int64),
        section_start=section_start,
        sections=flat_sections,
        member_start=member_start,
        members=members,
        neighbour_start=neighbour_start,
        neighbours=neighbours,
        block_start=block_start,
        blocks=flat_blocks,
        wall_start=wall_start,
        walls=walls,
        twin=_twins(instance, free),
    )


def make_state(tables: Tables, trail_length: int) -> State:
    """The initial state: nothing placed."""
    buffers, sections = len(tables.size), len(tables.member_start) - 1
    cells = np.zeros(6 * buffers + 2 * sections, dtype=np.int64)
    offset, place, bound, refused, lifter, lift = (cells[k * buffers : (k + 1) * buffers] for k in range(6))
    rest, lowest = cells[6 * buffers : 6 * buffers + sections], cells[6 * buffers + sections :]
    offset[:] = refused[:] = lifter[:] = -1
    rest[:] = np.add.reduceat(tables.size[tables.members], tables.member_start[:-1])
    return State(
        offset=offset,
        place=place,
        bound=bound,
        refused=refused,
        lifter=lifter,
        lift=lift,
        rest=rest,
        lowest=lowest,
        cells=cells,
        trail=np.empty(2 * trail_length, dtype=np.int64),
        trail_length=np.zeros(1, dtype=np.int64),
        dirty=np.full(sections, LOWEST, dtype=np.int8),
    )


def _sections(instance: Instance) -> list[list[int]]:
    """The maximal live sets: those just before a death with a birth since the previous death."""
    events: dict[int, tuple[list[int], list[int]]] = {}
    for index in range(len(instance)):
        for birth, death in instance.live[index]:
            events.setdefault(birth, ([], []))[0].append(index)
            events.setdefault(death, ([], []))[1].append(index)
    live: set[int] = set()
    found: list[list[int]] = []
    grown = False
    for step in sorted(events):
        born, died = events[step]
        if died and grown:
            found.append(sorted(live))
            grown = False
        live.difference_update(died)
        live.update(born)
        grown = grown or bool(born)
    return found


def _ranges(instance: Instance, pinned: set[int] | list[int]) -> list[int]:
    """The ranges of pinned buffers, merged and sorted, flattened to low, high, low, high, ..."""
    ranges = merged([(instance.pinned[i], instance.pinned[i] + instance.sizes[i]) for i in pinned])
    return [end for span in ranges for end in span]


def _twins(instance: Instance, free: Sequence[int]) -> Ints:
    twin = np.full(len(free), -1, dtype=np.int64)
    latest: dict[object, int] = {}
    for position, index in enumerate(free):
        kind = (instance.sizes[index], instance.aligns[index], instance.live[index])
        if kind in latest:
            twin[latest[kind]] = position
        latest[kind] = position
    return twin


def _flat(lists: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    start = np.zeros(len(lists) + 1, dtype=np.int64)
    start[1:] = np.cumsum([len(inner) for inner in lists])
    return start, np.array([item for inner in lists for item in inner], dtype=np.int64)
