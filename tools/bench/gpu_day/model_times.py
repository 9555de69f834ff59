"""Whole models on a GPU: compared with the CPU, and timed as a whole and by kernels, beside what costs predict."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ....runtime.compile.entry import compile
from ....runtime.config import EngineConfig
from ....runtime.engine import Engine
from ....runtime.profiling.kernel_records import KernelTime
from ...arrays import Array, seeded_inputs
from ...comparison.rounding import relative_error
from ..gpu_engines import Runner, bound, by_calls, costs
from ..kernel_times import timed_calls
from .each_model import each_model
from .folder import Day, Result
from .processes import gpu_alone

REPEATED, REPLAYS, PROFILED = 4, 100, 5  # runs that must be equal, those that are timed, and those by kernels


def models(day: Day, deadline: float) -> Result:
    """Measures each model at each precision."""
    return each_model(day, deadline, "models", measured, day.precisions, day.jobs)


def measured(model: Any, config: EngineConfig, folder: Path) -> Result:
    """The result of a model. Times are in us; `folder` is that of gpu_alone."""
    options: dict[str, Any] = {"dims": config.dims, "cache": False}
    on_gpu: dict[str, Any] = {"device": config.device, "precision": config.precision, **options}
    start = time.perf_counter()
    engine = compile(model, **on_gpu)
    seconds = time.perf_counter() - start
    inputs = seeded_inputs(engine.plan.inputs, 0)
    exact = compile(model, threads=1, **options)(inputs)
    cost = costs(model, config)
    torch = import_module("torch") if find_spec("torch") else None
    profiled = compile(model, enable_profiling=True, **on_gpu) if torch is None else None
    with gpu_alone(folder):
        context = engine.plan.create_execution_context()
        first, *others = [context.run(inputs) for _ in range(REPEATED)]
        context.close()
        run = bound(engine, inputs)
        spans = [_timed(run) for _ in range(REPLAYS)]
        kernels = timed_calls(profiled.plan, inputs, PROFILED)[0] if profiled else _by_cupti(torch, engine, run)
    rows = by_calls(engine.plan.launches, kernels, cost)
    return {
        "compile_s": seconds,
        "launches": len(engine.plan.launches),
        "arena_bytes": engine.plan.arena_bytes,
        "errors": {name: relative_error(first[name], array) for name, array in exact.items()},
        "differs": [name for name, array in first.items() if any(not _same(array, each[name]) for each in others)],
        "replay_us": {"median": statistics.median(spans), "min": min(spans)},
        "kernels_by": "events" if profiled else "CUPTI",
        **{f"{what}_us": sum(row[f"{what}_us"] for row in rows) for what in ("estimated", "limit")},
        "kernels_us": sum(row["us"] for row in rows),
        "kernels": rows,
    }


def _timed(run: Runner) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e6


def _same(one: Array, other: Array) -> bool:
    return one.tobytes() == other.tobytes()


def _by_cupti(torch: Any, engine: Engine, run: Runner) -> list[KernelTime]:
    """The time of each launch in replayed graphs, by PyTorch's profiler, which reads CUPTI."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as found:
        for _ in range(PROFILED):
            run()
        torch.cuda.synchronize()
    events = found.profiler.kineto_results.events()
    told = [(e.start_ns(), e.name(), e.duration_ns()) for e in events if str(e.device_type()).endswith("CUDA")]
    return launch_times(engine, told)


def launch_times(engine: Engine, events: Sequence[tuple[int, str, int]]) -> list[KernelTime]:
    """The median of each launch, from the beginning, name and nanoseconds of everything that the GPU did."""
    launches = engine.plan.launches
    kernels = [(name, span) for _, name, span in sorted(events) if not name.startswith(("Memcpy", "Memset"))]
    expected = [each.kernel for each in launches] * PROFILED
    if [name for name, _ in kernels] != expected:
        raise RuntimeError(f"the profiler told of {len(kernels)} kernels instead of {len(expected)}, or of others")
    spans = np.array([span for _, span in kernels]).reshape(PROFILED, len(launches))
    nodes = [each.nodes[0] if each.nodes else "" for each in launches]
    medians = np.median(spans, axis=0)
    return [KernelTime(each.kernel, node, round(t)) for each, node, t in zip(launches, nodes, medians, strict=True)]
