"""Measures engines in alternation on one model, each in its own process; failing engines are reported and left out.

The machine may be shared and its speed may drift, so rounds go A B A B ..., and the machine's limits are measured in
each round, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from typing import Any, cast

from ...dialects.errors import ConfigError, MiniInferError
from ...runtime.devices.cpu.machine_limits import MachineLimits
from .engine_process import LIMITS

OURS = "mini_infer"
PACKAGES = {
    "torch": ("torch", "onnx2torch"),
    "torch-compile": ("torch", "onnx2torch"),
    "onnxruntime-cuda": ("onnxruntime",),
}
"""Packages that a peer needs, if not a single one of its own name."""
EXTRA = ("onnxruntime", "openvino")
"""Peers that come with mini-infer[bench]."""
WORKER = "mini_infer.tools.bench.engine_process"


@dataclass(frozen=True)
class Amount:
    """The amount of measurement: `runs` inferences of each engine in each of `rounds`, after `warmup` uncounted ones.

    With `duration`, that many seconds of each engine instead, in as many rounds.
    """

    rounds: int = 5
    runs: int = 20
    warmup: int = 5
    duration: float | None = None

    def runs_of(self, warm: Sequence[float]) -> int:
        """The number of inferences of an engine per round, given the times of its warm-up."""
        if self.duration is None:
            return self.runs
        return max(1, ceil(self.duration / self.rounds / min(warm)))


@dataclass
class Turns:
    """The measurements of an engine: cost of loading, memory, and time of each inference, in seconds and bytes."""

    imports: float = 0.0
    load: float = 0.0
    memory: dict[str, int] = field(default_factory=dict[str, int])
    times: list[float] = field(default_factory=list[float])


@dataclass
class Outcome:
    """The engines that ran, why others did not, and the machine's limits if measured."""

    engines: dict[str, Turns] = field(default_factory=dict[str, Turns])
    failed: dict[str, str] = field(default_factory=dict[str, str])
    limits: MachineLimits | None = None


def check_installed(peer: str) -> None:
    """Raises ConfigError for a missing peer, with the command that installs it."""
    needed = PACKAGES.get(peer, (peer,))
    if any(find_spec(each) is None for each in needed):
        extra = "'mini-infer[bench]'" if peer in EXTRA else " ".join(needed)
        raise ConfigError(f"--against {peer}: it is not installed: pip install {extra}")


class Worker:
    """An engine in a process of its own, which answers each line it is sent."""

    def __init__(self, engine: str, job: Path, threads: int) -> None:
        self.engine = engine
        self._process = subprocess.Popen(
            [sys.executable, "-m", WORKER, engine, str(job)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            process_group=0,  # Ctrl-C is handled by this process, which ends them
        )

    def answer(self) -> dict[str, Any]:
        """The next line of the process. Raises MiniInferError if it fails or has ended."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise MiniInferError(f"ended with status {self._process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise MiniInferError(answer["error"])
        return answer

    def ask(self, count: int) -> dict[str, Any]:
        """The result of running `count` inferences."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{count}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise MiniInferError(f"ended with status {self._process.wait()}") from None
        return self.answer()

    def stop(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.communicate()


class Alternation:
    """Engines that alternate on one job."""

    def __init__(
        self,
        job: Path,
        threads: int,
        amount: Amount,
        now: Callable[[str], None],
        alone: AbstractContextManager[None] | None = None,
    ) -> None:
        """`alone` is entered when all engines are loaded, and before any of them is timed."""
        self._job, self._threads, self._amount, self._now = job, threads, amount, now
        self._alone = alone or nullcontext()
        self._workers: dict[str, Worker] = {}
        self._outcome = Outcome()

    def measure(self, engines: Sequence[str], limits: bool) -> Outcome:
        """The measurements of each engine; with `limits` also those of the machine on as many threads."""
        outcome, runs = self._outcome, dict[str, int]()
        try:
            for engine in (
                *engines,
                *([LIMITS] if limits else ()),
            ):  # sequentially, without mutual slow-down
                self._now(f"load {engine}")
                self._attempt(engine, self._load)
            with self._alone:
                for engine in list(outcome.engines):
                    self._now(f"warm up {engine}")
                    self._attempt(engine, lambda engine: runs.update({engine: self._warm_up(engine)}))
                for number in range(self._amount.rounds):
                    for engine in list(self._workers):
                        self._now(f"round {number + 1}, {engine}")
                        self._attempt(engine, lambda engine: self._take_turn(engine, runs.get(engine, 1)))
        finally:
            for worker in self._workers.values():
                worker.stop()
        return outcome

    def _load(self, engine: str) -> None:
        worker = self._workers[engine] = Worker(engine, self._job, self._threads)
        told = worker.answer()
        if engine != LIMITS:
            memory = cast("dict[str, int]", told.get("memory", {}))
            self._outcome.engines[engine] = Turns(told.get("imports", 0.0), told["load"], memory)

    def _warm_up(self, engine: str) -> int:
        """Warms up an engine; returns its number of inferences per round."""
        count = max(self._amount.warmup, 0 if self._amount.duration is None else 1)
        return self._amount.runs_of(self._workers[engine].ask(count)["times"])

    def _take_turn(self, engine: str, runs: int) -> None:
        told = self._workers[engine].ask(runs)
        if engine == LIMITS:
            found = MachineLimits(self._threads, told["gflops"], told["gbytes"])
            self._outcome.limits = found.best(self._outcome.limits)
        else:
            self._outcome.engines[engine].times += told["times"]

    def _attempt(self, engine: str, work: Callable[[str], object]) -> None:
        """Applies `work` to an engine, which is left out from then on if it fails."""
        try:
            work(engine)
        except MiniInferError as error:
            if engine in self._workers:
                self._workers.pop(engine).stop()
            self._outcome.engines.pop(engine, None)
            self._outcome.failed[engine] = str(error)
