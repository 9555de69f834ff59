"""A memory plan as text: headline, table of tensors, table of pools, CSV.

The table has the columns and marks of CANN GE's memory tool, the summary of pools those of Mini-Infer's.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from ...dialects.arguments import check_kind
from ...passes.memory.report.memory_plan import MemoryPlan
from ...passes.memory.report.memory_records import BufferRecord, Role
from .reuse import next_users, overwritten_by, reusers

_PLACES = {"input": 0, "output": 2, "weight": 3}  # table separators around the results of calls
UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"), (1, "B"))


CSV_COLUMNS = (
    *("tensor_name", "size", "offset", "start_time", "end_time"),
    *("role", "buffer", "buffer_size", "buffer_live", "alignment", "kernel", "producer", "consumers", "note"),
)


def unit_of(count: int) -> tuple[int, str]:
    """The largest unit (bytes, name) that is no larger than `count` bytes."""
    return next((unit for unit in UNITS if count >= unit[0]), UNITS[-1])


def size_text(count: int) -> str:
    """Bytes in a fitting unit: 5218304 is "5.218 MB"."""
    unit, name = unit_of(count)
    return f"{count / unit:.3f} {name}" if unit > 1 else f"{count} {name}"


def percent(part: float) -> str:
    """A fraction in percent."""
    return f"{100 * part:.1f} %"


def headline(plan: MemoryPlan) -> str:
    """The arena's size, and its distance from the lower bound."""
    arena = f"arena {size_text(plan.arena_bytes)}"
    if plan.optimal and plan.arena_bytes == plan.lower_bound_bytes:
        return f"{arena} = lower bound"
    proof = ", proven minimal" if plan.optimal else ""
    return f"{arena}, {plan.ratio:.3f} x lower bound{proof}"


def subtitle(plan: MemoryPlan) -> str:
    """The arena's contents, its planner, and its binding step."""
    tensors = [tensor for tensor in plan.tensors if not tensor.persistent and tensor.role != "view"]
    parts = [
        f"{len(plan.steps)} kernel calls, {len(tensors)} tensors of {size_text(plan.total_bytes)}",
        f"strategy {_strategy(plan)}",
    ]
    if fused := sum(each.fate == "fused" for each in plan.removed):
        parts.append(f"{fused} more inside of kernels")
    if plan.steps:
        parts.append(f"step {plan.binding_step} binds ({plan.steps[plan.binding_step]})")
    return "; ".join(parts)


