"""Plans as text: a line for `repr`, and an HTML table for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .reprs import size_text

if TYPE_CHECKING:
    from .compute_device import LoadedPlan
    from .specs import TensorSpec

SHOWN = 3  # inputs or outputs that a line names; more are counted


def one_line(plan: LoadedPlan, kind: str) -> str:
    """Inputs, outputs and costs in one line, as the repr of a `kind`."""
    return f"{kind}({interface(plan)}; {', '.join(f'{name} {value}' for name, value in _costs(plan))})"


def interface(plan: LoadedPlan) -> str:
    """Inputs and outputs."""
    return f"{_named(plan.inputs, 'inputs')} -> {_named(plan.outputs, 'outputs')}"


def html_table(plan: LoadedPlan) -> str:
    """The same as an HTML table, a row for each input, output and cost, and a picture of the arena."""
    from html import escape

    from .arena_picture import arena_picture

    rows = [("input", str(spec)) for spec in plan.inputs] + [("output", str(spec)) for spec in plan.outputs]
    cells = (f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in [*rows, *_costs(plan)])
    return f"<table>{''.join(cells)}</table>{arena_picture(plan.memory)}"


def _named(specs: Sequence[TensorSpec], kind: str) -> str:
    return ", ".join(map(str, specs)) if len(specs) <= SHOWN else f"{len(specs)} {kind}"


def _costs(plan: LoadedPlan) -> list[tuple[str, str]]:
    bound = plan.memory.lower_bound_bytes
    minimal = "minimal" if plan.arena_bytes == bound else f"lower bound {size_text(bound)}"
    return [
        ("kernel calls", str(len(plan.calls))),
        ("weights", size_text(plan.weights.nbytes)),
        ("arena", f"{size_text(plan.arena_bytes)} ({minimal}, {plan.memory.saving:.0%} saved)"),
        ("on", plan.config.place) if plan.launches else ("threads", str(plan.threads)),
    ]
