"""RunControl: ends one run early, by a call from another thread or at a deadline.

Each has a stop word of its own, which generated code reads before every kernel (see insert-cancellation-points): a late
cancellation can't reach the next run of the same context.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from ...dialects.arguments import checked_seconds
from ...dialects.errors import InvalidInputError, RunCancelledError, TimeLimitError

T = TypeVar("T")

NOT_LIMITED, AT_ONCE = 0, 1
"""Values of a stop word; any other one is the time at which to stop, in nanoseconds of `time.monotonic_ns`."""
LONGEST = 10**9  # seconds; any longer limit is none


class Stoppable(Protocol):
    """What runs under a control: a session."""

    def watch(self, control: RunControl | None) -> None:
        """Runs under this control from now on; None: under none."""
        ...


class RunControl:
    """The time limit of one run, in seconds from its creation on, and its cancellation."""

    def __init__(self, time_limit: float | None = None) -> None:
        """Raises InvalidInputError for a limit that is no positive number of seconds."""
        self.deadline = NOT_LIMITED
        """In nanoseconds of `time.monotonic_ns`."""
        self.time_limit = time_limit
        if time_limit is not None:
            seconds = checked_seconds("time_limit", time_limit, InvalidInputError)
            self.deadline = time.monotonic_ns() + int(seconds * 1e9) if seconds < LONGEST else NOT_LIMITED
        self.is_cancelled = False
        self._word = ctypes.c_uint64(self.deadline)

    @classmethod
    def of(cls, time_limit: float | None) -> RunControl | None:
        """A control for a time limit; None without a limit."""
        return None if time_limit is None else cls(time_limit)

    @property
    def address(self) -> int:
        """The address of the stop word."""
        return ctypes.addressof(self._word)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the deadline, at least 0; None without one."""
        return max(0.0, (self.deadline - time.monotonic_ns()) / 1e9) if self.deadline else None

    @property
    def is_over(self) -> bool:
        """Whether the run is to stop."""
        return self.is_cancelled or bool(self.deadline and time.monotonic_ns() >= self.deadline)

    def cancel(self) -> None:
        """Stops the run before its next kernel, or as soon as it starts."""
        self.is_cancelled = True
        self._word.value = AT_ONCE

    def postpone(self, deadline: int) -> None:
        """Sets another deadline, in nanoseconds of `time.monotonic_ns`; 0 for none."""
        self.deadline = deadline
        self._word.value = deadline
        if self.is_cancelled:  # perhaps meanwhile
            self._word.value = AT_ONCE

    def check(self) -> None:
        """Raises RunCancelledError or TimeLimitError if the run is to stop."""
        if self.is_cancelled:
            raise RunCancelledError("the run was cancelled")
        if self.is_over:
            limit = "" if self.time_limit is None else f" of {self.time_limit:g} s"
            raise TimeLimitError(f"the run took longer than its time limit{limit}")

    def run(self, session: Stoppable, function: Callable[[], T], *, is_begun: bool = False) -> T:
        """The result of a function of the session, run under this control.

        Raises RunCancelledError or TimeLimitError if the run is to stop when it ends, or was before it started; what
        is begun is completed in any case, as the device works on it.
        """
        if not is_begun:
            self.check()
        session.watch(self)
        try:
            result = function()
        finally:
            session.watch(None)
        self.check()
        return result
