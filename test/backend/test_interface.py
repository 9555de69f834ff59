"""MiniInferBackend: ONNX's interface, and what it compiles for the values of inputs by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from import_cases import model_of
from onnx import helper

import mini_infer as mi
from mini_infer.runtime import backend
from mini_infer.runtime.backend import MiniInferBackend

X = np.arange(6, dtype=np.float32).reshape(2, 3)
AXES = [np.array([0]), np.array([1])]


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The options of every compile that succeeded."""
    calls: list[dict[str, Any]] = []

    def counted(model: onnx.ModelProto, **options: Any) -> mi.Engine:
        engine = mi.compile(model, **options)
        calls.append(options)
        return engine

    monkeypatch.setattr(backend, "compile", counted)
    return calls


def test_a_static_model_is_compiled_when_it_is_prepared(compiled: list[Any]) -> None:
    prepared = MiniInferBackend.prepare(model_of([helper.make_node("Neg", ["x"], ["y"])], {"x": X}, {}, ["y"]))
    assert len(compiled) == 1
    for inputs in ([X], (X,), {"x": X}):
        (found,) = prepared.run(inputs)
        np.testing.assert_array_equal(found, -X)
    assert len(compiled) == 1


def test_an_open_shape_is_that_of_the_call(compiled: list[Any]) -> None:
    model = model_of([helper.make_node("Neg", ["x"], ["y"])], {"x": X}, {}, ["y"])
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    prepared = MiniInferBackend.prepare(model)
    for x in (X, X[:1], X):
        np.testing.assert_array_equal(prepared.run([x])[0], -x)
    assert [options["shapes"] for options in compiled] == [{"x": (2, 3)}, {"x": (1, 3)}]


def test_only_values_that_something_hangs_on_are_known(compiled: list[Any]) -> None:
    nodes = [helper.make_node("ReduceSum", ["x", "axes"], ["s"]), helper.make_node("Mul", ["s", "factor"], ["y"])]
    prepared = MiniInferBackend.prepare(
        model_of(nodes, {"x": X, "axes": AXES[0], "factor": np.array([2], np.float32)}, {}, ["y"])
    )
    assert compiled == []
    for axes in (*AXES, *AXES):
        for factor in (2, 3):
            (found,) = prepared.run([X, axes, np.array([factor], np.float32)])
            np.testing.assert_array_equal(found, factor * X.sum(axes[0], keepdims=True))
    assert [options["specialize"] for options in compiled] == [{"axes": axes} for axes in AXES]


def test_the_last_engines_are_kept(compiled: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "MOST_ENGINES", 1)
    nodes = [helper.make_node("ReduceSum", ["x", "axes"], ["y"])]
    prepared = MiniInferBackend.prepare(model_of(nodes, {"x": X, "axes": AXES[0]}, {}, ["y"]))
    for axes in (AXES[0], AXES[0], AXES[1], AXES[0]):
        prepared.run([X, axes])
    assert len(compiled) == 3


def test_one_node() -> None:
    pad = helper.make_node("Pad", ["x", "pads", "", "axes"], ["y"])
    (found,) = MiniInferBackend.run_node(pad, [X, np.array([1, 2]), np.array([-1])])
    np.testing.assert_array_equal(found, np.pad(X, [(0, 0), (1, 2)]))
    old = helper.make_node("Clip", ["x"], ["y"], min=1.0)
    (found,) = MiniInferBackend.run_node(old, [X], opset_version=6)
    np.testing.assert_array_equal(found, np.maximum(X, 1))
    twice = helper.make_node("Mul", ["x", "x"], ["y"])
    np.testing.assert_array_equal(MiniInferBackend.run_node(twice, [X])[0], X * X)


def test_a_whole_model() -> None:
    model = model_of([helper.make_node("Neg", ["x"], ["y"])], {"x": X}, {}, ["y"])
    np.testing.assert_array_equal(MiniInferBackend.run_model(model, [X], threads=1)[0], -X)


def test_devices() -> None:
    assert MiniInferBackend.supports_device("CPU")
    assert not MiniInferBackend.supports_device("TPU")
    assert not MiniInferBackend.supports_device("CUDA:77")


@pytest.mark.parametrize("inputs", [[], [X, X], {"z": X}])
def test_inputs_that_the_model_has_not_got(inputs: Any) -> None:
    prepared = MiniInferBackend.prepare(model_of([helper.make_node("Neg", ["x"], ["y"])], {"x": X}, {}, ["y"]))
    with pytest.raises(mi.InvalidInputError, match="one array is expected for each input: x"):
        prepared.run(inputs)


def test_what_is_not_supported_is_refused_when_it_is_prepared() -> None:
    node = helper.make_node("StringNormalizer", ["x"], ["y"])
    model = model_of([node], {"x": X}, {}, ["y"])
    with pytest.raises(mi.UnsupportedError, match="StringNormalizer"):
        MiniInferBackend.prepare(model)
