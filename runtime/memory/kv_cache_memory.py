"""Buffers shared by a key-value cache input and the output that extends it.

The present that a run returns is a view of such a buffer, an array or a tensor. Passed as the past of the next run, it
is recognised and updated in place; any other one is copied to a new buffer once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..device import Array
from ..limits import memory_for
from ..specs import CacheSpec, TensorSpec
from .allocators import reserved_pages
from .storage import Storage
from .tensor import Tensor

ALIGNMENT = 64  # bytes: alignment of a cache line, and of the widest vector


class CacheBuffer:
    """The buffer of a cache. Arrays in it have it as the last of their bases.

    Its addresses are reserved; it takes memory page by page as the cache grows, and never moves.
    """

    def __init__(self, cache: CacheSpec) -> None:
        self._spec = spec = cache.room
        run = 0 if cache.axis is None else prod(spec.shape[cache.axis :]) * spec.dtype.itemsize
        with memory_for(f"{spec.nbytes} bytes of a cache"):
            self._bytes = reserved_pages(spec.nbytes, ALIGNMENT, run)
        self.__array_interface__ = self._bytes.__array_interface__

    def fits(self, spec: TensorSpec) -> bool:
        """Whether its shape and type are those of a cache."""
        return (self._spec.shape, self._spec.dtype) == (spec.shape, spec.dtype)

    def array(self) -> Array:
        """The whole buffer as an array."""
        return np.asarray(self).view(self._spec.dtype).reshape(self._spec.shape)


def lies_in(array: Array) -> CacheBuffer | None:
    """The cache buffer of which an array is a view, if any."""
    found: Any = array
    while isinstance(found, np.ndarray):
        found = cast("Array", found).base
    return found if isinstance(found, CacheBuffer) else None


def room_of(cache: CacheSpec, past: Array, taken: set[CacheBuffer]) -> Array:
    """The cache buffer that starts with `past`, as an array.

    `past` is copied to a new buffer if it is no view of one of this shape, if it is read-only, or if its buffer is
    among those `taken` by other caches.
    """
    room = lies_in(past)
    usable = past.flags.writeable and room not in taken
    if room is not None and usable and room.fits(cache.room) and _begins(room.array(), past):
        taken.add(room)
        return room.array()
    whole = CacheBuffer(cache).array()
    beginning(whole, past.shape)[...] = past
    return whole


class PresentTensor(Tensor):
    """A present as a tensor: the beginning of a cache's buffer, `room`, in the same storage."""

    room: Tensor

    @classmethod
    def beginning_of(cls, room: Tensor, shape: tuple[int, ...]) -> PresentTensor:
        """The first elements along each axis."""
        made = cls(room.storage, shape, room.dtype, room.offset, room.strides)
        made.room = room
        return made

    def begins(self, spec: TensorSpec) -> bool:
        """Whether it is still the beginning of a buffer of this shape and type."""
        room = self.room
        same = (a == b for a, b, size in zip(self.strides, room.strides, self.shape, strict=True) if size > 1)
        is_there = self.storage is room.storage and self.offset == room.offset and all(same)
        return is_there and (room.shape, room.dtype) == (spec.shape, spec.dtype)


def room_tensor_of(cache: CacheSpec, past: Tensor, device: str, taken: list[Storage]) -> Tensor:
    """`room_of` for tensors: the buffer on the device that starts with `past`, or a new one with a copy of it."""
    room = past.room if isinstance(past, PresentTensor) and past.begins(cache.room) else None
    if room is not None and room.device == device and not any(map(room.storage.overlaps, taken)):
        taken.append(room.storage)
        return room
    with memory_for(f"{cache.room.nbytes} bytes of a cache"):
        whole = Tensor.empty(cache.room.shape, cache.room.dtype, device=device)
    if past.nbytes:
        leading(whole, past.shape).copy_from(past)
    return whole


def leading(whole: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The first elements of a tensor along each axis, as a view."""
    return Tensor(whole.storage, shape, whole.dtype, whole.offset, whole.strides)


def reaches_into(array: Array, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether some byte of an array is at one of these addresses, [low, high)."""
    start, end = byte_bounds(array)
    return any(max(low, start) < min(high, end) for low, high in spans)


def beginning(whole: Array, shape: tuple[int, ...]) -> Array:
    """The first elements of a cache buffer along each axis, as a view."""
    return whole[(*map(slice, shape), ...)]


def _begins(whole: Array, past: Array) -> bool:
    """Whether an array is the beginning of a cache buffer: strides of size-1 axes may differ."""
    there = beginning(whole, past.shape)
    same = all(a == b for a, b, size in zip(past.strides, there.strides, past.shape, strict=True) if size > 1)
    return same and past.ctypes.data == whole.ctypes.data
