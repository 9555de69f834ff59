"""What `run` and `plan` of mini-infer do with `--range`: one compile, and many shapes of which `--at` names some."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..dialects.errors import ConfigError
from ..dialects.symbolic.sizes import symbols_of, value_at
from ..runtime.compile.entry import compile
from ..runtime.compile.module_to_plan import import_model
from ..runtime.config import EngineConfig
from ..runtime.engine import Engine
from ..runtime.kept.artifact import load
from ..runtime.plan import InferencePlan
from ..runtime.shapes.dynamic_engine import DynamicEngine
from ..runtime.shapes.shape_family import settled, unit_of
from ..runtime.signature import input_specs
from ..runtime.specs import TensorSpec
from . import facts
from .arrays import load_inputs, save_outputs
from .facts import Facts
from .progress import working
from .reports.tables import size_text
from .running import latency_facts, output_facts, outputs_table, times_of

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Shape:
    """Sizes by name, and the inputs that have them."""

    sizes: Sizes
    specs: Sequence[TensorSpec]

    @property
    def text(self) -> str:
        """As `--at` takes it."""
        return ",".join(f"{name}={size}" for name, size in self.sizes.items())


def shapes_at(model: str, options: Mapping[str, Any], at: Sequence[Sizes]) -> list[Shape]:
    """The shapes that `--at` names, or else the best, the smallest and the largest of the ranges.

    Sizes that are not named are the best. Raises ConfigError for one that is not in its range.
    """
    config = EngineConfig.of(**options)
    assert config.profile is not None
    ranges = config.profile.dims
    for name, size in ((name, size) for sizes in at for name, size in sizes.items()):
        _check(name, size, ranges)
    ends: list[Sizes] = []
    for end in (1, 0, 2):
        sizes = {name: span[end] for name, span in ranges.items()}
        ends += [] if sizes in ends else [sizes]
    module, _ = import_model(model, config)
    return _shapes(input_specs(module), ranges, at or ends)


def shapes_of(engine: Engine, file: str, at: Sequence[Sizes]) -> list[Shape]:
    """The shapes of a compiled file that `--at` names, or else the best; of a file for one shape this.

    Raises ConfigError for sizes that are not in the ranges, or where the file has none.
    """
    profile, family = engine.config.profile, engine.plan.family
    if profile is None or family is None:
        if at:
            raise ConfigError(f"--at does nothing with {file}, which is for one shape")
        return [Shape({}, engine.plan.inputs)]
    for name, size in ((name, size) for sizes in at for name, size in sizes.items()):
        _check(name, size, profile.dims)
    return _shapes(family.base.inputs, profile.dims, at or [{}])


def _check(name: str, size: int, ranges: Mapping[str, tuple[int, int, int]]) -> None:
    if name not in ranges:
        raise ConfigError(f"--at {name}={size}: there is no --range of {name}")
    if not ranges[name][0] <= size <= ranges[name][2]:
        raise ConfigError(f"--at {name}={size}: {name} is from {ranges[name][0]} to {ranges[name][2]}")


def _shapes(
    specs: Sequence[TensorSpec], ranges: Mapping[str, tuple[int, int, int]], at: Sequence[Sizes]
) -> list[Shape]:
    """The specs at sizes; a symbol of compiled code is a part of a dimension, which needn't be a multiple of it."""
    symbols = {symbol for spec in specs for size in spec.shape for symbol in symbols_of(size)}
    named = {symbol: (symbol.name.partition(" / ")[0], unit_of(symbol)) for symbol in symbols}
    shapes: list[Shape] = []
    for each in at:
        sizes = {name: span[1] for name, span in ranges.items()} | dict(each)
        values: dict[Any, Any] = {symbol: Fraction(sizes[name], unit) for symbol, (name, unit) in named.items()}
        shapes.append(Shape(sizes, settled(tuple(specs), lambda size, values=values: int(value_at(size, values)))))
    return shapes


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
    """Compiles a model once, runs it at the shapes and prints what each took; the same for programs."""
    opened = _Opened.of(model, options, at)
    shapes = opened.shapes
    if output is not None and len(shapes) != 1:
        raise ConfigError(f"--output {output} is for one shape; with --range there are {len(shapes)}: see --at")
    inputs = [load_inputs(files, shape.specs, seed) for shape in shapes]
    engine = opened.compiled(console)
    table = _table("plan ms", "compiles", "median ms", "min ms", "arena")
    rows: list[dict[str, Any]] = []
    for shape, given in zip(shapes, inputs, strict=True):
        plan, taken = _planned(engine, shape)
        outputs = engine(given)
        latency = latency_facts(times_of(engine, given, repeat))
        numbers = (f"{latency[name]:.3f}" for name in ("median_ms", "min_ms"))
        arena = size_text(plan.memory.arena_bytes)
        table.add_row(shape.text, f"{taken * 1e3:.2f}", str(engine.compiles), *numbers, arena)
        told = {"outputs": output_facts(outputs), "latency": latency}
        rows.append(_facts(shape, plan, taken, engine) | told)
        if len(shapes) == 1:
            console.print(outputs_table(outputs))
            if output is not None:
                save_outputs(output, outputs)
                console.print(f"outputs written to {output}")
    console.print(table)
    return opened.facts(engine, rows)


def plan_at_shapes(model: str, options: Mapping[str, Any], at: Sequence[Sizes], console: Console) -> Facts:
    """Plans the memory of a model at the shapes, as an engine does, and prints a table; the same for programs."""
    opened = _Opened.of(model, options, at)
    engine = opened.compiled(console)
    table = _table("arena bytes", "lower bound", "plan ms", "compiles")
    rows: list[dict[str, Any]] = []
    room = 0
    for shape in opened.shapes:
        plan, taken = _planned(engine, shape)
        memory, room = plan.memory, max(room, plan.arena_bytes)
        sizes = f"{memory.arena_bytes:,}", f"{memory.lower_bound_bytes:,}"
        table.add_row(shape.text, *sizes, f"{taken * 1e3:.2f}", str(engine.compiles))
        rows.append(_facts(shape, plan, taken, engine))
    console.print(table)
    console.print(f"a context has room for all shapes: {room:,} bytes")
    return opened.facts(engine, rows) | {"context_bytes": room}


@dataclass
class _Opened:
    """A model and its shapes; a file that was compiled is loaded first, as it knows its ranges."""

    model: str
    options: Mapping[str, Any]
    shapes: Sequence[Shape]
    engine: Engine | None = None
    seconds: float = 0.0

    @classmethod
    def of(cls, model: str, options: Mapping[str, Any], at: Sequence[Sizes]) -> _Opened:
        if Path(model).suffix != ".mi":
            return cls(model, options, shapes_at(model, options, at))
        engine = load(model)
        return cls(model, options, shapes_of(engine, model, at), engine)

    def compiled(self, console: Console) -> DynamicEngine:
        if self.engine is None:
            start = time.perf_counter()
            with working(console, "compiling"):
                self.engine = compile(self.model, **self.options)
            self.seconds = time.perf_counter() - start
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
    """The plan for a shape, and the seconds that it took, a compile included where it needs one."""
    start = time.perf_counter()
    plan = engine.plan_for({spec.name: spec.shape for spec in shape.specs})
    return plan, time.perf_counter() - start


def _table(*titles: str) -> Table:
    table = Table(box=None, padding=(0, 2))
    table.add_column("shape")
    for title in titles:
        table.add_column(title, justify="right")
    return table
