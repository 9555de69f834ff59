"""Locks across fork: a child has one thread, and locks held by its parent's other threads would never be released.

A lock of ours that guards only Python objects, which are consistent whenever a process is forked, is reset in the
child. LLVM's own memory is not: a fork waits until no other thread is inside LLVM, or numba's compiler, which calls
LLVM.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from functools import cache
from typing import Any

_LIBRARY_LOCKS = (("numba.core.compiler_lock", "global_compiler_lock"), ("llvmlite.binding.ffi", "lib._lock"))
"""In the order in which they are taken: numba calls LLVM, never the other way round."""


class ForkSafeLock:
    """A lock for `with` that is free in a forked child, whichever thread of the parent held it."""

    def __init__(self) -> None:
        self._lock = self._held = threading.Lock()
        _LOCKS.add(self)

    def open(self) -> None:
        """Replaces it by a free lock; its holder releases the old one."""
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        lock = self._lock
        lock.acquire()
        self._held = lock

    def __exit__(self, *_: object) -> None:
        self._held.release()


_LOCKS: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()
_TAKEN: list[Any] = []
"""Of the libraries' locks, by the thread that is forking."""


def _take() -> None:
    for module, path in _LIBRARY_LOCKS:
        found: Any = sys.modules.get(module)
        for name in path.split(".") if found is not None else ():
            found = getattr(found, name)
        if found is not None:
            found.__enter__()
            _TAKEN.append(found)


def _let_go() -> None:
    while _TAKEN:
        _TAKEN.pop().__exit__(None, None, None)


def _open_in_child() -> None:
    for lock in list(_LOCKS):
        lock.open()


@cache
def wait_for_libraries() -> None:
    """Makes forks of this process wait until no other thread is inside LLVM or numba's compiler."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_take, after_in_parent=_let_go, after_in_child=_let_go)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_in_child)
