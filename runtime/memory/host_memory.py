"""Memory of this process: allocated by us, or borrowed from the caller."""

from __future__ import annotations

from typing import cast

import numpy as np
from typing_extensions import override

from ...dialects.errors import InvalidInputError
from ..device import DEFAULT_ALIGNMENT, Array, Memory
from .dlpack import from_dlpack

MOST_BYTES = 2**62


class HostMemory(Memory):
    """The bytes of a contiguous uint8 array, which it keeps alive."""

    def __init__(self, data: Array) -> None:
        self.host: Array | None = data
        self._data = data

    @property
    @override
    def nbytes(self) -> int:
        return int(self._data.nbytes)

    @property
    @override
    def address(self) -> int:
        return int(self._data.ctypes.data)

    @property
    @override
    def writable(self) -> bool:
        return bool(self._data.flags.writeable)

    @override
    def zero(self) -> None:
        self._data[:] = 0

    @override
    def write(self, offset: int, data: Array) -> None:
        self._data[offset : offset + data.nbytes] = data

    @override
    def read(self, offset: int, data: Array) -> None:
        data[:] = self._data[offset : offset + data.nbytes]

    @override
    def part(self, offset: int, nbytes: int, owner: object = None) -> Memory:
        if self.host is None:  # of a device whose memory is emulated
            return super().part(offset, nbytes, owner)
        return HostMemory(np.asarray(_Span(self._data, self.address + offset, nbytes, owner)))


def aligned_bytes(nbytes: int, alignment: int = DEFAULT_ALIGNMENT) -> Array:
    """A zeroed uint8 array of `nbytes`, aligned to `alignment` bytes."""
    if nbytes + alignment >= MOST_BYTES:  # a ValueError in numpy
        raise MemoryError
    raw = np.zeros(nbytes + alignment, np.uint8)
    start = -raw.ctypes.data % alignment
    return raw[start : start + nbytes]


def as_array(memory: object) -> Array:
    """A numpy array over the same bytes. Raises InvalidInputError unless `memory` is an array or supports DLPack."""
    if isinstance(memory, np.ndarray):
        return cast("Array", memory)
    if not hasattr(memory, "__dlpack__"):
        raise InvalidInputError(f"expected a numpy array or DLPack memory, got {type(memory).__name__}")
    try:
        return from_dlpack(memory)
    except (BufferError, RuntimeError, TypeError) as error:
        raise InvalidInputError(f"DLPack memory that numpy can't take: {error}") from None


def bytes_of(array: Array) -> Array:
    """The bytes of an array's elements in row-major order: a view if it is contiguous, else a copy."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


class _Span:
    """Bytes at an address, for numpy's array interface; keeps their owners alive."""

    def __init__(self, owner: Array, address: int, nbytes: int, *others: object) -> None:
        self.owners = owner, *others
        self.__array_interface__ = {
            "version": 3,
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (address, not owner.flags.writeable),
        }


def spanned_bytes(array: Array) -> tuple[Array, int]:
    """The bytes from an array's lowest to its highest, and the offset of its first element."""
    address = int(array.ctypes.data)
    low, high = np.lib.array_utils.byte_bounds(array) if array.size else (address, address)
    return np.asarray(_Span(array, low, high - low)), address - low
