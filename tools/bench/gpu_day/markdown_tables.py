"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """The lines of a table: texts to the left, numbers, which are shown with three digits, to the right."""
    right = [any(isinstance(row[column], int | float) for row in rows) for column in range(len(heads))]
    lines = [heads, ["---:" if each else "---" for each in right], *([_cell(each) for each in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(value: Any) -> str:
    if not isinstance(value, float):
        return "" if value is None else str(value).replace("|", "\\|").replace("\n", " ")
    return f"{value:.0f}" if 100 <= abs(value) < 1e6 else f"{value:.3g}"
