"""The interface of devices to memory: allocation, tensors, look-up by name; compute_device.py has what runs plans.

A device is one file with the device, a `ComputeDevice`, as DEVICE, and a line in _HOMES. A device whose memory numpy
can't access has a `Memory` class of its own, and its sessions may be those of remote_session.py, which need only a
launch function.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from typing_extensions import override

from ..dialects.arguments import check_kind
from ..dialects.errors import ConfigError, InvalidInputError
from .limits import memory_bytes

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
DEFAULT_ALIGNMENT = 256  # bytes: whole cache lines, and what CUDA's allocator gives
_HOMES = {
    "cpu": "devices.cpu.cpu_device",
    "cuda": "devices.cuda.cuda_device",
    "cuda-emulated": "devices.emulated.emulated_device",
}
"""The file of each device, which has the device as DEVICE; imported when it is first used."""


class ByteLayout(NamedTuple):
    """The layout of a tensor in bytes: its offset, and strides in bytes."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int
    strides: tuple[int, ...]


class Memory(Protocol):
    """Bytes on a device, freed with this object."""

    host: Array | None
    """The same bytes as a contiguous uint8 array; None where numpy can't see them."""

    @property
    def nbytes(self) -> int:
        """Number of bytes."""
        ...

    @property
    def address(self) -> int:
        """Address of the first byte on the device."""
        ...

    @property
    def writable(self) -> bool:
        """Whether the bytes may be modified."""
        ...

    def zero(self) -> None:
        """Sets every byte to 0."""
        ...

    def write(self, offset: int, data: Array) -> None:
        """Copies a contiguous uint8 array of the host to byte `offset`."""
        ...

    def read(self, offset: int, data: Array) -> None:
        """Fills a contiguous uint8 array of the host from byte `offset`."""
        ...

    def array(self, place: ByteLayout) -> Any:
        """An array over a tensor's bytes that supports DLPack; None if no library has one for the device."""
        return None

    def part(self, offset: int, nbytes: int, owner: object = None) -> Memory:
        """Some of the bytes. They, and arrays over them, keep these and `owner` alive."""
        return MemoryPart(self, offset, nbytes, owner)


class MemoryPart(Memory):
    """Some of the bytes of a device's memory that numpy can't see."""

    host = None

    def __init__(self, whole: Memory, offset: int, nbytes: int, owner: object) -> None:
        assert whole.host is None
        self._whole, self._offset, self._nbytes, self._owner = whole, offset, nbytes, owner

    @property
    @override
    def nbytes(self) -> int:
        return self._nbytes

    @property
    @override
    def address(self) -> int:
        return self._whole.address + self._offset

    @property
    @override
    def writable(self) -> bool:
        return self._whole.writable

    @override
    def zero(self) -> None:
        self._whole.write(self._offset, np.zeros(self._nbytes, np.uint8))

    @override
    def write(self, offset: int, data: Array) -> None:
        self._whole.write(self._offset + offset, data)

    @override
    def read(self, offset: int, data: Array) -> None:
        self._whole.read(self._offset + offset, data)


class Code(Protocol):
    """Loaded code."""

    def address(self, name: str) -> int:
        """The address of a function. Raises CompileError if it, or a function it calls, is unresolved."""
        ...


class Device(Protocol):
    """A device with memory for tensors."""

    kind: str = "cpu"
    """Whose passes make its code: a key of pipelines.BELOW."""
    access_bytes: int = 1
    """What code takes inputs and outputs to be aligned to, beside the size of their elements."""

    def numbered(self, number: int) -> Device:
        """Another device of the kind. Raises ConfigError if there is only one."""
        raise ConfigError(f"there is no {self.kind} device {number}, only 0")

    def open(self) -> None:
        """Raises ConfigError, with a remedy, if nothing can run on the device."""

    def memory_bytes(self) -> int:
        """Bytes available to a plan with its inputs and outputs."""
        return memory_bytes()

    def allocate(self, nbytes: int, alignment: int) -> Memory:
        """Zeroed bytes aligned to `alignment`. Raises MemoryError."""
        ...

    def uninitialised(self, nbytes: int, alignment: int) -> Memory:
        """Bytes as `allocate`, of any contents."""
        return self.allocate(nbytes, alignment)

    def borrow(self, memory: object) -> Memory:
        """The caller's memory on this device, without a copy. Raises InvalidInputError."""
        ...

    def place(self, memory: object) -> tuple[Memory, ByteLayout]:
        """The caller's DLPack memory on this device, without a copy. Raises InvalidInputError."""
        raise InvalidInputError(f"the device takes no {type(memory).__name__}")

    def hold(self, data: Array) -> Memory:
        """Bytes of the host for code to read: a copy, unless code can read them in place."""
        memory = self.allocate(data.nbytes, DEFAULT_ALIGNMENT)
        memory.write(0, data)
        return memory


def device_named(name: str) -> Device:
    """A device by its name, with a number after a colon if there are several, such as "cuda:1".

    Raises ConfigError for an unknown device.
    """
    check_kind("device", name, str)
    kind, colon, number = name.partition(":")
    if kind not in [*_HOMES] or (colon and not (number.isascii() and number.isdecimal())):
        raise ConfigError(f"device '{name}' is not supported; there is {', '.join(map(repr, _HOMES))}")
    device: Device = import_module(f".{_HOMES[kind]}", __package__).DEVICE
    return device.numbered(int(number)) if colon and int(number) else device
