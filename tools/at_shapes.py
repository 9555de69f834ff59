"""What `run` and `plan` of mini-infer do with `--range`: one compile, and many shapes of which `--at` names some."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..dialects.errors import ConfigError
from ..dialects.symbolic.sizes import symbols_of, value_at
from ..runtime.build import import_model
from ..runtime.config import EngineConfig
from ..runtime.dynamic_engine import DynamicEngine
from ..runtime.opening import compile
from ..runtime.plan import InferencePlan
from ..runtime.shapes import settled
from ..runtime.signature import input_specs
from ..runtime.specs import TensorSpec
from .arrays import load_inputs, save_outputs
from .progress import working
from .reports.tables import size_text
from .running import outputs_table, times_of

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
    best = {name: span[1] for name, span in ranges.items()}
    for name, size in ((name, size) for sizes in at for name, size in sizes.items()):
        if name not in ranges:
            raise ConfigError(f"--at {name}={size}: there is no --range of {name}")
        if not ranges[name][0] <= size <= ranges[name][2]:
            raise ConfigError(f"--at {name}={size}: {name} is from {ranges[name][0]} to {ranges[name][2]}")
    ends = [{name: span[end] for name, span in ranges.items()} for end in (0, 2)]
    module, _ = import_model(model, config)
    specs = input_specs(module)
    symbols = {symbol for spec in specs for size in spec.shape for symbol in symbols_of(size)}
    shapes: list[Shape] = []
    for sizes in [best | dict(each) for each in at] or [best, *ends]:
        number = partial(value_at, values={symbol: sizes[symbol.name] for symbol in symbols})
        shapes.append(Shape(sizes, settled(tuple(specs), number)))
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
) -> None:
    """Compiles a model once, runs it at the shapes and prints what each took."""
    shapes = shapes_at(model, options, at)
    if output is not None and len(shapes) != 1:
        raise ConfigError(f"--output {output} is for one shape; with --range there are {len(shapes)}: see --at")
    inputs = [load_inputs(files, shape.specs, seed) for shape in shapes]
    engine = _compiled(model, options, console)
    table = _table("plan ms", "compiles", "median ms", "min ms", "arena")
    for shape, given in zip(shapes, inputs, strict=True):
        plan, taken = _planned(engine, shape)
        outputs = engine(given)
        times = times_of(engine, given, repeat)
        latency = f"{statistics.median(times) * 1e3:.3f}", f"{min(times) * 1e3:.3f}"
        arena = size_text(plan.memory.arena_bytes)
        table.add_row(shape.text, f"{taken * 1e3:.2f}", str(engine.compiles), *latency, arena)
        if len(shapes) == 1:
            console.print(outputs_table(outputs))
            if output is not None:
                save_outputs(output, outputs)
                console.print(f"outputs written to {output}")
    console.print(table)


def plan_at_shapes(model: str, options: Mapping[str, Any], at: Sequence[Sizes], console: Console) -> None:
    """Plans the memory of a model at the shapes, as an engine does, and prints a table."""
    shapes = shapes_at(model, options, at)
    engine = _compiled(model, options, console)
    table = _table("arena bytes", "lower bound", "plan ms", "compiles")
    room = 0
    for shape in shapes:
        plan, taken = _planned(engine, shape)
        memory, room = plan.memory, max(room, plan.arena_bytes)
        sizes = f"{memory.arena_bytes:,}", f"{memory.lower_bound_bytes:,}"
        table.add_row(shape.text, *sizes, f"{taken * 1e3:.2f}", str(engine.compiles))
    console.print(table)
    console.print(f"a context has room for all shapes: {room:,} bytes")


def _compiled(model: str, options: Mapping[str, Any], console: Console) -> DynamicEngine:
    start = time.perf_counter()
    with working(console, "compiling"):
        engine = cast("DynamicEngine", compile(model, **options))
    taken = time.perf_counter() - start
    console.print(Text.assemble((Path(model).name, "bold"), f" compiled for ranges of sizes in {taken:.2f} s"))
    return engine


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
