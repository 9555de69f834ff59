"""Cropping of bounded results to the run-time counts of their valid elements.

Plain numbers and arrays, so that the runtime needs no IR. graph/bounds.py defines the attributes in IR.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Cut: TypeAlias = tuple[int, int]
"""(result, axis)"""


def bounded_axes(cuts: Sequence[Sequence[Cut]], result: int) -> tuple[int, ...]:
    """The axes of a result that counts crop."""
    return tuple(sorted(axis for each in cuts for number, axis in each if number == result))


def cut_shape(shape: Sequence[int], result: int, cuts: Sequence[Sequence[Cut]], counts: Sequence[int]) -> list[int]:
    """The cropped shape of a result, given the counts of a run."""
    left = list(shape)
    for each, count in zip(cuts, counts, strict=True):
        for number, axis in each:
            if number == result:
                left[axis] = count
    return left


def trimmed(arrays: Sequence[Array], cuts: Sequence[Sequence[Cut]], counts: Sequence[int]) -> list[Array]:
    """The cropped results of a run; a cropped one is copied, so that the rest can be freed."""
    found: list[Array] = []
    for number, array in enumerate(arrays):
        shape = cut_shape(array.shape, number, cuts, counts)
        found.append(array if shape == list(array.shape) else array[tuple(map(slice, shape))].copy())
    return found
