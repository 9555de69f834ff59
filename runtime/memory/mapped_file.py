"""Files mapped into memory, and how much of them is resident."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from ...dialects.page_blocks import HUGE_BLOCK, block_for
from ..device import Array
from ..forks import ForkSafeLock
from .host_memory import HostMemory

Advise: TypeAlias = Callable[[int, int, int], None]
"""Gives advice to the system about a range: the advice, its first byte, and its length in bytes."""
_FIXED, _NOHUGEPAGE = 0x10, 15  # MAP_FIXED, of Linux and the BSDs; Linux's MADV_NOHUGEPAGE


@dataclass(frozen=True)
class MappedPart:
    """Bytes of a file at their place in memory; both places are multiples of a page."""

    descriptor: int
    start: int
    """Of the file."""
    nbytes: int
    place: int = 0


def mapped_parts(parts: Sequence[MappedPart], nbytes: int) -> tuple[Array, Advise]:
    """Parts of files, read-only in one array of `nbytes` bytes at a multiple of HUGE_BLOCK, and how to advise about it.

    Later parts lie over earlier ones; what no part covers is 0. Advice that the system refuses is ignored. Raises
    OSError.
    """
    # The addresses are reserved first: Python's mmap takes none, and unmaps all of this once nobody uses it.
    space = mmap.mmap(-1, max(nbytes, 1) + HUGE_BLOCK, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ)
    whole = np.frombuffer(space, np.uint8)
    first = -int(whole.ctypes.data) % HUGE_BLOCK
    for part in parts:
        place, kind = int(whole.ctypes.data) + first + part.place, mmap.MAP_SHARED | _FIXED
        if part.nbytes and place != _library().mmap(
            place, part.nbytes, mmap.PROT_READ, kind, part.descriptor, part.start
        ):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def advise(advice: int, start: int, length: int) -> None:
        begin = start // mmap.PAGESIZE * mmap.PAGESIZE
        with suppress(OSError, ValueError):
            space.madvise(advice, first + begin, start + length - begin)

    return whole[first : first + nbytes], advise


@cache
def _library() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    number, size = ctypes.c_int, ctypes.c_size_t
    library.mmap.argtypes = [ctypes.c_void_p, size, number, number, number, ctypes.c_longlong]
    library.madvise.argtypes = [ctypes.c_void_p, size, number]
    return library


class PagedWeights(HostMemory):
    """Weights mapped from a file, which code maps and releases part by part while it runs.

    Runs of all contexts take turns, as each releases what it doesn't need. Within a `budget` (bytes) of small blocks no
    page is a huge one, which would be more than what is asked for; Linux heeds that from 6.12 on.
    """

    def __init__(self, data: Array, budget: int) -> None:
        super().__init__(data)
        if block_for(budget) < HUGE_BLOCK:
            _library().madvise(self.address, data.nbytes, _NOHUGEPAGE)
        self.turn = ForkSafeLock()


def resident_bytes(data: Array) -> int:
    """The bytes of whole pages of an array that this process has mapped (Linux's /proc/self/pagemap).

    Pages of a file that only the system's page cache holds don't count. Raises OSError where it isn't told.
    """
    first = int(data.ctypes.data) // mmap.PAGESIZE
    pages = -(-(int(data.ctypes.data) + data.nbytes) // mmap.PAGESIZE) - first
    with open("/proc/self/pagemap", "rb", buffering=0) as file:
        file.seek(8 * first)
        entries = np.frombuffer(_read(file.fileno(), 8 * pages), np.uint64)
    return int(np.count_nonzero(entries >> np.uint64(63))) * mmap.PAGESIZE


def _read(descriptor: int, nbytes: int) -> bytes:
    parts: list[bytes] = []
    while nbytes and (part := os.read(descriptor, nbytes)):
        parts.append(part)
        nbytes -= len(part)
    return b"".join(parts)
