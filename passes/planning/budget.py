"""How much a search may do. Steps decide, so that equal calls give equal plans; the clock only guards."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """When a search may end."""

    enough: int  # units: nothing is gained by a plan lower than this
    limit: int | None = None  # units: a plan higher than this is of no use


class Budget:
    """Steps left, and a time limit that ends a search early and is then reported."""

    def __init__(self, steps: int, seconds: float | None = None) -> None:
        self.limit = steps
        self.used = 0
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._late = False

    @property
    def left(self) -> int:
        return max(0, self.limit - self.used)

    def spend(self, steps: int) -> None:
        """Count steps that were taken."""
        self.used += steps

    def seconds_left(self) -> float | None:
        """None where there is no time limit."""
        return None if self._deadline is None else self._deadline - time.monotonic()

    @property
    def exhausted(self) -> str:
        """Why the search must stop: "budget", "time limit", or nothing."""
        seconds = self.seconds_left()
        self._late = self._late or (seconds is not None and seconds <= 0)
        if self._late:
            return "time limit"
        return "" if self.left else "budget"
