"""`mini-infer bench`: measures engines on models one after the other, and reports as table, JSON, and chart.

Each engine runs in a process of its own with the same inputs, number of threads and cores, in alternation
(bench/turns.py). A failing model or engine is reported, and the others go on. On a GPU, inputs and outputs stay there;
see bench/gpu_engines.py.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ...dialects.errors import ConfigError, MiniInferError
from ...runtime.config import EngineConfig
from ...runtime.device import device_named
from ...runtime.devices.cpu.machine_limits import cpu_title, pinned_cores
from .. import json_reports as facts
from ..comparison.rounding import relative_error
from ..json_reports import Facts
from ..reports.figure_files import check_chart
from .chart import write_chart
from .engine_process import Job
from .kernel_times import profile, profile_table
from .models import Given, Subject, check_beside, found_models, names_of, subjects
from .report import Benchmark, Measured, ModelResult
from .turns import OURS, Alternation, Amount, Outcome, check_installed

PEERS = {"cpu": ("onnxruntime", "openvino"), "cuda": ("torch", "torch-compile", "onnxruntime-cuda")}
"""Engines to measure beside ours, by the kind of device."""

PROFILE = "profile"
"""Stands among the engines that failed where kernels could not be timed."""


def bench(
    models: Sequence[str],
    options: Mapping[str, Any],
    peers: Sequence[str],
    given: Given,
    amount: Amount,
    console: Console,
    *,
    profiled: bool,
    chart: str | None,
) -> Facts:
    """Measures and reports; returns the report for programs, and whether our own engine `failed` to run a model.

    Raises ConfigError for invalid options, and for peers that are not installed.
    """
    config = EngineConfig.of(**options)
    device = device_named(config.place)
    if unknown := [peer for peer in peers if peer not in PEERS[device.kind]]:
        raise ConfigError(f"--against {','.join(unknown)}: there are {', '.join(PEERS[device.kind])}")
    for peer in peers:
        check_installed(peer)
    if chart is not None:
        check_chart(chart)
    files = found_models(models)
    if given.beside is not None:
        check_beside(files, given.beside)
    if given.files and len(files) > 1:
        raise ConfigError(f"--input is for one model, and there are {len(files)}: see --beside")
    if profiled and (compiled := [str(file) for file in files if file.suffix == ".mi"]):
        raise ConfigError(f"--profile: {compiled[0]} is compiled without times of kernels; take the model it is from")
    device.open()
    place, _, number = config.place.partition(":")
    settings: dict[str, Any] = {**options, "device": place, "device_id": int(number or 0)}
    on_cpu = device.kind == "cpu"
    bencher = _Bencher(settings, peers, given, amount, on_cpu, alone=len(files) == 1)
    results: list[ModelResult] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=len(files))
        for file, name in zip(files, names_of(files), strict=True):
            bencher.now = lambda text, name=name: progress.update(task, description=f"{name}: {text}")
            results += bencher.results(file, name, amount.runs if profiled else 0)
            progress.advance(task)
    counts = {each.threads for each in results if each.threads}
    threads = counts.pop() if len(counts) == 1 else config.thread_count
    cores = pinned_cores(threads) if on_cpu else ()
    benchmark = Benchmark(cpu_title(), config.place, config.precision, threads, cores, results)
    if chart is not None:
        write_chart(benchmark, chart)
    console.print(benchmark.table())
    for line in benchmark.remarks():
        console.print(line, soft_wrap=True)
    for each in benchmark.models:
        if each.profile is not None:
            console.print(f"\n{each.title}", style="bold")
            console.print(profile_table(each.profile))
    return benchmark.as_json() | {"failed": any({OURS, PROFILE} & each.failed.keys() for each in results)}


class _Bencher:
    """Measures one model after the other."""

    def __init__(
        self,
        options: Mapping[str, Any],
        peers: Sequence[str],
        given: Given,
        amount: Amount,
        on_cpu: bool,
        alone: bool,
    ) -> None:
        self._options, self._peers, self._given = options, peers, given
        self._amount, self._on_cpu, self._alone = amount, on_cpu, alone

    def now(self, text: str) -> None:
        """Shows the current activity."""

    def results(self, model: Path, name: str, profiled: int) -> Iterator[ModelResult]:
        """The results of a model at each of its shapes; with `profiled` > 0 also that many runs of every kernel."""
        try:
            self.now("import")
            for each in subjects(model, self._options, self._given):
                yield self._result(model, name, each, profiled)
        except MiniInferError as error:
            if self._alone:
                raise
            yield ModelResult(name, str(model), failed={OURS: str(error)})

    def _result(self, model: Path, name: str, subject: Subject, profiled: int) -> ModelResult:
        threads = EngineConfig.of(**subject.options).thread_count
        cores = pinned_cores(threads) if self._on_cpu else ()
        takers = self._peers if model.suffix == ".onnx" else ()
        with tempfile.TemporaryDirectory() as folder:
            job = Job(os.path.abspath(model), subject.options, subject.inputs, cores, folder)
            file = Path(folder, "job.pickle")
            file.write_bytes(pickle.dumps(job))
            turns = Alternation(file, threads, self._amount, self.now)
            outcome = turns.measure([OURS, *takers], self._on_cpu and subject.work is not None)
            errors = _errors(Path(folder), outcome, subject)
        engines = {
            each: Measured.of(turns, subject.work, outcome.limits, errors.get(each))
            for each, turns in outcome.engines.items()
        }
        outcome.failed.update({peer: f"it takes no {model.suffix} file" for peer in self._peers if peer not in takers})
        kernels = None
        if profiled and OURS in engines:
            self.now("profile")
            config = EngineConfig.of(**subject.options)
            try:
                kernels = profile(str(model), config, subject.inputs, profiled, cores, outcome.limits)
            except MiniInferError as error:  # the latencies are worth telling all the same
                outcome.failed[PROFILE] = str(error)
        return ModelResult(
            name,
            str(model),
            subject.shape,
            engines,
            outcome.failed,
            subject.work,
            outcome.limits,
            profile=kernels,
            threads=threads,
            inputs=facts.arrays(subject.inputs),
        )


def _errors(folder: Path, outcome: Outcome, subject: Subject) -> dict[str, float]:
    """The largest error of each engine's results against the references, or against another engine.

    None if caches are updated: then engines have not run the same steps.
    """
    if subject.options["caches"]:
        return {}
    found: dict[str, list[np.ndarray[Any, np.dtype[Any]]]] = {}
    for engine in outcome.engines:
        if (file := folder / f"{engine}.npz").exists():
            with np.load(file) as loaded:
                found[engine] = [loaded[name] for name in loaded.files]
    given = list(subject.references.values())
    others = {engine: [given] if given else [found[each] for each in found if each != engine] for engine in found}
    return {
        engine: max(_apart(found[engine], other) for other in against) for engine, against in others.items() if against
    }


def _apart(values: Sequence[Any], references: Sequence[Any]) -> float:
    """The largest relative error over outputs; infinite if their shapes or types differ."""
    if [each.shape for each in values] != [each.shape for each in references]:
        return float("inf")
    return max((relative_error(*pair) for pair in zip(values, references, strict=True)), default=0.0)
