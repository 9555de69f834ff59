"""A model with a state and a branch on its rate, as voice detectors are: hundreds of steps beside ONNX Runtime."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from models.streaming import Distance, distances
from onnx import ModelProto, numpy_helper
from text_models import model_of, numbers

import mini_infer as mi

HIDDEN, BANDS = 4, 3
FRAMES = {16000: 24, 8000: 12}
WINDOWS = {16000: 8, 8000: 4}
FED = {"stateN": "state"}

SIDE = """
    {name} = {p} () => (float[b,1] {p}output, float[2,b,4] {p}stateN) {{
      {p}one = Constant <value = int64[1] {{1}}> ()
      {p}x = Unsqueeze(input, {p}one)
      {p}spectrum = Conv <strides = [{window}]> ({p}x, {p}basis)
      {p}real, {p}imaginary = Split <axis = 1> ({p}spectrum)
      {p}squares = Mul({p}real, {p}real)
      {p}others = Mul({p}imaginary, {p}imaginary)
      {p}power = Add({p}squares, {p}others)
      {p}magnitude = Sqrt({p}power)
      {p}encoded = Conv({p}magnitude, {p}encoder)
      {p}features = Relu({p}encoded)
      {p}two = Constant <value = int64[1] {{2}}> ()
      {p}frame = Squeeze({p}features, {p}two)
      {p}zero = Constant <value = int64[1] {{0}}> ()
      {p}step = Unsqueeze({p}frame, {p}zero)
      {p}h, {p}c = Split <axis = 0> (state)
      {p}all, {p}hidden, {p}cell = LSTM <hidden_size = 4> ({p}step, {p}w, {p}r, {p}bias, , {p}h, {p}c)
      {p}stateN = Concat <axis = 0> ({p}hidden, {p}cell)
      {p}last = Squeeze({p}hidden, {p}zero)
      {p}score = MatMul({p}last, {p}decoder)
      {p}output = Sigmoid({p}score)
    }}"""


def detector() -> ModelProto:
    """Frames of 24 samples at 16 kHz and 12 at 8 kHz; neither branch can do with the other's frames."""
    sides = [
        SIDE.format(name=name, p=p, window=WINDOWS[rate])
        for name, p, rate in (("then_branch", "wide_", 16000), ("else_branch", "narrow_", 8000))
    ]
    model = model_of(f"""
    g (float[b,n] input, float[2,b,4] state, int64 sr) => (float[b,1] output, float[2,b,4] stateN) {{
      rate = Constant <value = int64 {{16000}}> ()
      high = Equal(sr, rate)
      output, stateN = If (high) < {sides[0]}, {sides[1]} >
    }}""")
    for p, window in (("wide_", 8), ("narrow_", 4)):
        shapes = {
            "basis": (2 * BANDS, 1, window),
            "encoder": (HIDDEN, BANDS, 3),
            "w": (1, 4 * HIDDEN, HIDDEN),
            "r": (1, 4 * HIDDEN, HIDDEN),
            "bias": (1, 8 * HIDDEN),
            "decoder": (HIDDEN, 1),
        }
        for seed, (name, shape) in enumerate(shapes.items()):
            weight = numbers(*shape, seed=seed + window)
            model.graph.initializer.append(numpy_helper.from_array(weight, p + name))
    return model


def shapes_at(rate: int, batch: int = 1) -> dict[str, tuple[int, ...]]:
    return {"input": (batch, FRAMES[rate]), "state": (2, batch, HIDDEN)}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rate", FRAMES)
def test_a_state_is_fed_back(rate: int, threads: int) -> None:
    """Whether the rate is an input or bound; errors do not add up."""
    bound = {"sr": np.array(rate)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given, specialize in ((bound, {}), ({}, bound)):
            found = distances(detector(), FED, shapes_at(rate, 2), given, specialize, 100, threads=threads)
            assert list(found) == ["output", "stateN"]
            assert all(each.apart <= 1e-5 for each in found.values())


def test_float64_tells_whose_rounding_it_is() -> None:
    bound = {"sr": np.array(8000)}
    found = distances(detector(), FED, shapes_at(8000), {}, bound, 20, reference=True, threads=1)
    assert all(each.is_small and 0 < (each.own or 0) < 1e-5 for each in found.values())
    assert not Distance(2e-5).is_small and not Distance(0, 3e-5, 5e-6).is_small and Distance(3e-5, 2e-5, 1e-5).is_small


@pytest.mark.parametrize(("rate", "side", "node"), [(16000, "else", "Squeeze_11"), (8000, "then", "Conv_8")])
def test_the_other_rate_is_an_error_of_the_run(rate: int, side: str, node: str) -> None:
    message = (
        rf"^If_2 \(If\): its {side}_branch can't be run: If_2/{node} .*; which one is taken depends on sr: bind with"
    )
    with pytest.warns(UserWarning, match=message):
        engine = mi.compile(detector(), shapes=shapes_at(rate), threads=1)
    inputs = {"input": numbers(1, FRAMES[rate]), "state": numbers(2, 1, HIDDEN), "sr": np.array(rate)}
    before = engine(inputs)
    with pytest.raises(mi.InvalidInputError, match=message):
        engine({**inputs, "sr": np.array(24000 - rate)})
    after = engine(inputs)
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_the_command_says_how_far_apart_they_are(tmp_path: Path) -> None:
    path = tmp_path / "detector.onnx"
    path.write_bytes(detector().SerializeToString())
    test = Path(__file__).resolve().parents[1]
    words = ["--shape", "input=1,24", "--shape", "state=2,1,4", "--feed", "stateN=state", "--specialize", "sr=16000"]
    done = subprocess.run(
        [sys.executable, "-m", "models.streaming", str(path), *words, "--steps", "20"],
        env={"PYTHONPATH": f"{test.parent}:{test}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == ["output", "stateN"]
