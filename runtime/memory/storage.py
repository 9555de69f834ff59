"""Storage: a range of bytes on a device, owned or borrowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from typing_extensions import override

from ...dialects.arguments import check_function, check_integer, check_kind, is_integer, shown, wrong
from ...dialects.errors import ConfigError, InvalidInputError
from ..device import DEFAULT_ALIGNMENT, Array, Memory, device_named
from .allocators import Released, allocated
from .host_memory import bytes_of


class Storage:
    """Bytes on a device; the storage keeps its `memory` alive.

    `Storage(capacity)` allocates zeroed bytes, of which there are a multiple of `alignment`: `capacity` tells how many,
    `size` how many were asked for. `borrow` takes the caller's memory instead.

    The bytes may be replaced (`set_external`) or released (`reset`): tensors on this storage then see the new ones, and
    raise InvalidInputError if these are too small.
    """

    memory: Memory
    device: str
    owned: bool
    """Whether the bytes were allocated for this storage, and not borrowed."""
    size: int
    """Number of bytes that were asked for; borrowed memory has no others."""

    def __init__(
        self,
        capacity: int,
        device: str = "cpu",
        alignment: int = DEFAULT_ALIGNMENT,
        *,
        allocator: str | None = None,
    ) -> None:
        """New zeroed memory of `capacity` bytes, rounded up to a multiple of `alignment`.

        `allocator` names one of `register_allocator`; None means the device's own. Raises ConfigError for an alignment
        that is no power of two, an unknown device or allocator, and an allocator that fails; OutOfMemoryError.
        """
        check_kind("device", device, str)
        if not is_integer(alignment) or alignment <= 0 or alignment & (alignment - 1):
            raise ConfigError(f"alignment {shown(alignment)} is not a power of two")
        check_integer("capacity", capacity, 0)
        self.size, self.device, self.owned = int(capacity), device.removesuffix(":0"), True
        self._alignment, self._allocator = int(alignment), allocator
        self.memory = allocated(-(-self.size // alignment) * self._alignment, self._alignment, self.device, allocator)

    @classmethod
    def allocate(
        cls, capacity: int, alignment: int = DEFAULT_ALIGNMENT, device: str = "cpu", *, allocator: str | None = None
    ) -> Storage:
        """`Storage(capacity, device, alignment)`."""
        return cls(capacity, device, alignment, allocator=allocator)

    @classmethod
    def borrow(
        cls,
        memory: object,
        device: str = "cpu",
        *,
        capacity: int | None = None,
        offset: int = 0,
        deleter: Callable[[Any], object] | None = None,
    ) -> Storage:
        """The caller's memory, without a copy: a contiguous numpy array, DLPack memory on the device, or a Storage.

        Of it, `capacity` bytes from byte `offset` on, or all from there. `deleter` is called with `memory`, once, when
        the last user of the bytes is gone: storages, tensors, contexts, and arrays over them. Bytes that are still in
        use when Python ends are not given to it.

        Raises InvalidInputError for other memory, and for bytes that are not all in it; `deleter` is not called then.
        """
        check_kind("device", device, str)
        device = device.removesuffix(":0")
        return cls.of_memory(_external(memory, device, capacity, offset, deleter), device)

    @classmethod
    def of_memory(cls, memory: Memory, device: str = "cpu", *, owned: bool = False) -> Storage:
        """A storage over memory as a device knows it, such as `storage.memory`."""
        check_kind("device", device, str)
        if not hasattr(memory, "host"):
            raise wrong("memory", memory, "a device's: see borrow", InvalidInputError)
        made = cls.__new__(cls)
        made.memory, made.device, made.owned, made.size = memory, device.removesuffix(":0"), owned, memory.nbytes
        made._alignment, made._allocator = DEFAULT_ALIGNMENT, None
        return made

    def like(self, capacity: int, device: str | None = None) -> Storage:
        """New zeroed memory with the same alignment, by the same allocator if it is on the same device."""
        if device is None:
            return Storage(capacity, self.device, self._alignment, allocator=self._allocator)
        return Storage(capacity, device, self._alignment)

    @override
    def __repr__(self) -> str:
        whose = "owned" if self.owned else "borrowed"
        return f"{type(self).__name__}({self.capacity} bytes on {self.device}, {whose})"

    def set_external(
        self,
        memory: object,
        capacity: int | None = None,
        offset: int = 0,
        *,
        deleter: Callable[[Any], object] | None = None,
    ) -> None:
        """Replaces the bytes by the caller's memory, as `borrow` does; owned bytes are freed when unused."""
        self.memory = _external(memory, self.device, capacity, offset, deleter)
        self.owned, self.size = False, self.memory.nbytes

    def reset(self) -> None:
        """Releases the bytes, owned or borrowed: the storage is empty afterwards."""
        self.memory, self.owned, self.size = device_named(self.device).allocate(0, 1), True, 0

    @property
    def data(self) -> Array:
        """The bytes as a uint8 array. Raises InvalidInputError on a device that numpy can't access."""
        if self.memory.host is None:
            raise InvalidInputError(f"the memory is on '{self.device}', where numpy can't see it; Tensor.to copies")
        return self.memory.host

    def zero(self) -> None:
        """Sets every byte to 0. Raises InvalidInputError if they are read-only."""
        self._check_writable()
        self.memory.zero()

    def copy_in(self, array: Array, offset: int = 0) -> None:
        """Copies an array's elements, row-major, to byte `offset`.

        Raises InvalidInputError if they don't fit, or the storage is read-only.
        """
        check_kind("array", array, np.ndarray, InvalidInputError)
        self._check_inside(offset, array.nbytes)
        self._check_writable()
        self.memory.write(offset, bytes_of(array))

    def copy_out(self, offset: int = 0, nbytes: int | None = None) -> Array:
        """A copy of `nbytes` bytes from byte `offset` on, or of all from there. Raises as `copy_in`."""
        check_integer("offset", offset, 0, InvalidInputError)
        count = self.capacity - offset if nbytes is None else nbytes
        self._check_inside(offset, count)
        found = np.empty(count, np.uint8)
        self.memory.read(offset, found)
        return found

    def _check_writable(self) -> None:
        if not self.writable:
            raise InvalidInputError("the storage is read-only")

    def _check_inside(self, offset: int, nbytes: int) -> None:
        check_integer("offset", offset, 0, InvalidInputError)
        check_integer("nbytes", nbytes, 0, InvalidInputError)
        if offset + nbytes > self.capacity:
            raise InvalidInputError(f"{nbytes} bytes at byte {offset}: the storage has {self.capacity} bytes")

    @property
    def empty(self) -> bool:
        """Whether there are no bytes."""
        return not self.capacity

    @property
    def capacity(self) -> int:
        """Number of bytes; at least `size`."""
        return self.memory.nbytes

    @property
    def writable(self) -> bool:
        """Whether the bytes may be modified; borrowed ones may be read-only."""
        return self.memory.writable

    @property
    def address(self) -> int:
        """Address of the first byte, on its device."""
        return self.memory.address

    @property
    def alignment(self) -> int:
        """What was asked for, in bytes; of borrowed memory the largest power of two, up to 4096, of its address."""
        return self._alignment if self.owned else min(4096, self.address & -self.address)

    def overlaps(self, other: Storage) -> bool:
        """Whether the storages share a byte."""
        check_kind("the other memory", other, Storage, InvalidInputError)
        start = max(self.address, other.address)
        end = min(self.address + self.capacity, other.address + other.capacity)
        return self.device == other.device and start < end


def _external(
    memory: object, device: str, capacity: int | None, offset: int, deleter: Callable[[Any], object] | None
) -> Memory:
    """`capacity` bytes, or all there are, from byte `offset` of the caller's memory on. Raises InvalidInputError."""
    if deleter is not None:
        check_function("deleter", deleter)
    if isinstance(memory, Storage):
        if memory.device != device:
            raise InvalidInputError(f"the memory is on '{memory.device}' instead of '{device}'")
        whole = memory.memory
    else:
        whole = device_named(device).borrow(memory)
    check_integer("offset", offset, 0, InvalidInputError)
    count = max(0, whole.nbytes - offset) if capacity is None else capacity
    check_integer("capacity", count, 0, InvalidInputError)
    if offset + count > whole.nbytes:
        raise InvalidInputError(f"{count} bytes at byte {offset}: the memory has {whole.nbytes} bytes")
    if deleter is None and count == whole.nbytes:
        return whole
    return whole.part(int(offset), int(count), None if deleter is None else Released(memory, deleter))
