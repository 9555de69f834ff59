"""Candidates of schedules: of the products, and of every kernel of models where that is asked for."""

from __future__ import annotations

from ....runtime.config import EngineConfig
from .candidates import kernels_to_measure, measure, product_model
from .folder import Day, Result
from .measurements import read_measurements

FILE = "schedules.jsonl"


def schedules(day: Day, deadline: float) -> Result:
    """Measures what the folder's file doesn't hold yet."""
    file = day.out / FILE
    kernels = [
        kernel
        for precision in day.precisions
        for product in day.products
        for kernel in kernels_to_measure(
            product_model(product), EngineConfig(device="cuda", precision=precision), products=True
        )
    ]
    left = measure(file, kernels, day.runs, day.jobs, deadline)
    return {"done": not left, "left": len(left), "measured": len(read_measurements(file))}
