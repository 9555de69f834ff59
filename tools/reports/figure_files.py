"""Files of matplotlib's figures: equal figures give equal files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO, cast

from ...dialects.atomic_file import atomic_file
from ...dialects.errors import ConfigError

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


def check_chart(path: str, option: str = "--chart") -> None:
    """Raises ConfigError for a file name without a supported image suffix, given by an option."""
    if Path(path).suffix.removeprefix(".").lower() not in PICTURES:
        raise ConfigError(f"{option} {path}: there are pictures as {', '.join(f'.{kind}' for kind in PICTURES)}")


def write_figure(figure: Any, path: str) -> None:
    """Writes a figure; equal figures give equal files. Raises MiniInferError if the file can't be written."""
    with atomic_file(path) as stream:
        save_figure(figure, stream, Path(path).suffix.removeprefix(".").lower())
