"""A benchmark as a chart by matplotlib: ratio to the best peer for each model, and each engine's fraction of the limit.

Quantities unknown for every model are left out; latencies are drawn if neither is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..reports.figure_files import write_figure
from ..reports.palette import BOUND, BUFFERS, EDGE, TEXT
from .report import Benchmark, ModelResult
from .turns import OURS

ROW = 0.42  # inches of height for a model
AROUND = 1.7  # inches for title, axes and legend
PANEL = 5.5  # inches of width for ratios, and for what engines reach


def write_chart(benchmark: Benchmark, path: str) -> None:
    """Draws the models that any engine ran. Raises MiniInferError if the file can't be written."""
    write_figure(draw_chart(benchmark), path)


def draw_chart(benchmark: Benchmark) -> Any:
    """The chart as a matplotlib figure: ratios on the left, fractions of the limit on the right."""
    from matplotlib.figure import Figure

    models = [each for each in benchmark.models if each.engines]
    panels: list[Callable[[Any], None]] = []
    if benchmark.geometric_mean is not None:
        panels.append(lambda axes: _draw_ratios(axes, models, benchmark.geometric_mean))
    if any(each.of_limit is not None for model in models for each in model.engines.values()):
        panels.append(lambda axes: _draw_engines(axes, models, "of_limit", "fraction of the machine's limit"))
    if not panels:
        panels.append(lambda axes: _draw_engines(axes, models, "median_ms", "median latency in ms"))
    height = AROUND + ROW * max(1, len(models))
    figure: Any = Figure(figsize=(PANEL * len(panels), height), facecolor="white", layout="constrained")
    figure.suptitle(benchmark.headline().removeprefix("latency in ms, "), fontsize=10, color=TEXT)
    drawn = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, draw in zip(drawn, panels, strict=True):
        draw(axes)
        axes.tick_params(labelsize=8, colors=TEXT)
        axes.spines[["top", "right"]].set_visible(False)
    drawn[0].set_yticks(range(len(models)), [each.title for each in models])
    drawn[0].invert_yaxis()
    return figure


def _draw_ratios(axes: Any, models: Sequence[ModelResult], mean: float | None) -> None:
    known = [(place, each.ratio, each.best_peer) for place, each in enumerate(models) if each.ratio is not None]
    told = f", geometric mean {mean:.2f}" if mean is not None else ""
    axes.set_xlabel(f"best peer / {OURS}, medians{told}", fontsize=9, color=TEXT)
    bars = axes.barh([place for place, _, _ in known], [ratio for _, ratio, _ in known], 0.6, color=BUFFERS[0])
    axes.axvline(1, color=BOUND, linewidth=1.2, zorder=3)
    labels = [f"{ratio:.2f} ({peer})" for _, ratio, peer in known]
    axes.bar_label(bars, labels, padding=3, fontsize=8, color=TEXT)
    axes.set_xlim(0, 1.35 * max([1.0, *(ratio for _, ratio, _ in known)]))


def _draw_engines(axes: Any, models: Sequence[ModelResult], name: str, title: str) -> None:
    """A bar for each engine on each model, of the length of its number `name`."""
    engines = list(dict.fromkeys(name for each in models for name in each.engines))
    axes.set_xlabel(title, fontsize=9, color=TEXT)
    if name == "of_limit":
        axes.axvline(1, color=BOUND, linewidth=1.2, zorder=3)
    width = 0.8 / max(1, len(engines))
    for number, engine in enumerate(engines):
        places: list[float] = []
        values: list[float] = []
        for place, each in enumerate(models):
            value = getattr(each.engines[engine], name) if engine in each.engines else None
            if value is not None:
                places.append(place + (number - (len(engines) - 1) / 2) * width)
                values.append(value)
        colour = BUFFERS[number % len(BUFFERS)]
        axes.barh(places, values, width, color=colour, edgecolor=EDGE, linewidth=0.4, label=engine)
    if engines:
        axes.legend(fontsize=8, frameon=False, loc="best")
