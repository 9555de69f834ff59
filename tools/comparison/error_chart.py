"""Errors of layers drawn by matplotlib: relative errors over the layers, on a log scale."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

from ..reports.labels import short_names
from ..reports.palette import BINDING, BOUND, EDGE, TEXT
from .layer_error import LayerError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


HEIGHT = 5.0  # inches
WIDTHS = (7.0, 18.0)  # inches: minimum and maximum width
PER_LAYER = 0.2  # inches
MOST_NAMED = 80  # layers whose names are written


def draw_errors(errors: Sequence[LayerError], outputs: Sequence[str], title: str) -> Figure:
    """The errors as a matplotlib figure; those that are 0 or not finite are left out."""
    from matplotlib.figure import Figure

    width = min(WIDTHS[1], max(WIDTHS[0], 2 + PER_LAYER * len(errors)))
    figure: Any = Figure(figsize=(width, HEIGHT), facecolor="white", layout="constrained")
    axes = figure.subplots()
    places = range(len(errors))
    for values, label, colour in (
        ([each.error for each in errors], "max|e| / max|reference|", BOUND),
        ([each.rms for each in errors], "rms", EDGE),
    ):
        shown = [value if value and isfinite(value) else nan for value in values]
        axes.plot(places, shown, color=colour, linewidth=1.2, marker="o", markersize=3, label=label)
    ends = [place for place in places if errors[place].name in outputs]
    for place in ends:
        label = "an output" if place == ends[0] else None
        axes.axvline(place, color=BINDING, linewidth=1, linestyle=":", zorder=0, label=label)
    if any(value > 0 and isfinite(value) for each in errors for value in (each.error, each.rms)):
        axes.set_yscale("log")
    axes.set_ylabel("relative error", fontsize=9, color=TEXT)
    axes.set_xlabel("layers, in the order of the graph", fontsize=9, color=TEXT)
    if len(errors) <= MOST_NAMED:
        names = [each.name for each in errors]
        forms = short_names(names)
        axes.set_xticks(list(places), [forms[name][0] for name in names], rotation=90)
    axes.tick_params(labelsize=7, colors=TEXT)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False)
    figure.suptitle(title, fontsize=10, color=TEXT)
    return figure
