"""Labels that fit into the rectangles of a chart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

SIZES = (9.0, 8.0, 7.0, 6.0, 5.5)  # points; smaller text is illegible
WIDTH = 0.62  # width of a letter in units of the font size: DejaVu Sans's average, with a margin


@dataclass(frozen=True)
class Label:
    """A label that fits: text, size in points, and whether it is vertical."""

    text: str
    size: float
    upright: bool


def fitting_label(texts: Iterable[str], width: float, height: float) -> Label | None:
    """The first text that fits a box (in points), as large as possible, preferably horizontal."""
    for text in texts:
        for size in SIZES:
            long, across = WIDTH * size * len(text) + 4, 1.25 * size
            if long <= width and across <= height:
                return Label(text, size, False)
            if long <= height and across <= width:
                return Label(text, size, True)
    return None


def short_names(names: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The forms of each name, longest first: without the prefix common to all names, then ends of its path.

    No two names have a form in common, so that whatever fits tells which one it is.
    """
    first, last = min(names, default=""), max(names, default="")
    same = next((i for i, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), 0)
    common = re.sub(r"[^/._]*$", "", first[:same])
    forms: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        bare = name[len(common) :] or name
        parts = re.findall(r"[^/.]+[/.]*", bare)
        forms[name] = [*dict.fromkeys([bare, *("".join(parts[start:]) for start in range(len(parts)))])]
    shared = Counter(form for each in forms.values() for form in each)
    return {name: tuple(form for form in each if form == each[0] or shared[form] == 1) for name, each in forms.items()}
