"""The judge of models refuses what is too far off, what differs from run to run, and outputs of another name."""

from __future__ import annotations

import numpy as np
import pytest
from engine_cases import perceptron
from models.builder import ModelBuilder
from models.judging import FLOOR, Judge, assert_same_bits, distance
from onnx import ModelProto

import mini_infer as mi
from mini_infer.dialects.graph.values import Array


def tanh() -> ModelProto:
    b = ModelBuilder("tanh")
    return b.model([b.node("Tanh", b.input("x", [2, 3]))])


def judge(peer_error: float) -> Judge:
    """One output, whose largest element is 4."""
    return Judge(tanh(), {}, {"y": np.array([1.0, -4.0])}, {"y": peer_error})


def off(error: float) -> dict[str, Array]:
    return {"y": np.array([1.0 + 4 * error, -4.0])}


def test_distance_is_relative_to_the_largest_element() -> None:
    assert distance(np.array([1.0, 5.0]), np.array([1.0, 4.0])) == 0.25
    assert distance(np.array([0.5]), np.array([0.0])) == 0.5
    assert distance(np.zeros(0), np.zeros(0)) == 0
    assert np.isnan(distance(np.array([np.nan]), np.array([1.0])))


def test_an_output_may_be_as_far_off_as_the_floor_or_four_times_the_peers_error() -> None:
    judge(0).check(off(0.9 * FLOOR))
    judge(FLOOR).check(off(3.9 * FLOOR))
    for peer_error, error in ((0, 1.1), (1, 4.1), (1, float("nan"))):
        with pytest.raises(AssertionError, match="y is off by"):
            judge(peer_error * FLOOR).check(off(error * FLOOR))


def test_outputs_have_the_names_and_the_order_of_the_model() -> None:
    array = np.ones(1)
    two = Judge(tanh(), {}, {"y": array, "z": array}, {"y": 0, "z": 0})
    two.check({"y": array, "z": array})
    for outputs in ({"y": array}, {"z": array, "y": array}):
        with pytest.raises(AssertionError):
            two.check(outputs)


def test_bits_are_compared_and_names_types_and_shapes() -> None:
    array = np.array([0, 1, 2], np.float32)
    assert_same_bits({"y": array}, {"y": array.copy()})
    for other in (array * [-1, 1, 1], array[:, None], np.nextafter(array, 9), array + np.array([0, 0, 1])):
        with pytest.raises(AssertionError):
            assert_same_bits({"y": array}, {"y": other.astype(np.float32)})
    zero = np.zeros(1, np.float32)
    for other in (zero.astype(np.int32), zero.reshape(())):  # of the same bytes
        with pytest.raises(AssertionError):
            assert_same_bits({"y": zero}, {"y": other})
    for others in ({"y": array.astype(np.float64)}, {"z": array}, {"y": array, "z": array}, {}):
        with pytest.raises(AssertionError):
            assert_same_bits({"y": array}, others)


def test_the_peer_and_the_exact_result_are_the_models() -> None:
    found = Judge.of(tanh())
    (name,) = found.exact
    np.testing.assert_allclose(found.exact[name], np.tanh(found.inputs["x"].astype(np.float64)), rtol=1e-14)
    assert found.exact[name].dtype == np.float64
    assert 0 < found.peer_errors[name] < 1e-6
    found.check(found.compiled())


def test_a_model_runs_twice_on_one_arena_of_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    given = Judge.of(perceptron())
    runs: list[Array] = []
    run = mi.ExecutionContext.run

    def drifting(context: mi.ExecutionContext, inputs: dict[str, Array]) -> dict[str, Array]:
        runs.append(context.arena.data.copy())
        return {name: array + np.float32(len(runs)) for name, array in run(context, inputs).items()}

    monkeypatch.setattr(mi.ExecutionContext, "run", drifting)
    with pytest.raises(AssertionError):
        given.compiled()
    assert len(runs) == 2 and runs[0].size and (runs[0] == 255).all()
