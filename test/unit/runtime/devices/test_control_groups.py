"""Quotas of containers, as Linux's control groups of both versions state them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mini_infer.runtime import config, control_groups
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.control_groups import cpu_limit, memory_limit


class Groups:
    """A tree of groups on disk, in place of the system's."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.membership = folder / "cgroup", folder / "membership"

    def member(self, *lines: str) -> None:
        self.membership.write_text("".join(f"{line}\n" for line in lines))

    def write(self, name: str, text: str) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Groups:
    made = Groups(tmp_path)
    monkeypatch.setattr(control_groups, "GROUPS", made.folder)
    monkeypatch.setattr(control_groups, "MEMBERSHIP", made.membership)
    return made


def test_nothing_is_limited_where_nothing_says(groups: Groups) -> None:
    assert (cpu_limit(), memory_limit()) == (None, None)
    groups.member("0::/user.slice/one")
    assert (cpu_limit(), memory_limit()) == (None, None)
    groups.write("user.slice/one/cpu.max", "max 100000")
    groups.write("user.slice/one/memory.max", "max")
    assert (cpu_limit(), memory_limit()) == (None, None)


@pytest.mark.parametrize(
    ("quota", "cores"),
    [("200000 100000", 2), ("150000 100000", 2), ("100001 100000", 2), ("100000 100000", 1), ("1000 100000", 1)],
)
def test_fractions_of_a_core_are_rounded_up(groups: Groups, quota: str, cores: int) -> None:
    groups.member("0::/")
    groups.write("cpu.max", quota)
    assert cpu_limit() == cores


def test_the_least_limit_on_the_way_up_counts(groups: Groups) -> None:
    groups.member("0::/pod/container")
    groups.write("pod/container/cpu.max", "800000 100000")
    groups.write("pod/cpu.max", "300000 100000")
    groups.write("cpu.max", "max 100000")
    groups.write("pod/container/memory.max", "max")
    groups.write("pod/memory.max", "5000")
    groups.write("other/cpu.max", "100000 100000")
    assert (cpu_limit(), memory_limit()) == (3, 5000)


def test_version_1_has_a_tree_for_each_controller(groups: Groups) -> None:
    groups.member("4:memory:/a", "3:cpuset:/c", "2:cpu,cpuacct:/b", "1:name=systemd:/d", "0::/e")
    for name in ("a", "c", "d"):
        groups.write(f"cpu/{name}/cpu.cfs_quota_us", "100000")
        groups.write(f"cpu/{name}/cpu.cfs_period_us", "100000")
    groups.write("cpu/b/cpu.cfs_quota_us", "350000")
    groups.write("cpu/b/cpu.cfs_period_us", "100000")
    groups.write("memory/a/memory.limit_in_bytes", "7000")
    assert (cpu_limit(), memory_limit()) == (4, 7000)
    groups.write("cpu/b/cpu.cfs_quota_us", "-1")
    assert cpu_limit() is None


def test_threads_default_to_what_the_container_has_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "_cores", lambda: 8)
    for limit, threads in ((None, 8), (3, 3), (100, 8)):
        monkeypatch.setattr(config, "cpu_limit", lambda limit=limit: limit)
        assert EngineConfig().thread_count == threads
    monkeypatch.setattr(config, "cpu_limit", lambda: 3)
    assert (EngineConfig().compiler_count, EngineConfig(threads=6).thread_count) == (3, 6)
