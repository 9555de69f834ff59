"""Beam search over placements: the buffers in the order of birth, the best `width` partial plans kept.

A partial plan is ranked by its peak, then by the rank of the plan it extends, then by how low the new buffer lies.
Width 1 therefore is first fit. A buffer may be put on the floor, on any buffer already placed, or as much higher as
some of the buffers still to come are tall together, so that these fit below it. In a plan pushed down as far as it
goes every buffer lies on such a height: a width beyond all states is exhaustive (for buffers without pinned ones or
alignments of their own).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .instance import Instance
from .occupancy import Range, merged

Heights = npt.NDArray[np.int64]


@dataclass(frozen=True)
class State:
    """A partial plan: one link per placed buffer."""

    peak: int
    index: int
    offset: int
    parent: State | None


def beam(instance: Instance, width: int) -> tuple[list[int], int]:
    """Offsets in units, and how many placements were tried."""
    order = instance.free_by_birth()
    pinned = instance.pinned_indices()
    peak = max((instance.pinned[i] + instance.sizes[i] for i in pinned), default=0)
    root: State | None = None
    for index in pinned:
        root = State(peak, index, instance.pinned[index], root)
    raises = _sums_to_come(instance, order, width)
    states: list[State | None] = [root]
    steps = 0
    for position, index in enumerate(order):
        grown: list[tuple[int, int, int]] = []  # peak, rank of the parent, offset
        for rank, state in enumerate(states):
            base = state.peak if state else 0
            for offset in _positions(instance, state, index, raises[position], width):
                grown.append((max(base, offset + instance.sizes[index]), rank, offset))
        steps += len(grown)
        grown.sort()
        states = [State(peak, index, offset, states[rank]) for peak, rank, offset in grown[:width]]
    offsets = [0] * len(instance)
    state = states[0]
    while state is not None:
        offsets[state.index] = state.offset
        state = state.parent
    return offsets, steps


def _sums_to_come(instance: Instance, order: Sequence[int], width: int) -> list[Heights]:
    """For each position of the order, the least `width` sums of the sizes of any buffers after it."""
    sums = np.zeros(1, dtype=np.int64)
    result: list[Heights] = []
    for index in reversed(order):
        result.append(sums)
        sums = np.union1d(sums, sums + instance.sizes[index])[:width]
    return result[::-1]


def _positions(instance: Instance, state: State | None, index: int, raises: Heights, width: int) -> list[int]:
    """The lowest `width` offsets at which the buffer may stand."""
    taken: list[Range] = []
    floors = [0]
    link = state
    while link is not None:
        if instance.sizes[link.index]:
            floors.append(link.offset + instance.sizes[link.index])
            if _meet(instance, link.index, index):
                taken.append((link.offset, floors[-1]))
        link = link.parent
    bases = np.unique(np.array(floors, dtype=np.int64))
    unit = instance.aligns[index]
    heights = np.unique(-(-np.add.outer(bases, raises).ravel() // unit) * unit)
    blocks = np.array(merged(taken), dtype=np.int64).reshape(-1, 2)
    above = np.searchsorted(blocks[:, 1], heights, side="right")  # the first block that ends above the height
    ceiling = np.append(blocks[:, 0], np.iinfo(np.int64).max)[above]
    return [int(height) for height in heights[heights + instance.sizes[index] <= ceiling][:width]]


def _meet(instance: Instance, a: int, b: int) -> bool:
    return any(la < hb and lb < ha for la, ha in instance.live[a] for lb, hb in instance.live[b])
