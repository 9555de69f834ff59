"""Storage and Tensor: bytes, and what is seen of them.

A Storage is memory: so many bytes on a device, owned or borrowed. A Tensor is a shape, an element type and strides at
an offset into a Storage; several tensors may share one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..dialects.errors import ConfigError, InvalidInputError
from .device import Array, device_named
from .limits import memory_for

DEFAULT_ALIGNMENT = 256  # bytes: whole cache lines, and what CUDA's allocator gives


def aligned_bytes(nbytes: int, alignment: int = DEFAULT_ALIGNMENT) -> Array:
    """A zeroed uint8 array of `nbytes` whose first byte is at a multiple of `alignment`."""
    raw = np.zeros(nbytes + alignment, np.uint8)
    start = -raw.ctypes.data % alignment
    return raw[start : start + nbytes]


def as_array(memory: object) -> Array:
    """A numpy array over the same bytes; raises InvalidInputError where `memory` is neither one nor DLPack."""
    if isinstance(memory, np.ndarray):
        return cast("Array", memory)
    if not hasattr(memory, "__dlpack__"):
        raise InvalidInputError(f"expected a numpy array or DLPack memory, got {type(memory).__name__}")
    try:
        return cast("Array", np.from_dlpack(cast("Any", memory)))
    except (BufferError, RuntimeError, TypeError) as error:
        raise InvalidInputError(f"DLPack memory that numpy can't take: {error}") from None


@dataclass(eq=False)
class Storage:
    """Bytes on a device. `data` is a contiguous uint8 array; the storage keeps it alive.

    The bytes may be exchanged (`set_external`) or given up (`reset`): tensors on this storage then see the new ones,
    and raise InvalidInputError where these don't hold them.
    """

    data: Array
    device: str = "cpu"
    owned: bool = True

    @classmethod
    def allocate(cls, capacity: int, alignment: int = DEFAULT_ALIGNMENT, device: str = "cpu") -> Storage:
        """New zeroed memory of `capacity` bytes; raises ConfigError for an alignment that is no power of two, and for a
        device that is not there."""
        if alignment <= 0 or alignment & (alignment - 1):
            raise ConfigError(f"alignment {alignment} is not a power of two")
        if capacity < 0:
            raise ConfigError(f"a capacity of {capacity} bytes is impossible")
        with memory_for(f"a storage of {capacity} bytes"):
            return cls(device_named(device).allocate(capacity, alignment), device)

    @classmethod
    def borrow(cls, memory: object) -> Storage:
        """The caller's memory, without a copy: a contiguous numpy array or anything that speaks DLPack."""
        storage = cls(np.empty(0, np.uint8))
        storage.set_external(memory)
        return storage

    def set_external(self, memory: object) -> None:
        """Lie over the caller's memory from now on, as `borrow` does; what was owned is freed once nobody sees it."""
        array = as_array(memory)
        if not array.flags.c_contiguous:
            raise InvalidInputError("memory to borrow must be contiguous")
        self.data, self.owned = _spanned_bytes(array)[0], False

    def reset(self) -> None:
        """Give up the bytes, owned or borrowed: the storage is empty afterwards."""
        self.data, self.owned = np.empty(0, np.uint8), True

    @property
    def empty(self) -> bool:
        """Whether there are no bytes."""
        return not self.capacity

    @property
    def capacity(self) -> int:
        """How many bytes there are."""
        return int(self.data.nbytes)

    @property
    def writable(self) -> bool:
        """Whether the bytes may be changed; borrowed ones may be read-only."""
        return bool(self.data.flags.writeable)

    @property
    def address(self) -> int:
        """Address of the first byte."""
        return int(self.data.ctypes.data)

    @property
    def alignment(self) -> int:
        """The largest power of two, up to 4096, that divides the address."""
        return min(4096, self.address & -self.address)

    def overlaps(self, other: Storage) -> bool:
        """Whether any byte belongs to both."""
        return self.address < other.address + other.capacity and other.address < self.address + self.capacity


