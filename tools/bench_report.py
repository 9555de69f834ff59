"""What a benchmark tells: latencies and throughput of each engine, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from rich.table import Table

OURS = "mini_infer"


@dataclass(frozen=True)
class Measured:
    """One engine's inferences. Times are in ms but for `load_s`; percentiles are interpolated."""

    inferences: int
    median_ms: float
    p90_ms: float
    p99_ms: float
    min_ms: float
    mean_ms: float
    per_second: float
    """Inferences in a second, one after the other."""
    load_s: float

    @classmethod
    def of(cls, seconds: Sequence[float], load: float) -> Measured:
        """From the seconds of each inference and of loading."""
        times = np.asarray(seconds) * 1e3
        median, p90, p99 = (float(each) for each in np.percentile(times, (50, 90, 99)))
        mean = float(times.mean())
        return cls(len(times), median, p90, p99, float(times.min()), mean, 1e3 / mean, load)


@dataclass(frozen=True)
class Benchmark:
    """Engines side by side, and why others are not among them."""

    model: str
    device: str
    precision: str
    threads: int
    where: str
    engines: Mapping[str, Measured]
    dropped: Mapping[str, str]

    def as_json(self) -> dict[str, object]:
        """For programs: the fields by their names."""
        return asdict(self)

    def table(self) -> Table:
        """For readers; ratios are ours by theirs, of the medians and of the minima."""
        table = Table(title=f"latency in ms, {self.where}", box=None, padding=(0, 2), title_justify="left")
        for title in ("engine", "median", "p90", "p99", "min", "per second", "ours/theirs: median", "min", "load s"):
            table.add_column(title, justify="left" if title == "engine" else "right")
        ours = self.engines[OURS]
        for name, each in self.engines.items():
            times = [f"{value:.3f}" for value in (each.median_ms, each.p90_ms, each.p99_ms, each.min_ms)]
            ratios = [f"{ours.median_ms / each.median_ms:.3f}", f"{ours.min_ms / each.min_ms:.3f}"]
            table.add_row(
                name, *times, f"{each.per_second:.1f}", *(ratios if name != OURS else ("", "")), f"{each.load_s:.2f}"
            )
        return table
