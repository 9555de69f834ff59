"""Rooms: arrays for caches, which have their memory in common with an output of the same run.

A run's present is a view of a room. Given as the past of the next run it is found to be one, and updated where it is;
an array that is none is copied to a new room once.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ..device import Array
from ..limits import memory_for
from ..specs import TensorSpec
from .host_memory import aligned_bytes

ALIGNMENT = 64  # bytes: a cache line, and the widest vector


class Room:
    """The memory of a cache. Arrays on it hold it as the last of their bases."""

    def __init__(self, spec: TensorSpec) -> None:
        self._spec = spec
        with memory_for(f"{spec.nbytes} bytes of a cache"):
            self._bytes = aligned_bytes(spec.nbytes, ALIGNMENT)
        self.__array_interface__ = self._bytes.__array_interface__

    def fits(self, spec: TensorSpec) -> bool:
        """Whether it is what a cache takes."""
        return (self._spec.shape, self._spec.dtype) == (spec.shape, spec.dtype)

    def array(self) -> Array:
        """All of it."""
        return np.asarray(self).view(self._spec.dtype).reshape(self._spec.shape)


def lies_in(array: Array) -> Room | None:
    """The room that an array lies in."""
    found: Any = array
    while isinstance(found, np.ndarray):
        found = cast("Array", found).base
    return found if isinstance(found, Room) else None


def room_of(spec: TensorSpec, past: Array, taken: set[Room]) -> Array:
    """The room that begins with `past`, as an array.

    It is copied to a new one where it lies in none of this shape, where it is read-only, and where its room is among
    those `taken` by other caches.
    """
    room = lies_in(past)
    usable = past.flags.writeable and room not in taken
    if room is not None and usable and room.fits(spec) and _begins(room.array(), past):
        taken.add(room)
        return room.array()
    whole = Room(spec).array()
    beginning(whole, past.shape)[...] = past
    return whole


def beginning(whole: Array, shape: tuple[int, ...]) -> Array:
    """The first elements of a room along each axis, as a view."""
    return whole[(*map(slice, shape), ...)]


def _begins(whole: Array, past: Array) -> bool:
    """Whether an array is the beginning of a room: axes of one element have any stride."""
    there = beginning(whole, past.shape)
    same = all(a == b for a, b, size in zip(past.strides, there.strides, past.shape, strict=True) if size > 1)
    return same and past.ctypes.data == whole.ctypes.data
