"""A schedule is two files of one name: the schedule in its device's folder, and the code family that carries it out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from kernel_runs import kernel_of
from kernel_variants import small_target

from mini_infer.dialects import modules
from mini_infer.dialects.graph.ops.unary import ReluOp
from mini_infer.dialects.kernel.targets import CpuAttr, GpuAttr, Target
from mini_infer.lowering.kernels_to_gpu import families as gpu_families
from mini_infer.lowering.kernels_to_loops import families as cpu_families
from mini_infer.passes.kernels.choose_schedule import schedule_kernel
from mini_infer.passes.kernels.schedules import cpu, schedules_for, schedules_of
from mini_infer.passes.kernels.schedules.cpu.products.tiled_product import TiledProduct

FAMILIES = {"cpu": cpu_families.__name__, "cuda": gpu_families.__name__}
TRIAL = """
from dataclasses import dataclass
from mini_infer.passes.kernels.schedules.schedule import Schedule

@dataclass(frozen=True)
class Trial(Schedule):
    forms = ("map",)

    @classmethod
    def candidates(cls, kernel, target):
        yield cls()

    def cost(self, kernel, target):
        return 0.0

    def interface(self, kernel):
        from mini_infer.dialects.kernel.kernel_attributes import InterfaceAttr
        return InterfaceAttr.of()
"""


@pytest.mark.parametrize("device", FAMILIES)
def test_every_schedule_has_a_code_family_of_its_name(device: str) -> None:
    found = schedules_of(device)
    assert found
    for name, schedule in found.items():
        assert schedule.__module__.rpartition(".")[2] == schedule.name == name
        assert schedule.forms
        assert callable(modules.module_named(FAMILIES[device], name).lower)


def test_what_schedules_share_is_none() -> None:
    assert {"panels", "prologue_panels"} <= schedules_of("cpu").keys()
    assert all(issubclass(schedules_of("cpu")[name], TiledProduct) for name in ("panels", "prologue_panels"))
    assert TiledProduct not in schedules_of("cpu").values()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder beside that of schedules for CPUs."""

    def forget() -> None:
        modules._names.cache_clear()  # pyright: ignore[reportPrivateUsage]
        schedules_of.cache_clear()
        schedules_for.cache_clear()
        sys.modules.pop(f"{cpu.__name__}.trial", None)

    monkeypatch.setattr(cpu, "__path__", [*cpu.__path__, str(tmp_path)])
    forget()
    yield tmp_path
    forget()


def test_a_file_in_the_devices_folder_is_a_schedule(folder: Path) -> None:
    (folder / "trial.py").write_text(TRIAL)
    assert "trial" in schedules_of("cpu")
    kernel = kernel_of("map", lambda w: w(ReluOp(w[0])), [np.zeros(8, np.float32)])
    assert schedule_kernel(kernel, small_target()).taken.name == "trial"


@pytest.mark.parametrize("target", [CpuAttr.of(), GpuAttr.of()], ids=["cpu", "cuda"])
def test_ways_for_any_kernel_come_last(target: Target) -> None:
    """Of equally cheap ways the first is taken."""
    ranks = [each.rank for each in schedules_for(target.device, "contraction")]
    assert ranks == sorted(ranks)
    assert ranks[0] < ranks[-1]
