"""Names that fit into the rectangles of a picture."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

SIZES = (9.0, 8.0, 7.0, 6.0, 5.5)  # points; smaller ones can't be read
WIDTH = 0.62  # of a letter, in units of the font size: that of DejaVu Sans on average, with some air


@dataclass(frozen=True)
class Label:
    """A text that fits: its size in points, and whether it runs upwards."""

    text: str
    size: float
    upright: bool


def fitting_label(texts: Iterable[str], width: float, height: float) -> Label | None:
    """The first of the texts that fits a box of so many points, as large as possible; lying rather than upright."""
    for text in texts:
        for size in SIZES:
            long, across = WIDTH * size * len(text) + 4, 1.25 * size
            if long <= width and across <= height:
                return Label(text, size, False)
            if long <= height and across <= width:
                return Label(text, size, True)
    return None


def short_names(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Each name's forms, the longest first: without what all names begin with, then the ends of its path."""
    first, last = min(names, default=""), max(names, default="")
    same = next((i for i, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), 0)
    common = re.sub(r"[^/._]*$", "", first[:same])
    forms: dict[str, tuple[str, ...]] = {}
    for name in names:
        bare = name[len(common) :] or name
        parts = re.findall(r"[^/.]+[/.]*", bare)
        forms[name] = tuple(dict.fromkeys([bare, *("".join(parts[-count:]) for count in (2, 1) if parts)]))
    return forms
