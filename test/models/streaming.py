"""A model with a state, step by step beside ONNX Runtime: what a step gives back, the next one begins with.

    PYTHONPATH=.:test python -m models.streaming silero_vad_v6.onnx --shape input=1,576 --shape state=2,1,128 \
        --feed stateN=state --specialize sr=16000

Each of the two goes on from its own state, so that errors add up if they can. The other inputs are the next samples of
a signal that has voices and silences in it, so that outputs and states take many values.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any, TypeAlias

import numpy as np
import onnxruntime
from onnx import ModelProto
from typing_extensions import override

import mini_infer as mi
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.onnx_to_graph import import_onnx

TOLERANCE = 1e-5

Run: TypeAlias = "Callable[[dict[str, Array]], Mapping[str, Array]]"


@dataclass(frozen=True)
class Distance:
    """How far an output, or a state, was off at the worst step.

    An error counts absolutely up to values of 1, and relatively to the step's largest one beyond.
    """

    apart: float
    """From ONNX Runtime's."""
    own: float | None = None
    """From what float64 gives, where that was computed."""
    peer: float | None = None
    """ONNX Runtime's own distance from that."""

    @property
    def is_small(self) -> bool:
        """Whether it is rounding: 1e-5 at most, or four times ONNX Runtime's own where float64 tells."""
        if self.own is None or self.peer is None:
            return self.apart <= TOLERANCE
        return self.own <= max(TOLERANCE, 4 * self.peer)

    @override
    def __str__(self) -> str:
        known = self.own is not None and self.peer is not None
        return f"{self.apart:.1e}" + (f", {self.own:.1e} from float64, ONNX Runtime {self.peer:.1e}" if known else "")


def voice(first: int, count: int, rate: int = 16000) -> Array:
    """Samples of a hummed vowel that comes and goes, with a little noise: the same ones whenever they are asked for."""
    samples = np.arange(first, first + count)
    time = samples / rate
    phase = 2 * np.pi * (120 * time + 2 * np.sin(2 * np.pi * 1.3 * time))
    harmonics = sum(
        np.sin(k * phase) * sum(np.exp(-(((k * 120 - formant) / 150) ** 2)) for formant in (700, 1200, 2500))
        for k in range(1, 25)
    )
    loudness = np.clip(np.sin(2 * np.pi * 0.4 * time), 0, 1) * (0.6 + 0.4 * np.sin(2 * np.pi * 4 * time))
    noise = np.sin(samples * 12.9898 + 78.233 * np.sin(samples * 0.73)) * 1e-3
    return (0.2 * harmonics * loudness + noise).astype(np.float32)


def distances(
    model: str | ModelProto,
    fed: Mapping[str, str],
    shapes: Mapping[str, Sequence[int]],
    given: Mapping[str, Array],
    specialize: Mapping[str, Array],
    steps: int,
    *,
    reference: bool = False,
    **options: Any,
) -> dict[str, Distance]:
    """Runs so many steps, each runner going on from its own state.

    `fed` tells which output becomes which input, `given` and `specialize` what stays the same, for the run or already
    for the compile. With `reference` the steps are done in float64, too.
    """
    engine = mi.compile(model, shapes=shapes, specialize=specialize, **options)
    runners: list[Run] = [engine, _onnxruntime(model, specialize)]
    if reference:
        ctx = MiniContext()
        module = import_onnx(model, shapes=shapes, specialize=specialize, ctx=ctx)
        runners.append(lambda inputs: interpret(module, inputs, ctx.blobs, np.float64))
    inputs = {each.name: each for each in engine.plan.inputs}
    states = [{name: np.zeros(inputs[name].shape, inputs[name].dtype) for name in fed.values()} for _ in runners]
    signal = [each for name, each in inputs.items() if name not in (*fed.values(), *given)]
    worst = {name: [0.0] * 3 for name in engine.plan.output_names}
    for step in range(steps):
        same = {each.name: voice(step * prod(each.shape), prod(each.shape)).reshape(each.shape) for each in signal}
        found = [run({**same, **given, **state}) for run, state in zip(runners, states, strict=True)]
        for name, most in worst.items():
            pairs = list(combinations([each[name] for each in found], 2))
            most[: len(pairs)] = [max(before, _distance(*pair)) for before, pair in zip(most, pairs, strict=False)]
        states = [{name: each[output] for output, name in fed.items()} for each in found]
    return {name: Distance(*(most if reference else most[:1])) for name, most in worst.items()}


def _onnxruntime(model: str | ModelProto, bound: Mapping[str, Array]) -> Run:
    runtime: Any = onnxruntime
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads, settings.log_severity_level = 1, 4
    data = model if isinstance(model, str) else model.SerializeToString()
    session = runtime.InferenceSession(data, settings, ["CPUExecutionProvider"])
    names = [each.name for each in session.get_outputs()]
    return lambda inputs: dict(zip(names, session.run(None, {**inputs, **bound}), strict=True))


def _distance(value: Array, other: Array) -> float:
    return float(np.abs(value - other).max()) / max(1.0, float(np.abs(other).max()))


def main() -> int:
    """The command: prints how far each output is, and ends with 1 where that is too far."""
    parser = argparse.ArgumentParser(prog="python -m models.streaming")
    parser.add_argument("model", help="an ONNX file")
    parser.add_argument("--feed", action="append", default=[], metavar="OUTPUT=INPUT", help="a state")
    parser.add_argument("--shape", action="append", default=[], metavar="INPUT=1,576", help="where a dimension is open")
    parser.add_argument("--given", action="append", default=[], metavar="INPUT=INTEGER", help="the same at every step")
    parser.add_argument(
        "--specialize", action="append", default=[], metavar="INPUT=INTEGER", help="bound by the compile"
    )
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--reference", action="store_true", help="do the steps in float64, too")
    options = parser.parse_args()

    def pairs(texts: Sequence[str]) -> dict[str, str]:
        return {name: value for name, _, value in (text.partition("=") for text in texts)}

    shapes = {name: [int(size) for size in sizes.split(",")] for name, sizes in pairs(options.shape).items()}
    given, specialize = (
        {name: np.array(int(number)) for name, number in pairs(texts).items()}
        for texts in (options.given, options.specialize)
    )
    found = distances(
        options.model,
        pairs(options.feed),
        shapes,
        given,
        specialize,
        options.steps,
        reference=options.reference,
        threads=options.threads,
    )
    for name, distance in found.items():
        print(f"{name}: {distance} ({options.steps} steps)")
    return int(not all(each.is_small for each in found.values()))


if __name__ == "__main__":
    sys.exit(main())
