"""A memory plan as text: in one line, as a table of tensors, as a summary of its pools.

The table has the columns of CANN GE's memory tool, the summary of pools what Mini-Infer's prints.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from ...passes.memory_plan import MemoryPlan
from .reuse import next_users, overwritten_by

UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"), (1, "B"))


def unit_of(count: int) -> tuple[int, str]:
    """The largest unit, in bytes and by name, of which `count` bytes are at least one."""
    return next((unit for unit in UNITS if count >= unit[0]), UNITS[-1])


def size_text(count: int) -> str:
    """Bytes in their unit: 5218304 is "5.218 MB"."""
    unit, name = unit_of(count)
    return f"{count / unit:.3f} {name}" if unit > 1 else f"{count} {name}"


def headline(plan: MemoryPlan) -> str:
    """The arena, and how far from the best possible it is."""
    arena = f"arena {size_text(plan.arena_bytes)}"
    if plan.optimal and plan.arena_bytes == plan.lower_bound_bytes:
        return f"{arena} = lower bound"
    proof = ", proven minimal" if plan.optimal else ""
    return f"{arena}, {plan.ratio:.3f} x lower bound{proof}"


def subtitle(plan: MemoryPlan) -> str:
    """What the arena serves, how it was planned and which step asks for so much."""
    tensors = [tensor for tensor in plan.tensors if not tensor.persistent and tensor.role != "view"]
    parts = [
        f"{len(plan.steps)} kernel calls, {len(tensors)} tensors of {size_text(separate_bytes(plan))}",
        f"strategy {_strategy(plan)}",
    ]
    if plan.steps:
        parts.append(f"step {plan.binding_step} binds ({plan.steps[plan.binding_step]})")
    return "; ".join(parts)


def separate_bytes(plan: MemoryPlan) -> int:
    """Bytes of the arena if every tensor and every scratch had bytes of its own."""
    unit = plan.alignment
    return sum(
        -(-tensor.bytes // unit) * unit for tensor in plan.tensors if not tensor.persistent and tensor.role != "view"
    )


def saving(before: int, after: int) -> str:
    """What was saved, in percent."""
    return f"{100 * (1 - after / before):.1f} %" if before else "0.0 %"


def some(names: Sequence[str], most: int = 4) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def certificate(plan: MemoryPlan) -> list[str]:
    """How large the arena is, how large it has to be, and what it would be without reuse."""
    proof = "proven minimal" if plan.optimal else "not proven minimal"
    where = f"step {plan.binding_step} ({plan.steps[plan.binding_step]})" if plan.steps else "no step"
    before = separate_bytes(plan)
    return [
        f"arena         {plan.arena_bytes:>14,} bytes, {proof} (strategy {_strategy(plan)})",
        f"lower bound   {plan.lower_bound_bytes:>14,} bytes at {where}, ratio {plan.ratio:.4f}",
        f"without reuse {before:>14,} bytes, {saving(before, plan.arena_bytes)} saved",
    ]


def plan_table(plan: MemoryPlan) -> str:
    """The certificate, then every tensor of the arena, in the order in which they are made.

    Lifetimes are half-open: `end` is the first step at which the bytes are free again.
    """
    users, operands = next_users(plan), overwritten_by(plan)
    rows: list[Sequence[str]] = [("tensor", "bytes", "start", "end", "address", "in place", "reused by")]
    for tensor in plan.tensors:
        if tensor.offset is not None:
            numbers = (tensor.bytes, tensor.birth, tensor.death, tensor.offset)
            place = f"over {operands[tensor.name]}" if tensor.inplace else ""
            kind = f"({tensor.role})" if tensor.role in ("scratch", "view") else place
            rows.append((tensor.name, *(f"{number:,}" for number in numbers), kind, some(users[tensor.name])))
    return "\n".join([*certificate(plan), "", *aligned(rows, "<>>>><<")]) + "\n"


def pool_table(plan: MemoryPlan) -> str:
    """The pools with their tensors, and what sharing them saves; for plans without pools, that there are none."""
    lines: list[str] = []
    if plan.pools:
        rows = [("pool", "bytes", "address", "tensors")]
        for number, (offset, size) in enumerate(plan.pools):
            names = [tensor.name for tensor in plan.tensors if tensor.pool == number and tensor.role != "view"]
            rows.append((str(number), f"{size:,}", f"{offset:,}", ", ".join(names)))
        lines = [*aligned(rows, ">>><"), ""]
    else:
        lines = [f"Strategy {plan.strategy} gives every buffer its own offset: there are no pools."]
        lines += ["The strategies pools and pools-first-fit make some.", ""]
    before, in_place = separate_bytes(plan), plan.original_bytes
    lines += [
        f"original      {before:>14,} bytes, every tensor by itself",
        f"in place      {in_place:>14,} bytes, results over operands and parts in their whole",
        f"optimised     {plan.arena_bytes:>14,} bytes" + (f" in {len(plan.pools)} pools" if plan.pools else ""),
        f"saving        {saving(before, plan.arena_bytes):>14}",
        f"lower bound   {plan.lower_bound_bytes:>14,} bytes, ratio {plan.ratio:.4f}",
    ]
    return "\n".join(lines) + "\n"


def csv_table(plan: MemoryPlan) -> str:
    """`tensor_name,size,offset,start_time,end_time` of every tensor of the arena; bytes, and half-open steps."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["tensor_name", "size", "offset", "start_time", "end_time"])
    for tensor in plan.tensors:
        if tensor.offset is not None:
            writer.writerow([tensor.name, tensor.bytes, tensor.offset, tensor.birth, tensor.death])
    return text.getvalue()


def aligned(rows: Sequence[Sequence[str]], sides: str) -> list[str]:
    """Lines of columns, each to the left (`<`) or to the right (`>`)."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    columns = list(zip(widths, sides, strict=True))
    return [
        "  ".join(f"{cell:{side}{width}}" for cell, (width, side) in zip(row, columns, strict=True)).rstrip()
        for row in rows
    ]


def _strategy(plan: MemoryPlan) -> str:
    """What was asked for, and which planner of it won."""
    return f"{plan.strategy}: {plan.method}" if plan.method not in ("", plan.strategy) else plan.strategy
