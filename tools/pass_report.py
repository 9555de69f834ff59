"""What passes changed in a model, in lines and for programs."""

from __future__ import annotations

from typing import Any

from ..passes.pass_counts import PassStatistics


def pass_facts(statistics: PassStatistics) -> dict[str, Any]:
    """How often the patterns of each pass applied, all together, and the nodes that were ignored."""
    totals: dict[str, int] = {}
    for name, _, times in statistics.rows():
        totals[name] = totals.get(name, 0) + times
    return {"rewrites": totals, "modifications": statistics.modifications, "isolated": statistics.isolated}


def pass_lines(statistics: PassStatistics) -> list[str]:
    """The same as lines; none about what there is not."""
    found, lines = pass_facts(statistics), list[str]()
    if found["rewrites"]:
        changes = ", ".join(f"{name} {times}" for name, times in found["rewrites"].items())
        lines.append(f"rewrites: {changes}; {found['modifications']:,} modifications in all")
    if found["isolated"]:
        lines.append(f"nodes connected to nothing, ignored: {', '.join(found['isolated'])}")
    return lines
