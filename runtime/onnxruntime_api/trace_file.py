"""The file that a session with profiling writes: a trace for chrome://tracing or Perfetto, as ONNX Runtime's."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ..forks import ForkSafeLock
from ..profiling.kernel_records import KernelTurn
from ..profiling.trace import complete_event


class TraceFile:
    """Collects the events of a session, and writes them at the end. Times are microseconds since the session began."""

    def __init__(self, prefix: str) -> None:
        self.start_ns = time.perf_counter_ns()
        self._name = f"{prefix}_{datetime.now():%Y-%m-%d_%H-%M-%S_%f}"[:-3] + ".json"
        self._events: list[dict[str, Any]] = []
        self._lock = ForkSafeLock()

    def add_session_event(self, name: str, start_ns: int) -> None:
        """Notes what a session did from `start_ns` until now."""
        self._add("Session", name, start_ns, time.perf_counter_ns() - start_ns, {})

    def add_run(self, start_ns: int, kernels: Sequence[KernelTurn]) -> None:
        """Notes a run that began at `start_ns` and ends now, with its kernel calls."""
        end = time.perf_counter_ns()
        for each in kernels:
            about = {"op_name": each.kernel, "node_index": str(each.call), "provider": "CPUExecutionProvider"}
            self._add("Node", f"{each.node}_kernel_time", start_ns + each.begin, each.nanoseconds, about)
        self._add("Session", "model_run", start_ns, end - start_ns, {})

    def write(self) -> str:
        """Writes the file; returns its name."""
        with self._lock, open(self._name, "w", encoding="utf-8") as file:
            file.write("[\n" + ",\n".join(map(json.dumps, self._events)) + "\n]\n")
        return self._name

    def _add(self, category: str, name: str, start_ns: int, nanoseconds: int, about: dict[str, str]) -> None:
        place = {"pid": os.getpid(), "tid": threading.get_native_id()}
        event = complete_event(category, name, start_ns - self.start_ns, nanoseconds, about, **place)
        with self._lock:
            self._events.append(event)
