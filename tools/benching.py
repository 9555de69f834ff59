"""What `mini-infer bench` does: engines side by side, each in a process of its own, measured in alternation.

The machine may be shared and its speed may drift, so rounds go A B A B ...; all engines are pinned to the same
number of threads and get the same inputs.
"""

from __future__ import annotations

import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from ..dialects.errors import ConfigError, MiniInferError
from ..runtime.build import import_model
from ..runtime.engine import Engine, EngineConfig, compile
from ..runtime.signature import input_specs
from .arrays import load_inputs

OURS = "mini_infer"
PEERS = ("onnxruntime", "openvino")
WORKER = "mini_infer.tools.bench_worker"


class _Worker:
    """An engine in a process of its own that runs a number of inferences when asked."""

    def __init__(self, engine: str, job: Path, threads: int) -> None:
        self.engine = engine
        self.seconds_to_load = 0.0
        self._process = subprocess.Popen(
            [sys.executable, "-m", WORKER, engine, str(job)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
        )

    def load(self) -> None:
        """Waits until the model is loaded and has run once."""
        self.seconds_to_load = cast("float", self._answer()["load"])

    def run(self, count: int) -> list[float]:
        """Seconds of each of `count` inferences."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{count}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise MiniInferError(f"{self.engine} ended with status {self._process.wait()}") from None
        return cast("list[float]", self._answer()["times"])

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise MiniInferError(f"{self.engine} ended with status {self._process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise MiniInferError(f"{self.engine}: {answer['error']}")
        return answer

    def stop(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.communicate()


def bench(
    model: str,
    options: Mapping[str, Any],
    peers: Sequence[str],
    files: Sequence[str],
    seed: int,
    rounds: int,
    runs: int,
    profile: bool,
    console: Console,
) -> None:
    """Measures and prints a table; with `profile` a table of kernels too."""
    if unknown := [peer for peer in peers if peer not in PEERS]:
        raise ConfigError(f"--against {','.join(unknown)}: there are {', '.join(PEERS)}")
    module, _ = import_model(model, EngineConfig.of(**options))
    inputs = load_inputs(files, input_specs(module), seed)
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder, "job.pickle")
        job.write_bytes(pickle.dumps({"model": os.path.abspath(model), "options": dict(options), "inputs": inputs}))
        times, loads = _alternate([OURS, *peers], job, options["threads"], rounds, runs, console)
    console.print(_table(times, loads, options["threads"]))
    if profile:
        engine = compile(model, **options, enable_profiling=True)
        console.print(profile_table(engine, inputs, runs))


def _alternate(
    engines: Sequence[str], job: Path, threads: int, rounds: int, runs: int, console: Console
) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Seconds of every inference and of loading, by engine."""
    workers: list[_Worker] = []
    times: dict[str, list[float]] = {engine: [] for engine in engines}
    try:
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task("", total=len(engines) * (rounds + 2))
            for engine in engines:  # one after the other, so that none slows another down
                progress.update(task, description=f"load {engine}")
                workers.append(_Worker(engine, job, threads))
                workers[-1].load()
                progress.advance(task)
            for worker in workers:
                progress.update(task, advance=1, description=f"warm up {worker.engine}")
                worker.run(max(2, runs // 4))
            for _ in range(rounds):
                for worker in workers:
                    progress.update(task, advance=1, description=worker.engine)
                    times[worker.engine] += worker.run(runs)
    finally:
        for worker in workers:
            worker.stop()
    return times, {worker.engine: worker.seconds_to_load for worker in workers}


def _table(times: Mapping[str, list[float]], loads: Mapping[str, float], threads: int) -> Table:
    table = Table(title=f"latency in ms, {threads} thread(s)", box=None, padding=(0, 2), title_justify="left")
    for title in ("engine", "median", "min", "ours/theirs: median", "min", "load s"):
        table.add_column(title, justify="left" if title == "engine" else "right")
    median, least = statistics.median(times[OURS]), min(times[OURS])
    for engine, each in times.items():
        ratios = [f"{median / statistics.median(each):.3f}", f"{least / min(each):.3f}"] if engine != OURS else ["", ""]
        numbers = [f"{statistics.median(each) * 1e3:.3f}", f"{min(each) * 1e3:.3f}", *ratios, f"{loads[engine]:.2f}"]
        table.add_row(engine, *numbers)
    return table


def profile_table(engine: Engine, inputs: Mapping[str, Any], runs: int) -> Table:
    """Kernels by the time they take: the fastest of `runs` for each call, on the first thread."""
    context = engine.plan.create_execution_context()
    best: list[int] = []
    for _ in range(runs):
        context.run(inputs)
        spans = [each.nanoseconds for each in context.profile()]
        best = [min(pair) for pair in zip(best, spans, strict=True)] if best else spans
    total = max(1, sum(best))
    table = Table(title=f"kernels, {total / 1e6:.3f} ms in all", box=None, padding=(0, 2), title_justify="left")
    for title in ("us", "share", "kernel", "first node"):
        table.add_column(title, justify="right" if title in ("us", "share") else "left", no_wrap=True)
    for span, call in sorted(zip(best, engine.plan.calls, strict=True), key=lambda row: -row[0]):
        table.add_row(f"{span / 1e3:.1f}", f"{100 * span / total:.1f} %", call.kernel, call.node)
    return table
