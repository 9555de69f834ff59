"""An upper bound on the gain from several GPU streams: a model's calls in sequence against their critical path.

    python -m mini_infer.tools.bench.gpu_streams resnet50.onnx inception.onnx --gpu sm_90a

Two calls stay ordered if one writes bytes that the other accesses: bytes of the arena, which are reused, for the plan
as it is; or of separate buffers, the most that a plan for several streams could allow. The critical path is a bound: it
assumes that concurrent calls don't slow each other down, and that forks and joins are free. The limit is that of the
model's bytes and products at the machine's full speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ...dialects.graph.host import kernels_of, main_of
from ...dialects.kernel.targets import GpuAttr
from ...lowering.levels import Level
from ...lowering.pipelines import phases, remaining_phases, run_phases
from ...passes.kernels.schedules import schedule_of
from ...passes.kernels.schedules.cuda.cost import limit_seconds
from ...passes.memory.analysis.access_sets import AccessSets
from ...passes.memory.analysis.buffers import Places
from ...passes.memory.analysis.main_steps import calls_of
from ...runtime.compile.source import source_of
from ...runtime.config import EngineConfig
from ..one_line_errors import run_alone

LEVELS: tuple[Level, Level] = ("arena", "buffers")
"""The level at which calls share the arena's bytes, and the level at which buffers are separate."""


def longest_chain(seconds: Sequence[float], touched: Sequence[AccessSets]) -> float:
    """The time of the critical path of calls in this order."""
    ends: list[float] = []
    for number, (own, time) in enumerate(zip(touched, seconds, strict=True)):
        waits = (end for end, other in zip(ends, touched[:number], strict=True) if own.conflicts(other))
        ends.append(max(waits, default=0.0) + time)
    return max(ends, default=0.0)


def streams(
    models: Annotated[list[Path], typer.Argument(help="ONNX models.")],
    gpu: Annotated[str, typer.Option(help="Architecture, such as sm_90a.")] = "sm_90a",
    precision: Annotated[str, typer.Option(help="fp32, tf32, 3xtf32, fp16 or bf16.")] = "fp32",
) -> None:
    """Prints for each model the time of its calls in sequence, the critical paths, and the limit."""
    table = Table(title=f"Streams on {gpu}, {precision}: predicted, not measured")
    table.add_column("model")
    for title in ("calls", "in a row us", "chain as planned us", "chain as meant us", "at most saved", "limit us"):
        table.add_column(title, justify="right")
    for path in models:
        times = [_times(path, GpuAttr.named(gpu, precision), level) for level in LEVELS]
        calls, row, planned, limit = times[0]
        meant = times[1][2]
        numbers = (f"{each * 1e6:.0f}" for each in (row, planned, meant))
        saved = f"{100 * (1 - max(meant, limit) / row):.0f} %"
        table.add_row(
            path.stem if path.stem != "model" else path.parent.name, str(calls), *numbers, saved, f"{limit * 1e6:.0f}"
        )
    Console().print(table)


def _times(model: Path, target: GpuAttr, level: Level) -> tuple[int, float, float, float]:
    """A model at a level: number of calls, their total seconds, those of the critical path, and the limit of all."""
    module, ctx = source_of(model).load(EngineConfig())
    module.attributes["kernel.target"] = target
    run_phases(ctx, module, remaining_phases(module, level, phases(device=target.device)))
    kernels, places = kernels_of(module), Places()
    calls = list(calls_of(main_of(module)))
    called = [kernels[call.callee.string_value()] for call in calls]
    seconds = [schedule_of(kernel, target.device).cost(kernel, target) for kernel in called]
    chain = longest_chain(seconds, [AccessSets.by(call, places) for call in calls])
    return len(calls), sum(seconds), chain, sum(limit_seconds(kernel, target) for kernel in called)


if __name__ == "__main__":
    run_alone(streams)
