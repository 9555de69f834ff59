"""`run` and `plan` with `--range`: one compile, and the shapes selected by `--at` or by the arrays given."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..dialects.errors import ConfigError
from ..runtime.compile.entry import compile
from ..runtime.engine import Engine
from ..runtime.kept.artifact import load
from ..runtime.plan import InferencePlan
from ..runtime.shapes.cut_dimensions import cut_dimensions
from ..runtime.shapes.dynamic_engine import DynamicEngine
from ..runtime.shapes.shape_family import ShapeFamily
from . import json_reports as facts
from .arrays import load_inputs, save_arrays
from .asked_shapes import Shape, Sizes, shapes_at, shapes_of
from .json_reports import Facts
from .reports.plan_tables import outside, size_text
from .run_model import latency_facts, output_facts, outputs_table, times_of
from .waiting import working


def run_at_shapes(
    model: str,
    options: Mapping[str, Any],
    at: Sequence[Sizes],
    files: Sequence[str],
    seed: int | None,
    repeat: int,
    output: str | None,
    console: Console,
) -> Facts:
    """Compiles a model once, runs it at the shapes and prints the times; returns them for programs."""
    opened = _Opened.of(model, options, at, files)
    if output is not None and len(opened.shapes) != 1:
        raise ConfigError(f"--output {output} is for one shape; with --range there are {len(opened.shapes)}: see --at")
    engine = opened.compiled(console)
    shapes = opened.shapes
    inputs = [load_inputs(files, shape.specs, seed) for shape in shapes]
    table = _table("plan ms", "compiles", "median ms", "min ms", "arena")
    rows: list[dict[str, Any]] = []
    for shape, given in zip(shapes, inputs, strict=True):
        plan, taken = _planned(engine, shape)
        outputs = engine.tensors(given)
        latency = latency_facts(times_of(engine, given, repeat))
        numbers = (f"{latency[name]:.3f}" for name in ("median_ms", "min_ms"))
        arena = size_text(plan.memory.arena_bytes)
        table.add_row(shape.text, f"{taken * 1e3:.2f}", str(engine.compiles), *numbers, arena)
        told = {"outputs": output_facts(outputs), "latency": latency}
        rows.append(_facts(shape, plan, taken, engine) | told)
        if len(shapes) == 1:
            console.print(outputs_table(outputs))
            if output is not None:
                save_arrays(output, outputs)
                console.print(f"outputs written to {output}")
    console.print(table)
    return opened.facts(engine, rows)


def plan_at_shapes(model: str, options: Mapping[str, Any], at: Sequence[Sizes], console: Console) -> Facts:
    """Plans the memory of a model at the shapes, as an engine does, and prints a table; returns it for programs."""
    opened = _Opened.of(model, options, at)
    engine = opened.compiled(console)
    kept = ("caches bytes",) if engine.config.caches else ()
    table = _table(*kept, "arena bytes", "lower bound", "plan ms", "compiles")
    rows: list[dict[str, Any]] = []
    room = 0
    for shape in opened.shapes:
        plan, taken = _planned(engine, shape)
        memory, room = plan.memory, max(room, plan.arena_bytes)
        sizes = memory.arena_bytes, memory.lower_bound_bytes
        sizes = (memory.cache_bytes, *sizes) if kept else sizes
        table.add_row(shape.text, *(f"{size:,}" for size in sizes), f"{taken * 1e3:.2f}", str(engine.compiles))
        rows.append(_facts(shape, plan, taken, engine) | {"caches": facts.caches(memory)})
    console.print(table)
    console.print(f"a context has room for all shapes: {room:,} bytes")
    for line in outside(engine.plan.memory, ["weight"]):
        console.print(line)
    cut = cut_dimensions(cast("ShapeFamily", engine.plan.family).base.inputs, engine.config)
    for name, (asked, most) in cut.items():
        console.print(f"{name} is cut from {asked:,} to {most:,} by --cache-memory {engine.config.cache_memory}")
    return opened.facts(engine, rows) | {"context_bytes": room, "cut": {name: most for name, (_, most) in cut.items()}}


@dataclass
class _Opened:
    """A model and its shapes; a compiled file is loaded first, as it contains its ranges."""

    model: str
    options: Mapping[str, Any]
    shapes: Sequence[Shape]
    engine: Engine | None = None
    seconds: float = 0.0

    @classmethod
    def of(cls, model: str, options: Mapping[str, Any], at: Sequence[Sizes], files: Sequence[str] = ()) -> _Opened:
        if Path(model).suffix != ".mi":
            return cls(model, options, shapes_at(model, options, at, files))
        engine = load(model)
        return cls(model, options, shapes_of(engine, model, at, files), engine)

    def compiled(self, console: Console) -> DynamicEngine:
        if self.engine is None:
            start = time.perf_counter()
            with working(console, "compiling"):
                self.engine = compile(self.model, **self.options)
            self.seconds = time.perf_counter() - start
            if len(self.engine.input_names) > len(self.shapes[0].specs):  # by --next-token or --cache-type int8
                self.shapes = shapes_of(self.engine, self.model, [shape.sizes for shape in self.shapes])
            said = f" compiled for ranges of sizes in {self.seconds:.2f} s"
        else:
            said = " was compiled for ranges of sizes"
        console.print(Text.assemble((Path(self.model).name, "bold"), said))
        return cast("DynamicEngine", self.engine)

    def facts(self, engine: DynamicEngine, shapes: Sequence[Facts]) -> dict[str, Any]:
        threads = engine.plan.threads
        return {"model": self.model, "threads": threads, "seconds": self.seconds, "shapes": shapes}


def _facts(shape: Shape, plan: InferencePlan, taken: float, engine: DynamicEngine) -> dict[str, Any]:
    return {
        "shape": shape.sizes,
        "inputs": facts.tensors(plan.inputs),
        "outputs": facts.tensors(plan.outputs),
        "plan_ms": taken * 1e3,
        "compiles": engine.compiles,
        "memory": facts.memory(plan.memory, plan.weights.nbytes),
    }


def _planned(engine: DynamicEngine, shape: Shape) -> tuple[InferencePlan, float]:
    """The plan for a shape, and the seconds it took, including a compile if necessary."""
    start = time.perf_counter()
    plan = engine.plan_for({spec.name: spec.shape for spec in shape.specs})
    return plan, time.perf_counter() - start


def _table(*titles: str) -> Table:
    table = Table(box=None, padding=(0, 2))
    table.add_column("shape")
    for title in titles:
        table.add_column(title, justify="right")
    return table
