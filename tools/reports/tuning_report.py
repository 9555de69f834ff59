"""`mini-infer tune`: measures schedules of kernels on this machine, and shows estimates next to times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from ...dialects.arguments import checked_seconds
from ...runtime.compile.tuner import TuningReport, tune
from ...runtime.config import EngineConfig
from ...runtime.devices.cpu.machine_limits import cpu_title
from ...runtime.kept.cpus import host_cpu
from ...runtime.kept.tuning_store import TuningStore
from .. import json_reports as facts
from ..json_reports import Facts
from ..waiting import working


def show_tuning(model: str, options: Mapping[str, Any], seconds: float, again: bool, console: Console) -> Facts:
    """Tunes a model and prints the measurements, new or stored; returns them for programs."""
    checked_seconds("--seconds", seconds)
    config = EngineConfig.of(**options)
    store = TuningStore.of(host_cpu().model)
    with working(console, "tuning") as now:
        report = tune(model, config, seconds, again=again, store=store, now=now)
    console.print(tuning_table(report))
    for line in remarks(report, store):
        console.print(line, soft_wrap=True)
    shapes = {"inputs": facts.tensors(report.inputs), "outputs": facts.tensors(report.outputs)}
    return {"model": model, "threads": config.thread_count, **shapes, "kept_in": str(store.file), **report.as_json()}


def tuning_table(report: TuningReport) -> Table:
    """A row for each candidate: its estimate, its measurement, and their ratio."""
    title = f"{cpu_title()}; what counts is {'cold' if report.cold else 'hot'}"
    table = Table(title=title, box=None, padding=(0, 1), title_justify="left")
    for name in ("kernel", "calls", "share", "schedule", "options"):
        table.add_column(name, justify="right" if name in ("calls", "share") else "left", overflow="fold")
    for name in ("estimated us", "hot us", "cold us", "measured/estimated"):
        table.add_column(name, justify="right")
    table.add_column("taken")
    for each in report.kernels:
        first = (each.kernel, str(each.calls), f"{each.share:.1%}")
        for number, tried in enumerate(each.decision.candidates):
            options = " ".join(f"{name}={value}" for name, value in tried.options.items())
            took = tried.cold_us if report.cold else tried.hot_us
            numbers = (
                f"{tried.estimated_us:.1f}",
                *("failed" if time is None else f"{time:.1f}" for time in (tried.hot_us, tried.cold_us)),
                "" if took is None else f"{took / tried.estimated_us:.2f}",
            )
            mark = "yes" if number == each.decision.taken else ""
            table.add_row(*first, tried.schedule, options, *numbers, mark)
            first = ("", "", "")
    return table


def remarks(report: TuningReport, store: TuningStore) -> list[str]:
    """Lines below the table."""
    now = sum(each.measured_now for each in report.kernels)
    other = sum(each.decision.taken != 0 for each in report.kernels)
    lines = [
        f"{len(report.kernels)} kernels: {now} measured now, the others before; for {other} of them another way is "
        "taken than estimates say"
    ]
    if report.left:
        lines.append(f"{report.left} kernels were left out, as the time was over: tune again to go on")
    lines.append(f"kept in {store.file}")
    return lines
