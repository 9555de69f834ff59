"""Predicted GPU times of a model's kernels, and their ratio to the machine's limits.

    python -m mini_infer.tools.bench.gpu_prediction resnet50.onnx --gpu sm_90a --precision tf32

A prediction from shapes and the target's limits, not a measurement: the costs are those by which choose-schedule ranks
candidates. The limit of a kernel is the time of its products at full speed or of its bytes, without launch overhead.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ...dialects.graph.host import kernels_of, main_of
from ...dialects.graph.ops.structure import KernelOp
from ...dialects.kernel.targets import GpuAttr
from ...lowering.pipelines import phases, remaining_phases, run_phases
from ...passes.kernels.schedules import schedule_of
from ...passes.kernels.schedules.cuda.cost import limit_seconds
from ...passes.memory.analysis.main_steps import calls_of
from ...runtime.compile.source import source_of
from ...runtime.config import EngineConfig
from ..one_line_errors import run_alone
from ..option_values import Dims, dims_of


def predict(
    model: Annotated[Path, typer.Argument(help="An ONNX model.")],
    gpu: Annotated[str, typer.Option(help="Architecture, such as sm_90a.")] = "sm_90a",
    precision: Annotated[str, typer.Option(help="fp32, tf32, 3xtf32, fp16 or bf16.")] = "fp32",
    dim: Dims = None,
    rows: Annotated[int, typer.Option(help="Kernels to show, those furthest from their limit first.")] = 20,
) -> None:
    """Prints a model's kernels with predicted times and limits, and their sums."""
    module, ctx = source_of(model).load(EngineConfig(dims=dims_of(dim)))
    target = GpuAttr.named(gpu, precision)
    module.attributes["kernel.target"] = target
    run_phases(ctx, module, remaining_phases(module, "arena", phases(device=target.device)))
    calls = Counter(call.callee.string_value() for call in calls_of(main_of(module)))
    kernels = kernels_of(module)
    figures = {name: _figures(kernels[name], target) for name in calls}
    table = Table(
        title=f"{model.stem if model.stem != 'model' else model.parent.name} on {gpu}, {precision}: predicted"
    )
    for title in ("kernel", "schedule"):
        table.add_column(title)
    for title in ("calls", "us each", "limit us each", "us lost in all"):
        table.add_column(title, justify="right")
    lost = {name: calls[name] * (figures[name][0] - figures[name][1]) for name in calls}
    for name in sorted(calls, key=lambda each: -lost[each])[:rows]:
        predicted, limit = figures[name]
        schedule = schedule_of(kernels[name], target.device)
        options = ", ".join(f"{key} {number}" for key, number in schedule.attribute().numbers().items())
        numbers = (f"{each * 1e6:.2f}" for each in (predicted, limit, lost[name]))
        table.add_row(name, f"{schedule.name} {options}".strip(), str(calls[name]), *numbers)
    total, limit = (sum(calls[name] * figures[name][i] for name in calls) for i in (0, 1))
    table.caption = (
        f"{sum(calls.values())} calls: predicted {total * 1e6:.0f} us, limit {limit * 1e6:.0f} us; "
        "a prediction, not measured"
    )
    Console().print(table)


def _figures(kernel: KernelOp, target: GpuAttr) -> tuple[float, float]:
    """Predicted seconds of a kernel, and their lower bound."""
    return schedule_of(kernel, target.device).cost(kernel, target), limit_seconds(kernel, target)


if __name__ == "__main__":
    run_alone(predict)
