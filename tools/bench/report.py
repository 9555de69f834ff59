"""The report of a benchmark: latencies, load cost, accuracy and fraction of the machine's limit, as table or JSON.

The limit of a model is the larger of two times: its operations at the measured peak of multiply-adds, and its bytes at
the measured memory bandwidth beyond the caches (passes/work_bounds.py counts both). A fraction above 1 belongs to a
model that needs fewer operations than direct convolution, or whose weights stay in caches, or whose products are of
bf16: the limit is that of f32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import exp, log
from typing import Any

import numpy as np
from rich.table import Table

from ...passes.work_bounds import Work
from ...runtime.devices.cpu.machine_limits import MachineLimits
from .turns import OURS, Turns

COLUMNS = (
    "median",
    "p90",
    "p99",
    "min",
    "per second",
    "theirs/ours: median",
    "min",
    "of limit",
    "load s",
    "MB",
    "error",
)


@dataclass(frozen=True)
class Measured:
    """One engine's inferences. Times are in ms except for those of loading; percentiles are interpolated."""

    inferences: int
    median_ms: float
    p90_ms: float
    p99_ms: float
    min_ms: float
    mean_ms: float
    per_second: float
    """Inferences per second, in sequence."""
    import_s: float
    """Seconds of importing the engine's package."""
    load_s: float
    """Seconds from then until the first inference was done."""
    memory_mb: float | None = None
    """Resident memory that the engine and its package added to its process, after its first run."""
    peak_mb: float | None = None
    """The same for peak memory."""
    error: float | None = None
    """max|e| / max|reference|, the maximum over the outputs."""
    of_limit: float | None = None
    """The machine's limit divided by the median."""

    @classmethod
    def of(
        cls, turns: Turns, work: Work | None = None, limits: MachineLimits | None = None, error: float | None = None
    ) -> Measured:
        """The statistics of an engine's turns, of which there must be at least one."""
        times = np.asarray(turns.times) * 1e3
        median, p90, p99 = (float(each) for each in np.percentile(times, (50, 90, 99)))
        mean = float(times.mean())
        least = None if work is None or limits is None else limits.seconds(work.flops, work.nbytes) * 1e3
        memory = {name: size / 1e6 for name, size in turns.memory.items()}
        return cls(
            inferences=len(times),
            median_ms=median,
            p90_ms=p90,
            p99_ms=p99,
            min_ms=float(times.min()),
            mean_ms=mean,
            per_second=1e3 / mean,
            import_s=turns.imports,
            load_s=turns.load,
            memory_mb=memory.get("resident"),
            peak_mb=memory.get("peak"),
            error=error,
            of_limit=None if least is None else least / median,
        )


@dataclass(frozen=True)
class ModelResult:
    """Engines on one model at one shape, and the reasons why others are missing."""

    name: str
    model: str
    shape: str = ""
    engines: Mapping[str, Measured] = field(default_factory=dict[str, Measured])
    failed: Mapping[str, str] = field(default_factory=dict[str, str])
    work: Work | None = None
    limits: MachineLimits | None = None
    profile: Mapping[str, Any] | None = None
    threads: int = 0
    """0 if nothing was run."""
    inputs: Sequence[Mapping[str, Any]] = ()
    """Names, types and shapes."""

    @property
    def title(self) -> str:
        """The name, with the shape if there are several."""
        return f"{self.name} {self.shape}".rstrip()

    @property
    def best_peer(self) -> str | None:
        """The fastest other engine, by its median."""
        peers = {name: each.median_ms for name, each in self.engines.items() if name != OURS}
        return min(peers, key=lambda name: peers[name]) if peers else None

    @property
    def ratio(self) -> float | None:
        """The best peer's median divided by ours: above 1 we are faster."""
        peer, ours = self.best_peer, self.engines.get(OURS)
        return None if peer is None or ours is None else self.engines[peer].median_ms / ours.median_ms

    def as_json(self) -> dict[str, Any]:
        """The fields for programs."""
        told: dict[str, Any] = {
            "name": self.name,
            "model": self.model,
            "shape": self.shape,
            "threads": self.threads,
            "inputs": [*self.inputs],
            "engines": {name: asdict(each) for name, each in self.engines.items()},
            "failed": dict(self.failed),
            "best_peer": self.best_peer,
            "ratio": self.ratio,
            "work": None if self.work is None else asdict(self.work),
            "limits": None if self.limits is None else asdict(self.limits),
        }
        return told if self.profile is None else told | {"profile": self.profile}


