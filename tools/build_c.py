"""`mini-infer build --emit c`: compiles, writes the C files, and reports."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..runtime.c_export.emit_c import emit_c
from . import json_reports as facts
from .json_reports import Facts
from .reports.plan_tables import size_text
from .waiting import working


def show_c(
    model: str,
    options: Mapping[str, Any],
    folder: str,
    console: Console,
    *,
    name: str,
    cpu: str,
    embed: bool,
    force: bool,
) -> Facts:
    """Compiles a model to C files and reports."""
    start = time.perf_counter()
    with working(console, "compiling"):
        made = emit_c(model, folder, name=name, cpu=cpu, embed=embed, replace=force, **options)
    taken = time.perf_counter() - start
    interface = made.interface
    console.print(Text.assemble((Path(model).name, "bold"), f" compiled for {interface.cpu} in {taken:.2f} s"))
    table = Table(box=None, padding=(0, 2))
    table.add_column("file")
    table.add_column("size", justify="right")
    for file, nbytes in made.sizes.items():
        table.add_row(str(Path(folder) / file), size_text(nbytes))
    console.print(table)
    called = ", ".join(sorted(made.calls)) or "nothing"
    console.print(
        f"threads {interface.threads}, arena {size_text(interface.arena_bytes)}, calls of C's library: {called}"
    )
    read = [each.spec for each in interface.parameters if each.is_input]
    written = [each.spec for each in interface.parameters if not each.is_input]
    return {
        "model": model,
        "inputs": facts.tensors(read),
        "outputs": facts.tensors(written),
        "cpus": [interface.cpu],
        "threads": interface.threads,
        "arena_bytes": interface.arena_bytes,
        "weights_bytes": interface.weights_bytes,
        "seconds": taken,
        "files": {str(Path(folder) / file): nbytes for file, nbytes in made.sizes.items()},
        "calls": sorted(made.calls),
    }
