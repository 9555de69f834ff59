"""What `mini-infer plan` does: the memory plan of a model, without building code."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..passes.memory_report import MemoryPlan, TensorRecord
from ..runtime.engine import EngineConfig
from .whole_file import whole_file

MOST_NAMES = 3  # of other tensors in a note


def show_plan(model: str, options: Mapping[str, Any], csv_path: str | None, console: Console) -> None:
    """Plans a model's memory and prints it; `csv_path` gets one line per tensor as well."""
    from ..runtime.build import import_model, plan_memory

    start = time.perf_counter()
    config = EngineConfig.of(**options)
    module, ctx = import_model(model, config)
    memory = plan_memory(module, ctx, config)
    taken = time.perf_counter() - start
    console.print(Text.assemble((Path(model).name, "bold"), f" planned in {taken:.2f} s"))
    console.print(tensor_table(memory))
    show_summary(memory, console)
    if csv_path is not None:
        write_csv(memory, csv_path)
        console.print(f"table written to {csv_path}")


def show_summary(memory: MemoryPlan, console: Console) -> None:
    """The arena, its lower bound, and what no reuse would have taken."""
    inside = _in_arena(memory)
    scratch = sum(tensor.bytes for tensor in inside if tensor.role == "scratch")
    saved = 100 * (1 - memory.arena_bytes / memory.original_bytes) if memory.original_bytes else 0.0
    proof = "proven minimal for this order" if memory.optimal else "not proven minimal"
    console.print(
        f"arena {megabytes(memory.arena_bytes)} for {len(inside)} tensors; "
        f"without reuse {megabytes(memory.original_bytes)} ({saved:.1f} % saved); scratch {megabytes(scratch)}"
    )
    if memory.pools:
        console.print(f"{len(memory.pools)} pools: {', '.join(megabytes(size) for _, size in memory.pools)}")
    console.print(f"lower bound {megabytes(memory.lower_bound_bytes)}: {proof} ({memory.method or memory.strategy})")


def megabytes(count: int) -> str:
    """Bytes for people: 10^6 of them to a megabyte."""
    return f"{count / 1e6:.3f} MB"


def tensor_table(memory: MemoryPlan) -> Table:
    """One row per tensor of the arena: size, lifetime in steps, address, and who has the same bytes when."""
    table = Table(box=None, padding=(0, 2))
    for title in ("tensor", "bytes", "from", "to", "address", "notes"):
        table.add_column(title, justify="left" if title in ("tensor", "notes") else "right", no_wrap=title != "notes")
    for tensor in _in_arena(memory):
        numbers = (tensor.bytes, tensor.birth, tensor.death, tensor.offset or 0)
        table.add_row(tensor.name, *(f"{number:,}" for number in numbers), _notes(memory, tensor))
    return table


def _notes(memory: MemoryPlan, tensor: TensorRecord) -> str:
    notes = [f"({tensor.role})"] if tensor.role in ("scratch", "view") else []
    notes += ["(in place)"] if tensor.inplace else []
    for what, names in (("shares with", tensor.shared_with), ("reused by", memory.reused_by(tensor))):
        if names:
            more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            notes.append(f"{what} {', '.join(names[:MOST_NAMES])}{more}")
    return "; ".join(notes)


def _in_arena(memory: MemoryPlan) -> list[TensorRecord]:
    return [tensor for tensor in memory.tensors if not tensor.persistent]


def write_csv(memory: MemoryPlan, path: str) -> None:
    """`tensor_name,size,offset,start_time,end_time` for every tensor of the arena, whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["tensor_name", "size", "offset", "start_time", "end_time"])
    for tensor in _in_arena(memory):
        writer.writerow([tensor.name, tensor.bytes, tensor.offset, tensor.birth, tensor.death])
    with whole_file(path) as stream:
        stream.write(text.getvalue().encode())
