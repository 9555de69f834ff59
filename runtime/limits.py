"""How much memory there is, and one error for more than that."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Protocol

from ..dialects.errors import OutOfMemoryError
from .control_groups import memory_limit


def memory_bytes() -> int:
    """Bytes of memory that this process may hope for: the machine's, or its container's."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(machine, memory_limit() or machine)


class Sized(Protocol):
    """What takes bytes of memory."""

    @property
    def nbytes(self) -> int:
        """How many."""
        ...


def check_fits(arena_bytes: int, inputs: Sequence[Sized], outputs: Sequence[Sized], there: int) -> None:
    """Raises OutOfMemoryError for a plan that needs more than the bytes that are there."""
    given, made = (sum(each.nbytes for each in many) for many in (inputs, outputs))
    needed = arena_bytes + given + made
    if needed > there:
        raise OutOfMemoryError(
            f"a run needs {in_gigabytes(needed)} (arena {in_gigabytes(arena_bytes)}, "
            f"inputs {in_gigabytes(given)}, outputs {in_gigabytes(made)}), but there are {in_gigabytes(there)} of "
            "memory; max_workspace_size sets another limit for the arena"
        )


@contextmanager
def memory_for(what: str) -> Generator[None]:
    """Turns Python's MemoryError into ours, which says what the memory was for."""
    try:
        yield
    except MemoryError as error:
        raise OutOfMemoryError(f"there is no memory for {what}") from error


def give_back_memory() -> None:
    """Has the C library return what is free to the system.

    glibc keeps free memory below any block that is in use. After a compile that was as much as twice the weights, which
    had been read, and packed one by one, while small objects that stay were allocated between them.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(ctypes.c_size_t(0))


def in_gigabytes(nbytes: int) -> str:
    """`1.50 GB`"""
    return f"{nbytes / 1e9:.2f} GB"
