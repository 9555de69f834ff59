"""Times of the launches of a profiled run, by events on its stream."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ....lowering.call_times import TURNS
from ...device import Array
from .cupy_calls import Stream

_PAUSE = -1  # the host decided something before this event


class LaunchTimes:
    """Of each launch its total time in nanoseconds, and how often it ran; and of the first TURNS runs their order."""

    def __init__(self, stream: Stream, launches: int) -> None:
        self._stream = stream
        self.totals = np.zeros((launches, 2))
        self._turns: list[tuple[int, float, float]] = []
        self._elapsed = 0.0
        self._marks: list[tuple[int, Any]] = []

    def start(self) -> None:
        """Forgets the last run; another one begins."""
        self.totals[:], self._elapsed = 0, 0.0
        self._turns.clear()
        self._marks = [(_PAUSE, self._stream.mark())]

    def note(self, launch: int) -> None:
        """Notes that a launch has been enqueued."""
        self._marks.append((launch, self._stream.mark()))

    def pause(self) -> None:
        """Adds up what has been noted, which the stream has done."""
        for (_, start), (launch, end) in pairwise(self._marks):
            taken = self._stream.milliseconds(start, end) * 1e6
            if len(self._turns) < TURNS:
                self._turns.append((launch, self._elapsed, taken))
            self.totals[launch] += taken, 1
            self._elapsed += taken
        self._marks = [(_PAUSE, self._stream.mark())]

    @property
    def turns(self) -> Array:
        """Which launch, when it began, and its nanoseconds, without the host's pauses."""
        return np.array(self._turns, np.int64).reshape(-1, 3)
