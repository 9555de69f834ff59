"""All that is to be measured and checked where there is an NVIDIA GPU, in parts that go on where they were cut.

    python -m mini_infer.tools.bench.gpu_day --models build/hollow --out build/gpu-day     # or make gpu-day
    python -m mini_infer.tools.bench.gpu_day --parts models,peers --limit 300

Each part keeps its results in the folder, and ends after a while even if it is not done; the same command then goes on
with what is left. The page gpu-day.md there shows all that was found so far; it can be written anywhere, by --parts ''.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from ....dialects.errors import ConfigError, MiniInferError
from ....runtime.compute_device import compute_device
from ...one_line_errors import run_alone
from ...option_values import Dims, dims_of, listed
from .candidates import PRODUCTS
from .checks import sanitizer, tests
from .folder import Day, Result, found_models, read_result, write_result
from .gpu_environment import environment
from .model_times import models
from .peers import peers
from .results_page import write_page
from .schedules import schedules

PARTS: Mapping[str, Callable[[Day, float], Result]] = {
    "environment": environment,
    "tests": tests,
    "models": models,
    "schedules": schedules,
    "peers": peers,
    "sanitizer": sanitizer,
}
ASKED = {
    "models": ("models", "precisions", "dims"),
    "schedules": ("products", "precisions"),
    "peers": ("models", "precisions", "dims"),
}
"""The options that a part depends on: with others it is not done."""
LIMIT = 420.0
"""Seconds of a part."""
MOST_JOBS = 14


def run_parts(day: Day, parts: Sequence[str], limit: float) -> list[str]:
    """Runs the parts that are not done; returns those that still are not."""
    left: list[str] = []
    for part in parts:
        file = day.out / f"{part}.json"
        asked = {name: str(getattr(day, name)) for name in ASKED.get(part, ())}
        before = read_result(file)
        if before is not None and before["done"] and before["asked"] == asked:
            typer.echo(f"{part}: done before")
            continue
        start = time.monotonic()
        try:
            result = PARTS[part](day, start + limit)
        except Exception as error:  # whatever it is, other parts go on
            told = str(error) if isinstance(error, MiniInferError) else f"{type(error).__name__}: {error}"
            result: Result = {"done": False, "why": told}
        seconds = time.monotonic() - start
        write_result(file, {**result, "asked": asked, "seconds": seconds})
        state = "done" if result["done"] else "not done"
        typer.echo(f"{part}: {state} after {seconds:.0f} s{': ' * ('why' in result)}{result.get('why', '')}")
        left += [] if result["done"] else [part]
    return left


def gpu_day(
    parts: Annotated[str, typer.Option(help="The parts to run.")] = ",".join(PARTS),
    out: Annotated[Path, typer.Option(help="The folder for results.")] = Path("build/gpu-day"),
    models: Annotated[list[str] | None, typer.Option(help="Models, or folders of them; hollow ones, too.")] = None,
    precision: Annotated[str, typer.Option(help="Precisions.")] = "fp32,tf32,3xtf32,fp16",
    products: Annotated[str, typer.Option(help="Products whose schedules are measured.")] = ",".join(PRODUCTS),
    dim: Dims = None,
    limit: Annotated[float, typer.Option(min=1, help="Seconds of each part.")] = LIMIT,
    runs: Annotated[int, typer.Option(min=1, help="Runs of a kernel in one CUDA graph.")] = 40,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = max(1, min(MOST_JOBS, (os.cpu_count() or 1) - 1)),
) -> None:
    """Runs the parts that are not done yet. Raises ConfigError where there is no GPU."""
    if unknown := [each for each in listed(parts) if each not in PARTS]:
        raise ConfigError(f"there is no part {unknown[0]}; there are {', '.join(PARTS)}")
    chosen = [each for each in PARTS if each in listed(parts)]
    files = found_models(listed(models))
    if chosen:
        compute_device("cuda").open()
    out.mkdir(parents=True, exist_ok=True)
    day = Day(out, files, listed(precision), dims_of(dim), listed(products), runs, jobs)
    left = run_parts(day, chosen, limit)
    typer.echo(f"see {write_page(out, list(PARTS))}")
    if left:
        raise MiniInferError(f"not done: {', '.join(left)}; the same command goes on")


if __name__ == "__main__":
    run_alone(gpu_day)
