"""Fits the constants of the costs of products, in passes/kernels/schedules/cuda/tuning.py, to measurements.

The costs are those of the schedules themselves, computed with other constants. Fitted are their logarithms, by least
squares of those of predicted over measured times, from the constants in use.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from math import log
from types import ModuleType
from typing import Any

import numpy as np

from ....dialects.errors import ConfigError
from ....passes.kernels.schedules.cuda import mma, products, tiles, tuning, wgmma
from .markdown_tables import markdown_table
from .measurements import Measurement, regrets

READERS: tuple[ModuleType, ...] = (mma, products, tiles, wgmma)
"""The modules that import the constants."""
CONSTANTS = (
    "CLUSTER_MEETING",
    "CLUSTER_READS",
    "LAUNCH",
    "MMA_REACHED",
    "MMA_READS",
    "PRODUCTS_ADDING",
    "PRODUCTS_CACHE_SPEED",
    "PRODUCTS_STEP",
    "PRODUCTS_STORED",
    "TILES_REACHED",
    "WGMMA_REACHED",
    "WGMMA_READS",
)
PULL = 0.05
"""Weight of a constant's distance from its value in use, which stays where nothing measured depends on it."""


@contextmanager
def constants(values: Mapping[str, float]) -> Generator[None]:
    """A context in which costs are computed with these constants."""
    places = [(reader, name) for reader in READERS for name in values if hasattr(reader, name)]
    before = [getattr(reader, name) for reader, name in places]
    try:
        for reader, name in places:
            setattr(reader, name, values[name])
        yield
    finally:
        for (reader, name), value in zip(places, before, strict=True):
            setattr(reader, name, value)


def fitted(measurements: Sequence[Measurement]) -> dict[str, float]:
    """The constants that explain the measurements of tiled products best. Raises ConfigError if there are none."""
    tiled = of_products(measurements)
    if not tiled:
        raise ConfigError("there is nothing to fit to: no candidate of a tiled product was measured")
    try:
        least_squares: Any = import_module("scipy.optimize").least_squares
    except ImportError:
        raise ConfigError("fitting needs SciPy: pip install 'mini-infer[bench]'") from None
    start = {name: float(getattr(tuning, name)) for name in CONSTANTS}
    most = [log(1 / value) if name.endswith("_REACHED") else np.inf for name, value in start.items()]

    def moved(steps: Sequence[float]) -> dict[str, float]:
        return {name: value * float(np.exp(step)) for (name, value), step in zip(start.items(), steps, strict=True)}

    def errors(steps: Sequence[float]) -> list[float]:
        with constants(moved(steps)):
            return [*log_errors(tiled), *(PULL * step for step in steps)]

    return moved(least_squares(errors, [0.0] * len(start), bounds=(-np.inf, most), diff_step=0.01, x_scale=0.1).x)


def of_products(measurements: Sequence[Measurement]) -> list[Measurement]:
    """The measurements whose costs follow from the constants."""
    return [each for each in measurements if each.times and each.schedule.name in ("mma", "tiles", "wgmma")]


def log_errors(measurements: Sequence[Measurement]) -> list[float]:
    """Logarithms of predicted over measured times."""
    return [log(each.predicted_us / each.us) for each in measurements]


def fit_tables(measurements: Sequence[Measurement]) -> str:
    """The constants in use beside those fitted; and for both, how far predictions are off, and what they lose."""
    found = fitted(measurements)
    used = {name: float(getattr(tuning, name)) for name in found}
    text = markdown_table(["constant", "in use", "fitted"], [[name, used[name], found[name]] for name in found])
    rows = [[*row, *_judged(measurements, row, found)] for row in _kinds(measurements)]
    heads = ["schedule", "precision", "measured", "error", "error, fitted", "regret", "regret, fitted"]
    told = "Errors are root mean squares of logarithms of predicted over measured times; regrets are means."
    return f"{text}\n{markdown_table(heads, rows)}\n{told}\n"


def _kinds(measurements: Sequence[Measurement]) -> list[tuple[str, str]]:
    return sorted({(each.schedule.name, each.subject.target.precision.data) for each in of_products(measurements)})


def _judged(measurements: Sequence[Measurement], kind: tuple[str, str], found: Mapping[str, float]) -> list[Any]:
    mine = [
        each for each in of_products(measurements) if (each.schedule.name, each.subject.target.precision.data) == kind
    ]
    numbers: list[list[float]] = []
    none: Mapping[str, float] = {}
    for values in (none, found):
        with constants(values):
            error = float(np.sqrt(np.mean(np.square(log_errors(mine)))))
            numbers.append([error, float(np.mean([each.ratio for each in regrets(mine)]))])
    return [len(mine), *(number for pair in zip(*numbers, strict=True) for number in pair)]
