"""What the machine reaches: code for every CPU, and the arithmetic of limits."""

from __future__ import annotations

import re

import pytest

from mini_infer.runtime.devices.cpu.machine_limits import SUMS, LimitProbe, MachineLimits, probe_ir
from mini_infer.runtime.native.cpu_targets import cpu_target
from mini_infer.runtime.native.llvmlite_calls import emit_assembly

KIB = 1024


@pytest.mark.parametrize(
    ("cpu", "instruction", "register", "sums"),
    [
        ("x86_64-linux-gnu:x86-64-v4", "vfmadd", "zmm", SUMS[32]),
        ("x86_64-linux-gnu:x86-64-v3", "vfmadd", "ymm", SUMS[16]),
        ("x86_64-linux-gnu:x86-64-v2", "addps", "xmm", SUMS[16]),
        ("aarch64-linux-gnu:neoverse-n1", "fmla", "v", SUMS[32]),
    ],
)
def test_every_cpu_is_measured_with_its_own_instructions(cpu: str, instruction: str, register: str, sums: int) -> None:
    target = cpu_target(cpu)
    multiply = emit_assembly(probe_ir(target), target.machine).partition("probe_read:")[0]
    found = re.findall(rf"^\s+\S*(?:{instruction})\S*\s.*{register}\d+", multiply, re.MULTILINE)
    assert len(found) % sums == 0 < len(found)
    assert not re.search(r"\(%rsp\)|q\d+.*\[sp", multiply)  # all sums stay in registers


@pytest.mark.parametrize("threads", [1, 2])
def test_a_small_probe_measures(threads: int) -> None:
    found = LimitProbe(threads, nbytes=64 * KIB * threads).measure(0.002)
    assert found.threads == threads and 0 < found.gflops < 1e5 and 0 < found.gbytes < 1e5


def test_the_longer_of_operations_and_bytes_is_the_limit() -> None:
    limits = MachineLimits(1, gflops=100, gbytes=10)
    assert limits.seconds(flops=10**9, nbytes=0) == pytest.approx(0.01)  # pyright: ignore[reportUnknownMemberType]
    assert limits.seconds(flops=10**9, nbytes=10**9) == pytest.approx(0.1)  # pyright: ignore[reportUnknownMemberType]
    assert limits.best(MachineLimits(1, 50, 20)) == MachineLimits(1, 100, 20)
    assert limits.best(None) == limits
