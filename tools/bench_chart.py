"""The picture of a benchmark, by matplotlib: a bar for each model that says how much longer the best peer takes, and
bars that say which fraction of the machine's limit each engine reaches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from ..dialects.errors import ConfigError
from ..dialects.whole_file import whole_file
from .bench_report import Benchmark, ModelResult
from .bench_turns import OURS
from .reports import PICTURES
from .reports.palette import BOUND, BUFFERS, EDGE, TEXT

ROW = 0.42  # inches of height for a model
AROUND = 1.7  # inches for title, axes and legend
WIDTH = 11.0  # inches


def check_chart(path: str) -> None:
    """Raises ConfigError for a file whose name ends in no kind of picture there is."""
    if Path(path).suffix.removeprefix(".").lower() not in PICTURES:
        raise ConfigError(f"--chart {path}: there are pictures as {', '.join(f'.{kind}' for kind in PICTURES)}")


def write_chart(benchmark: Benchmark, path: str) -> None:
    """Draws the models that any engine ran; raises MiniInferError where the file can't be written."""
    import matplotlib

    kind = Path(path).suffix.removeprefix(".").lower()
    figure = draw_chart(benchmark)
    settings = {"svg.fonttype": "none", "svg.hashsalt": "mini_infer"}
    with cast("Any", matplotlib).rc_context(settings), whole_file(path) as stream:
        undated = {} if kind == "png" else {"Date" if kind == "svg" else "CreationDate": None}
        figure.savefig(stream, format=kind, dpi=140, metadata=undated)


def draw_chart(benchmark: Benchmark) -> Any:
    """The picture as a matplotlib figure: ratios to the left, fractions of the limit to the right."""
    from matplotlib.figure import Figure

    models = [each for each in benchmark.models if each.engines]
    height = AROUND + ROW * max(1, len(models))
    figure: Any = Figure(figsize=(WIDTH, height), facecolor="white", layout="constrained")
    ratios, fractions = figure.subplots(1, 2, sharey=True)
    figure.suptitle(benchmark.headline().removeprefix("latency in ms, "), fontsize=10, color=TEXT)
    _draw_ratios(ratios, models, benchmark.geometric_mean)
    _draw_fractions(fractions, models)
    ratios.set_yticks(range(len(models)), [each.title for each in models])
    ratios.invert_yaxis()
    for axes in (ratios, fractions):
        axes.axvline(1, color=BOUND, linewidth=1.2, zorder=3)
        axes.tick_params(labelsize=8, colors=TEXT)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _draw_ratios(axes: Any, models: Sequence[ModelResult], mean: float | None) -> None:
    known = [(place, each.ratio, each.best_peer) for place, each in enumerate(models) if each.ratio is not None]
    told = f", geometric mean {mean:.2f}" if mean is not None else ""
    axes.set_xlabel(f"best peer / {OURS}, medians{told}", fontsize=9, color=TEXT)
    bars = axes.barh([place for place, _, _ in known], [ratio for _, ratio, _ in known], 0.6, color=BUFFERS[0])
    labels = [f"{ratio:.2f} ({peer})" for _, ratio, peer in known]
    axes.bar_label(bars, labels, padding=3, fontsize=8, color=TEXT)
    axes.set_xlim(0, 1.35 * max([1.0, *(ratio for _, ratio, _ in known)]))


def _draw_fractions(axes: Any, models: Sequence[ModelResult]) -> None:
    engines = list(dict.fromkeys(name for each in models for name in each.engines))
    axes.set_xlabel("fraction of the machine's limit", fontsize=9, color=TEXT)
    width = 0.8 / max(1, len(engines))
    for number, engine in enumerate(engines):
        places: list[float] = []
        values: list[float] = []
        for place, each in enumerate(models):
            fraction = each.engines[engine].of_limit if engine in each.engines else None
            if fraction is not None:
                places.append(place + (number - (len(engines) - 1) / 2) * width)
                values.append(fraction)
        colour = BUFFERS[number % len(BUFFERS)]
        axes.barh(places, values, width, color=colour, edgecolor=EDGE, linewidth=0.4, label=engine)
    if engines:
        axes.legend(fontsize=8, frameon=False, loc="best")
