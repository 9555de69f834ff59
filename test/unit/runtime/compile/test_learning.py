"""Engines that learn shapes and values from calls: how often they compile, and what a later process finds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime_models as models
import pytest
from onnx.parser import parse_model

import mini_infer as mi
from mini_infer.dialects.errors import UnsupportedError
from mini_infer.runtime.compile import learning_engine
from mini_infer.runtime.compile.learning_engine import LearningEngine
from mini_infer.runtime.compile.plan_builder import Builder
from mini_infer.runtime.compile.source import Best
from mini_infer.runtime.engine import CompiledModel
from mini_infer.runtime.shapes import shape_history
from mini_infer.runtime.shapes.dynamic_engine import DynamicEngine


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch) -> list[Best]:
    """For what shapes code is made from here on, rather than found."""
    made: list[Best] = []
    build = Builder.__call__

    def noted(builder: Builder, best: Best | None = None) -> CompiledModel:
        made.append(best or {})
        return build(builder, best)

    monkeypatch.setattr(Builder, "__call__", noted)
    return made


def outputs(engine: LearningEngine, **inputs: np.ndarray) -> np.ndarray:
    """The first output of a run, by the engine for these inputs."""
    found = engine.engine_for({name: each.shape for name, each in inputs.items()}, inputs)
    names = found.input_names
    result = found({name: inputs[name] for name in names})
    return next(iter(result.values()))


def softmax_rows(x: np.ndarray) -> np.ndarray:
    w = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    a = x @ w
    c = a @ a.transpose(0, 2, 1)
    e = np.exp(c - c.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ x


def lengths(seed: int, most: int = 50) -> list[int]:
    return np.random.default_rng(seed).permutation(np.arange(1, most + 1)).tolist()


def run_lengths(engine: LearningEngine, wanted: Sequence[int], batch: int = 1) -> None:
    random = np.random.default_rng(1)
    for length in wanted:
        x = random.standard_normal((batch, length, 4)).astype(np.float32)
        np.testing.assert_allclose(outputs(engine, x=x), softmax_rows(x), rtol=1e-4, atol=1e-5)


def test_fifty_lengths_need_three_compiles(with_cache: Path, compiles: list[Best]) -> None:
    """And none in a later process, whichever lengths come first there."""
    run_lengths(LearningEngine(models.softmax_rows(), {}, 1), lengths(0))
    assert 2 <= len(compiles) <= 3
    del compiles[:]
    run_lengths(LearningEngine(models.softmax_rows(), {}, 1), lengths(1))
    run_lengths(LearningEngine(models.softmax_rows(), {}, 1), [70, 51, *lengths(2)])
    assert compiles == []


@pytest.mark.slow
def test_a_dimension_that_never_changed_stays_a_number(with_cache: Path) -> None:
    engine = LearningEngine(models.softmax_rows(), {}, 1)
    x = np.ones((2, 9, 4), np.float32)
    first = engine.engine_for({"x": x[:, :3].shape}, {})
    assert not isinstance(first, DynamicEngine)
    second = engine.engine_for({"x": x[:, :5].shape}, {})
    assert isinstance(second, DynamicEngine) and second.inputs[0].shape == (2, "length", 4)
    assert engine.engine_for({"x": (2, 8, 4)}, {}) is second
    assert engine.engine_for({"x": (2, 3, 4)}, {}) is first
    third = engine.engine_for({"x": (3, 8, 4)}, {})
    assert isinstance(third, DynamicEngine) and third.inputs[0].shape == ("batch", "length", 4)
    run_lengths(engine, [2, 7], batch=5)


def test_code_for_many_shapes_is_optimised_for_large_ones(compiles: list[Best]) -> None:
    engine = LearningEngine(models.softmax_rows(), {}, 1, cache=False)
    run_lengths(engine, [3, 5])
    assert compiles == [{}, {"x": (1, 80, 4)}]


def test_unnamed_dimensions_are_learned_by_their_places(with_cache: Path, compiles: list[Best]) -> None:
    engine = LearningEngine(models.unnamed(), {}, 1)
    for shape in ((2, 3), (2, 4), (2, 9), (2, 300)):
        x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        assert outputs(engine, x=x).tolist() == np.maximum(x, 0).tolist()
    found = engine.engine_for({"x": (2, 9)}, {})
    assert found.inputs[0].shape == (2, "x.1")
    assert len(compiles) == 2


def test_unnamed_dimensions_are_bound_by_their_places() -> None:
    model = mi.compile(models.unnamed(), dims={"x.0": 2, "x.1": 3})
    assert model.inputs[0].shape == (2, 3)
    with pytest.raises(mi.InvalidInputError, match=r"dims: no input has a dynamic dimension x\.2"):
        mi.compile(models.unnamed(), dims={"x.0": 2, "x.1": 3, "x.2": 4})


def test_values_that_must_be_known_are_built_in(with_cache: Path, compiles: list[Best]) -> None:
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    engine = LearningEngine(models.reshape(), {}, 1)
    for shape in ((4, 2), (1, 8), (4, 2)):
        assert outputs(engine, x=x, shape=np.array(shape)).tolist() == x.reshape(shape).tolist()
    made = len(compiles)
    later = LearningEngine(models.reshape(), {}, 1)
    assert later.needs_values
    assert outputs(later, x=x, shape=np.array((1, 8))).tolist() == x.reshape(1, 8).tolist()
    assert len(compiles) == made


def test_a_value_is_kept_when_the_caller_writes_to_its_array() -> None:
    model = parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[N] x, int64[1] times) => (float[M] y) { y = Tile (x, times) }""")
    engine = LearningEngine(model, {}, 1, cache=False)
    x, times = np.arange(4, dtype=np.float32), np.array([2])
    assert outputs(engine, x=x[:3], times=times).shape == (6,)
    times[0] = 3
    assert outputs(engine, x=x[:3], times=times).shape == (9,)
    assert outputs(engine, x=x, times=np.array([2])).shape == (8,)


