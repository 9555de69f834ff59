"""Results of which there is less than their shape says: what is cut off once a run has told how much there is.

Plain numbers and arrays: who runs code needs no IR for it. graph/bounds.py says how the IR tells of cuts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Cut: TypeAlias = tuple[int, int]
"""(result, axis)"""


def bounded_axes(cuts: Sequence[Sequence[Cut]], result: int) -> tuple[int, ...]:
    """The axes of a result that counts cut."""
    return tuple(sorted(axis for each in cuts for number, axis in each if number == result))


def cut_shape(shape: Sequence[int], result: int, cuts: Sequence[Sequence[Cut]], counts: Sequence[int]) -> list[int]:
    """How much of a result there is, for the counts of a run."""
    left = list(shape)
    for each, count in zip(cuts, counts, strict=True):
        for number, axis in each:
            if number == result:
                left[axis] = count
    return left


def trimmed(arrays: Sequence[Array], cuts: Sequence[Sequence[Cut]], counts: Sequence[int]) -> list[Array]:
    """What there is of the results of a run; a copy where that is less than all, so that the rest can go."""
    found: list[Array] = []
    for number, array in enumerate(arrays):
        shape = cut_shape(array.shape, number, cuts, counts)
        found.append(array if shape == list(array.shape) else array[tuple(map(slice, shape))].copy())
    return found
