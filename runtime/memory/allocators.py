"""Allocators of storages by name, and calls that give memory back when its last user is gone.

Besides each device's own there are "hugepages" and "reserved", of the CPU; `register_allocator` adds others.
"""

from __future__ import annotations

import mmap
import sys
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects.arguments import check_function, check_kind, nearest
from ...dialects.errors import ConfigError, InvalidInputError, MiniInferError
from ..device import Array, Memory, device_named
from ..limits import memory_for

HUGE_PAGE = 1 << 21  # bytes, on x86-64 and aarch64 with pages of 4 KiB
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)  # which Python has since 3.13


class Released:
    """Calls `deleter` with some memory when this object is gone, but not at the end of Python, when it may be in use.

    The memory itself lives until then.
    """

    def __init__(self, memory: object, deleter: Callable[[Any], object]) -> None:
        weakref.finalize(self, deleter, memory).atexit = False


@dataclass(frozen=True)
class Allocator:
    """Functions that make and free memory of a kind of device."""

    allocate: Callable[[int, int], object]
    deallocate: Callable[[Any], object] | None = None
    device: str = "cpu"
    zeroed: bool = False
    """Whether the memory is zeroed already."""


def register_allocator(
    name: str,
    allocate: Callable[[int, int], object],
    deallocate: Callable[[Any], object] | None = None,
    *,
    device: str = "cpu",
) -> None:
    """Makes an allocator known by name: to `Storage`, `Tensor.empty` and contexts, as their `allocator`.

    `allocate(nbytes, alignment)` returns writable memory of at least `nbytes` bytes, the first of them at a multiple of
    `alignment`: a contiguous numpy array, or DLPack memory on the device. It need not be zeroed. `deallocate` is called
    with what it returned, once, when the last user of the bytes is gone, in whichever thread that is; without it,
    dropping the object frees it. What is still in use when Python ends is not given back.

    A name that is registered already is given to the new allocator; memory made by the old one goes back to that. A
    storage with memory that is too small, misaligned, read-only or none at all raises ConfigError, as does one whose
    `allocate` raises; for a MemoryError it is OutOfMemoryError. Raises ConfigError for an unknown device.
    """
    check_kind("name", name, str)
    check_function("allocate", allocate)
    if deallocate is not None:
        check_function("deallocate", deallocate)
    device_named(device)
    _ALLOCATORS[name] = Allocator(allocate, deallocate, device.partition(":")[0])


def allocated(nbytes: int, alignment: int, device: str, name: str | None = None) -> Memory:
    """Zeroed memory by the named allocator, by default the device's own. Raises ConfigError and OutOfMemoryError."""
    with memory_for(f"a storage of {nbytes} bytes"):
        if name is None:
            return device_named(device).allocate(nbytes, alignment)
        return _allocated_by(name, nbytes, alignment, device)


def _allocated_by(name: str, nbytes: int, alignment: int, device: str) -> Memory:
    check_kind("allocator", name, str)
    allocator = _ALLOCATORS.get(name)
    if allocator is None:
        known = ", ".join(map(repr, _ALLOCATORS))
        raise ConfigError(f"there is no allocator '{name}'{nearest(name, _ALLOCATORS)}; there are {known}")
    if device.partition(":")[0] != allocator.device:
        raise ConfigError(f"allocator '{name}' is for the device '{allocator.device}', not for '{device}'")
    try:
        given = allocator.allocate(nbytes, alignment)
    except (MemoryError, MiniInferError):
        raise
    except Exception as error:  # the user's function may raise anything
        raise ConfigError(f"allocator '{name}' raised {type(error).__name__}: {error}") from error
    owner = None if allocator.deallocate is None else Released(given, allocator.deallocate)
    try:
        whole = device_named(device).borrow(given)
    except InvalidInputError as error:
        raise ConfigError(f"allocator '{name}' returned no memory for '{device}': {error}") from None
    if whole.nbytes < nbytes:
        raise ConfigError(f"allocator '{name}' returned {whole.nbytes} bytes instead of {nbytes}")
    if nbytes and whole.address % alignment:
        raise ConfigError(f"allocator '{name}' returned memory at {whole.address:#x}, not aligned to {alignment} bytes")
    if not whole.writable:
        raise ConfigError(f"allocator '{name}' returned read-only memory")
    memory = whole.part(0, nbytes, owner)
    if not allocator.zeroed:
        memory.zero()
    return memory


def huge_pages(nbytes: int, alignment: int) -> Array:
    """Memory that the kernel is asked to back by huge pages, for which fewer addresses have to be translated.

    Raises ConfigError on systems without such pages. Where they are switched off the pages are of the usual size.
    """
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        raise ConfigError("allocator 'hugepages' needs Linux's huge pages, which this system does not have")
    step = max(HUGE_PAGE, alignment)
    pages = _pages(-(-max(nbytes, 1) // HUGE_PAGE) * HUGE_PAGE + step)
    try:
        pages.madvise(mmap.MADV_HUGEPAGE)
    except OSError as error:
        raise ConfigError(f"allocator 'hugepages': this system has none: {error.strerror}") from None
    return _aligned(pages, nbytes, step)


def reserved_pages(nbytes: int, alignment: int, run: int = 0) -> Array:
    """Reserved addresses: a page, of the usual size, takes memory once something is written to it.

    Until then it reads as zeros. Much more may be reserved than the machine has. If each `run` bytes are written from
    their beginning on, all but the first bytes of a run may have huge pages: none is larger than what lies before it.
    """
    pages = _pages(nbytes + alignment, _NORESERVE)
    whole = _aligned(pages, nbytes, alignment)
    if not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return whole
    first = int(np.frombuffer(pages, np.uint8).ctypes.data)
    with suppress(OSError):  # of a system without huge pages
        pages.madvise(mmap.MADV_NOHUGEPAGE)
        for start in range(whole.ctypes.data, whole.ctypes.data + nbytes, run) if run > 2 * HUGE_PAGE else ():
            low = -(-(start + HUGE_PAGE) // HUGE_PAGE) * HUGE_PAGE
            high = (start + run) // HUGE_PAGE * HUGE_PAGE
            if low < high:
                pages.madvise(mmap.MADV_HUGEPAGE, low - first, high - low)
    return whole


def _pages(nbytes: int, flags: int = 0) -> mmap.mmap:
    """Pages of zeros. Raises MemoryError."""
    try:
        return mmap.mmap(-1, nbytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | flags)
    except (OSError, OverflowError, ValueError) as error:
        raise MemoryError from error


def _aligned(pages: mmap.mmap, nbytes: int, alignment: int) -> Array:
    """The first `nbytes` bytes that are aligned."""
    whole = np.frombuffer(pages, np.uint8)
    start = -whole.ctypes.data % alignment
    return whole[start : start + nbytes]


_ALLOCATORS = {
    "hugepages": Allocator(huge_pages),
    "reserved": Allocator(reserved_pages, zeroed=True),
}
"""By name; `register_allocator` adds to it."""
