"""Measured time of each kernel call of a model, with its operations, bytes and the machine's limit.

Every call is timed separately, so that the calls and the time outside of them (Python, the entry) add up to the total.
With several threads each call is then a stage of its own, which makes an inference a little slower.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from rich.table import Table
from xdsl.dialects.builtin import ModuleOp

from ...dialects.graph.fixed_sizes import settle
from ...dialects.graph.host import kernels_of, main_of
from ...dialects.graph.ops.structure import KernelOp
from ...dialects.kernel.targets import Target, target_of
from ...dialects.sizes.guards import unguarded
from ...dialects.sizes.sizes import now, symbols_of, value_at
from ...lowering.onnx_to_graph.model_file import ModelSource
from ...lowering.pipelines import PassRun
from ...passes.kernels.schedules import schedule_of
from ...passes.memory.analysis.main_steps import calls_of
from ...passes.memory.insert_barriers import InsertBarriers
from ...passes.work_bounds import work_of_kernel
from ...runtime.compile.plan_builder import Builder
from ...runtime.compile.source import source_of
from ...runtime.compile.source_to_engine import build_engine
from ...runtime.config import EngineConfig
from ...runtime.devices.cpu.machine_limits import MachineLimits
from ...runtime.plan import InferencePlan
from ...runtime.profiling.kernel_records import KernelTime
from ...runtime.specs import ordered_shapes
from ..arrays import in_place
from . import gpu_engines as bench_gpu

_ADDED = ("estimated_us", "flops", "bytes", "limit_us")
"""Facts of a call that are added up over its runs."""

_NUMBERS = {
    "runs": ("runs", 1, "d"),
    "mean_us": ("us each", 1.0, ".2f"),
    "estimated_us": ("estimated us", 1.0, ".1f"),
    "flops": ("MFLOP", 1e-6, ".2f"),
    "bytes": ("kB", 1e-3, ".1f"),
    "gflops": ("GFLOP/s", 1.0, ".1f"),
    "limit_us": ("limit us", 1.0, ".1f"),
    "of_limit": ("of limit", 1.0, ".0%"),
}
"""Optional numbers of a row besides its time: the column's title, the factor to the column's unit, and the format."""


def profile(
    model: ModelSource,
    config: EngineConfig,
    inputs: Mapping[str, Any],
    runs: int,
    cores: Sequence[int],
    limits: MachineLimits | None,
) -> dict[str, Any]:
    """The calls, slowest first, and their sum. Raises the errors of compile.

    {"run_us": total, "outside_us": not in any call, "kernels": [{"us": ..., "kernel": ..., "node": ..., ...}]}
    """
    calls = FinalCalls()
    config = replace(config, enable_profiling=True)
    engine = build_engine(Builder(source_of(model), config, observer=calls))
    shapes = {name: array.shape for name, array in inputs.items()}
    plan = engine.plan_for(shapes)
    with pinned(cores):
        times, taken = timed_calls(plan, inputs, runs)
    if plan.launches:
        rows = bench_gpu.by_calls(plan.launches, times, bench_gpu.costs(model, config))
    else:
        rows = [_row(*each) for each in zip(times, calls.facts(plan, shapes, limits), strict=True)]
    rows.sort(key=lambda row: -row["us"])
    return {"run_us": taken, "outside_us": taken - sum(row["us"] for row in rows), "kernels": rows}


class FinalCalls:
    """An observer of compiles, which keeps the last module in which the calls are final, and tells what they do."""

    def __init__(self) -> None:
        self._module: ModuleOp | None = None

    def __call__(self, done: PassRun, module: ModuleOp) -> None:
        if done.name == InsertBarriers.name:
            self._module = module.clone()

    def facts(
        self, plan: InferencePlan, shapes: Mapping[str, Sequence[int]], limits: MachineLimits | None
    ) -> list[dict[str, Any]]:
        """Of one run of each call of a CPU's plan: schedule, operations, bytes, estimated time, and the least."""
        module = self._module
        assert module is not None
        if plan.family is not None:
            values = plan.family.values_of(ordered_shapes(plan.input_names, shapes))
            settle(module, lambda size: value_at(size, values) if symbols_of(size) <= values.keys() else now(size))
        kernels, target = kernels_of(module), target_of(module)
        found: list[dict[str, Any]] = []
        for call in calls_of(main_of(module)):
            kernel = kernels[call.callee.string_value()]
            row = what_is_done(kernel, target)
            if limits is not None:
                row["limit_us"] = limits.seconds(row["flops"], row["bytes"]) * 1e6
                row["limited_by"] = limits.limiting(row["flops"], row["bytes"])
            found.append(row)
        return found


