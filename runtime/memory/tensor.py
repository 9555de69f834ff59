"""Tensor: a shape, an element type and strides at an offset into a Storage, which several tensors may share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from ...dialects.arguments import check_kind, checked_dtype, checked_sizes
from ...dialects.errors import InvalidInputError
from ..device import DEFAULT_ALIGNMENT, Array, ByteLayout, device_named
from .host_memory import HostMemory, as_array, spanned_bytes
from .storage import Storage
from .tensor_layout import check_bounds, checked_offset, checked_strides, row_major

_DLPACK_HOST, _DLPACK_CUDA = (1, 3), (2, 13)  # kinds of device: plain and pinned memory; a GPU's own and managed


@dataclass(eq=False, repr=False)
class Tensor:
    """A typed, shaped view of a Storage; strides and offset are in bytes, by default row-major and 0.

    The storage may be larger than the tensor. Any access outside of it raises InvalidInputError.
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
        check_kind("storage", storage, Storage, InvalidInputError)
        self._place(storage, offset, shape, checked_dtype("dtype", dtype), strides)

    def _place(
        self,
        storage: Storage,
        offset: int,
        shape: Sequence[int],
        dtype: np.dtype[Any],
        strides: Sequence[int] | None = None,
    ) -> None:
        """Sets the layout if it lies within the storage; otherwise changes nothing and raises."""
        shape = checked_sizes("shape", shape)
        steps = row_major(shape, dtype.itemsize) if strides is None else checked_strides(strides)
        check_bounds(storage.capacity, checked_offset(offset), shape, dtype, steps)
        self.storage, self.offset, self.shape, self.dtype, self.strides = storage, offset, shape, dtype, steps

    @classmethod
    def empty(
        cls,
        shape: Sequence[int],
        dtype: npt.DTypeLike,
        alignment: int = DEFAULT_ALIGNMENT,
        device: str = "cpu",
        *,
        allocator: str | None = None,
    ) -> Tensor:
        """A row-major tensor in zeroed storage of its own. Raises as Storage."""
        shape, kind = checked_sizes("shape", shape), checked_dtype("dtype", dtype)
        return cls(Storage(prod(shape) * kind.itemsize, device, alignment, allocator=allocator), shape, kind)

    @classmethod
    def from_array(cls, array: object) -> Tensor:
        """A tensor over the memory of a numpy array (or DLPack producer), with its strides."""
        given = as_array(array)
        data, start = spanned_bytes(given)
        return cls(Storage.of_memory(HostMemory(data)), given.shape, given.dtype, start, given.strides)

    @classmethod
    def from_dlpack(cls, memory: object) -> Tensor:
        """A tensor over the memory of a DLPack producer (PyTorch, CuPy, JAX), on the CPU or a GPU.

        Raises InvalidInputError for memory of another kind, and ConfigError for a GPU's without CuPy.
        """
        if isinstance(memory, Tensor):
            return memory.pinned()
        kind, number = _dlpack_device(memory)
        if kind in _DLPACK_HOST:
            return cls.from_array(memory)
        if kind not in _DLPACK_CUDA:
            raise InvalidInputError(f"DLPack memory on a device of kind {kind}, which is neither a CPU nor CUDA's")
        device = f"cuda:{number}" if number else "cuda"
        bytes_there, place = device_named(device).place(memory)
        return cls(Storage.of_memory(bytes_there, device), place.shape, place.dtype, place.offset, place.strides)

    @override
    def __repr__(self) -> str:
        gaps = "" if self.is_contiguous else f", strides {list(self.strides)}"
        place = f"byte {self.offset} of {self.storage.capacity} on {self.device}"
        return f"{type(self).__name__}({self.dtype}{list(self.shape)} at {place}{gaps})"

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, without gaps between them."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def capacity(self) -> int:
        """Bytes of storage from the first element on."""
        return self.storage.capacity - self.offset

    @property
    def address(self) -> int:
        """Address of the first element, on the device."""
        return self.storage.address + self.offset

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements are row-major without gaps."""
        dense = row_major(self.shape, self.dtype.itemsize)
        return not prod(self.shape) or all(
            size == 1 or step == wanted for size, step, wanted in zip(self.shape, self.strides, dense, strict=True)
        )

    @property
    def device(self) -> str:
        """The device of the bytes."""
        return self.storage.device

    def view(self, shape: Sequence[int]) -> Tensor:
        """The same elements under another shape, sharing storage."""
        shape = checked_sizes("shape", shape)
        if prod(shape) != prod(self.shape):
            raise InvalidInputError(f"{list(self.shape)} can't be viewed as {list(shape)}: other number of elements")
        if not self.is_contiguous:
            raise InvalidInputError(f"{list(self.shape)} can't be viewed as {list(shape)}: its elements have gaps")
        return Tensor(self.storage, shape, self.dtype, self.offset)

    def reshape(self, shape: Sequence[int]) -> Tensor:
        """The same elements under another shape, of which one size may be -1.

        A view if they are contiguous, otherwise a row-major copy in storage of its own.
        """
        shape = checked_sizes("shape", shape, -1)
        unknown = [axis for axis, size in enumerate(shape) if size == -1]
        known = prod(size for size in shape if size != -1)
        count = prod(self.shape)
        if len(unknown) > 1 or (unknown and (not known or count % known)):
            raise InvalidInputError(f"{list(self.shape)} can't be reshaped to {list(shape)}")
        whole = [count // known if size == -1 else size for size in shape]
        if self.is_contiguous or prod(whole) != count:
            return self.view(whole)
        copy = Tensor(self.storage.like(self.nbytes), self.shape, self.dtype)
        copy.copy_from(self)
        return copy.view(whole)

    def set_shape_metadata(self, shape: Sequence[int]) -> None:
        """Changes the shape, row-major, at the same offset; nothing is allocated, so it must fit the storage."""
        self._place(self.storage, self.offset, shape, self.dtype)

    def set_dtype(self, dtype: npt.DTypeLike) -> None:
        """Changes the element type for the same shape, row-major, at the same offset; no element is converted."""
        self._place(self.storage, self.offset, self.shape, checked_dtype("dtype", dtype))

    def resize(self, shape: Sequence[int]) -> None:
        """Changes the shape, row-major; in new zeroed storage of its own if the present one is too small.

        That has the alignment and the allocator that the present storage was made with.
        """
        shape = checked_sizes("shape", shape)
        if prod(shape) * self.dtype.itemsize <= self.capacity:
            self.set_shape_metadata(shape)
        else:
            self._place(self.storage.like(prod(shape) * self.dtype.itemsize), 0, shape, self.dtype)

    def bind_external(
        self,
        memory: object,
        offset: int = 0,
        capacity: int | None = None,
        *,
        deleter: Callable[[Any], object] | None = None,
    ) -> None:
        """Moves the tensor, row-major, to other memory at byte `offset`: a Storage, a numpy array or DLPack memory.

        Of it, only the first `capacity` bytes are used; `deleter` is called as by `Storage.borrow`. Raises
        InvalidInputError if the tensor does not fit; the tensor then stays where it is.
        """
        if isinstance(memory, Storage) and capacity is None and deleter is None:
            self._place(memory, offset, self.shape, self.dtype)
            return
        whole = Storage.borrow(memory, self.device, capacity=capacity)
        check_bounds(
            whole.capacity, checked_offset(offset), self.shape, self.dtype, row_major(self.shape, self.dtype.itemsize)
        )
        if deleter is not None:  # not before it is certain that the memory is taken
            whole.set_external(memory, capacity, deleter=deleter)
        self._place(whole, offset, self.shape, self.dtype)

    def to(self, device: str) -> Tensor:
        """The tensor on another device, with its strides: a copy, unless it is there already.

        Raises ConfigError for an unknown device.
        """
        check_kind("device", device, str)
        if device.removesuffix(":0") == self.device:
            return self
        low, high = self._check_bounds()
        storage = self.storage.like(high - low, device)
        storage.copy_in(self.storage.copy_out(low, high - low))
        return Tensor(storage, self.shape, self.dtype, self.offset - low, self.strides)

    def copy_from(self, source: object) -> None:
        """Copies the elements of another tensor of this shape, on any device, or of a numpy array or DLPack memory."""
        array = source.to("cpu").numpy() if isinstance(source, Tensor) else as_array(source)
        if (array.shape, array.dtype) != (self.shape, self.dtype):
            raise InvalidInputError(
                f"{array.dtype}{list(array.shape)} can't be copied into {self.dtype}{list(self.shape)}"
            )
        if not self.storage.writable:
            raise InvalidInputError("the tensor is read-only")
        if self.storage.memory.host is not None:
            self.numpy()[...] = array
        elif self.is_contiguous:
            self.storage.copy_in(array, self.offset)
        else:
            low, high = self._check_bounds()
            here = self.to("cpu")
            here.numpy()[...] = array
            self.storage.copy_in(here.storage.data[: high - low], low)

    def pinned(self) -> Tensor:
        """The same elements, unaffected by later changes of this tensor's layout and its storage."""
        storage = Storage.of_memory(self.storage.memory, self.device, owned=self.storage.owned)
        return Tensor(storage, self.shape, self.dtype, self.offset, self.strides)

    def numpy(self) -> Array:
        """A numpy array over the same bytes. Raises InvalidInputError on a device that numpy can't access."""
        self._check_bounds()
        return np.ndarray(self.shape, self.dtype, self.storage.data.data, self.offset, self.strides)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        """The same bytes, for `np.asarray`. Raises TypeError for memory of a GPU, of which `to("cpu")` is a copy."""
        if self.storage.memory.host is None:
            raise TypeError(f'numpy can\'t read memory on {self.device} by itself: to("cpu") copies it')
        array = self.numpy()
        if dtype is not None and np.dtype(dtype) != self.dtype:
            if copy is False:
                raise ValueError(f"elements of {self.dtype} can't be {np.dtype(dtype)} without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def _check_bounds(self) -> tuple[int, int]:
        return check_bounds(self.storage.capacity, self.offset, self.shape, self.dtype, self.strides)

    def __dlpack__(self, **options: Any) -> Any:
        return self._exported().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self._exported().__dlpack_device__()

    def _exported(self) -> Any:
        """An array over the same bytes that supports DLPack. Raises as `numpy`."""
        self._check_bounds()
        array = self.storage.memory.array(ByteLayout(self.shape, self.dtype, self.offset, self.strides))
        return self.numpy() if array is None else array


def lies_on_gpu(memory: object) -> bool:
    """Whether this is DLPack memory of a GPU, owned by another library."""
    if isinstance(memory, Tensor | np.ndarray) or not hasattr(memory, "__dlpack_device__"):
        return False
    return _dlpack_device(memory)[0] in _DLPACK_CUDA


def is_remote(memory: object) -> bool:
    """Whether this is a tensor that numpy can't access, ours or another library's."""
    return memory.storage.memory.host is None if isinstance(memory, Tensor) else lies_on_gpu(memory)


def _dlpack_device(memory: object) -> tuple[int, int]:
    if not hasattr(memory, "__dlpack_device__"):
        raise InvalidInputError(f"expected DLPack memory, got {type(memory).__name__}")
    kind, number = cast("Any", memory).__dlpack_device__()
    return int(kind), int(number)