def some(names: Sequence[str], most: int = 4) -> str:
    """The first names, and the number of the others."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def certificate(plan: MemoryPlan) -> list[str]:
    """The size of the arena, its lower bound, and its size without reuse."""
    proof = "proven minimal" if plan.optimal else "not proven minimal"
    where = f"step {plan.binding_step} ({plan.steps[plan.binding_step]})" if plan.steps else "no step"
    return [
        f"arena         {_both(plan.arena_bytes)}, {proof} (strategy {_strategy(plan)})",
        f"lower bound   {_both(plan.lower_bound_bytes)} at {where}, ratio {plan.ratio:.4f}",
        *_all_orders(plan),
        f"without reuse {_both(plan.total_bytes)}; reuse saves {plan.saved_bytes:,} bytes, {percent(plan.saving)}",
        *_without_scratch(plan),
    ]


def _all_orders(plan: MemoryPlan) -> list[str]:
    """The bound of all orders of the calls, where it was asked for."""
    if plan.order_bound_bytes is None or plan.order_gap is None:
        return []
    proof = f"within {percent(plan.order_gap)} of that" if plan.order_gap else "proven minimal over all orders"
    return [f"any order     {_both(plan.order_bound_bytes)} at least; the arena is {proof}"]


def _without_scratch(plan: MemoryPlan) -> list[str]:
    """The parts of what would be without reuse, if there is scratch, and what is saved of the tensors alone."""
    if not plan.scratch_bytes:
        return []
    return [
        f"  tensors     {_both(plan.intermediate_bytes)}; of these alone the arena saves "
        f"{percent(plan.intermediate_saving)}",
        f"  scratch     {_both(plan.scratch_bytes)} of all calls, one after the other; nobody would keep it",
        f"  its price   {_both(plan.arena_bytes - plan.peak_without_scratch)} of the arena, "
        "which live tensors at their peak don't need",
    ]


def outside(plan: MemoryPlan, roles: Sequence[Role] = ("input", "output", "weight")) -> list[str]:
    """Total inputs, outputs, weights, and caches."""
    lines = [
        f"{role + 's':13} {_both(plan.bytes_of(role))} "
        f"({sum(tensor.role == role for tensor in plan.tensors)}), outside of the arena"
        for role in roles
    ]
    if plan.model_weight_bytes and "weight" in roles:
        lines.append(f"  in the model{_both(plan.model_weight_bytes)}, before they are folded and packed")
    if plan.caches:
        lines.append(f"caches        {_both(plan.cache_bytes)} ({len(plan.caches)}), outside of the arena")
    if plan.tokens:
        room = sum(cache.room_bytes for cache in plan.caches)
        lines.append(f"  a token     {_both(plan.token_bytes)}")
        lines.append(
            f"  room        {_both(room)} for {plan.tokens:,} tokens; on a CPU, a page of it takes memory once used"
        )
    return lines


def beside(plan: MemoryPlan) -> str:
    """What lies outside of the arena, in a line."""
    roles: tuple[Role, ...] = ("weight", "input", "output")
    parts = [f"{role}s {size_text(plan.bytes_of(role))}" for role in roles]
    if plan.caches:
        tokens = f" ({size_text(plan.token_bytes)} a token, room for {plan.tokens:,})" if plan.tokens else ""
        parts.insert(1, f"caches {size_text(plan.cache_bytes)}{tokens}")
    return f"outside of the arena: {', '.join(parts)}"


def place_table(plan: MemoryPlan) -> str:
    """The offset and lifetime of each tensor of the arena, in order of creation."""
    rows = [("address", "bytes", "steps", "tensor", "kernel")]
    for each in plan.tensors:
        if each.offset is not None:
            rows.append((f"{each.offset:,}", f"{each.bytes:,}", f"[{each.birth},{each.death})", each.name, each.kernel))
    return "\n".join(aligned(rows, ">>><<")) + "\n" if len(rows) > 1 else ""


def plan_table(plan: MemoryPlan) -> str:
    """The certificate, the memory outside of the arena, then every tensor.

    Inputs come first, then the results of the calls in order, outputs, weights and caches, and the ONNX tensors that
    have no bytes of their own, with what became of them. Lifetimes are half-open:
    `end` is the first step at which the bytes are free again. Tensors with an address lie in the arena. Marks are those
    of CANN GE: "(Reused)" for bytes that another tensor occupied before, "(In-place)" for those of an operand.
    """
    check_kind("plan", plan, MemoryPlan)
    lines = [*certificate(plan), *outside(plan)]
    users, marks = next_users(plan), _marks(plan)
    head = ("tensor", "bytes", "MB", "start", "end", "address", "mark", "made by", "read by", "reused by")
    rows: list[Sequence[str]] = [head]
    for tensor in sorted(plan.tensors, key=lambda tensor: _PLACES.get(tensor.role, 1)):
        life = f"{tensor.birth:,}", f"{tensor.death:,}"
        address = "" if tensor.offset is None else f"{tensor.offset:,}"
        size = f"{tensor.bytes:,}", f"{tensor.bytes / 10**6:.3f}"
        readers = some(tensor.consumers, 2)
        rows.append(
            (tensor.name, *size, *life, address, marks[tensor.name], tensor.producer, readers, some(users[tensor.name]))
        )
    for cache in plan.caches:
        size = f"{cache.bytes:,}", f"{cache.bytes / 10**6:.3f}"
        rows.append((cache.name, *size, "0", f"{len(plan.steps):,}", "", f"(cache) {cache.output}", "", "", ""))
    for gone in plan.removed:
        rows.append((gone.name, "", "", "", "", "", f"(removed) {gone.text}", "", "", ""))
    return "\n".join([*lines, "", *aligned(rows, "<>>>>><<<<")]) + "\n"


def _marks(plan: MemoryPlan) -> dict[str, str]:
    """The kind of each special tensor, and the tensor whose bytes it has."""
    operands, reused = overwritten_by(plan), reusers(plan)
    marks: dict[str, str] = {}
    for tensor in plan.tensors:
        kind = "in an output" if tensor.persistent and tensor.role == "intermediate" else tensor.role
        words = [] if kind == "intermediate" else [f"({kind})"]
        if tensor.inplace:
            words.append(f"(In-place) over {operands[tensor.name]}")
        elif tensor.name in reused:
            words.append("(Reused)")
        marks[tensor.name] = " ".join(words)
    return marks


def pool_table(plan: MemoryPlan) -> str:
    """The pools with their tensors, and the saving; for plans without pools, a note."""
    check_kind("plan", plan, MemoryPlan)
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
    lines += [
        f"original      {_both(plan.total_bytes)}, every tensor by itself",
        f"in place      {_both(plan.original_bytes)}, results over operands and parts in their whole",
        f"optimised     {_both(plan.arena_bytes)}" + (f" in {len(plan.pools)} pools" if plan.pools else ""),
        f"saving        {_both(plan.saved_bytes)}, {percent(plan.saving)}",
        f"lower bound   {_both(plan.lower_bound_bytes)}, ratio {plan.ratio:.4f}",
    ]
    return "\n".join(lines) + "\n"


def csv_table(plan: MemoryPlan) -> str:
    """A line for each tensor: bytes, offset in the arena, half-open steps, and where it comes from and goes.

    Those of the arena come first, with the buffer that they lie in: its bytes, and the steps at which these are taken
    ("0-3 5-9", half-open), which is what `mini-infer allocate` reads. Then come those in other memory, which have no
    offset, and the ONNX tensors without bytes of their own, which have a name and a note.
    """
    buffers = {each.number: each for each in plan.buffers}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for tensor in sorted(plan.tensors, key=lambda each: each.offset is None):
        offset = "" if tensor.offset is None else tensor.offset
        buffer = None if tensor.buffer is None else buffers.get(tensor.buffer)
        place = ("", "", "", "") if buffer is None else _buffer_facts(buffer, plan.alignment)
        facts = (tensor.role, *place, tensor.kernel, tensor.producer, " ".join(tensor.consumers), "")
        writer.writerow([tensor.name, tensor.bytes, offset, tensor.birth, tensor.death, *facts])
    for gone in plan.removed:
        writer.writerow([gone.name, *[""] * 4, "removed", *[""] * 7, gone.text])
    return text.getvalue()


def _buffer_facts(buffer: BufferRecord, alignment: int) -> tuple[int, int, str, int]:
    edges = [buffer.birth, *(step for gap in buffer.gaps for step in gap), buffer.death]
    live = " ".join(f"{start}-{end}" for start, end in zip(edges[::2], edges[1::2], strict=True))
    return buffer.number, buffer.bytes, live, alignment


def aligned(rows: Sequence[Sequence[str]], sides: str) -> list[str]:
    """Lines of aligned columns, each to the left (`<`) or to the right (`>`)."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    columns = list(zip(widths, sides, strict=True))
    return [
        "  ".join(f"{cell:{side}{width}}" for cell, (width, side) in zip(row, columns, strict=True)).rstrip()
        for row in rows
    ]


def _both(count: int) -> str:
    """A size in bytes and in megabytes."""
    return f"{count:>14,} bytes {count / 10**6:>10,.3f} MB"


def _strategy(plan: MemoryPlan) -> str:
    """The requested strategy, and the planner that won."""
    return f"{plan.strategy}: {plan.method}" if plan.method not in ("", plan.strategy) else plan.strategy
