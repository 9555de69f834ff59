"""RunGuard: lets one thread at a time use an execution context."""

from __future__ import annotations

from typing_extensions import override

from ..dialects.errors import BusyError, InvalidInputError
from .compute_device import Session
from .forks import ForkSafeLock


class RunGuard(ForkSafeLock):
    """Ensures that a context has one run, or other use, at a time: a concurrent one is refused instead of waiting.

    A child forked meanwhile has no such run.
    """

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session: Session | None = session
        self.is_over = False

    @override
    def open(self) -> None:
        super().open()
        if self.session is not None:
            self.session.watch(None)

    @override
    def __enter__(self) -> None:
        lock = self._lock
        if not lock.acquire(False):
            raise BusyError("the context runs in another thread: create_execution_context makes one for each")
        if self.is_over:
            lock.release()
            raise InvalidInputError("the context is closed")
        self._held = lock

    def leave(self) -> None:
        """As the end of a `with` block."""
        self._held.release()
