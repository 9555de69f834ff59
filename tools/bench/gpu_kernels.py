"""GPU resources of each kernel of a model: registers, shared memory, spills, and occupancy.

    python -m mini_infer.tools.bench.gpu_kernels resnet50.onnx --gpu sm_90a --precision tf32

NVIDIA's compiler states the resources per thread, the launch the number of threads; no GPU is needed. Times are
predictions: the costs by which choose-schedule ranks candidates, and the lower bound by products or bytes, of the whole
call that a launch belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from xdsl.dialects.builtin import ModuleOp

from ...dialects.graph.blobs import MiniContext
from ...dialects.graph.host import kernels_of, main_of
from ...dialects.kernel.targets import GpuAttr
from ...lowering.gpu_to_cuda.cuda_text import cuda_text
from ...lowering.gpu_to_cuda.device_program import Launch
from ...lowering.gpu_to_cuda.launch_list import launch_list
from ...lowering.pipelines import phases, remaining_phases, run_phases
from ...passes.kernels.schedules import schedule_of
from ...passes.kernels.schedules.cuda.cost import limit_seconds
from ...passes.memory.analysis.main_steps import calls_of
from ...runtime.compile.source import source_of
from ...runtime.config import EngineConfig
from ...runtime.devices.cuda.nvrtc import Kept, KernelResources, compile_kernels
from ..one_line_errors import run_alone

WARPS = GpuAttr.THREADS // GpuAttr.WARP  # of a multiprocessor
_REGISTER_UNIT, _SHARED_UNIT, _SHARED_OF_BLOCK = (
    256,
    128,
    1024,
)  # allocation units of registers and shared memory; reserved bytes


@dataclass(frozen=True)
class KernelFigures:
    """One kernel of a model: its first launch, and its number of launches."""

    resources: KernelResources
    launch: Launch
    launches: int
    occupancy: float
    """Resident warps of a multiprocessor as a fraction of the maximum."""
    predicted: float
    """Predicted seconds of the whole call."""
    limit: float

    @property
    def shared(self) -> int:
        """Bytes of shared memory per block."""
        return self.resources.static_shared + self.launch.shared

    @property
    def spills(self) -> int:
        """Bytes per thread that are spilled and reloaded."""
        return self.resources.spill_stores + self.resources.spill_loads


def kernel_figures(module: ModuleOp, ctx: MiniContext, target: GpuAttr, keep: Kept = "user") -> list[KernelFigures]:
    """Lowers a module at the graph level to launches for `target`; returns its kernels' figures, in order.

    `keep` says where machine code is cached.
    """
    module.attributes["kernel.target"] = target
    every = phases(device=target.device)
    run_phases(ctx, module, remaining_phases(module, "arena", every))
    kernels = kernels_of(module)
    called = [kernels[call.callee.string_value()] for call in calls_of(main_of(module))]
    costs = [(schedule_of(each, target.device).cost(each, target), limit_seconds(each, target)) for each in called]
    run_phases(ctx, module, remaining_phases(module, "launches", every))
    launches = launch_list(module)
    made = compile_kernels(cuda_text(module), target.architecture.data, keep)
    needed = {each.kernel: each for each in made.resources}
    figures: list[KernelFigures] = []
    for name in dict.fromkeys(each.kernel for each in launches):
        mine = [each for each in launches if each.kernel == name]
        predicted, limit = costs[mine[0].call]
        threads = mine[0].block[0] * mine[0].block[1] * mine[0].block[2]
        held = occupancy(needed[name], threads, mine[0].shared, target)
        figures.append(KernelFigures(needed[name], mine[0], len(mine), held, predicted, limit))
    return figures


def occupancy(needed: KernelResources, threads: int, shared: int, target: GpuAttr) -> float:
    """The fraction of a multiprocessor's warps that are resident; 0 if not even one block fits.

    By the CUDA C++ Programming Guide: registers are allocated to warps, shared memory to blocks, in units.
    """
    warps = -(-threads // GpuAttr.WARP)
    registers = _up(needed.registers * GpuAttr.WARP, _REGISTER_UNIT)
    bytes = _up(needed.static_shared + shared + _SHARED_OF_BLOCK, _SHARED_UNIT)
    by_registers = target.registers.data // registers // warps if registers else GpuAttr.RESIDENT
    by_shared = (target.shared.data + _SHARED_OF_BLOCK) // bytes
    return min(GpuAttr.RESIDENT, WARPS // warps, by_registers, by_shared) * warps / WARPS


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def figures_table(figures: Sequence[KernelFigures], title: str) -> Table:
    """A row for each kernel."""
    table = Table(title=title)
    table.add_column("kernel")
    for heading in ("launches", "blocks", "threads", "registers", "spilt B", "shared B", "occupancy", "us", "limit us"):
        table.add_column(heading, justify="right")
    for each in figures:
        x, y, z = each.launch.grid
        threads = each.launch.block[0] * each.launch.block[1] * each.launch.block[2]
        numbers = (each.launches, x * y * z, threads, each.resources.registers, each.spills, each.shared)
        times = (f"{seconds * 1e6:.2f}" for seconds in (each.predicted, each.limit))
        table.add_row(each.resources.kernel, *map(str, numbers), f"{each.occupancy:.0%}", *times)
    spilt = sum(each.spills > 0 for each in figures)
    table.caption = f"{len(figures)} kernels, {spilt} with spills; times are predicted, of whole calls"
    return table


def show(
    model: Annotated[Path, typer.Argument(help="An ONNX model.")],
    gpu: Annotated[str, typer.Option(help="Architecture, such as sm_90a.")] = "sm_90a",
    precision: Annotated[str, typer.Option(help="fp32, tf32, 3xtf32, fp16 or bf16.")] = "fp32",
) -> None:
    """Prints a table of a model's kernels."""
    module, ctx = source_of(model).load(EngineConfig())
    figures = kernel_figures(module, ctx, GpuAttr.named(gpu, precision))
    name = model.stem if model.stem != "model" else model.parent.name
    Console().print(figures_table(figures, f"{name} on {gpu}, {precision}"))


if __name__ == "__main__":
    run_alone(show)
