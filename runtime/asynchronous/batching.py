"""BatchingQueue: joins requests that wait at the same time to one run.

No thread waits for requests: the first one has a worker start, which goes on until the queue is empty.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, Self

from typing_extensions import override

from ...dialects.arguments import check_integer, wrong
from ...dialects.errors import InvalidInputError, RunCancelledError, TimeLimitError
from ..device import Array
from ..specs import Stationary
from .batch_axis import BatchAxis
from .batch_statistics import QueueCounters, QueueStatistics
from .cancellation import RunControl
from .run_handle import RunHandle
from .workers import Workers

MOST_WAIT = 3_600_000  # milliseconds


@dataclass(frozen=True)
class BatchedModel:
    """A model whose requests a queue joins."""

    axis: BatchAxis
    given: Callable[[Sequence[Any], Mapping[str, Any]], tuple[Sequence[Any], Any]]
    """The values of a call in the order of the inputs, and the call's form, which its result depends on."""
    run: Callable[[Sequence[Array], RunControl], Sequence[Array]]
    shaped: Callable[[Sequence[Array], Any], Any]
    """The result of a call, from its outputs and its form."""


class _Request:
    """One request: its arrays, and the future of its result."""

    def __init__(self, arrays: Sequence[Array], form: Any, control: RunControl, patience: float) -> None:
        self.arrays, self.form, self.control = arrays, form, control
        self.rows = len(arrays[0])
        self.key = tuple(array.shape[1:] for array in arrays)
        """Equal for requests that can be joined."""
        self.since = time.monotonic()
        left = control.seconds_left
        self.patience = patience if left is None else min(patience, left / 2)
        """Seconds for which it waits for others: well within its time limit."""
        self.batch: _Batch | None = None
        self.ended_as = ""
        """How its run ended: the name of a count; "" if it had none, or was over before."""


class _Batch:
    """Requests in one run, which ends early once all of them are over."""

    def __init__(self, requests: Sequence[tuple[_Request, RunHandle]]) -> None:
        self.requests = requests
        self.control = RunControl()
        deadlines = [request.control.deadline for request, _ in requests]
        if all(deadlines):
            self.control.postpone(max(deadlines))
        for request, _ in requests:
            request.batch = self
        self.leave()

    def leave(self) -> None:
        """Ends the run if nobody waits for it any more."""
        if all(request.control.is_over for request, _ in self.requests):
            self.control.cancel()


