"""Search budgets, counted in steps so that equal calls give equal plans; a time limit is only a safeguard."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """The heights at which a search may end."""

    enough: int  # units: a plan no higher than this is as good as any
    limit: int | None = None  # units: a plan higher than this is useless


class Budget:
    """Steps left, and a time limit that ends a search early, which the plan then reports."""

    def __init__(self, steps: int, seconds: float | None = None) -> None:
        self.limit = steps
        self.used = 0
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._late = False

    @property
    def left(self) -> int:
        return max(0, self.limit - self.used)

    def spend(self, steps: int) -> None:
        """Subtracts steps taken."""
        self.used += steps

    def seconds_left(self) -> float | None:
        """Seconds until the time limit; None without one."""
        return None if self._deadline is None else self._deadline - time.monotonic()

    @property
    def exhausted(self) -> str:
        """Why the search must stop: "budget", "time limit", or ""."""
        seconds = self.seconds_left()
        self._late = self._late or (seconds is not None and seconds <= 0)
        if self._late:
            return "time limit"
        return "" if self.left else "budget"
