"""The list of passes by level for a tool's help: summaries and options."""

from __future__ import annotations

from typing import Any

import typer

from ...lowering.registry import PASSES, PASSES_BY_LEVEL, pass_options, pass_summary


def pass_names(incomplete: str) -> list[str]:
    """Completions for the last name in a list of passes."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in PASSES if name.startswith(last)]


def show_passes(context: typer.Context, wanted: bool) -> None:
    """Prints all passes with their options and exits, if `wanted`."""
    if wanted:
        formatter = context.make_formatter()
        write_passes(formatter, options=True)
        typer.echo(formatter.getvalue().strip("\n"))
        raise typer.Exit


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
