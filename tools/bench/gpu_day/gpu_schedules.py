"""Measures candidates of schedules on a GPU, beside the costs by which choose-schedule ranks them.

    python -m mini_infer.tools.bench.gpu_day.gpu_schedules FILE.jsonl --seconds 300  # products
    python -m mini_infer.tools.bench.gpu_day.gpu_schedules FILE.jsonl --models resnet50.onnx  # and a model's
    python -m mini_infer.tools.bench.gpu_day.gpu_schedules FILE.jsonl --seconds 0  # the table alone
    python -m mini_infer.tools.bench.gpu_day.gpu_schedules FILE.jsonl --fit  # constants for tuning.py

What the file holds already is not measured again, so that the same command goes on where it was cut. The table has the
regret of each kernel: the time of the candidate with the lowest cost over that of the fastest. Table and fit need no
GPU.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from ....dialects.errors import MiniInferError
from ....runtime.compute_device import compute_device
from ....runtime.config import EngineConfig
from ...one_line_errors import run_alone
from ...option_values import Dims, dims_of, listed
from .candidates import PRODUCTS, kernels_to_measure, measure, product_model
from .fitting import fit_tables
from .hollow_models import read_model
from .measurements import read_measurements, regret_table


def gpu_schedules(
    file: Annotated[Path, typer.Argument(help="The measurements, lines of JSON.")],
    products: Annotated[str, typer.Option(help="Products to measure.")] = ",".join(PRODUCTS),
    models: Annotated[list[str] | None, typer.Option(help="Models of which every kernel is measured.")] = None,
    precision: Annotated[str, typer.Option(help="Precisions of products.")] = "fp32,tf32,fp16",
    dim: Dims = None,
    seconds: Annotated[float, typer.Option(min=0, help="For how long candidates are measured.")] = 300.0,
    runs: Annotated[int, typer.Option(min=1, help="Runs of a kernel in one CUDA graph.")] = 40,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = max(1, (os.cpu_count() or 1) - 1),
    fit: Annotated[bool, typer.Option("--fit", help="Fit the constants of costs instead.")] = False,
) -> None:
    """Measures, and prints what taking the candidates with the lowest costs would lose."""
    left: list[str] = []
    if seconds and not fit:
        deadline = time.monotonic() + seconds
        compute_device("cuda").open()
        kernels: list[str] = []
        for each in listed(precision):
            config = EngineConfig(device="cuda", precision=each, dims=dims_of(dim))
            for product in listed(products):
                kernels += kernels_to_measure(product_model(product), config, products=True)
            for model in listed(models):
                kernels += kernels_to_measure(read_model(Path(model)), config, products=False)
        file.parent.mkdir(parents=True, exist_ok=True)
        left = measure(file, kernels, runs, jobs, deadline)
    found = read_measurements(file)
    typer.echo(fit_tables(found) if fit else regret_table(found))
    if left:
        raise MiniInferError(f"{len(left)} kernels are left to measure: the same command goes on")


if __name__ == "__main__":
    run_alone(gpu_schedules)
