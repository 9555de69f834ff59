"""What objects say of themselves: a plan in a line, and in a small table for notebooks; options that were chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields
from reprlib import Repr
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from .plan import InferencePlan
    from .specs import TensorSpec

SHOWN = 3  # inputs or outputs that a line names; more are counted
_SHORT = Repr()
_SHORT.maxdict = 4
_SHORT.maxother = _SHORT.maxstring = 80  # characters; an OptimizationProfile is such an other


def one_line(plan: InferencePlan, kind: str) -> str:
    """What goes in, what comes out and what it takes, as the repr of a `kind`."""
    return f"{kind}({interface(plan)}; {', '.join(f'{name} {value}' for name, value in _costs(plan))})"


def interface(plan: InferencePlan) -> str:
    """What goes in and what comes out."""
    return f"{_named(plan.inputs, 'inputs')} -> {_named(plan.outputs, 'outputs')}"


def html_table(plan: InferencePlan) -> str:
    """The same, a row for each input, output and cost."""
    from html import escape

    rows = [("input", str(spec)) for spec in plan.inputs] + [("output", str(spec)) for spec in plan.outputs]
    cells = (f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in [*rows, *_costs(plan)])
    return f"<table>{''.join(cells)}</table>"


def _named(specs: Sequence[TensorSpec], kind: str) -> str:
    return ", ".join(map(str, specs)) if len(specs) <= SHOWN else f"{len(specs)} {kind}"


def _costs(plan: InferencePlan) -> list[tuple[str, str]]:
    bound = plan.memory.lower_bound_bytes
    minimal = "minimal" if plan.arena_bytes == bound else f"lower bound {size_text(bound)}"
    return [
        ("kernel calls", str(len(plan.calls))),
        ("weights", size_text(plan.weights.nbytes)),
        ("arena", f"{size_text(plan.arena_bytes)} ({minimal}, {plan.memory.saving:.0%} saved)"),
        ("on", plan.config.place) if plan.launches else ("threads", str(plan.threads)),
    ]


def chosen_fields(record: DataclassInstance) -> str:
    """A dataclass as Python would make it: the fields that haven't their defaults, what is long in them left out."""
    chosen: list[str] = []
    for each in fields(record):
        value = getattr(record, each.name)
        default = each.default if each.default_factory is MISSING else each.default_factory()
        if value != default:
            chosen.append(f"{each.name}={_SHORT.repr(value)}")
    return f"{type(record).__name__}({', '.join(chosen)})"


def size_text(count: int) -> str:
    """Bytes in the largest unit of thousands of which they are at least one."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.2f} {unit}"
    return f"{count} B"
