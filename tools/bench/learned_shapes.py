"""Calls whose sizes change: code that a session learns, beside code for each size alone, as a Markdown table.

    python -m mini_infer.tools.bench.learned_shapes encoder.onnx --dim seq --sizes 50 --largest 128

The sizes come in random order, as to a session of `mini_infer.onnxruntime`. Then each takes turns with an engine
that was compiled for it alone.
"""

from __future__ import annotations

import time
from datetime import date
from pathlib import Path
from statistics import median
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from ...dialects.errors import ConfigError
from ...runtime.compile.entry import compile
from ...runtime.compile.learning_engine import LearningEngine
from ...runtime.devices.cpu.machine_limits import cpu_title
from ...runtime.engine import Engine
from ..arrays import Array, seeded_inputs
from ..one_line_errors import run_alone

CALLS, ROUNDS = 0.005, 15
"""Seconds of calls in a turn, and turns of each engine: medians of them differ by 2 % from one run to the next."""


def ratio(engines: tuple[Engine, Engine], inputs: dict[str, Array]) -> tuple[float, float]:
    """Median seconds of a call of the second engine, and how many times as long the first one's take."""
    for engine in engines:
        engine(inputs)
    start = time.perf_counter()
    engines[1](inputs)
    calls = max(1, round(CALLS / (time.perf_counter() - start)))
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for engine, found in zip(engines, times, strict=True):
            start = time.perf_counter()
            for _ in range(calls):
                engine(inputs)
            found.append((time.perf_counter() - start) / calls)
    return median(times[1]), median(times[0]) / median(times[1])


def measure(
    model: Annotated[Path, typer.Argument(help="An ONNX model.")],
    dim: Annotated[str, typer.Option(help="The dimension that varies.")],
    sizes: Annotated[int, typer.Option(min=1, help="How many sizes it has.")] = 50,
    largest: Annotated[int, typer.Option(min=1, help="The largest of them.")] = 128,
    others: Annotated[int, typer.Option(min=1, help="The size of all other open dimensions.")] = 1,
    threads: Annotated[int, typer.Option(min=1, help="Threads of a call.")] = 1,
) -> None:
    """Prints the microseconds of code for each size alone, and how many times as long the learned code takes."""
    learned = LearningEngine(model, {}, threads, cache=False)
    named = {size for each in learned.description["inputs"] for size in each["shape"] or () if isinstance(size, str)}
    if dim not in named:
        raise ConfigError(f"no input of {model} has a dimension {dim}; they have {', '.join(sorted(named)) or 'none'}")
    dims = dict.fromkeys(named, others)
    order: list[int] = np.random.default_rng(0).permutation(np.arange(1, largest + 1))[:sizes].tolist()
    fixed = {size: compile(model, threads, cache=False, dims={**dims, dim: size}) for size in order}
    given = {size: seeded_inputs(engine.plan.inputs, size) for size, engine in fixed.items()}
    found = {
        size: learned.engine_for({name: x.shape for name, x in each.items()}, each) for size, each in given.items()
    }
    lines = [
        f"{cpu_title()}, {threads} {'thread' if threads == 1 else 'threads'}, {date.today().isoformat()}",
        "",
        f"| {dim} | alone, us | learned |",
    ]
    ratios: list[float] = []
    for size in sorted(order):
        alone, times_as_long = ratio((found[size], fixed[size]), given[size])
        ratios.append(times_as_long)
        lines.append(f"| {size} | {1e6 * alone:.1f} | {times_as_long:.2f} |")
    lines.insert(3, "|---|---|---|")
    lines += ["", f"median {median(ratios):.3f}, largest {max(ratios):.3f}"]
    Console(soft_wrap=True).print("\n".join(lines), markup=False, highlight=False)


if __name__ == "__main__":
    run_alone(measure)
