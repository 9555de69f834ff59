"""Background: what an engine has running beside its callers."""

from __future__ import annotations

import weakref

from .batching import BatchingQueue
from .workers import Workers


class Background:
    """The threads of an engine's runs in the background, and its queues."""

    def __init__(self, most: int) -> None:
        """With at most `most` runs at a time, besides those of queues."""
        self.workers = Workers(most, "engine")
        self.queues: weakref.WeakSet[BatchingQueue] = weakref.WeakSet()

    def close(self) -> None:
        """Waits for all that was submitted, and ends the threads."""
        for queue in list(self.queues):
            queue.close()
        self.workers.close()
