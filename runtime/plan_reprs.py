"""Plans as text: a line for `repr`, and for notebooks an HTML table with a picture of the arena."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .reprs import size_text

if TYPE_CHECKING:
    from ..passes.memory.report.memory_plan import MemoryPlan
    from .compute_device import LoadedPlan
    from .specs import TensorSpec

WIDTH, HEIGHT, LIVE = 640, 190, 40
"""Pixels of the picture, and those of its height for the live bytes below the rectangles."""
MOST = 400
"""Rectangles beyond which only the largest are drawn."""
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


def arena_picture(plan: MemoryPlan) -> str:
    """Tensors as rectangles of steps by bytes, live bytes by step, and the lower bound; "" for an empty arena."""
    from html import escape

    steps, arena = len(plan.steps), plan.arena_bytes
    shown = [each for each in plan.tensors if each.offset is not None and each.role != "view"]
    if not (steps and arena and shown):
        return ""
    high = HEIGHT - LIVE - 24
    wide = WIDTH / steps
    shown.sort(key=lambda each: -(each.death - each.birth) * each.bytes)
    parts: list[str] = []
    for number, each in enumerate(shown[:MOST]):
        low, top = each.offset or 0, each.end or 0
        colour = "hsl(30 25% 72%)" if each.role == "scratch" else f"hsl({number * 67 % 360} 48% 76%)"
        told = f"{each.name}: {size_text(each.bytes)}, steps {each.birth} to {each.death - 1}"
        parts.append(
            f'<rect x="{each.birth * wide:.1f}" y="{(1 - top / arena) * high:.1f}" fill="{colour}" stroke="#fff" '
            f'stroke-width="0.5" width="{(each.death - each.birth) * wide:.1f}" '
            f'height="{(top - low) / arena * high:.1f}"><title>{escape(told)}</title></rect>'
        )
    base = high + LIVE + 4
    levels = [base - live / arena * LIVE for live in plan.live_bytes()]
    path = "".join(f"L{at * wide:.1f} {y:.1f}L{(at + 1) * wide:.1f} {y:.1f}" for at, y in enumerate(levels))
    bound = (1 - plan.lower_bound_bytes / arena) * high
    parts.append(f'<path d="M0 {base}{path}L{WIDTH} {base}Z" fill="#6f9ceb" fill-opacity="0.75"/>')
    parts.append(f'<line x2="{WIDTH}" y1="{bound:.1f}" y2="{bound:.1f}" stroke="#c2410c" stroke-dasharray="6 3"/>')
    text = f"arena {size_text(arena)} over {steps} steps, live bytes below; the dashed line is the lower bound"
    parts.append(f'<text x="0" y="{HEIGHT - 6}" font-size="11" font-family="sans-serif" fill="gray">{text}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" style="max-width: {WIDTH}px; '
        f'width: 100%">{"".join(parts)}</svg>'
    )
