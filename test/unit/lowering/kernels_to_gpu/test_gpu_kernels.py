"""Occupancy, and the table of what a model's kernels need of a GPU."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from models.build import SMALL_MODELS
from rich.console import Console

from mini_infer.dialects.kernel.targets import GpuAttr
from mini_infer.runtime.compile.source import source_of
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.devices.cuda.nvrtc import KernelResources
from mini_infer.tools.bench.gpu_kernels import figures_table, kernel_figures, occupancy

NEEDED = KernelResources("k", registers=32, spill_stores=0, spill_loads=0, stack=0, static_shared=0)


@pytest.mark.parametrize(
    ("registers", "threads", "shared", "architecture", "expected"),
    [
        (32, 256, 0, "sm_80", 1.0),
        (128, 256, 0, "sm_80", 0.25),  # two blocks of 8 warps: 65536 registers
        (40, 192, 0, "sm_80", 0.75),  # 8 blocks of 6 warps, of 9 that registers allow and 10 that threads do
        (16, 32, 0, "sm_80", 0.5),  # 32 blocks are the most
        (32, 128, 40 << 10, "sm_80", 0.25),  # 4 blocks in 164 KB
        (32, 128, 40 << 10, "sm_90a", 0.3125),  # 5 in 228 KB
        (32, 1024, 163 << 10, "sm_80", 0.5),
        (32, 1024, 164 << 10, "sm_80", 0.0),
        (255, 1024, 0, "sm_90a", 0.0),
        (32, 33, 0, "sm_90a", 1.0),  # the second warp of a block is one too
    ],
)
def test_occupancy(registers: int, threads: int, shared: int, architecture: str, expected: float) -> None:
    needed = replace(NEEDED, registers=registers)
    assert occupancy(needed, threads, shared, GpuAttr.named(architecture)) == expected


@pytest.mark.thinned(11)
@pytest.mark.parametrize("precision", ["fp32", "tf32"])
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", sorted(SMALL_MODELS))
def test_kernels_are_made_for_gpus_and_keep_their_registers(name: str, architecture: str, precision: str) -> None:
    module, ctx = source_of(SMALL_MODELS[name]()).load(EngineConfig())
    figures = kernel_figures(module, ctx, GpuAttr.named(architecture, precision), keep=None)
    assert figures
    for each in figures:
        assert each.spills == 0, f"{each.resources.kernel} spills {each.spills} bytes"
        assert each.resources.stack == 0, f"{each.resources.kernel} has an array whose indices are not known"
        assert each.occupancy > 0
        assert 0 <= each.limit <= each.predicted < 1


def test_the_table_has_a_row_for_each_kernel() -> None:
    module, ctx = source_of(SMALL_MODELS["mlp"]()).load(EngineConfig())
    figures = kernel_figures(module, ctx, GpuAttr.named("sm_80"), keep=None)
    text = StringIO()
    Console(file=text, width=160).print(figures_table(figures, "mlp"))
    for each in figures:
        assert each.resources.kernel in text.getvalue()
    assert f"{len(figures)} kernels, 0 with spills" in text.getvalue()
