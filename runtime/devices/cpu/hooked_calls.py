"""Runs a plan call by call, and shows each call to observers.

Code that is compiled with hook points hands every kernel call over as a stage of its own to the function that it is
given for sharing work among threads. In a run with observers that is a function of this file: the team carries the
stage out, and once it is complete the observers look at it, in the thread that runs main.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from ...asynchronous.cancellation import AT_ONCE, NOT_LIMITED
from ...compute_device import LoadedPlan
from ...device import Array
from ...hooks.hook_points import CallBuffers, CallObserver
from ...native.team import team

# The function that a stage is handed over to: the stage, its arguments, how many shares and seats it has.
_SHARE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class HookedCalls:
    """The calls of a plan with hook points, for one session."""

    def __init__(self, plan: LoadedPlan, pointers: int) -> None:
        self._team, self._threads, self._pointers = team(), plan.threads, pointers
        self._have_done = _SHARE(self._team.share)
        self._points = {plan.code.address(f"call_{stage}"): point for stage, point in plan.hook_points.items()}
        self.share: Any = _SHARE(self._call)
        """What code hands stages over to in a run with observers."""
        self.stop_word = ctypes.c_uint64(NOT_LIMITED)
        """The stop word of runs without a control."""
        self._observers: Sequence[CallObserver] = ()
        self._turns, self._keep = Counter[int](), object()
        self._stop: int | None = None
        self._error: BaseException | None = None

    @contextmanager
    def observing(
        self, observers: Sequence[CallObserver], inputs: Sequence[Array], keep: object, stop: int | None
    ) -> Generator[None]:
        """A context for one run; views of buffers keep `keep` alive, and `stop` is the address of the stop word.

        Raises what an observer has raised.
        """
        self._observers, self._keep, self._stop, self._error = observers, keep, stop, None
        self._turns.clear()
        self._team.grow(self._threads)
        for observer in observers:
            observer.start(inputs)
        try:
            yield
        finally:
            error, self._error, self._observers, self._keep = self._error, None, (), None
            self.stop_word.value = NOT_LIMITED
        if error is not None:
            raise error

    def _call(self, stage: int, arguments: int, shares: int, seats: int) -> None:
        """Carries a stage out, and shows it. Exceptions raised here would be lost, as native code is in between."""
        self._have_done(stage, arguments, shares, seats)
        point = self._points[stage]
        turn = self._turns[stage]
        self._turns[stage] += 1
        if self._error is not None:  # code that does not look at the stop word goes on
            return
        try:
            given = (ctypes.c_int64 * (self._pointers + point.turns)).from_address(arguments)
            call = CallBuffers(point, turn, given[: self._pointers], given[self._pointers :], self._keep)
            for observer in self._observers:
                observer.called(call)
        except BaseException as error:
            self._error = error
            if self._stop is not None:
                ctypes.c_uint64.from_address(self._stop).value = AT_ONCE
