"""A memory frontier drawn: bytes of the arena against time, by matplotlib, or as a page by Bokeh."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ...runtime.compile.memory_frontier import MemoryFrontier
from ..reports.palette import BINDING, BOUND, EDGE, TEXT
from ..reports.plan_tables import size_text, unit_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 8.0, 5.0  # inches
PAGE_HEIGHT = 460  # pixels


def draw_frontier(frontier: MemoryFrontier, title: str, measured: Sequence[float]) -> Figure:
    """The frontier as a matplotlib figure; `measured` are milliseconds of each point, or none."""
    from matplotlib.figure import Figure

    unit, name = unit_of(frontier.points[-1].arena_bytes)
    sizes = [each.arena_bytes / unit for each in frontier.points]
    figure: Any = Figure(figsize=(WIDTH, HEIGHT), facecolor="white", layout="constrained")
    axes = figure.subplots()
    axes.step(sizes, _estimated(frontier), where="post", color=EDGE, linewidth=1.2, marker="o", label="estimated")
    if measured:
        axes.plot(sizes, measured, color=BOUND, linestyle="", marker="x", label="measured")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"arena ({name})", fontsize=9, color=TEXT)
    axes.set_ylabel("time of an inference (ms)", fontsize=9, color=TEXT)
    axes.axvline(sizes[0], color=BINDING, linewidth=1, linestyle=":", label="smallest arena")
    axes.tick_params(labelsize=8, colors=TEXT)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False)
    figure.suptitle(heading(frontier, title), fontsize=10, color=TEXT)
    return figure


def frontier_page(frontier: MemoryFrontier, title: str, measured: Sequence[float]) -> str:
    """The frontier as a page that needs no network; a tooltip tells what was chosen for a point."""
    from bokeh.embed import file_html
    from bokeh.layouts import column
    from bokeh.models import ColumnDataSource, Div
    from bokeh.plotting import figure
    from bokeh.resources import INLINE

    unit, name = unit_of(frontier.points[-1].arena_bytes)
    sizes = [each.arena_bytes / unit for each in frontier.points]
    shown: Any = figure(
        height=PAGE_HEIGHT,
        sizing_mode="stretch_width",
        x_axis_label=f"arena ({name})",
        y_axis_label="time of an inference (ms)",
        tooltips="<b>@size</b>, @y{0.000} ms<br>@text",
    )
    shown.x_range.start = shown.y_range.start = 0
    series = [("estimated", _estimated(frontier), EDGE)] + ([("measured", measured, BOUND)] if measured else [])
    for label, times, colour in series:
        facts = {
            "x": sizes,
            "y": list(times),
            "size": [size_text(each.arena_bytes) for each in frontier.points],
            "text": [each.text for each in frontier.points],
        }
        source = ColumnDataSource(facts)
        shown.scatter("x", "y", source=source, size=9, color=colour, legend_label=label)
        if label == "estimated":
            shown.step("x", "y", source=source, mode="after", color=colour)
    head = heading(frontier, title)
    text = f'<h2 style="font-family: sans-serif; color: {TEXT}; margin: 0.3em 0">{escape(head)}</h2>'
    return file_html(column(Div(text=text), shown, sizing_mode="stretch_width"), INLINE, title=head)


def heading(frontier: MemoryFrontier, title: str) -> str:
    """The range of the frontier in a line."""
    first, last = frontier.points[0], frontier.points[-1]
    slower = first.seconds / last.seconds
    return (
        f"{title}: from {size_text(last.arena_bytes)} down to {size_text(first.arena_bytes)} "
        f"at {slower:.2f} times the time"
    )


def _estimated(frontier: MemoryFrontier) -> list[float]:
    return [each.seconds * 1e3 for each in frontier.points]
