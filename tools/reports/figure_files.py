"""Files of matplotlib's figures: equal figures give equal files."""

from __future__ import annotations

from typing import Any, BinaryIO, cast

PICTURES = ("png", "svg", "pdf")
DPI = 140
MOST_PIXELS = 30_000
"""Of a side of a .png: most viewers refuse more than 32,767."""


def save_figure(figure: Any, stream: BinaryIO, kind: str) -> None:
    """Writes a figure as one of PICTURES; texts stay texts in .svg. A large .png has fewer dots per inch."""
    import matplotlib

    settings = {"svg.fonttype": "none", "svg.hashsalt": "mini_infer", "hatch.linewidth": 0.6}
    dpi = min(DPI, MOST_PIXELS / max(figure.get_size_inches()))
    with cast("Any", matplotlib).rc_context(settings):
        undated = {} if kind == "png" else {"Date" if kind == "svg" else "CreationDate": None}
        figure.savefig(stream, format=kind, dpi=dpi, metadata=undated)