def what_is_done(kernel: KernelOp, target: Target) -> dict[str, Any]:
    """Of one run of a kernel: schedule, operations, bytes, and estimated time."""
    schedule = schedule_of(kernel, target.device)
    with unguarded():
        work, estimated = work_of_kernel(kernel), schedule.cost(kernel, target)
    return {
        "schedule": schedule.name,
        "estimated_us": estimated * 1e6,
        "flops": work.flops,
        "bytes": work.nbytes,
    }


@contextmanager
def pinned(cores: Sequence[int]) -> Generator[None]:
    """A context in which this thread, and threads it starts, are pinned to cores; to none for ()."""
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def timed_calls(plan: InferencePlan, inputs: Mapping[str, Any], runs: int) -> tuple[list[KernelTime], float]:
    """Microseconds of each call and of the total: means over the faster half of the runs."""
    context = plan.create_execution_context()
    if plan.config.caches:
        inputs = in_place(inputs, context.run(inputs), plan.config.caches)
    found: list[tuple[float, list[KernelTime]]] = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        context.run(inputs)
        found.append(((time.perf_counter() - start) * 1e6, context.profile()))
    quick = sorted(found[1:], key=lambda each: each[0])[: max(1, (runs + 1) // 2)]
    each_call = zip(*(calls for _, calls in quick), strict=True)
    spans = [round(sum(each.nanoseconds for each in call) / len(quick)) for call in each_call]
    times = [replace(each, nanoseconds=span) for span, each in zip(spans, quick[0][1], strict=True)]
    return times, sum(taken for taken, _ in quick) / len(quick)


def _row(each: KernelTime, once: Mapping[str, Any]) -> dict[str, Any]:
    """The times of a call and what all its runs do. One that was never made has no rates."""
    row: dict[str, Any] = {
        "us": each.nanoseconds / 1e3,
        "runs": each.runs,
        "mean_us": each.mean_nanoseconds / 1e3,
        "kernel": each.kernel,
        "node": each.node,
        **{name: value * each.runs if name in _ADDED else value for name, value in once.items()},
    }
    if each.runs:
        taken = max(row["us"], 1e-3)
        row["gflops"] = row["flops"] / taken * 1e-3
        if "limit_us" in row:
            row["of_limit"] = row["limit_us"] / taken
    return row


def profile_table(profile: Mapping[str, Any]) -> Table:
    """The kernel calls, longest first, and the time outside of them."""
    kernels, whole = profile["kernels"], profile["run_us"]
    title = f"kernels, {whole / 1e3:.3f} ms in all, {profile['outside_us'] / 1e3:.3f} ms outside of them"
    table = Table(title=title, box=None, padding=(0, 2), title_justify="left")
    shown = [key for key in _NUMBERS if any(key in each for each in kernels)]
    if all(each.get("runs") == 1 for each in kernels):  # main has neither loops nor branches
        shown = [key for key in shown if key not in ("runs", "mean_us")]
    for title in ("us", "share", *(_NUMBERS[key][0] for key in shown)):
        table.add_column(title, justify="right", no_wrap=True)
    named = [key for key in ("schedule", "kernel", "node") if any(key in each for each in kernels)]
    for key in named:
        table.add_column("first node" if key == "node" else key, no_wrap=True)
    for each in kernels:
        share = f"{each['us'] / max(1e-9, whole):.1%}"
        numbers = (format(each[key] * _NUMBERS[key][1], _NUMBERS[key][2]) if key in each else "" for key in shown)
        table.add_row(f"{each['us']:.1f}", share, *numbers, *(each[key] for key in named))
    return table