@dataclass(eq=False)
class Tensor:
    """A typed, shaped view of a Storage; strides and offset are in bytes, row-major and 0 unless given.

    The storage may be larger than the tensor. Whatever would reach outside of it raises InvalidInputError.
    """

    storage: Storage
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int = 0
    strides: tuple[int, ...] = ()  # one for each dimension, also where the constructor is given none

    def __init__(
        self,
        storage: Storage,
        shape: Sequence[int],
        dtype: npt.DTypeLike,
        offset: int = 0,
        strides: Sequence[int] | None = None,
    ) -> None:
        self._place(storage, offset, shape, np.dtype(dtype), strides)

    def _place(
        self,
        storage: Storage,
        offset: int,
        shape: Sequence[int],
        dtype: np.dtype[Any],
        strides: Sequence[int] | None = None,
    ) -> None:
        """Takes a place that lies within the storage; changes nothing where it doesn't."""
        shape = tuple(shape)
        if any(size < 0 for size in shape):
            raise InvalidInputError(f"{list(shape)} is no shape")
        steps = _row_major(shape, dtype.itemsize) if strides is None else tuple(strides)
        _check_bounds(storage, offset, shape, dtype, steps)
        self.storage, self.offset, self.shape, self.dtype, self.strides = storage, offset, shape, dtype, steps

    @classmethod
    def empty(cls, shape: Sequence[int], dtype: npt.DTypeLike, alignment: int = DEFAULT_ALIGNMENT) -> Tensor:
        """A row-major tensor in zeroed storage of its own."""
        kind: np.dtype[Any] = np.dtype(dtype)
        return cls(Storage.allocate(prod(shape) * kind.itemsize, alignment), tuple(shape), kind)

    @classmethod
    def from_array(cls, array: object) -> Tensor:
        """A tensor over a numpy array's (or DLPack producer's) own memory, whatever its strides."""
        given = as_array(array)
        data, start = _spanned_bytes(given)
        return cls(Storage(data, owned=False), given.shape, given.dtype, start, given.strides)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, without what strides skip."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def capacity(self) -> int:
        """Bytes of storage from the first element on."""
        return self.storage.capacity - self.offset

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie row-major without gaps."""
        return bool(self.numpy().flags.c_contiguous)

    @property
    def device(self) -> str:
        """Where the bytes are."""
        return self.storage.device

    def view(self, shape: Sequence[int]) -> Tensor:
        """The same elements under another shape, sharing storage."""
        if prod(shape) != prod(self.shape):
            raise InvalidInputError(f"{list(self.shape)} can't be viewed as {list(shape)}: other number of elements")
        if not self.is_contiguous:
            raise InvalidInputError(f"{list(self.shape)} can't be viewed as {list(shape)}: its elements have gaps")
        return Tensor(self.storage, shape, self.dtype, self.offset)

    def reshape(self, shape: Sequence[int]) -> Tensor:
        """The same elements under another shape, of which one size may be -1: a view where they lie without gaps,
        otherwise a row-major copy in storage of its own."""
        unknown = [axis for axis, size in enumerate(shape) if size == -1]
        known = prod(size for size in shape if size != -1)
        count = prod(self.shape)
        if len(unknown) > 1 or (unknown and (not known or count % known)):
            raise InvalidInputError(f"{list(self.shape)} can't be reshaped to {list(shape)}")
        whole = [count // known if size == -1 else size for size in shape]
        if self.is_contiguous or prod(whole) != count:
            return self.view(whole)
        copy = Tensor.empty(self.shape, self.dtype)
        copy.numpy()[...] = self.numpy()
        return copy.view(whole)

    def set_shape_metadata(self, shape: Sequence[int]) -> None:
        """Another shape, row-major, at the same place; nothing is allocated, so it must fit the storage."""
        self._place(self.storage, self.offset, shape, self.dtype)

    def set_dtype(self, dtype: npt.DTypeLike) -> None:
        """Another element type for the same shape, row-major, at the same place; no element is converted."""
        self._place(self.storage, self.offset, self.shape, np.dtype(dtype))

    def resize(self, shape: Sequence[int]) -> None:
        """Another shape, row-major; in new zeroed storage of its own where the present one is too small."""
        if any(size < 0 for size in shape) or prod(shape) * self.dtype.itemsize <= self.capacity:
            self.set_shape_metadata(shape)
        else:
            self._place(Storage.allocate(prod(shape) * self.dtype.itemsize), 0, shape, self.dtype)

    def bind_external(self, memory: object, offset: int = 0) -> None:
        """Lie, row-major, in other memory from byte `offset` on: a Storage, a numpy array or DLPack memory."""
        storage = memory if isinstance(memory, Storage) else Storage.borrow(memory)
        self._place(storage, offset, self.shape, self.dtype)

    def to(self, device: str) -> Tensor:
        """The tensor on another device; raises ConfigError for one that is not there."""
        if device != self.storage.device:
            raise ConfigError(f"no device '{device}' here: tensors are on '{self.storage.device}'")
        return self

    def numpy(self) -> Array:
        """A numpy array over the same bytes."""
        _check_bounds(self.storage, self.offset, self.shape, self.dtype, self.strides)
        return np.ndarray(self.shape, self.dtype, self.storage.data.data, self.offset, self.strides)

    def __dlpack__(self, **options: Any) -> Any:
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self.numpy().__dlpack_device__()


def _check_bounds(
    storage: Storage, offset: int, shape: Sequence[int], dtype: np.dtype[Any], strides: Sequence[int]
) -> None:
    if len(strides) != len(shape):
        raise InvalidInputError(f"{len(strides)} strides don't fit the {len(shape)} dimensions of {list(shape)}")
    first = last = offset
    if prod(shape):
        reaches = [(size - 1) * step for size, step in zip(shape, strides, strict=True)]
        first += sum(min(reach, 0) for reach in reaches)
        last += sum(max(reach, 0) for reach in reaches) + dtype.itemsize
    if first < 0 or last > storage.capacity:
        raise InvalidInputError(
            f"a tensor of {dtype}{list(shape)} at byte {offset} reaches from {first} to {last}, "
            f"but the storage has {storage.capacity} bytes"
        )


def _row_major(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """The strides, in bytes, of elements that lie row-major without gaps."""
    strides: list[int] = []
    step = itemsize
    for size in reversed(shape):
        strides.insert(0, step)
        step *= size
    return tuple(strides)


class _Memory:
    """Bytes at an address, as numpy takes them; keeps their owner alive."""

    def __init__(self, owner: Array, address: int, nbytes: int) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (address, not owner.flags.writeable),
        }


def _spanned_bytes(array: Array) -> tuple[Array, int]:
    """The bytes from an array's lowest to its highest, and where among them its first element is."""
    address = int(array.ctypes.data)
    low, high = np.lib.array_utils.byte_bounds(array) if array.size else (address, address)
    return np.asarray(_Memory(array, low, high - low)), address - low
