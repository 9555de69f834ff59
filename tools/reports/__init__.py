"""Reports of a memory plan: tables, CSV, a chart, and an interactive page.

    plan = mini_infer.plan_memory("resnet50.onnx")
    print(mini_infer.plan_table(plan))
    mini_infer.write_report(plan, "arena.html")

`plan_tables.py` writes text, `gantt.py` the chart, `page.py` the page; the latter two draw the rectangles of
`rectangles.py`.
"""

from __future__ import annotations

from pathlib import Path

from ...dialects.arguments import check_kind, checked_path
from ...dialects.atomic_file import atomic_file
from ...dialects.errors import ConfigError
from ...passes.memory.report.memory_plan import MemoryPlan
from .figure_files import PICTURES
from .plan_tables import csv_table, plan_table, pool_table

__all__ = ["PICTURES", "csv_table", "plan_table", "pool_table", "write_report"]


def write_report(plan: MemoryPlan, path: str | Path, title: str = "", *, normalised: bool = False) -> None:
    """Writes a report of the kind given by the file's suffix: .png, .svg, .pdf, .html, .csv or .txt.

    A chart, the interactive page, CSV with one line per tensor, or the table of tensors. `title` (the model's name,
    say) heads chart and page. The chart's axes are steps and bytes; `normalised`, parts of all steps and of the arena,
    from 0 to 1. Raises ConfigError for another suffix, MiniInferError if the file can't be written.
    """
    check_kind("plan", plan, MemoryPlan)
    check_kind("title", title, str)
    kind = checked_path("path", path).suffix.removeprefix(".").lower()
    if kind not in (*PICTURES, "html", "csv", "txt"):
        raise ConfigError(f"{path}: there are reports as .png, .svg, .pdf, .html, .csv and .txt")
    if normalised and kind not in PICTURES:
        raise ConfigError(f"normalised does nothing for {path}: it is for {', '.join(PICTURES)}")
    with atomic_file(path) as stream:
        if kind in PICTURES:
            from .gantt import write_picture

            write_picture(plan, stream, kind, title, normalised=normalised)
        elif kind == "html":
            from .page import page_html

            stream.write(page_html(plan, title).encode())
        else:
            stream.write((csv_table(plan) if kind == "csv" else plan_table(plan)).encode())
