"""Limits of Linux's control groups on this process: CPU time in cores, and bytes of memory.

A group's limit applies to the groups inside it, so the smallest on the path to the root counts. Version 2 has one tree
of groups, version 1 one for each set of controllers, such as cpu,cpuacct; a system may have both (hybrid). Where each
is mounted, and which of its groups is at the mount's root, is told by mountinfo: in a container, that is often the
process's own group, and in a namespace of groups, paths begin at the namespace's root.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path, PurePosixPath

MEMBERSHIP = Path("/proc/self/cgroup")
"""A line for each tree: its number, its controllers (none for version 2), and the process's group."""
MOUNTS = Path("/proc/self/mountinfo")
"""A line for each mount: "29 23 0:26 ROOT POINT rw shared:4 - TYPE cgroup rw,OPTIONS"; see proc_pid_mountinfo(5)."""
USUAL_PERIOD = "100000"  # microseconds


@dataclass(frozen=True)
class _Mount:
    """A mount of a tree of groups, with the group at its root."""

    root: PurePosixPath
    point: Path
    controllers: frozenset[str]
    """Of version 1, among other options; none for version 2."""

    def holds(self, group: PurePosixPath) -> bool:
        """Whether the group is at the mount's root, or inside of it."""
        return ".." not in group.parts and group.is_relative_to(self.root)


def cpu_limit() -> int | None:
    """The CPU time limit in cores, rounded up; None without a limit."""
    quotas = [f"{text} {USUAL_PERIOD}".split()[:2] for text in _texts("cpu", "cpu.max")]
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
    """The folders of the process's groups that may limit a controller, and of their ancestors, where mounted."""
    mounts = list(_mounts())
    for line in _read(MEMBERSHIP).splitlines():
        _, names, path = line.split(":", 2)
        controllers = frozenset(filter(None, names.split(",")))
        if controllers and controller not in controllers:
            continue
        group = PurePosixPath(path)
        found = [
            each for each in mounts if controllers <= each.controllers and bool(controllers) == bool(each.controllers)
        ]
        holding = [each for each in found if each.holds(group)]
        for mount in holding:
            inside = group.relative_to(mount.root)
            yield from (mount.point / each for each in (inside, *inside.parents))
        if not holding:  # a path of another namespace: the mount's root is all that is known
            yield from (mount.point for mount in found[:1])


def _mounts() -> Iterator[_Mount]:
    for line in _read(MOUNTS).splitlines():
        before, _, behind = line.partition(" - ")
        kind, _, options = behind.partition(" ")
        if kind in ("cgroup", "cgroup2"):
            root, point = map(_unescaped, before.split()[3:5])
            named = frozenset(options.split()[-1].split(",")) if kind == "cgroup" else frozenset[str]()
            yield _Mount(PurePosixPath(root), Path(point), named)


def _unescaped(path: str) -> str:
    r"""A path with its spaces, which mountinfo writes as \040."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), path)


def _read(file: Path) -> str:
    """A file's text; "" if it can't be read, as outside of Linux."""
    try:
        return file.read_text(errors="surrogateescape").strip()
    except OSError:
        return ""
