"""`mini-infer operators`: lists this package's operators, and those that installed packages register."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from ..dialects.operators.operator_registry import BUILT_IN, OPERATORS
from .json_reports import Facts


def list_operators(domain: str | None, users: bool, console: Console) -> Facts:
    """Prints the operators of a domain, or of all, without mini_infer's own if only users' are asked for."""
    if not users:
        from ..lowering.onnx_to_graph import operators  # registers them

        del operators
    OPERATORS.load_packages()
    wanted = "" if domain == "ai.onnx" else domain
    found: list[dict[str, Any]] = [
        {
            "domain": each.domain or "ai.onnx",
            "name": each.name,
            "since": each.since,
            "kind": each.kind,
            "where": each.origin,
        }
        for each in OPERATORS.listed()
        if wanted in (None, each.domain) and not (users and each.kind == BUILT_IN)
    ]
    table = Table(box=None, padding=(0, 2))
    for title in ("domain", "name", "since", "kind", "where"):
        table.add_column(title, justify="right" if title == "since" else "left")
    for each in found:
        table.add_row(each["domain"], each["name"], str(each["since"] or "any"), each["kind"], each["where"])
    if found:
        console.print(table)
    console.print(f"{len(found)} operators")
    return {"operators": found}