class BatchingQueue(Stationary):
    """Runs requests of several threads or coroutines together, joined along axis 0: see `Engine.batched`.

    `queue(x)`, `queue.submit(x)` and `await queue.run_async(x)` take what a call of the engine takes, with 1 to
    `max_batch` rows, and give what it gives, for these rows. A batch that is not full is filled up by repeating a row
    where the engine's batch is fixed. Where other dimensions are open, requests of the same shape are joined. A request
    that doesn't fit the model is refused before it is joined with others, and where a run fails, its requests are run
    one by one, so that each has the error that is its own.
    """

    def __init__(self, model: BatchedModel, max_batch: int, max_wait_ms: float, workers: int) -> None:
        """See `Engine.batched`."""
        check_integer("max_batch", max_batch, 1)
        check_integer("workers", workers, 1)
        if not _is_number(max_wait_ms) or not 0 <= max_wait_ms < MOST_WAIT:
            raise wrong("max_wait_ms", max_wait_ms, f"a number of milliseconds below {MOST_WAIT}")
        self._model, self._most_workers = model, workers
        self.max_batch = min(max_batch, model.axis.most)
        """Rows of a batch, at most: as given, or as many as the engine allows."""
        self.max_wait_ms = float(max_wait_ms)
        self._workers = Workers(workers, "queue")
        self._is_closed = False
        self.forget()
        _KNOWN.add(self)

    def forget(self) -> None:
        """Starts anew: initially, and in a child after fork, where no thread of the parent's is."""
        self._changed = threading.Condition()
        self._waiting: deque[tuple[_Request, RunHandle]] = deque()
        self._rows: Counter[object] = Counter()  # of those that wait, by key
        self._hurried = inf  # when a request that waits for others less than usual runs, until none waits
        self._active = 0  # workers
        self._counters = QueueCounters()

    def __call__(self, *arrays: Any, time_limit: float | None = None, **named: Any) -> Any:
        """The result of a request, after waiting for it. Raises as `submit` and its future."""
        return self.submit(*arrays, time_limit=time_limit, **named).result()

    async def run_async(self, *arrays: Any, time_limit: float | None = None, **named: Any) -> Any:
        """The result of a request, for a coroutine. Cancelling its task cancels the request."""
        from .coroutines import finished

        return await finished(self.submit(*arrays, time_limit=time_limit, **named))

    def submit(self, *arrays: Any, time_limit: float | None = None, **named: Any) -> RunHandle:
        """Adds a request, and returns the future of its result, which can be cancelled.

        The arrays are not to be changed before it is over. The time limit, in seconds, is from now on: after it the
        future raises TimeLimitError, whatever others of its batch do.

        Raises InvalidInputError for names, types and shapes that don't fit the model, and when the queue is closed.
        """
        values, form = self._model.given(arrays, named)
        control = RunControl(time_limit)
        request = _Request(self._model.axis.request(values, self.max_batch), form, control, self.max_wait_ms / 1000)
        handle = RunHandle(control, partial(self._leave, request))
        with self._changed:
            if self._is_closed:
                raise InvalidInputError("the queue is closed")
            if self._active < self._most_workers:
                self._workers.start(self._work)
                self._active += 1
            self._waiting.append((request, handle))
            self._rows[request.key] += request.rows
            self._counters.requests += 1
            if request.patience < self.max_wait_ms / 1000:
                self._hurried = min(self._hurried, request.since + request.patience)
                self._changed.notify_all()
            elif self._rows[request.key] >= self.max_batch:
                self._changed.notify_all()
        return handle

    @property
    def statistics(self) -> QueueStatistics:
        """What the queue has done so far."""
        with self._changed:
            return self._counters.statistics()

    def close(self) -> None:
        """Answers the requests that wait, refuses others, and ends the threads."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._workers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @override
    def __repr__(self) -> str:
        if self._is_closed:
            return f"{type(self).__name__}(closed)"
        return f"{type(self).__name__}(up to {self.max_batch} rows, {len(self._waiting)} requests wait)"

    def _leave(self, request: _Request) -> None:
        """Called just before a request is over, by whoever ends it."""
        counters, ended = self._counters, request.ended_as
        with self._changed:
            counters.note(ended or ("cancelled" if request.control.is_cancelled else "expired"))
            if ended == "answered":
                counters.latencies.append(time.monotonic() - request.since)
        if request.batch is not None:
            request.batch.leave()

    def _work(self) -> None:
        """Runs batches until no request waits."""
        while True:
            batch, expired = self._next()
            for handle in expired:
                handle.expire()
            if batch is None:
                return
            self._run(batch)

    def _next(self) -> tuple[_Batch | None, list[RunHandle]]:
        """The next batch, once it is full or its first request has waited long enough; None if no request waits.

        Also the requests that were over before.
        """
        expired: list[RunHandle] = []
        with self._changed:
            while self._waiting:
                first = self._waiting[0][0]
                left = min(first.since + first.patience, self._hurried) - time.monotonic()
                if left > 0 and self._rows[first.key] < self.max_batch and not self._is_closed:
                    self._changed.wait(left)
                elif taken := self._taken(first.key, expired):
                    return _Batch(taken), expired
            self._hurried = inf
            self._active -= 1
            return None, expired

    def _taken(self, key: object, expired: list[RunHandle]) -> list[tuple[_Request, RunHandle]]:
        """Takes requests that can be joined from the queue, up to a full batch, and those that are over."""
        taken: list[tuple[_Request, RunHandle]] = []
        kept: list[tuple[_Request, RunHandle]] = []
        rows = 0
        while self._waiting and rows < self.max_batch:
            request, handle = pair = self._waiting.popleft()
            if request.control.is_over:
                expired.append(handle)
            elif request.key == key and rows + request.rows <= self.max_batch:
                taken.append(pair)
                rows += request.rows
            else:
                kept.append(pair)
                continue
            self._rows[request.key] -= request.rows
            if not self._rows[request.key]:
                del self._rows[request.key]
        self._waiting.extendleft(reversed(kept))
        return taken

    def _run(self, batch: _Batch) -> None:
        """Runs a batch; each of its requests by itself if the run fails."""
        axis, requests = self._model.axis, batch.requests
        counts = [request.rows for request, _ in requests]
        with self._changed:
            self._counters.batches += 1
            self._counters.rows += sum(counts)
        try:
            outputs = self._model.run(axis.joined([request.arrays for request, _ in requests]), batch.control)
            found = [
                self._model.shaped(each, request.form)
                for each, (request, _) in zip(axis.split(outputs, counts), requests, strict=True)
            ]
        except (RunCancelledError, TimeLimitError):
            for _, handle in requests:  # they are all over, which is why it was
                handle.expire()
        except BaseException as error:
            if len(requests) > 1:
                for pair in requests:
                    self._run(_Batch([pair]))
            else:
                ((request, handle),) = requests
                _end(request, handle, "failed", error=error)
                del handle  # which holds the error, whose traceback holds this frame
        else:
            for (request, handle), result in zip(requests, found, strict=True):
                _end(request, handle, "answered", result)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _end(
    request: _Request, handle: RunHandle, how: str, result: Any = None, error: BaseException | None = None
) -> None:
    """Ends a request after its run, unless it is over already."""
    if handle.claim():
        request.ended_as = how
        handle.end(result, error)


_KNOWN: weakref.WeakSet[BatchingQueue] = weakref.WeakSet()


def _forget_requests() -> None:
    for queue in list(_KNOWN):
        queue.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_requests)
