"""Workers: the threads of runs in the background, started when there is work and ended by `close`."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from ...dialects.errors import InvalidInputError
from ..forks import ForkSafeLock


class Workers:
    """A pool of at most `most` threads; a child after fork gets new ones.

    Threads end with `close`, or when the object is freed, or with the interpreter, which waits until all work is done,
    as for any ThreadPoolExecutor.
    """

    def __init__(self, most: int, owner: str) -> None:
        """`owner` is named by the error for work that comes after `close`."""
        self._most, self._owner = most, owner
        self._lock = ForkSafeLock()
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0
        self._is_closed = False
        self._mark = object()
        """Of its threads, which must not hold the object itself: they end when it is freed."""

    def start(self, work: Callable[[], object]) -> None:
        """Has a thread do the work, which raises nothing. Raises InvalidInputError after `close`."""
        with self._lock:
            if self._is_closed:
                raise InvalidInputError(f"the {self._owner} is closed")
            if self._pool is None or self._process != os.getpid():
                self._pool = ThreadPoolExecutor(self._most, "mini_infer", _be_marked, (self._mark,))
                self._process = os.getpid()
            try:
                self._pool.submit(work)
            except RuntimeError as error:  # the interpreter ends
                raise InvalidInputError(f"the {self._owner} starts no more runs: {error}") from None

    def close(self) -> None:
        """Waits until all work is done and the threads have ended. In one of them it only starts no more work."""
        with self._lock:
            self._is_closed = True
            pool, self._pool = self._pool, None
        if pool is not None and self._process == os.getpid():
            pool.shutdown(wait=getattr(_THREAD, "mark", None) is not self._mark)


_THREAD = threading.local()


def _be_marked(mark: object) -> None:
    _THREAD.mark = mark
