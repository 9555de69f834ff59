"""Work on a GPU by several processes, which compile side by side and measure one at a time."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from multiprocessing import connection, get_context
from pathlib import Path
from typing import Any

Task = tuple[Any, ...]


@contextmanager
def gpu_alone(folder: Path) -> Generator[None]:
    """A context that one process is in at a time, of those that name the same folder; a process that dies leaves it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def in_processes(
    work: Callable[..., None], tasks: Sequence[Task], jobs: int, deadline: float
) -> Generator[tuple[Task, str]]:
    """Runs `work(*task)` for each task in a process of its own, `jobs` at a time.

    Yields each task that has ended, with "" or the reason why it failed. What runs when it is `deadline`, by
    time.monotonic, is killed and not yielded.
    """
    context, waiting, running = get_context("spawn"), [*tasks], dict[Any, tuple[Any, Task]]()
    try:
        while (waiting or running) and (left := deadline - time.monotonic()) > 0:
            while waiting and len(running) < jobs:
                process = context.Process(target=work, args=waiting[0])
                process.start()
                running[process.sentinel] = (process, waiting.pop(0))
            for ended in connection.wait([*running], left):
                process, task = running.pop(ended)
                process.join()
                yield task, f"ended with status {process.exitcode}" if process.exitcode else ""
    finally:
        for process, _ in running.values():
            process.kill()
            process.join()
