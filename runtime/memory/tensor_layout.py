"""Layouts of tensors in bytes: strides, and the range of bytes that a tensor covers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np

from ...dialects.arguments import checked_sequence, is_integer, wrong
from ...dialects.errors import InvalidInputError


def check_bounds(
    capacity: int, offset: int, shape: Sequence[int], dtype: np.dtype[Any], strides: Sequence[int]
) -> tuple[int, int]:
    """[low, high) of a storage's `capacity` bytes that a tensor covers. Raises InvalidInputError if out of bounds."""
    if len(strides) != len(shape):
        raise InvalidInputError(f"{len(strides)} strides don't fit the {len(shape)} dimensions of {list(shape)}")
    first = last = offset
    if prod(shape):
        reaches = [(size - 1) * step for size, step in zip(shape, strides, strict=True)]
        first += sum(min(reach, 0) for reach in reaches)
        last += sum(max(reach, 0) for reach in reaches) + dtype.itemsize
    if first < 0 or last > capacity:
        raise InvalidInputError(
            f"a tensor of {dtype}{list(shape)} at byte {offset} reaches from {first} to {last}, "
            f"but the storage has {capacity} bytes"
        )
    return first, last


def checked_offset(offset: object) -> int:
    """An offset in bytes. Raises InvalidInputError unless it is an integer."""
    if not is_integer(offset):
        raise wrong("offset", offset, "an integer", InvalidInputError)
    return cast("int", offset)


def checked_strides(strides: object) -> tuple[int, ...]:
    """Strides in bytes. Raises InvalidInputError unless they are a sequence of integers."""
    steps = checked_sequence("strides", strides, "a sequence of bytes", InvalidInputError)
    if not all(map(is_integer, steps)):
        raise wrong("strides", strides, "a sequence of integers", InvalidInputError)
    return tuple(steps)


def row_major(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """The strides, in bytes, of contiguous row-major elements."""
    strides: list[int] = []
    step = itemsize
    for size in reversed(shape):
        strides.insert(0, step)
        step *= size
    return tuple(strides)
