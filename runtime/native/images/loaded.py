"""Loads an image into executable memory.

Its pages are filled, then made executable and read-only except for the writable part, so that no page is ever both
writable and executable. On aarch64, Linux synchronises the instruction cache when a page becomes executable.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from dataclasses import dataclass
from functools import cache
from typing import NoReturn

from ....dialects.errors import CompileError
from .image import PAGE, Image

_MATH_LIBRARIES = ("libm.so.6", "libm.so")


@dataclass(frozen=True)
class UnloadedImage:
    """An image for a CPU that need not be the host."""

    image: Image

    def address(self, name: str) -> NoReturn:
        """Raises CompileError: the image is not loaded."""
        raise CompileError(f"function '{name}' is not loaded: the code is to be kept only")


class LoadedImage:
    """A loaded image; its imports are resolved in the process and the math library.

    Addresses are valid as long as this object lives. Raises CompileError for an unresolved import.
    """

    def __init__(self, image: Image) -> None:
        self.image = image
        size = -(-len(image.data) // PAGE) * PAGE
        self._memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE)
        self._memory[: len(image.data)] = image.data
        self._held = ctypes.c_char.from_buffer(self._memory)
        self._start = ctypes.addressof(self._held)
        self._exports = dict(image.links.exports)
        for name, at in image.links.imports:
            self._memory[at : at + 8] = _function(name).to_bytes(8, "little")
        for at in image.links.moved:
            word = int.from_bytes(self._memory[at : at + 8], "little")
            self._memory[at : at + 8] = ((word + self._start) % 2**64).to_bytes(8, "little")
        self._protect(image.links.writable)

    def _protect(self, nbytes: int) -> None:
        process = ctypes.CDLL(None, use_errno=True)
        address, flags = ctypes.c_void_p(self._start), mmap.PROT_READ | mmap.PROT_EXEC
        if process.mprotect(address, ctypes.c_size_t(nbytes), flags):
            raise CompileError(f"code can't be made executable: {os.strerror(ctypes.get_errno())}")

    def functions(self) -> list[tuple[int, int, str]]:
        """The address, the size in bytes and the name of each function, in order."""
        return [(self._start + at, size, name) for name, at, size in self.image.links.functions]

    def address(self, name: str) -> int:
        """The address of an exported function or variable. Raises CompileError for an unknown name."""
        if name not in self._exports:
            raise CompileError(f"function '{name}' can't be linked: the code has none of that name")
        return self._start + self._exports[name]


@cache
def _libraries() -> list[ctypes.CDLL]:
    found = [ctypes.CDLL(None)]
    for name in _MATH_LIBRARIES:
        try:
            found.append(ctypes.CDLL(name))
        except OSError:
            continue
        break
    return found


@cache
def _function(name: str) -> int:
    """The address of a function of the C library."""
    for library in _libraries():
        if (found := getattr(library, name, None)) is not None:
            return int(ctypes.cast(found, ctypes.c_void_p).value or 0)
    raise CompileError(f"function '{name}' can't be linked: this machine has none of that name")
