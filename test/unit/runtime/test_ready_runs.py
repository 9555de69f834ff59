"""Runs on arrays that code reads in place: what they do at once, and what they leave to a closer look."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime_models as models
import pytest

import mini_infer as mi
from mini_infer.dialects.graph.values import Array

X = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)


@pytest.fixture(scope="module", params=["one shape", "many shapes"])
def engine(request: pytest.FixtureRequest) -> mi.Engine:
    if request.param == "one shape":
        made = mi.compile(models.relu(), 1)
    else:
        made = mi.compile(models.unnamed(), 1, enable_dynamic_shapes=True)
    made(X)  # so that there is a context
    return made


def unaligned() -> Array:
    """X at an address that is no multiple of four."""
    moved = np.zeros(40, np.uint8)[1:33].view(np.float32).reshape(2, 4)
    moved[:] = X
    return moved


def read_only() -> Array:
    return np.frombuffer(X.tobytes(), np.float32).reshape(2, 4)


def test_an_array_in_place_is_run_at_once(engine: mi.Engine) -> None:
    found = engine.run_ready({"x": X})
    assert found is not None and found[0].tolist() == np.maximum(X, 0).tolist()
    again = engine.run_ready({"x": -X})
    assert again is not None and found[0].tolist() == np.maximum(X, 0).tolist()  # outputs are fresh


@pytest.mark.parametrize(
    "value",
    [
        np.asfortranarray(X),
        X[:, ::-1],
        unaligned(),
        read_only(),
        X.tolist(),
        np.ma.array(X),
    ],
    ids=["columns first", "backwards", "unaligned", "read-only", "lists", "a subclass"],
)
def test_what_has_to_be_copied_is_left_to_a_call(engine: mi.Engine, value: Any) -> None:
    assert engine.run_ready({"x": value}) is None
    assert engine({"x": value})["y"].tolist() == np.maximum(np.asarray(value), 0).tolist()


@pytest.mark.parametrize(
    "inputs",
    [{}, {"q": X}, {"x": X, "q": X}, {"x": X.astype(np.float64)}, {"x": X[0]}, {"x": None}, [X], None],
)
def test_what_is_wrong_is_left_to_a_call(engine: mi.Engine, inputs: Any) -> None:
    assert engine.run_ready(inputs) is None
    with pytest.raises(mi.InvalidInputError):
        engine(inputs)


def test_shapes_that_no_call_had_are_left_to_a_call() -> None:
    engine = mi.compile(models.unnamed(), 1, enable_dynamic_shapes=True)
    assert engine.run_ready({"x": X}) is None
    engine(X)
    assert engine.run_ready({"x": X[:1]}) is None and engine.run_ready({"x": X}) is not None


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_closed_engine_runs_nothing(dynamic: bool) -> None:
    engine = mi.compile(models.unnamed() if dynamic else models.relu(), 1, enable_dynamic_shapes=dynamic)
    engine(X)
    assert engine.run_ready({"x": X}) is not None
    engine.close()
    assert engine.run_ready({"x": X}) is None
    with pytest.raises(mi.InvalidInputError, match="the engine is closed"):
        engine({"x": X})


def test_an_index_out_of_range_is_told() -> None:
    engine = mi.compile(models.gather(), 1, dims={"n": 2})
    engine({"x": X, "places": np.array([0, 1])})
    with pytest.raises(mi.InvalidInputError, match="index 2 is outside of a dimension of 2 elements"):
        engine.run_ready({"x": X, "places": np.array([0, 2])})
    found = engine.run_ready({"x": X, "places": np.array([1, 0])})
    assert found is not None and found[0].tolist() == X[::-1].tolist()


def test_a_context_in_lent_memory_looks_where_inputs_lie() -> None:
    plan = mi.compile(models.softmax_rows(), 1, shapes={"x": (2, 2, 4)}).plan
    arena = mi.Storage.allocate(plan.arena_bytes, plan.alignment)
    context = plan.create_execution_context(arena)
    assert context.run_ready([np.ones((2, 2, 4), np.float32)]) is None
    assert context.run({"x": np.ones((2, 2, 4), np.float32)})["y"].shape == (2, 2, 4)
