"""Rows per second of a model on Ray, compared with an engine without it: a Markdown table.

    python -m mini_infer.tools.bench.ray_rows resnet18.onnx --dim batch --rows 8

Ray runs on this machine only, so its own work and the client share the cores with the workers.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from ...dialects.errors import ConfigError
from ...runtime import cluster as on_ray
from ...runtime.cluster.nodes import ray_module
from ...runtime.compile.entry import compile
from ...runtime.device import Array
from ...runtime.devices.cpu.machine_limits import cpu_title
from ..arrays import seeded_inputs
from ..one_line_errors import run_alone


def rate(rows: int, work: Callable[[], object]) -> float:
    """Rows per second of `work`, which processes `rows` rows, in its second run."""
    work()
    start = time.perf_counter()
    work()
    return rows / (time.perf_counter() - start)


def of_engine(model: Path, dim: str, rows: int, threads: int, total: int) -> float:
    """An engine called with full batches."""
    engine = compile(model, threads=threads, dims={dim: rows})
    given = seeded_inputs(engine.plan.inputs, 0)
    return rate(total, lambda: [engine(given) for _ in range(total // rows)])


def of_dataset(model: Path, dim: str, rows: int, workers: int, row: dict[str, Array], total: int) -> float:
    """`infer` over a dataset in Ray's memory."""
    ((name, array),) = row.items()
    data = ray_module("ray.data").from_numpy([np.stack([array] * rows)] * (total // rows))
    named = data.rename_columns({"data": name}).materialize()
    return rate(total, lambda: on_ray.infer(named, str(model), workers=workers, rows=rows, dim=dim).materialize())


def of_requests(model: Path, dim: str, rows: int, replicas: int, row: dict[str, Array], total: int) -> float:
    """`deployment` with four times as many concurrent requests as fill all replicas."""
    serve = ray_module("ray.serve")
    handle = serve.run(on_ray.deployment(str(model), replicas=replicas, rows=rows, dim=dim))

    def ask() -> None:
        waiting: deque[Any] = deque()
        for _ in range(total):
            if len(waiting) >= 4 * rows * replicas:
                waiting.popleft().result()
            waiting.append(handle.infer.remote(row))
        for each in waiting:
            each.result()

    try:
        return rate(total, ask)
    finally:
        serve.shutdown()


def measure(
    model: Annotated[Path, typer.Argument(help="An ONNX model with one input.")],
    dim: Annotated[str, typer.Option(help="The name of its first dimension.")] = "batch",
    rows: Annotated[int, typer.Option(min=1, help="How many at once.")] = 8,
    total: Annotated[int, typer.Option(min=1, help="Rows of a measurement.")] = 512,
) -> None:
    """Prints rows per second with one worker of one thread, and with two."""
    ray = ray_module("ray")
    if total % rows:
        raise ConfigError(f"--total {total} is no multiple of --rows {rows}")
    (spec, *others) = compile(model, threads=1, dims={dim: 1}).plan.inputs
    if others:
        raise ConfigError(f"{model} has {1 + len(others)} inputs; measured are models with one")
    row = {spec.name: seeded_inputs([spec], 0)[spec.name][0]}
    ray.init(log_to_driver=False)
    found = {
        "an engine alone, 1 and 2 threads": [of_engine(model, dim, rows, each, total) for each in (1, 2)],
        "`infer`, a thread for each worker": [of_dataset(model, dim, rows, each, row, total) for each in (1, 2)],
        "`deployment`, with its client on the same cores": [
            of_requests(model, dim, rows, each, row, total) for each in (1, 2)
        ],
    }
    ray.shutdown()
    lines = [f"{cpu_title()}, {rows} rows at a time, {date.today().isoformat()}", "", "| | 1 worker | 2 workers |"]
    lines += ["|---|---|---|", *(f"| {name} | {one:.1f} | {two:.1f} |" for name, (one, two) in found.items())]
    Console(soft_wrap=True).print("\n".join(lines), markup=False, highlight=False)


if __name__ == "__main__":
    run_alone(measure)
