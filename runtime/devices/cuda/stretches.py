"""What is enqueued between two decisions of the host: a CUDA graph where it is the same again.

A stretch that comes for the first time is enqueued launch by launch, for the second time captured, and then replayed: a
loop's body is one replay a turn if its addresses don't depend on the turn. Conditional nodes of CUDA graphs, with which
the GPU itself would decide, can't be made through CuPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..program_run import Due, DueLaunch
from .cupy_calls import Stream

GRAPHS = 64  # that are kept: those used last
LONGEST = 1024  # launches and reads of a graph

K = TypeVar("K")
V = TypeVar("V")


def keep_recent(kept: dict[K, V], key: K, value: V, most: int) -> None:
    """Keeps a value as the most recently used of `most`."""
    kept.pop(key, None)
    kept[key] = value
    if len(kept) > most:
        del kept[next(iter(kept))]


class Stretches:
    """Collects what is due, and enqueues it by `enqueue` at main's arguments, or as a graph that was captured so."""

    def __init__(self, stream: Stream, enqueue: Callable[[Due, Sequence[int]], None]) -> None:
        self._stream, self._enqueue = stream, enqueue
        self.plan: object = None
        """The plan whose program is run: each has graphs of its own."""
        self._graphs: dict[tuple[object, ...], Any] = {}  # None for what has been enqueued once
        self._due: list[Due] = []
        self._roots: tuple[int, ...] = ()

    def add(self, due: Due, roots: tuple[int, ...]) -> None:
        """Adds what comes next, for main's arguments at these addresses."""
        self._roots = roots
        self._due.append(due)
        if len(self._due) == LONGEST:
            self.flush()

    def flush(self) -> None:
        """Enqueues what has been added."""
        due, self._due = self._due, []
        if len(due) < 2:
            self._each(due)
            return
        graphs = self._graphs
        key = (self.plan, self._roots, *(each.key if isinstance(each, DueLaunch) else each for each in due))
        if key in graphs:
            graph = graphs[key] or self._stream.captured(lambda: self._each(due))
            self._stream.replay(graph)
            keep_recent(graphs, key, graph, GRAPHS)
            return
        self._each(due)
        if len(graphs) == GRAPHS:
            self._stream.wait()  # for the graph that goes
        keep_recent(graphs, key, None, GRAPHS)

    def _each(self, due: Sequence[Due]) -> None:
        for each in due:
            self._enqueue(each, self._roots)
