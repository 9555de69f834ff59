"""Storage and Tensor: bytes, and what is seen of them.

A Storage is memory: so many bytes on a device, owned or borrowed. A Tensor is a shape, an element type and strides at
an offset into a Storage; several tensors may share one, and the arena's intermediates do.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from ..dialects.errors import ConfigError, InvalidInputError

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
DEFAULT_ALIGNMENT = 256  # bytes: whole cache lines, and what CUDA's allocator gives


def aligned_bytes(nbytes: int, alignment: int = DEFAULT_ALIGNMENT) -> Array:
    """A zeroed uint8 array of `nbytes` whose first byte is at a multiple of `alignment`."""
    raw = np.zeros(nbytes + alignment, np.uint8)
    start = -raw.ctypes.data % alignment
    return raw[start : start + nbytes]


@dataclass(frozen=True)
class Storage:
    """Bytes on a device. `data` is a contiguous uint8 array; the storage keeps it alive."""

    data: Array
    device: str = "cpu"
    owned: bool = True

    @classmethod
    def allocate(cls, nbytes: int, alignment: int = DEFAULT_ALIGNMENT) -> Storage:
        """New zeroed memory; raises ConfigError for an alignment that is no power of two."""
        if alignment <= 0 or alignment & (alignment - 1):
            raise ConfigError(f"alignment {alignment} is not a power of two")
        return cls(aligned_bytes(nbytes, alignment))

    @classmethod
    def borrow(cls, memory: object) -> Storage:
        """The caller's memory, without a copy: a writable, contiguous numpy array or anything that speaks DLPack."""
        array = as_array(memory)
        if not array.flags.c_contiguous or not array.flags.writeable:
            raise InvalidInputError("memory to borrow must be contiguous and writable")
        return cls(array.reshape(-1).view(np.uint8), owned=False)

    @property
    def nbytes(self) -> int:
        """Capacity in bytes."""
        return int(self.data.nbytes)

    @property
    def address(self) -> int:
        """Address of the first byte."""
        return int(self.data.ctypes.data)

    @property
    def alignment(self) -> int:
        """The largest power of two, up to 4096, that divides the address."""
        return min(4096, self.address & -self.address) if self.address else 4096

    def overlaps(self, other: Storage) -> bool:
        """Whether any byte belongs to both."""
        return self.address < other.address + other.nbytes and other.address < self.address + self.nbytes


def as_array(memory: object) -> Array:
    """A numpy array over the same bytes; raises InvalidInputError where `memory` is neither one nor DLPack."""
    if isinstance(memory, np.ndarray):
        return cast("Array", memory)
    if hasattr(memory, "__dlpack__"):
        return cast("Array", np.from_dlpack(cast("Any", memory)))
    raise InvalidInputError(f"expected a numpy array or DLPack memory, got {type(memory).__name__}")


@dataclass
class Tensor:
    """A typed, shaped view of a Storage; strides and offset are in bytes, contiguous unless given."""

    storage: Storage
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int = 0
    strides: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        self.dtype = np.dtype(self.dtype)
        self._check_bounds(self.offset, self.shape, self.strides)

    @classmethod
    def empty(cls, shape: Sequence[int], dtype: npt.DTypeLike, alignment: int = DEFAULT_ALIGNMENT) -> Tensor:
        """A contiguous tensor in storage of its own."""
        kind: np.dtype[Any] = np.dtype(dtype)
        return cls(Storage.allocate(prod(shape) * kind.itemsize, alignment), tuple(shape), kind)

    @classmethod
    def from_array(cls, array: object) -> Tensor:
        """A tensor over a numpy array's (or DLPack producer's) own memory."""
        given = as_array(array)
        low, high = np.lib.array_utils.byte_bounds(given)
        start = int(given.ctypes.data) - low
        raw = np.ndarray((high - low,), np.uint8, buffer=_memory(given, low, high - low))
        return cls(Storage(raw, owned=False), given.shape, given.dtype, start, given.strides)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, without what strides skip."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie row-major without gaps."""
        return self.numpy().flags.c_contiguous

    def _check_bounds(self, offset: int, shape: Sequence[int], strides: Sequence[int] | None) -> None:
        steps = strides if strides is not None else _contiguous(shape, self.dtype.itemsize)
        reach = sum((size - 1) * step for size, step in zip(shape, steps, strict=True)) if prod(shape) else 0
        end = offset + reach + self.dtype.itemsize if prod(shape) else offset
        if offset < 0 or end > self.storage.nbytes:
            raise InvalidInputError(
                f"a tensor of shape {list(shape)} at byte {offset} ends at {end}, past its {self.storage.nbytes} bytes"
            )

    def view(self, shape: Sequence[int]) -> Tensor:
        """The same elements under another shape, sharing storage."""
        if prod(shape) != prod(self.shape):
            raise InvalidInputError(
                f"shape {list(shape)} has not the {prod(self.shape)} elements of {list(self.shape)}"
            )
        if not self.is_contiguous:
            raise InvalidInputError("a view with another shape needs a contiguous tensor")
        return Tensor(self.storage, tuple(shape), self.dtype, self.offset)

    def set_shape_metadata(self, shape: Sequence[int]) -> None:
        """Another shape at the same place; nothing is allocated, so it must fit the storage."""
        self._check_bounds(self.offset, shape, None)
        self.shape, self.strides = tuple(shape), None

    def resize(self, shape: Sequence[int]) -> None:
        """Another shape; new storage where the present one is too small. Contents are not kept then."""
        if self.offset + prod(shape) * self.dtype.itemsize > self.storage.nbytes:
            self.storage, self.offset = Storage.allocate(prod(shape) * self.dtype.itemsize), 0
        self.set_shape_metadata(shape)

    def bind_external(self, memory: object, offset: int = 0) -> None:
        """Use the caller's memory from byte `offset` on; raises InvalidInputError where the tensor does not fit."""
        previous = self.storage
        self.storage = Storage.borrow(memory)
        try:
            self._check_bounds(offset, self.shape, None)
        except InvalidInputError:
            self.storage = previous
            raise
        self.offset, self.strides = offset, None

    def numpy(self) -> Array:
        """A numpy array over the same bytes."""
        return np.ndarray(self.shape, self.dtype, self.storage.data.data, self.offset, self.strides)

    def __dlpack__(self, **options: Any) -> Any:
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self.numpy().__dlpack_device__()

    def to(self, device: str) -> Tensor:
        """The tensor on another device; raises ConfigError for one that is not there."""
        if device != self.storage.device:
            raise ConfigError(f"no device '{device}' here: tensors are on '{self.storage.device}'")
        return self


def _contiguous(shape: Sequence[int], itemsize: int) -> list[int]:
    strides: list[int] = []
    step = itemsize
    for size in reversed(shape):
        strides.insert(0, step)
        step *= size
    return strides


def _memory(owner: Array, address: int, nbytes: int) -> Any:
    """A writable buffer over raw bytes that keeps `owner` alive."""
    buffer: Any = (ctypes.c_uint8 * nbytes).from_address(address)
    buffer._owner = owner
    return buffer
