"""How cases of the suite end, each tried in a process that may die or hang without taking another case with it."""

from __future__ import annotations

import multiprocessing
import signal
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection

from backend.cases import load
from onnx.backend.test.runner import Runner

from mini_infer.dialects.errors import UnsupportedError
from mini_infer.runtime.backend import MiniInferBackend

SECONDS = 60  # for one case


@dataclass(frozen=True)
class Verdict:
    """How a case ended."""

    name: str
    outcome: str  # passed, unsupported, wrong, error, crash, hang
    reason: str = ""  # one line
    seconds: float = 0.0  # of CPU, to compile and run the model


def verdicts(names: Iterable[str], seconds: int = SECONDS) -> Iterator[Verdict]:
    """How each of the cases ends, by the suite's own comparison."""
    worker = _Worker()
    try:
        for name in names:
            verdict = worker.verdict(name, seconds)
            yield verdict
            if verdict.outcome in ("crash", "hang"):
                worker.end()
                worker = _Worker()
    finally:
        worker.end()


class _Worker:
    """A forked process that tries cases one after another."""

    def __init__(self) -> None:
        fork = multiprocessing.get_context("fork")
        self._ours, theirs = fork.Pipe()
        self._process = fork.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def verdict(self, name: str, seconds: int) -> Verdict:
        self._ours.send(name)
        if not self._ours.poll(seconds):
            return Verdict(name, "hang", f"no answer in {seconds} s")
        try:
            return self._ours.recv()
        except EOFError:
            self._process.join()
            code = self._process.exitcode or 0
            return Verdict(name, "crash", signal.Signals(-code).name if code < 0 else f"exit status {code}")

    def end(self) -> None:
        self._ours.close()
        self._process.kill()
        self._process.join()


def _serve(pipe: Connection) -> None:
    while True:
        try:
            name = pipe.recv()
        except EOFError:
            return
        pipe.send(_tried(name))


def _tried(name: str) -> Verdict:
    case = load(name)
    start = time.process_time()

    def ended(outcome: str, reason: object = "") -> Verdict:
        return Verdict(name, outcome, " ".join(str(reason).split()), time.process_time() - start)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            prepared = MiniInferBackend.prepare(case.model, threads=1, compile_threads=1)
            found = [prepared.run(inputs) for inputs, _ in case.data]
        taken = ended("passed")
        for outputs, (_, expected) in zip(found, case.data, strict=True):
            Runner.assert_similar_outputs(expected, outputs, case.rtol, case.atol)
        return taken
    except UnsupportedError as error:
        return ended("unsupported", error)
    except AssertionError as error:
        return ended("wrong", error)
    except Exception as error:
        return ended("error", f"{type(error).__name__}: {error}")
