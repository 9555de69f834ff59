"""`mini-infer plan --frontier`: the plans between a model's fastest and its smallest."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from ...dialects.atomic_file import atomic_file
from ...runtime.compile.memory_frontier import MemoryFrontier
from ...runtime.compile.module_to_plan import build_plan, plan_frontier
from ...runtime.compile.source import configured_source
from ...runtime.config import EngineConfig
from ..bench.variants import timed
from ..json_reports import Facts
from ..reports import PICTURES
from ..reports.figure_files import write_figure
from ..reports.plan_tables import aligned
from ..waiting import working
from .frontier_chart import draw_frontier, frontier_page

_SECONDS = 1.0
"""Of measuring each point."""


def show_frontier(
    model: str, options: Mapping[str, Any], console: Console, *, measure: bool, files: Sequence[str]
) -> Facts:
    """Plans a model's frontier, prints, draws and returns it for programs; with `measure` each point is run."""
    start = time.perf_counter()
    config = EngineConfig.of(**options)
    with working(console, "planning") as now:
        frontier = plan_frontier(*configured_source(model, config), tell=now)
        taken = time.perf_counter() - start
        measured = _measured(model, config, frontier, now) if measure else []
    name = Path(model).name
    console.print(Text.assemble((name, "bold"), f" {frontier.tried} plans in {taken:.1f} s"))
    console.print(frontier_table(frontier, measured), soft_wrap=True)
    for file in files:
        _write(frontier, file, name, measured)
        console.print(f"written: {file}")
    return {"model": model, "seconds": taken, "tried": frontier.tried, "points": _facts(frontier, measured)}


def frontier_table(frontier: MemoryFrontier, measured: Sequence[float] = ()) -> str:
    """A line for each point, the smallest first: arena, estimated and perhaps measured time, and what was chosen."""
    fastest = frontier.points[-1].seconds
    rows = [("bytes", "MB", "estimated ms", *(["measured ms"] if measured else []), "times", "what was chosen")]
    for place, each in enumerate(frontier.points):
        times = (f"{each.seconds * 1e3:.3f}", *([f"{measured[place]:.3f}"] if measured else []))
        size = f"{each.arena_bytes:,}", f"{each.arena_bytes / 1e6:.3f}"
        rows.append((*size, *times, f"{each.seconds / fastest:.2f}", each.text))
    step = frontier.least_step
    return "\n".join(
        [
            *aligned(rows, ">" * (len(rows[0]) - 1) + "<"),
            f"no plan of them has less than {step.bytes:,} bytes, which {step.node} alone needs",
        ]
    )


def _measured(model: str, config: EngineConfig, frontier: MemoryFrontier, now: Any) -> list[float]:
    """Median milliseconds of each point, one after the other in turn."""
    contexts: list[Any] = []
    for place, each in enumerate(frontier.points, 1):
        now(f"compiling {place} of {len(frontier.points)}")
        source, own = configured_source(model, config)
        plan = build_plan(*source.load(own), own, changes=each.changes)
        contexts.append(plan.create_execution_context())
    now("measuring")
    return timed(contexts, _SECONDS)


def _write(frontier: MemoryFrontier, file: str, title: str, measured: Sequence[float]) -> None:
    kind = Path(file).suffix.removeprefix(".").lower()
    if kind in PICTURES:
        write_figure(draw_frontier(frontier, title, measured), file)
        return
    with atomic_file(file) as stream:
        text = frontier_page(frontier, title, measured) if kind == "html" else _csv(frontier, measured)
        stream.write(text.encode())


def _csv(frontier: MemoryFrontier, measured: Sequence[float]) -> str:
    facts, text = _facts(frontier, measured), io.StringIO()
    writer = csv.DictWriter(text, list(facts[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(each | {"changes": ",".join(each["changes"])} for each in facts)
    return text.getvalue()


def _facts(frontier: MemoryFrontier, measured: Sequence[float]) -> list[dict[str, Any]]:
    """The points for programs."""
    return [
        {
            "arena_bytes": each.arena_bytes,
            "estimated_ms": each.seconds * 1e3,
            "measured_ms": measured[place] if measured else None,
            "band_bytes": each.band,
            "chosen": each.text,
            "changes": each.changes,
            "largest_call": each.largest.node,
            "largest_call_bytes": each.largest.bytes,
            "proven_minimal": each.proven,
        }
        for place, each in enumerate(frontier.points)
    ]
