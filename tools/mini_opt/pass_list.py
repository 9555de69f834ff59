"""The list of passes by level for a tool's help: summaries and options."""

from __future__ import annotations

from typing import Any

from ...lowering.registry import PASSES_BY_LEVEL, pass_options, pass_summary


def write_passes(formatter: Any, *, options: bool) -> None:
    """Writes the passes, optionally with the types and defaults of their options, to click's help formatter."""
    for level, passes in PASSES_BY_LEVEL.items():
        rows: list[tuple[str, str]] = []
        for name in passes:
            rows.append((name, pass_summary(name)))
            if options:
                rows += [(f"  {each.name}", f"{each.type} = {each.default}") for each in pass_options(name)]
        with formatter.section(f"passes at the {level} level" if level else "passes at any level"):
            formatter.write_dl(rows)
