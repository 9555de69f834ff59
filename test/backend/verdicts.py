"""How cases of the suite end, each tried in a process that may die or hang without taking another case with it."""

from __future__ import annotations

import multiprocessing
import signal
import time
import warnings
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from backend.cases import load
from onnx.backend.test.runner import Runner

from mini_infer.dialects.errors import UnsupportedError
from mini_infer.runtime.backend import MiniInferBackend

SECONDS = 120  # for one case, on a machine that does other work too


# Absolute tolerances where the suite expects the rounding errors of numpy's transform in float32: it has 1.9e-7 where
# the exact result is 0.
NOISE = {"test_dft_inverse": 1e-6, "test_dft_inverse_opset19": 1e-6}


@dataclass(frozen=True)
class Verdict:
    """How a case ended."""

    name: str
    outcome: str  # passed, unsupported, wrong, error, crash, hang
    reason: str = ""  # one line
    seconds: float = 0.0  # of CPU, to compile and run the model


class Trials:
    """Tries cases one after another in a forked process; in a new one where the last has died or hangs."""

    def __init__(self, seconds: int = SECONDS) -> None:
        self.seconds = seconds
        self._pipe: Connection | None = None
        self._process: Any = None

    def verdict(self, name: str) -> Verdict:
        """How the case ends, by the suite's own comparison."""
        pipe = self._pipe or self._start()
        pipe.send(name)
        if not pipe.poll(self.seconds):
            self.end()
            return Verdict(name, "hang", f"no answer in {self.seconds} s")
        try:
            return pipe.recv()
        except EOFError:
            self._process.join()
            code = self._process.exitcode
            self.end()
            return Verdict(name, "crash", signal.Signals(-code).name if code < 0 else f"exit status {code}")

    def _start(self) -> Connection:
        fork = multiprocessing.get_context("fork")
        self._pipe, theirs = fork.Pipe()
        self._process = fork.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        return self._pipe

    def end(self) -> None:
        """Ends the process."""
        if self._pipe is not None:
            self._pipe.close()
            self._process.kill()
            self._process.join()
            self._pipe = None


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
            Runner.assert_similar_outputs(expected, outputs, case.rtol, NOISE.get(name, case.atol))
        return taken
    except UnsupportedError as error:
        return ended("unsupported", error)
    except AssertionError as error:
        return ended("wrong", error)
    except Exception as error:
        return ended("error", f"{type(error).__name__}: {error}")