def test_a_value_that_isnt_there_is_asked_for() -> None:
    engine = LearningEngine(models.reshape(), {}, 1, cache=False)
    with pytest.raises(mi.UnknownValueError):
        engine.engine_for({"x": (2, 4), "shape": (2,)}, {})


def test_more_values_than_are_kept_are_compiled_again(monkeypatch: pytest.MonkeyPatch, compiles: list[Best]) -> None:
    monkeypatch.setattr(learning_engine, "MOST_VALUES", 2)
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    engine = LearningEngine(models.reshape(), {}, 1, cache=False)
    for shape in ((4, 2), (1, 8), (8, 1), (8, 1), (4, 2)):
        assert outputs(engine, x=x, shape=np.array(shape)).tolist() == x.reshape(shape).tolist()
    assert len(compiles) == 5  # the first one asks for the value


def test_where_many_shapes_are_not_supported_each_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: DynamicEngine, best: Any) -> Any:
        raise UnsupportedError("only numbers")

    monkeypatch.setattr(DynamicEngine, "_compiled", refused)
    engine = LearningEngine(models.softmax_rows(), {}, 1, cache=False)
    run_lengths(engine, [3, 5, 3, 7])
    assert not isinstance(engine.engine_for({"x": (1, 5, 4)}, {}), DynamicEngine)


def test_engines_for_one_shape_each_are_kept_in_a_limited_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_history, "MOST_RECORDS", 2)
    record, made = shape_history.ShapeRecord(), list[Any]()

    def single(shapes: Any) -> Any:
        made.append(shapes)
        return object()

    def ranges(fixed: Any) -> Any:
        raise UnsupportedError("only numbers")

    history = shape_history.ShapeHistory([["n"]], shape_history.Makers(single, ranges), record)
    for size in (2, 3, 4, 4, 3, 2):
        history.engine(((size,),))
    assert made == [((2,),), ((3,),), ((4,),), ((2,),)]
    assert record.single == [((2,),), ((3,),)]


@pytest.mark.parametrize(
    "told",
    [
        b"[",
        b"{}",
        b'[["q"], {}]',
        b'[[], {"": [[[[-1, 2]]], []]}]',
        b'[[], {"": [[], [[{"length": "3"}, []]]]}]',
        b'[[], {"": 3}]',
        b'[[], {"": [[[[2, 3], [4]]], []]}]',
        b'[[], {"": [[], [[{}, [[[2, 3, 4]]]]]]}]',
    ],
)
def test_a_broken_record_is_not_used(with_cache: Path, monkeypatch: pytest.MonkeyPatch, told: bytes) -> None:
    x = np.ones((2, 3), np.float32)
    with monkeypatch.context() as patch:
        engine = LearningEngine(models.unnamed(), {}, 1)
        patch.setattr(engine, "_record_text", told.decode)
        outputs(engine, x=x)
    again = LearningEngine(models.unnamed(), {}, 1)
    assert not again.needs_values
    assert outputs(again, x=x).tolist() == x.tolist()


def test_the_description_of_a_known_model_needs_no_importer(with_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = LearningEngine(models.product(), {}).description
    monkeypatch.setattr("mini_infer.lowering.onnx_to_graph.model_description.describe", None)
    assert LearningEngine(models.product(), {}).description == before
    assert [each["name"] for each in before["inputs"]] == ["x"] and before["version"] == 3


def test_a_model_stays_what_it_was_when_it_was_opened(tmp_path: Path) -> None:
    """Whether its file is deleted, or another one takes its place; but not if it is written to."""
    path, x = tmp_path / "model.onnx", np.array([[-1, 2]], np.float32)
    path.write_bytes(models.unnamed())
    engine = LearningEngine(path, {}, 1)
    (tmp_path / "other.onnx").write_bytes(models.softmax_rows())
    (tmp_path / "other.onnx").rename(path)
    assert outputs(engine, x=x).tolist() == [[0, 2]]
    path.unlink()
    assert outputs(engine, x=x[:, :1]).tolist() == [[0]]
    path.write_bytes(models.unnamed())
    engine = LearningEngine(path, {}, 1)
    path.write_bytes(models.softmax_rows())
    with pytest.raises(mi.InvalidModelError, match=r"model\.onnx: was changed after it was opened"):
        outputs(engine, x=x)
