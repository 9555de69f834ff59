"""What `mini-infer plan` does: the memory plan of a model, without building code."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text
from xdsl.dialects.builtin import ModuleOp

from ..dialects.errors import ConfigError
from ..lowering.pipelines import PassRun
from ..passes.memory.report.memory_report import MemoryPlan
from ..runtime.config import EngineConfig
from .progress import working
from .reports import PICTURES, plan_table, pool_table, write_report
from .reports.tables import aligned, certificate, size_text


@dataclass(frozen=True)
class Wanted:
    """What to tell of a plan. Without any of it, the summary: the certificate, and what is live when memory binds."""

    table: bool = False
    pools: bool = False
    files: Sequence[str] = ()  # reports to write, of the kinds that their names end in


def report_files(**given: str | None) -> list[str]:
    """The files to write, by the option that names them; raises ConfigError for a name of another kind."""
    kinds = {"csv": ("csv",), "plot": PICTURES, "html": ("html",)}
    for option, file in given.items():
        if file is not None and Path(file).suffix.removeprefix(".").lower() not in kinds[option]:
            endings = ", ".join(f".{kind}" for kind in kinds[option])
            raise ConfigError(f"--{option} {file}: the name must end in {endings}")
    return [file for file in given.values() if file is not None]


def show_plan(model: str, options: Mapping[str, Any], wanted: Wanted, console: Console) -> None:
    """Plans a model's memory and tells what is wanted of it."""
    from ..runtime.compiling import plan_model

    start = time.perf_counter()
    config = EngineConfig.of(**options)
    with working(console, "importing") as now:

        def observer(done: PassRun, _: ModuleOp) -> None:
            now(f"planning, after {done.name}")

        memory = plan_model(model, config, observer)
    taken = time.perf_counter() - start
    console.print(Text.assemble((Path(model).name, "bold"), f" planned in {taken:.2f} s"))
    if wanted.table:
        _write(console, plan_table(memory))
    if wanted.pools:
        _write(console, pool_table(memory))
    if not (wanted.table or wanted.pools):
        show_summary(memory, console)
    for file in wanted.files:
        with working(console, f"drawing {file}"):
            write_report(memory, file, _title(Path(model)))
        console.print(f"written: {file}")


def show_summary(memory: MemoryPlan, console: Console) -> None:
    """The certificate, and the tensors that make the arena as large as it is."""
    _write(console, "\n".join(certificate(memory)))
    scratch = sum(tensor.bytes for tensor in memory.tensors if tensor.role == "scratch")
    lines = [f"scratch       {scratch:>14,} bytes in all, inside the arena"] if scratch else []
    live = [tensor for tensor in memory.live_at(memory.binding_step) if tensor.role != "view"]
    if live:
        rows = [(tensor.name, size_text(tensor.bytes), tensor.kernel) for tensor in live]
        lines += [f"live at step {memory.binding_step}, which binds:"]
        lines += [f"  {line}" for line in aligned(sorted(rows, key=lambda row: row[0]), "<><")]
    _write(console, "\n".join(lines))


def _title(model: Path) -> str:
    """The model's name: that of its file, or of its folder where all files are called "model"."""
    return model.resolve().parent.name if model.stem == "model" else model.stem


def _write(console: Console, text: str) -> None:
    """Prints a table as it is, whatever the width of the terminal."""
    console.print(Text(text.rstrip("\n")), soft_wrap=True)
