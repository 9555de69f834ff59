"""`mini-infer plan`: the memory plan of a model, without generating code."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text
from xdsl.dialects.builtin import ModuleOp

from ...dialects.errors import ConfigError
from ...dialects.garbage_collection import collection_paused
from ...lowering.pipelines import PassRun
from ...passes.memory.report.memory_plan import MemoryPlan
from ...passes.memory.report.memory_records import Fate
from ...passes.pass_counts import PassStatistics
from ...runtime.config import EngineConfig
from ...runtime.kept.artifact import load
from ...runtime.limits import memory_for
from .. import json_reports as facts
from ..json_reports import Facts
from ..pass_report import pass_facts, pass_lines
from ..waiting import working
from . import PICTURES, plan_table, pool_table, write_report
from .memory_questions import interference_table, removed_table, step_table, why_text
from .plan_tables import aligned, certificate, outside, place_table, size_text


@dataclass(frozen=True)
class Questions:
    """What is asked of a plan, by the options of `mini-infer plan`."""

    why: Sequence[str] = ()
    interference: str | None = None
    steps: bool = False
    removed: bool = False

    def answers(self, memory: MemoryPlan) -> list[str]:
        """The answers as text. Raises ConfigError for a tensor that the model doesn't have."""
        found = [why_text(memory, name) for name in self.why]
        if self.interference is not None:
            found.append(memory.interference.dot() if self.interference == "dot" else interference_table(memory))
        found += [step_table(memory)] if self.steps else []
        return found + ([removed_table(memory)] if self.removed else [])


FATES: Mapping[Fate, str] = {
    "fused": "inside of kernels",
    "constant": "in constants",
    "same": "the same as others",
    "unused": "of no use",
}
"""What became of removed tensors, in the summary."""


def report_files(**given: str | None) -> list[str]:
    """The files to write, by the option that names them. Raises ConfigError for a wrong suffix."""
    kinds = {"csv": ("csv",), "plot": PICTURES, "html": ("html",)}
    for option, file in given.items():
        if file is not None and Path(file).suffix.removeprefix(".").lower() not in kinds[option]:
            endings = ", ".join(f".{kind}" for kind in kinds[option])
            raise ConfigError(f"--{option} {file}: the name must end in {endings}")
    return [file for file in given.values() if file is not None]


def show_plan(
    model: str,
    options: Mapping[str, Any],
    console: Console,
    *,
    table: bool,
    pools: bool,
    questions: Questions,
    files: Sequence[str],
    normalised: bool = False,
) -> Facts:
    """Plans a model's memory and prints the reports; returns them for programs. A compiled file has its plan."""
    start = time.perf_counter()
    if Path(model).suffix == ".mi":
        engine = load(model)
        memory, statistics = engine.plan.memory, engine.statistics
    else:
        memory, statistics = _planned(model, options, console)
    taken = time.perf_counter() - start
    answers = questions.answers(memory)  # before anything is printed: a tensor may be unknown
    how = "loaded" if Path(model).suffix == ".mi" else "planned"
    console.print(Text.assemble((Path(model).name, "bold"), f" {how} in {taken:.2f} s"))
    for line in pass_lines(statistics):
        _write(console, line)
    if table:
        _write(console, plan_table(memory))
    if pools:
        _write(console, pool_table(memory))
    for answer in answers:
        _write(console, answer)
    if not (table or pools or answers):
        _write(console, place_table(memory))
        show_summary(memory, console)
    for file in files:
        with working(console, f"drawing {file}"):
            drawn = Path(file).suffix.removeprefix(".").lower() in PICTURES
            write_report(memory, file, title_of(Path(model)), normalised=normalised and drawn)
        console.print(f"written: {file}")
    return {"model": model, "seconds": taken, **pass_facts(statistics), **plan_facts(memory)}


def _planned(model: str, options: Mapping[str, Any], console: Console) -> tuple[MemoryPlan, PassStatistics]:
    from ...passes.statistics import pass_statistics
    from ...runtime.compile.module_to_plan import plan_memory
    from ...runtime.compile.source import source_of

    config = EngineConfig.of(**options)
    with working(console, "importing") as now:

        def observer(done: PassRun, _: ModuleOp) -> None:
            now(f"planning, after {done.name}")

        with collection_paused(), memory_for("planning the model"):
            # Below the arena level there is no plan; that a proof would come too late is not what is wrong.
            module, ctx = source_of(model).load(replace(config, prove_order=False))
            return plan_memory(module, ctx, config, observer), pass_statistics(ctx)


def plan_facts(memory: MemoryPlan) -> dict[str, Any]:
    """A memory plan for programs: every tensor with its bytes, steps [start, end) and address in the arena."""
    shapes = {
        role: [
            {"name": each.name, "type": each.dtype, "shape": list(each.shape)}
            for each in memory.tensors
            if each.role == role
        ]
        for role in ("input", "output")
    }
    tensors = [
        {
            "name": each.name,
            "role": each.role,
            "bytes": each.bytes,
            "start": each.birth,
            "end": each.death,
            "address": each.offset,
            "node": each.node,
            "kernel": each.kernel,
            "producer": each.producer,
            "consumers": each.consumers,
            "read_at": each.read_at,
            "shape": each.shape,
            "model_shape": each.model_shape,
            "shared_with": each.shared_with,
            "inplace": each.inplace,
            "buffer": each.buffer,
            "pool": each.pool,
        }
        for each in memory.tensors
    ]
    return {
        "inputs": shapes["input"],
        "outputs": shapes["output"],
        "caches": facts.caches(memory),
        "memory": facts.memory(memory, memory.bytes_of("weight")),
        "alignment": memory.alignment,
        "binding_step": memory.binding_step,
        "steps": memory.steps,
        "peaks": [asdict(each) for each in memory.step_records()],
        "tensors": tensors,
        "removed": [asdict(each) | {"text": each.text} for each in memory.removed],
        "interference": _interference_facts(memory),
    }


def _interference_facts(memory: MemoryPlan) -> dict[str, Any]:
    """The interference graph for programs."""
    graph = memory.interference
    return {
        "edges": list(graph.edges()),
        "colours": graph.colours(),
        "largest_clique": {by: asdict(graph.largest_clique(by)) for by in ("number", "bytes")},
    }


def show_summary(memory: MemoryPlan, console: Console) -> None:
    """The certificate, the memory outside of the arena, and the tensors live at the binding step."""
    lines = [*certificate(memory), *outside(memory)]
    if memory.removed:
        counts = Counter(FATES[each.fate] for each in memory.removed)
        told = ", ".join(f"{number} {where}" for where, number in counts.items())
        lines.append(f"removed       {len(memory.removed):>14,} tensors of the model: {told}; --removed lists them")
    live = [tensor for tensor in memory.live_at(memory.binding_step) if tensor.role != "view"]
    if live:
        rows = [
            (tensor.name, f"{tensor.offset:,}", size_text(tensor.bytes), tensor.kernel)
            for tensor in sorted(live, key=lambda each: (each.offset or 0, each.name))
        ]
        lines += [f"live at step {memory.binding_step}, which binds:"]
        lines += [f"  {line}" for line in aligned(rows, "<>><")]
    _write(console, "\n".join(lines))


def title_of(model: Path) -> str:
    """The model's name: that of its file, or of its folder if all files are called "model"."""
    return model.resolve().parent.name if model.stem == "model" else model.stem


def _write(console: Console, text: str) -> None:
    """Prints a table without wrapping, whatever the width of the terminal."""
    console.print(Text(text.rstrip("\n")), soft_wrap=True)
