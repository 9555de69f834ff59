"""Quotas of containers, as Linux's control groups of both versions state them."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import MagicMock

import pytest

from mini_infer.runtime import config, control_groups
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.control_groups import cpu_limit, memory_limit


class Groups:
    """A system of groups on disk, in place of this one."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.membership, self.mounts = folder / "cgroup", folder / "membership", folder / "mountinfo"

    def member(self, *lines: str) -> None:
        self.membership.write_text("".join(f"{line}\n" for line in lines))

    def mount(self, *mounts: str) -> None:
        """Each is "ROOT POINT CONTROLLERS": where a tree of version 1 is, or of version 2 without controllers."""
        lines = ["22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard"]
        for number, mount in enumerate(mounts, 30):
            root, point, *options = mount.split()
            kind = f"cgroup cgroup rw,{options[0]}" if options else "cgroup2 cgroup2 rw,nsdelegate"
            lines.append(f"{number} 22 0:{number} {root} {self.folder}{point} ro,nosuid shared:9 master:1 - {kind}")
        self.mounts.write_text("".join(f"{line}\n" for line in lines))

    def write(self, name: str, text: str) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")

    def write_quota(self, folder: str, quota: int, period: int = 100_000) -> None:
        """As version 1 has it."""
        self.write(f"{folder}/cpu.cfs_quota_us", str(quota))
        self.write(f"{folder}/cpu.cfs_period_us", str(period))


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Groups:
    made = Groups(tmp_path)
    monkeypatch.setattr(control_groups, "MOUNTS", made.mounts)
    monkeypatch.setattr(control_groups, "MEMBERSHIP", made.membership)
    made.mount("/ /")
    return made


def test_nothing_is_limited_where_nothing_says(groups: Groups) -> None:
    assert (cpu_limit(), memory_limit()) == (None, None)
    groups.member("0::/user.slice/one")
    assert (cpu_limit(), memory_limit()) == (None, None)
    groups.write("user.slice/one/cpu.max", "max 100000")
    groups.write("user.slice/one/memory.max", "max")
    assert (cpu_limit(), memory_limit()) == (None, None)
    groups.write("user.slice/one/cpu.max", "300000 100000")
    assert cpu_limit() == 3
    groups.mounts.unlink()
    assert cpu_limit() is None


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        *[("200000 100000", 2), ("150000 100000", 2), ("100001 100000", 2), ("100000 100000", 1), ("1000 100000", 1)],
        *[("75000 25000", 3), ("60000 50000", 2), ("400000", 4)],
    ],
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


def test_version_1_has_a_tree_for_each_set_of_controllers(groups: Groups) -> None:
    """Wherever it is mounted: in a folder with the names of its controllers, in some other order, or any other."""
    groups.member("4:memory:/a", "3:cpuset:/c", "2:cpu,cpuacct:/b", "1:name=systemd:/d")
    groups.mount(
        "/ /cpuset cpuset", "/ /cpuacct,cpu cpu,cpuacct", "/ /some\\040memory memory", "/ /systemd name=systemd"
    )
    for name in ("cpuset/c", "systemd/d", "cpuset/b", "some memory/a"):
        groups.write_quota(name, 100_000)
    groups.write_quota("cpuacct,cpu/b", 350_000)
    groups.write("some memory/a/memory.limit_in_bytes", "7000")
    assert (cpu_limit(), memory_limit()) == (4, 7000)
    groups.write_quota("cpuacct,cpu", 150_000, 50_000)
    assert cpu_limit() == 3
    groups.write_quota("cpuacct,cpu", -1)
    assert cpu_limit() == 4
    groups.write_quota("cpuacct,cpu/b", -1)
    assert cpu_limit() is None


def test_a_hybrid_system_has_both_versions(groups: Groups) -> None:
    groups.member("2:cpu,cpuacct:/one", "0::/system.slice/two")
    groups.mount("/ /unified", "/ /cpu,cpuacct cpu,cpuacct")
    groups.write_quota("cpu,cpuacct/one", 600_000)
    assert cpu_limit() == 6
    groups.write("unified/system.slice/cpu.max", "200000 100000")
    assert cpu_limit() == 2
    groups.write("unified/one/cpu.max", "100000 100000")
    assert cpu_limit() == 2


@pytest.mark.parametrize(("root", "folder"), [("/docker/123", ""), ("/docker", "123/"), ("/", "docker/123/")])
def test_the_groups_of_a_container_may_be_mounted_from_some_group_on(groups: Groups, root: str, folder: str) -> None:
    groups.member("0::/docker/123")
    groups.mount(f"{root} /")
    groups.write(f"{folder}cpu.max", "200000 100000")
    groups.write("docker/cpu.max", "900000 100000")
    assert cpu_limit() == 2


@pytest.mark.parametrize(
    ("group", "root"), [("/", "/"), ("/../other", "/"), ("/docker/123", "/docker/456"), ("/", "/..")]
)
def test_paths_of_another_namespace_lead_to_the_root_of_the_mount(groups: Groups, group: str, root: str) -> None:
    groups.member(f"0::{group}")
    groups.mount(f"{root} /")
    groups.write("cpu.max", "200000 100000")
    groups.write("docker/123/cpu.max", "100000 100000")
    groups.write("other/cpu.max", "100000 100000")
    assert cpu_limit() == 2


def test_a_mount_of_other_groups_says_nothing(groups: Groups) -> None:
    groups.member("0::/pod/one")
    groups.mount("/pod/two /two", "/ /all")
    groups.write("two/cpu.max", "100000 100000")
    groups.write("all/pod/one/cpu.max", "500000 100000")
    assert cpu_limit() == 5


def test_threads_default_to_the_quota_and_the_cores_that_may_be_used(
    groups: Groups, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups.member("0::/pod")
    groups.write("cpu.max", "max 100000")
    groups.write("pod/cpu.max", "250000 100000")
    for cores, threads in ((8, 3), (2, 2)):
        monkeypatch.setattr(config.os, "sched_getaffinity", MagicMock(return_value=range(cores)))
        assert EngineConfig().thread_count == threads


def test_threads_default_to_what_the_container_has_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "_cores", lambda: 8)
    for limit, threads in ((None, 8), (3, 3), (100, 8)):
        monkeypatch.setattr(config, "cpu_limit", lambda limit=limit: limit)
        assert EngineConfig().thread_count == threads
    monkeypatch.setattr(config, "cpu_limit", lambda: 3)
    assert (EngineConfig().compiler_count, EngineConfig(threads=6).thread_count) == (3, 6)
