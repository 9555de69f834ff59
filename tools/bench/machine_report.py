"""`mini-infer machine`: the target CPU, and its measured limits."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from ...runtime.config import EngineConfig
from ...runtime.devices.cpu.machine_limits import LimitProbe, MachineLimits, cpu_title, pinned_cores
from ...runtime.machine_facts import cache_bytes
from ...runtime.native.cpu_targets import target_attribute
from ..json_reports import Facts
from ..reports.plan_tables import size_text
from .kernel_times import pinned

SECONDS = 0.5
"""Of measuring, for each number of threads."""


def show_machine(threads: int | None, console: Console) -> Facts:
    """Prints the target, and the limits on one thread and on as many as an inference may have; returns them."""
    config = EngineConfig(threads=threads)
    counts = sorted({1, config.thread_count})
    with console.status("measuring"):
        found = [_measured(count) for count in counts]
    target = target_attribute(config)
    caches = {f"l{level}": cache_bytes(level) for level in (1, 2, 3)}
    console.print(cpu_title(), style="bold")
    console.print(f"plans are made for {target}", soft_wrap=True)
    console.print(f"caches: {', '.join(f'{name.upper()} {size_text(size)}' for name, size in caches.items())}")
    console.print(_table(found))
    return {"target": str(target), "caches": caches, "limits": [vars(each) for each in found]}


def _measured(threads: int) -> MachineLimits:
    with pinned(pinned_cores(threads)):
        return LimitProbe(threads).measure(SECONDS)


def _table(limits: Sequence[MachineLimits]) -> Table:
    table = Table(title="measured now", box=None, padding=(0, 2), title_justify="left")
    for title in ("threads", "GFLOP/s of f32", "GB/s from memory", "operations a byte"):
        table.add_column(title, justify="right")
    for each in limits:
        balance = f"{each.gflops / each.gbytes:.1f}"
        table.add_row(str(each.threads), f"{each.gflops:.1f}", f"{each.gbytes:.1f}", balance)
    return table
