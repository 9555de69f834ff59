"""What `mini-infer bench` does: engines side by side, each in a process of its own, measured in alternation.

The machine may be shared and its speed may drift, so rounds go A B A B ...; all engines are pinned to the same
number of threads and get the same inputs. On a GPU these lie there, and outputs stay; see bench_gpu.py.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from rich.console import Console
from rich.table import Table

from ..dialects.errors import ConfigError, MiniInferError
from ..runtime.build import import_model
from ..runtime.compiling import compile
from ..runtime.config import EngineConfig
from ..runtime.device import device_named
from ..runtime.engine import Engine
from ..runtime.signature import input_specs
from ..runtime.specs import TensorSpec
from . import bench_gpu
from .arrays import load_inputs
from .at_shapes import shapes_at
from .bench_report import OURS, Benchmark, Measured
from .progress import working

PEERS = {"cpu": ("onnxruntime", "openvino"), "cuda": tuple(bench_gpu.ENGINES)}
"""Engines to measure beside ours, by the kind of device."""
PACKAGES = {
    "torch": ("torch", "onnx2torch"),
    "torch-compile": ("torch", "onnx2torch"),
    "onnxruntime-cuda": ("onnxruntime",),
}
"""What a peer needs, if not a package of its own name."""
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
            process_group=0,  # Ctrl-C is for us, who end it
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


@dataclass(frozen=True)
class Amount:
    """How much is measured: `runs` inferences of each engine in each of `rounds`, after `warmup` that don't count.

    With `duration`, rounds go on until every engine has had so many seconds.
    """

    rounds: int = 5
    runs: int = 20
    warmup: int = 5
    duration: float | None = None

    def goes_on(self, done: int, times: Mapping[str, Sequence[float]]) -> bool:
        """Whether there is another round after so many."""
        if self.duration is None:
            return done < self.rounds
        return min(sum(each) for each in times.values()) < self.duration


def bench(
    model: str,
    options: Mapping[str, Any],
    peers: Sequence[str],
    files: Sequence[str],
    seed: int,
    amount: Amount,
    profile: bool,
    as_json: bool,
    console: Console,
    at: Sequence[Mapping[str, int]] = (),
) -> None:
    """Measures and prints a table, or JSON; with `profile` the kernels too. Of ranges of sizes, at each of `at`."""
    config = EngineConfig.of(**options)
    device = device_named(config.place)
    if unknown := [peer for peer in peers if peer not in PEERS[device.kind]]:
        raise ConfigError(f"--against {','.join(unknown)}: there are {', '.join(PEERS[device.kind])}")
    device.open()
    place, _, number = config.place.partition(":")
    settings: dict[str, Any] = {**options, "device": place, "device_id": int(number or 0)}
    if device.kind == "cpu":
        settings["threads"] = config.thread_count
    where = f"{config.thread_count} thread(s)" if device.kind == "cpu" else f"on {config.place}, {config.precision}"

    def measured(specs: Sequence[TensorSpec], there: str) -> tuple[Benchmark, dict[str, Any]]:
        inputs = load_inputs(files, specs, seed)
        with tempfile.TemporaryDirectory() as folder:
            job = Path(folder, "job.pickle")
            job.write_bytes(pickle.dumps({"model": os.path.abspath(model), "options": settings, "inputs": inputs}))
            engines, dropped = _Alternation(job, config.thread_count, amount, console).measure([OURS, *peers])
        return Benchmark(model, config.place, config.precision, config.thread_count, there, engines, dropped), inputs

    if config.profile is not None:
        results = {each.text: measured(each.specs, f"{where}, {each.text}") for each in shapes_at(model, options, at)}
        if as_json:
            told = {text: result.as_json() for text, (result, _) in results.items()}
            console.print(json.dumps(told, indent=2), soft_wrap=True)
        else:
            for result, _ in results.values():
                console.print(result.table())
        return
    result, inputs = measured(input_specs(import_model(model, config)[0]), where)
    kernels = None
    if profile:
        limits = bench_gpu.limits(model, config) if device.kind == "cuda" else ()
        kernels = profiled(compile(model, **settings, enable_profiling=True), inputs, amount.runs, limits)
    if as_json:
        told = result.as_json() | ({"kernels": kernels} if kernels is not None else {})
        console.print(json.dumps(told, indent=2), soft_wrap=True)
        return
    console.print(result.table())
    if kernels is not None:
        console.print(profile_table(kernels))


class _Alternation:
    """Engines that take turns; a peer that can't be had or that fails is dropped, with a warning, and alone."""

    def __init__(self, job: Path, threads: int, amount: Amount, console: Console) -> None:
        self._job, self._threads, self._amount, self._console = job, threads, amount, console
        self._workers: dict[str, _Worker] = {}
        self._times: dict[str, list[float]] = {}
        self._dropped: dict[str, str] = {}

    def measure(self, engines: Sequence[str]) -> tuple[dict[str, Measured], dict[str, str]]:
        """What each engine took, and why others were dropped."""
        try:
            with working(self._console, "") as now:
                for engine in engines:  # one after the other, so that none slows another down
                    now(f"load {engine}")
                    self._attempt(engine, lambda engine=engine: self._load(engine))
                for engine in list(self._workers):
                    now(f"warm up {engine}")
                    self._attempt(engine, lambda engine=engine: self._workers[engine].run(self._amount.warmup))
                self._times = {engine: [] for engine in self._workers}
                done = 0
                while self._amount.goes_on(done, self._times):
                    for engine in list(self._workers):
                        now(f"round {done + 1}: {engine}")
                        self._attempt(engine, lambda engine=engine: self._run(engine))
                    done += 1
        finally:
            for worker in self._workers.values():
                worker.stop()
        measured = {
            engine: Measured.of(self._times[engine], worker.seconds_to_load) for engine, worker in self._workers.items()
        }
        return measured, self._dropped

    def _load(self, engine: str) -> None:
        needed = PACKAGES.get(engine, (engine,))
        if engine != OURS and any(find_spec(each) is None for each in needed):
            raise MiniInferError(f"{engine} is not installed: pip install {' '.join(needed)}")
        self._workers[engine] = _Worker(engine, self._job, self._threads)
        self._workers[engine].load()

    def _run(self, engine: str) -> None:
        self._times[engine] += self._workers[engine].run(self._amount.runs)

    def _attempt(self, engine: str, work: Callable[[], object]) -> None:
        """Does something with an engine; without ours there is nothing to tell."""
        try:
            work()
        except MiniInferError as error:
            if engine == OURS:
                raise
            if engine in self._workers:
                self._workers.pop(engine).stop()
            self._times.pop(engine, None)
            self._dropped[engine] = str(error)
            warnings.warn(f"left out: {error}", stacklevel=2)


