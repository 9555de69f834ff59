"""RunHandle: a run in the background, as a future that can stop it."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from typing_extensions import override

from ...dialects.arguments import wrong
from ...dialects.errors import InvalidInputError, RunCancelledError, TimeLimitError
from .cancellation import RunControl


class RunHandle(Future[Any]):
    """A run that was started in the background.

    A `concurrent.futures.Future`, which `asyncio.wrap_future` and `concurrent.futures.wait` take, with two differences:
    `cancel` also stops a run that has started, before its next kernel, and the error of a cancelled run is
    RunCancelledError.
    """

    def __init__(self, control: RunControl, ending: Callable[[], None] | None = None) -> None:
        """`ending` is called once, just before the run is over for those who wait for it."""
        super().__init__()
        self._control, self._ending = control, ending
        self._claim = threading.Lock()  # taken by who ends it, and held for ever
        _KNOWN.add(self)

    def claim(self) -> bool:
        """Whether the caller is to end the run: True for one caller only."""
        return self._claim.acquire(blocking=False)

    def end(self, result: Any = None, error: BaseException | None = None) -> None:
        """Ends the run, by who has claimed that."""
        ending, self._ending = self._ending, None
        if ending is not None:
            ending()
        if error is None:
            self.set_result(result)
        else:
            self.set_exception(error)

    @override
    def __repr__(self) -> str:
        if not super().done():
            return f"{type(self).__name__}({'running' if self.running() else 'waiting'})"
        error = super().exception()
        return f"{type(self).__name__}({'finished' if error is None else type(error).__name__})"

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time limit, at least 0; None without one."""
        return self._control.seconds_left

    @override
    def cancel(self) -> bool:
        """Stops the run: at once if it waits, else before its next kernel. False if it is over already.

        The run then ends with RunCancelledError, unless it ended by itself meanwhile.
        """
        if self.done():
            return False
        self._control.cancel()
        if self.claim():
            self.end(error=RunCancelledError("the run was cancelled before it started"))
        return True

    @override
    def cancelled(self) -> bool:
        """Whether it ended with RunCancelledError."""
        return self.done() and isinstance(super().exception(), RunCancelledError)

    def expire(self) -> None:
        """Ends the run with TimeLimitError if it still waits when its time is up."""
        if self._control.seconds_left == 0 and not super().done() and self.claim():
            limit = f"{self._control.time_limit:g} s"
            self.end(error=TimeLimitError(f"the run was not over within its time limit of {limit}"))

    @override
    def done(self) -> bool:
        """Whether it is over: it has a result, or an error."""
        self.expire()
        return super().done()

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until the run is over, at most `timeout` seconds; returns whether it is."""
        with suppress(TimeoutError):
            self.exception(timeout)
        return super().done()

    @override
    def result(self, timeout: float | None = None) -> Any:
        """What the run returns; waits for it at most `timeout` seconds.

        Raises the run's error, RunCancelledError, TimeLimitError, or TimeoutError if the run is not over by then.
        """
        self._wait_for_limit(timeout)
        return super().result(timeout)

    @override
    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The run's error, None if there is none; waits as `result`."""
        self._wait_for_limit(timeout)
        return super().exception(timeout)

    def _wait_for_limit(self, timeout: float | None) -> None:
        """Waits until the time limit, if that comes first, and ends a run that hasn't started by then.

        Raises InvalidInputError for a timeout that is no number of seconds.
        """
        if timeout is not None and not _is_time(timeout):
            raise wrong("timeout", timeout, "a number of seconds, or None", InvalidInputError)
        left = self._control.seconds_left
        if left is None or super().done() or (timeout is not None and timeout < left):
            return
        with suppress(TimeoutError):
            super().exception(left + 1e-6)
        self.expire()

    def forget(self) -> None:
        """In a child after fork, which has none of its parent's runs: ends with RunCancelledError."""
        if not super().done():
            # The old condition may be held by a thread that is not there; callbacks are of the parent.
            vars(self).update(_condition=threading.Condition(), _done_callbacks=[])
            self._ending = None
            self._claim = threading.Lock()
            self.claim()
            self.end(error=RunCancelledError("the process was forked: its parent goes on with the run"))


def _is_time(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < threading.TIMEOUT_MAX


def perform(handle: RunHandle, function: Callable[[], Any]) -> None:
    """Runs a function, unless the run is over already, and ends it with the function's result or error."""
    if handle.claim():
        complete(handle, function)


def complete(handle: RunHandle, function: Callable[[], Any]) -> None:
    """`perform`, by who has claimed the run."""
    handle.set_running_or_notify_cancel()
    try:
        result = function()
    except BaseException as error:
        handle.end(error=error)
        del handle  # which holds the error, whose traceback holds this frame
    else:
        handle.end(result)


_KNOWN: weakref.WeakSet[RunHandle] = weakref.WeakSet()


def _forget_runs() -> None:
    for handle in list(_KNOWN):
        handle.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_runs)