@dataclass(frozen=True)
class Benchmark:
    """Results of models on one machine."""

    cpu: str
    device: str
    precision: str
    threads: int
    cores: tuple[int, ...]
    models: Sequence[ModelResult]

    @property
    def geometric_mean(self) -> float | None:
        """The geometric mean of all known ratios."""
        logs = [log(each.ratio) for each in self.models if each.ratio is not None]
        return exp(sum(logs) / len(logs)) if logs else None

    def as_json(self) -> dict[str, Any]:
        """The fields for programs, by their names."""
        models = [each.as_json() for each in self.models]
        told = {"device": self.device, "precision": self.precision, "threads": self.threads, "cores": [*self.cores]}
        return {**told, "geometric_mean": self.geometric_mean, "models": models}

    def headline(self) -> str:
        """The machine that was measured."""
        if self.device != "cpu":
            return f"latency in ms, on {self.device}, {self.precision}"
        pinned = f", pinned to {', '.join(map(str, self.cores))}" if self.cores else ""
        return f"latency in ms, {self.threads} thread(s){pinned}, {self.cpu}"

    def table(self) -> Table:
        """A row for each engine on each model."""
        table = Table(title=self.headline(), box=None, padding=(0, 1), title_justify="left")
        table.add_column("model", no_wrap=True)
        table.add_column("engine", no_wrap=True)
        for title in COLUMNS:
            table.add_column(title, justify="right")
        for result in self.models:
            ours, title = result.engines.get(OURS), result.title
            for name, each in result.engines.items():
                table.add_row(title, name, *_cells(each, ours if name != OURS else None))
                title = ""
        return table

    def remarks(self) -> list[str]:
        """Lines below the table: failures, the machine's measured limits, and the mean."""
        lines = [
            f"failed: {result.title}, {engine}: {why}"
            for result in self.models
            for engine, why in result.failed.items()
        ]
        lines += [
            f"{each.title}: compiled for {each.threads} thread(s)"
            for each in self.models
            if each.threads not in (0, self.threads)
        ]
        lines += [
            f"{each.title}: no fraction of the limit, as what there is to compute stands in the model's graph only"
            for each in self.models
            if self.device == "cpu" and OURS in each.engines and each.engines[OURS].of_limit is None
        ]
        limits: MachineLimits | None = None
        for each in self.models:
            limits = limits if each.limits is None else each.limits.best(limits)
        if limits is not None:
            lines.append(
                f"limits measured meanwhile: {limits.gflops:.1f} GFLOP/s of f32, {limits.gbytes:.1f} GB/s from memory"
            )
        if self.geometric_mean is not None:
            ratios = [(each.ratio, each.title) for each in self.models if each.ratio is not None]
            least = min(ratios)
            lines.append(
                f"best peer / {OURS}: geometric mean {self.geometric_mean:.3f} of {len(ratios)}, "
                f"least {least[0]:.3f} ({least[1]})"
            )
        return lines


def _cells(each: Measured, ours: Measured | None) -> list[str]:
    def shown(value: float | None, form: str) -> str:
        return "" if value is None else format(value, form)

    return [
        *(f"{value:.3f}" for value in (each.median_ms, each.p90_ms, each.p99_ms, each.min_ms)),
        f"{each.per_second:.1f}",
        *(("", "") if ours is None else (f"{each.median_ms / ours.median_ms:.3f}", f"{each.min_ms / ours.min_ms:.3f}")),
        shown(each.of_limit, ".3f"),
        f"{each.load_s:.2f}",
        shown(each.memory_mb, ".0f"),
        shown(each.error, ".1e"),
    ]