def profiled(
    engine: Engine, inputs: Mapping[str, Any], runs: int, limits: Sequence[float] = ()
) -> list[dict[str, Any]]:
    """The calls by the time they take: the fastest of `runs` for each, in microseconds; on a GPU beside limits."""
    context = engine.plan.create_execution_context()
    best: list[int] = []
    for _ in range(runs):
        context.run(inputs)
        spans = [each.nanoseconds for each in context.profile()]
        best = [min(pair) for pair in zip(best, spans, strict=True)] if best else spans
    times = [replace(each, nanoseconds=span) for span, each in zip(best, context.profile(), strict=True)]
    rows = [{"us": each.nanoseconds / 1e3, "kernel": each.kernel, "node": each.node} for each in times]
    if limits:
        rows = bench_gpu.by_calls(engine.plan.launches, times, limits)
    return sorted(rows, key=lambda row: -row["us"])


def profile_table(kernels: Sequence[Mapping[str, Any]]) -> Table:
    """Calls of kernels, the longest first."""
    total = max(1e-9, sum(each["us"] for each in kernels))
    table = Table(title=f"kernels, {total / 1e3:.3f} ms in all", box=None, padding=(0, 2), title_justify="left")
    of_limit = ("limit us", "of limit") if any("limit_us" in each for each in kernels) else ()
    for title in ("us", "share", *of_limit):
        table.add_column(title, justify="right", no_wrap=True)
    for title in ("kernel", "first node"):
        table.add_column(title, no_wrap=True)
    for each in kernels:
        beside = (f"{each['limit_us']:.1f}", f"{each['of_limit']:.0%}") if of_limit else ()
        share = f"{100 * each['us'] / total:.1f} %"
        table.add_row(f"{each['us']:.1f}", share, *beside, each["kernel"], each["node"])
    return table
