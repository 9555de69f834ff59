"""The arenas of models under each step of memory planning as a bar chart, relative to no planning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..reports.figure_files import write_figure
from ..reports.palette import BUFFERS, EDGE, TEXT
from ..reports.plan_tables import size_text

ROW, AROUND, WIDTH = 0.95, 1.3, 7.5  # inches: height of a model, height of title and axis, width


Arenas = Sequence[tuple[str, Mapping[str, int]]]
"""Models, with the bytes of each step; the first step is without planning."""


def write_memory_chart(arenas: Arenas, path: str) -> None:
    """Draws the chart. Raises as `write_figure`."""
    write_figure(draw_arenas(arenas), path)


def draw_arenas(arenas: Arenas) -> Any:
    """The chart as a matplotlib figure: for each model a bar for each step, in percent of the first."""
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(WIDTH, AROUND + ROW * len(arenas)), facecolor="white", layout="constrained")
    axes = figure.subplots()
    steps = list(dict.fromkeys(step for _, sizes in arenas for step in sizes))
    height = 0.8 / max(1, len(steps))
    for number, step in enumerate(steps):
        places = [place + (number - (len(steps) - 1) / 2) * height for place in range(len(arenas))]
        parts = [100 * sizes[step] / max(1, sizes[steps[0]]) for _, sizes in arenas]
        bars = axes.barh(places, parts, height, color=BUFFERS[number], edgecolor=EDGE, linewidth=0.4, label=step)
        labels = [f"{size_text(sizes[step])}, {part:.0f} %" for (_, sizes), part in zip(arenas, parts, strict=True)]
        axes.bar_label(bars, labels, padding=3, fontsize=7, color=TEXT)
    axes.set_xlim(0, 135)
    axes.set_xlabel("arena, percent of that without memory planning", fontsize=9, color=TEXT)
    axes.set_yticks(range(len(arenas)), [model for model, _ in arenas])
    axes.invert_yaxis()
    axes.tick_params(labelsize=8, colors=TEXT)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(title="memory planning", fontsize=8, title_fontsize=8, frameon=False, loc="lower right")
    return figure
