"""QueueStatistics: counts and latencies of a queue's requests."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

LATENCIES = 10_000
"""Requests whose latency is remembered: the last ones."""


@dataclass(frozen=True)
class QueueStatistics:
    """What a queue has done so far. Latencies are from `submit` to the answer, of the last 10,000 that had a result."""

    requests: int
    """Requests that were accepted."""
    answered: int
    """Those of them with a result."""
    failed: int
    """Those with an error of their run."""
    cancelled: int
    expired: int
    """Those that were over their time limit."""
    batches: int
    """Runs of the model."""
    mean_batch: float
    """Rows of a run, on average, without those that only fill it up."""
    p50_ms: float
    p99_ms: float


class QueueCounters:
    """The counts of a queue, changed under its lock."""

    def __init__(self) -> None:
        self.requests = self.answered = self.failed = self.cancelled = self.expired = 0
        self.batches = self.rows = 0
        self.latencies: deque[float] = deque(maxlen=LATENCIES)
        """In seconds."""

    def note(self, ended: str) -> None:
        """Counts a request that is over: "answered", "failed", "cancelled" or "expired"."""
        setattr(self, ended, getattr(self, ended) + 1)

    def statistics(self) -> QueueStatistics:
        """The counts so far."""
        known = np.array(self.latencies or [0.0]) * 1e3
        half, most = np.percentile(known, [50, 99])
        return QueueStatistics(
            self.requests,
            self.answered,
            self.failed,
            self.cancelled,
            self.expired,
            self.batches,
            self.rows / max(self.batches, 1),
            float(half),
            float(most),
        )
