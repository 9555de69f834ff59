"""The effect of each step of memory planning: a model's arena and latency without it, with parts and with all of it.

The same kernels run every time; only the places of their buffers differ, so the results are equal bit by bit. Runs
alternate, as the machine's speed may drift.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from ...dialects.errors import ConfigError, MiniInferError
from ...dialects.garbage_collection import collection_paused
from ...lowering.levels import level_of
from ...lowering.module_text import own_errors
from ...lowering.pipelines import parse_passes, run_passes
from ...runtime.compile.engine_phases import engine_phases
from ...runtime.compile.module_to_plan import build_plan, compilers_for, schedule_kernels
from ...runtime.compile.source import source_of
from ...runtime.config import EngineConfig
from ...runtime.limits import memory_for
from ...runtime.plan import ExecutionContext
from ..arrays import seeded_inputs
from ..json_reports import Facts
from ..reports.plan_tables import percent
from ..waiting import working
from .memory_chart import write_memory_chart
from .models import names_of


@dataclass(frozen=True)
class Step:
    """Which parts of memory planning are on: changes of the pipeline, see `lowering.pipelines.phases`."""

    changes: tuple[str, ...]
    takes_strategy: bool = False
    """Whether the arena is laid out as the configuration says."""
    is_planned: bool = True


STEPS: Mapping[str, Step] = {
    "off": Step((), is_planned=False),
    "pools": Step(("-order-kernels", "-mark-inplace", "-elide-copies", "plan-arena{strategy=pools}")),
    "in place": Step(("-order-kernels", "plan-arena{strategy=naive}")),
    "all": Step((), takes_strategy=True),
}
"""No byte used twice; pools of buffers that are never live together; results over operands and views instead of copies,
and no other reuse; and all of it, in the order of calls that needs least."""


@dataclass(frozen=True)
class Row:
    """One step's arena, in bytes, and its inferences, in milliseconds."""

    planning: str
    arena_bytes: int
    saved: float
    """Of the arena without memory planning, in [0, 1)."""
    lower_bound_bytes: int
    """Of any arena for this order of calls and these buffers."""
    median_ms: float
    min_ms: float


@dataclass(frozen=True)
class Comparison:
    """A model's rows, in the order of STEPS."""

    model: str
    threads: int
    rows: tuple[Row, ...]


def contexts_of(model: str, config: EngineConfig, now: Callable[[str], None]) -> dict[str, ExecutionContext]:
    """A context for each step, of plans with the same kernels.

    Raises ConfigError for a module whose buffers are decided already, and as `compile`.
    """
    found: dict[str, ExecutionContext] = {}
    with collection_paused(), memory_for("compiling the model"), own_errors():
        now("importing")
        module, ctx = source_of(model).load(config)
        if level_of(module) not in ("graph", "kernels"):
            raise ConfigError(f"--compare plans buffers anew; the module is at the {level_of(module)} level already")
        if level_of(module) == "graph":
            now("scheduling kernels")
            schedule_kernels(module, ctx, config)
        for name, step in STEPS.items():
            now(f"compiling, memory planning {name}")
            own = config if step.takes_strategy else replace(config, planner="auto", beam_width=None)
            copy = module.clone()
            for phase in engine_phases(own, step.changes, plan_memory=step.is_planned):
                if phase.level in ("buffers", "arena"):
                    run_passes(ctx, copy, parse_passes(phase.passes))
            with compilers_for(copy, config) as compilers:
                plan = build_plan(copy, ctx, config, compilers=compilers)
            found[name] = plan.create_execution_context()
    return found


def compare_memory(model: str, config: EngineConfig, rounds: int, now: Callable[[str], None]) -> Comparison:
    """Compiles a model with each step of memory planning, and measures `rounds` inferences of each, alternately.

    Raises MiniInferError if their results differ, and as `compile`.
    """
    contexts = contexts_of(model, config, now)
    inputs = seeded_inputs(contexts["all"].plan.inputs, 0)
    results: dict[str, bytes] = {}
    for name, context in contexts.items():
        now(f"first run, memory planning {name}")
        results = results or _bytes_of(context.run(inputs))
        if _bytes_of(context.run(inputs)) != results:
            raise MiniInferError(f"{model}: memory planning '{name}' gives other results than none")
    times: dict[str, list[float]] = {name: [] for name in contexts}
    for number in range(rounds):
        for name, context in contexts.items():
            now(f"round {number + 1}, memory planning {name}")
            start = time.perf_counter()
            context.run(inputs)
            times[name].append((time.perf_counter() - start) * 1e3)
    whole = contexts["off"].plan.arena_bytes
    rows: list[Row] = []
    for name, context in contexts.items():
        memory = context.plan.memory
        saved = 1 - memory.arena_bytes / whole if whole else 0.0
        taken = statistics.median(times[name]), min(times[name])
        rows.append(Row(name, memory.arena_bytes, saved, memory.lower_bound_bytes, *taken))
        context.close()
    return Comparison(model, contexts["all"].plan.threads, tuple(rows))


def _bytes_of(outputs: Mapping[str, Any]) -> dict[str, bytes]:
    return {name: np.ascontiguousarray(array).tobytes() for name, array in outputs.items()}


def show_comparison(
    models: Sequence[str], options: Mapping[str, Any], rounds: int, chart: str | None, console: Console
) -> Facts:
    """Compares the models, prints a table of each as it is done, and draws a chart; returns the report for programs."""
    config = EngineConfig.of(**options)
    found: list[Comparison] = []
    names = names_of([Path(each) for each in models])
    for model, name in zip(models, names, strict=True):
        with working(console, f"{name}: importing") as now:
            found.append(compare_memory(model, config, rounds, lambda what, name=name: now(f"{name}: {what}")))
        console.print(_table(name, found[-1]))
    if chart is not None:
        arenas = [{row.planning: row.arena_bytes for row in each.rows} for each in found]
        write_memory_chart(list(zip(names, arenas, strict=True)), chart)
        console.print(f"written: {chart}")
    return {"rounds": rounds, "models": [asdict(each) for each in found]}


def _table(name: str, found: Comparison) -> Table:
    title = f"{name}, {found.threads} thread(s)"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2))
    for column in ("memory planning", "arena MB", "saved", "lower bound MB", "median ms", "min ms"):
        table.add_column(column, justify="left" if column == "memory planning" else "right")
    for row in found.rows:
        sizes = f"{row.arena_bytes / 1e6:.3f}", percent(row.saved), f"{row.lower_bound_bytes / 1e6:.3f}"
        table.add_row(row.planning, *sizes, f"{row.median_ms:.3f}", f"{row.min_ms:.3f}")
    return table
