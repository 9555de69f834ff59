"""Available memory, and the error for exceeding it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Protocol

from ..dialects.errors import OutOfMemoryError
from .control_groups import memory_limit


def memory_bytes() -> int:
    """Bytes of memory available to this process: the machine's, or its container's."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(machine, memory_limit() or machine)


class Sized(Protocol):
    """An object with a size in bytes."""

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        ...


def check_fits(arena_bytes: int, inputs: Sequence[Sized], outputs: Sequence[Sized], there: int) -> None:
    """Raises OutOfMemoryError for a plan that needs more than the available bytes."""
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
    """Converts MemoryError to OutOfMemoryError, which names the purpose `what`."""
    try:
        yield
    except MemoryError as error:
        raise OutOfMemoryError(f"there is no memory for {what}") from error


def give_back_memory() -> None:
    """Makes the C library return free memory to the system.

    glibc keeps free memory below any block in use. After a compile that was as much as twice the weights, which had
    been read and packed one by one, with small long-lived objects allocated in between.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(ctypes.c_size_t(0))


def in_gigabytes(nbytes: int) -> str:
    """`1.50 GB`"""
    return f"{nbytes / 1e9:.2f} GB"
