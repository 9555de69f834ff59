"""Traces for Perfetto (ui.perfetto.dev) and chrome://tracing: runs of kernels, and the steps of a compile.

The format is Chrome's "Trace Event Format" in JSON: complete events ("ph": "X") with microseconds, in tracks of threads
("tid") of processes ("pid"), which metadata events ("ph": "M") name.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...dialects.atomic_file import atomic_file
from .kernel_records import KernelTurn

INFERENCE, COMPILE = 1, 2
"""Numbers of processes: Perfetto shows the former first."""


class Step(NamedTuple):
    """A step of a compile: its name, its begin in seconds since the first, what it took, and what it is part of."""

    name: str
    begin: float
    seconds: float
    phase: str = ""


class Trace:
    """Events of one trace."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def add_run(self, turns: Sequence[KernelTurn], facts: Sequence[Mapping[str, Any]] = ()) -> None:
        """An event for each kernel call of a run, with its node; `facts` are further ones of each call of the plan."""
        self._name(INFERENCE, "inference", "kernels")
        made = Counter[int]()
        for each in turns:
            about: dict[str, Any] = {"node": each.node, "call": each.call, "turn": made[each.call]}
            about |= facts[each.call] if facts else {}
            made[each.call] += 1
            place = {"pid": INFERENCE, "tid": 1}
            self.events.append(complete_event("kernel", each.kernel, each.begin, each.nanoseconds, about, **place))

    def add_compile(self, steps: Iterable[Step]) -> None:
        """An event for each step of a compile."""
        self._name(COMPILE, "compile", "passes")
        for each in steps:
            about = {"phase": each.phase} if each.phase else {}
            place = {"pid": COMPILE, "tid": 1}
            self.events.append(complete_event("pass", each.name, each.begin * 1e9, each.seconds * 1e9, about, **place))

    def write(self, path: Path) -> None:
        """Writes the file. Raises MiniInferError if it can't be written."""
        with atomic_file(path) as stream:
            stream.write(json.dumps({"traceEvents": self.events, "displayTimeUnit": "ns"}, indent=1).encode())

    def _name(self, process: int, name: str, track: str) -> None:
        for what, text in (("process_name", name), ("thread_name", track)):
            self.events.append({"ph": "M", "name": what, "pid": process, "tid": 1, "args": {"name": text}})


def complete_event(
    category: str, name: str, begin_ns: float, nanoseconds: float, about: Mapping[str, Any], *, pid: int, tid: int
) -> dict[str, Any]:
    """What began then and took that long."""
    return {
        "cat": category,
        "pid": pid,
        "tid": tid,
        "dur": nanoseconds / 1000,
        "ts": begin_ns / 1000,
        "ph": "X",
        "name": name,
        "args": dict(about),
    }
