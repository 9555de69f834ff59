"""Limits of Linux's control groups on this process: CPU time in cores, and bytes of memory.

A group's limit applies to the groups inside it, so the smallest on the path to the root counts. Version 2 has one tree
of groups, version 1 one for each controller. In a container the files of the process's own group may be those at the
root.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from pathlib import Path, PurePosixPath

GROUPS = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
"""A line for each tree: its number, its controllers (none for version 2), and the process's group."""


def cpu_limit() -> int | None:
    """The CPU time limit in cores, rounded up; None without a limit."""
    quotas = [text.split() for text in _texts("cpu", "cpu.max")]
    for folder in _folders("cpu"):
        quotas.append([_read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")])
    known = [int(quota) / int(period) for quota, period in quotas if quota.isdigit() and period.isdigit()]
    return max(1, ceil(min(known))) if known else None


def memory_limit() -> int | None:
    """The memory limit in bytes; None without a limit."""
    texts = [*_texts("memory", "memory.max"), *_texts("memory", "memory.limit_in_bytes")]
    return min((int(text) for text in texts if text.isdigit()), default=None)


def _texts(controller: str, name: str) -> Iterator[str]:
    """The contents of the files `name` in the process's group and its ancestors."""
    return filter(None, (_read(folder / name) for folder in _folders(controller)))


def _folders(controller: str) -> Iterator[Path]:
    for line in _read(MEMBERSHIP).splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        path = PurePosixPath(group)
        for each in (path, *path.parents):
            yield GROUPS / (controller if controllers else "") / each.relative_to("/")


def _read(file: Path) -> str:
    """A file's text; "" if it can't be read, as outside of Linux."""
    try:
        return file.read_text().strip()
    except OSError:
        return ""
