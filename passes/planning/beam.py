"""Beam search over placements: buffers in order of birth, keeping the best `width` partial plans.

A partial plan is ranked by its peak, then by the rank of the plan it extends, then by the offset of the new buffer.
Width 1 therefore is first fit. A buffer may be placed at the bottom, on any buffer already placed, or higher by the sum
of the sizes of some buffers still to come, so that these fit below it. In a plan whose buffers are all pushed down,
every buffer lies at such an offset: a width beyond the number of states is exhaustive (for buffers that are not pinned
and have the problem's alignment). Narrow beams seldom improve on first fit, since a placement that costs height later
has not raised the peak yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .occupancy import merged
from .planning_instance import Instance

Units = npt.NDArray[np.int64]


@dataclass(frozen=True)
class State:
    """A partial plan: the offsets of the pinned buffers and of the first buffers of the order."""

    peak: int  # units
    offsets: Units


def beam(instance: Instance, width: int) -> tuple[list[int], int]:
    """Offsets in units, and the number of placements tried."""
    pinned, free = instance.pinned_indices(), instance.free_by_birth()
    order = [*pinned, *free]
    sizes: Units = np.array([instance.sizes[index] for index in order], dtype=np.int64)
    raises = _sums_to_come(instance, free, width)
    start: Units = np.array([instance.pinned[index] for index in pinned], dtype=np.int64)
    states = [State(int((start + sizes[: len(pinned)]).max(initial=0)), start)]
    steps = 0
    for position, index in enumerate(free, len(pinned)):
        placed = sizes[:position]
        met = np.array([_meet(instance, index, other) for other in order[:position]], dtype=np.bool_) & (placed > 0)
        grown: list[tuple[int, int, int]] = []  # peak, rank of the state that is extended, offset
        for rank, state in enumerate(states):
            for offset in _positions(
                instance, index, state.offsets, placed, met, raises[position - len(pinned)], width
            ):
                grown.append((max(state.peak, offset + instance.sizes[index]), rank, offset))
        steps += len(grown)
        grown.sort()
        states = [State(peak, np.append(states[rank].offsets, offset)) for peak, rank, offset in grown[:width]]
    offsets = [0] * len(instance)
    for index, offset in zip(order, states[0].offsets, strict=True):
        offsets[index] = int(offset)
    return offsets, steps


def _sums_to_come(instance: Instance, order: Sequence[int], width: int) -> list[Units]:
    """For each position of the order, the `width` smallest subset sums of the sizes of later buffers."""
    sums: Units = np.zeros(1, dtype=np.int64)
    result: list[Units] = []
    for index in reversed(order):
        result.append(sums)
        sums = np.union1d(sums, sums + instance.sizes[index])[:width]
    return result[::-1]


def _positions(
    instance: Instance,
    index: int,
    offsets: Units,
    sizes: Units,
    met: npt.NDArray[np.bool_],
    raises: Units,
    width: int,
) -> list[int]:
    """The lowest `width` candidate offsets of the buffer, given the placed buffers and which of them it meets."""
    ends = offsets + sizes
    bases = np.unique(np.append(ends, 0))
    unit = instance.aligns[index]
    heights = np.unique(-(-np.add.outer(bases, raises).ravel() // unit) * unit)
    taken = merged(list(zip(offsets[met].tolist(), ends[met].tolist(), strict=True)))
    blocks: Units = np.array(taken, dtype=np.int64).reshape(-1, 2)
    above = np.searchsorted(blocks[:, 1], heights, side="right")  # the first block that ends above the height
    ceiling = np.append(blocks[:, 0], np.iinfo(np.int64).max)[above]
    return [int(height) for height in heights[heights + instance.sizes[index] <= ceiling][:width]]


def _meet(instance: Instance, a: int, b: int) -> bool:
    return any(la < hb and lb < ha for la, ha in instance.live[a] for lb, hb in instance.live[b])
