"""Values of a model's tensors by name, also of those inside of fused kernels."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from import_cases import onnxruntime
from models.build import example_inputs
from models.judging import distance
from models.light import seeded_light_model
from models.small import lstm, mobilenet, transformer
from onnx import ModelProto, ValueInfoProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from text_models import model_of, numbers

import mini_infer as mi
from mini_infer.dialects.graph.values import Array
from mini_infer.runtime.compile import plan_builder

CHAIN = """
    chain (float[n, 4] x, int64[1] k) => (float[m, 4] y, int64[1] counted, float16[n, 4] half, bfloat16[n, 4] narrow,
            int64[2, found] places, float[4, n] wide) {
        one = Constant <value = float[1] {1.0}> ()
        a = MatMul (x, w)
        b = Add (a, one)
        c = Relu (b)
        same = Identity (c)
        counted = Mul (k, k)
        is_large = Greater (c, one)
        half = Cast <to = 10> (same)
        narrow = Cast <to = 16> (same)
        places = NonZero (is_large)
        wide = Transpose <perm = [1, 0]> (same)
        y = Concat <axis = 0> (same, c)
    }"""
BODIES = """
    bodies (float[4] x, bool flag) => (float[4] y, float[4] z) {
        count = Constant <value = int64 {3}> ()
        y = Loop (count, flag, x) <body = turn (int64 i, bool go, float[4] state) => (bool go_on, float[4] next) {
            go_on = Identity (go)
            twice = Add (state, state)
            next = Tanh (twice)
        }>
        z = If (flag) <then_branch = yes () => (float[4] t) { t = Neg (y) },
                       else_branch = no () => (float[4] e) { deep = Exp (y) e = Abs (deep) }>
    }"""


def chain() -> ModelProto:
    model = model_of(CHAIN)
    model.graph.initializer.append(numpy_helper.from_array(numbers(4, 4, seed=1), "w"))
    return model


def chain_inputs(rows: int = 3) -> dict[str, Array]:
    return {"x": numbers(rows, 4), "k": np.array([5])}


def judged(model: ModelProto, inputs: Mapping[str, Array]) -> dict[str, Any]:
    """All results of nodes, by ONNX's reference."""
    more = ModelProto.FromString(model.SerializeToString())
    known = {value.name for value in model.graph.output}
    more.graph.output.extend(
        ValueInfoProto(name=name) for node in model.graph.node for name in node.output if name and name not in known
    )
    names = [value.name for value in more.graph.output]
    return {**inputs, **dict(zip(names, cast("Any", ReferenceEvaluator(more)).run(None, dict(inputs)), strict=True))}


def file_of(model: ModelProto, folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def count_compiles(patched: pytest.MonkeyPatch) -> list[int]:
    compiles, compile = list[int](), plan_builder.Builder.__call__

    def counted(self: plan_builder.Builder, *given: Any) -> Any:
        compiles.append(1)
        return compile(self, *given)

    patched.setattr(plan_builder.Builder, "__call__", counted)
    return compiles


def check_all(found: Mapping[str, Array], wanted: Mapping[str, Any]) -> None:
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert (found[name].shape, found[name].dtype) == (value.shape, value.dtype), name
        assert distance(found[name], value) < 1e-5, name


@pytest.mark.parametrize("options", [{}, {"enable_graph_optimization": False}])
def test_all_tensors_are_those_of_the_reference(options: Any) -> None:
    check_all(mi.intermediates(chain(), chain_inputs(), dims={"n": 3}, **options), judged(chain(), chain_inputs()))


@pytest.mark.parametrize("made", [mobilenet, lstm, transformer])
def test_all_tensors_of_a_model_have_the_shapes_and_values_of_the_model(made: Callable[[], ModelProto]) -> None:
    model = made()
    inputs = example_inputs(model, 0)
    check_all(mi.intermediates(model, inputs), judged(model, inputs))


@pytest.mark.slow
def test_all_tensors_of_a_picture_model_are_those_of_onnx_runtime() -> None:
    model = seeded_light_model("shufflenet")
    inputs = example_inputs(model, 0)
    found, more = mi.intermediates(model, inputs), ModelProto.FromString(model.SerializeToString())
    del more.graph.output[:]
    names = [each for each in found if each not in inputs]
    more.graph.output.extend(ValueInfoProto(name=each) for each in names)
    for tensor, value in zip(names, onnxruntime(more, inputs), strict=True):
        assert found[tensor].shape == value.shape and distance(found[tensor], value) < 1e-4, tensor


def test_only_what_is_asked_for_is_returned_and_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = mi.compile(file_of(chain(), tmp_path), dims={"n": 3}, cache=False)
    compiles = count_compiles(monkeypatch)
    inputs, wanted = chain_inputs(), judged(chain(), chain_inputs())
    found = engine.intermediates(inputs, ["b", "x", "w", "one"])
    assert list(found) == ["b", "x", "w", "one"]
    np.testing.assert_allclose(found["b"], wanted["b"], 1e-5)
    np.testing.assert_array_equal(found["w"], numbers(4, 4, seed=1))
    found["w"][0] = 0  # the caller's own
    engine.intermediates({**inputs, "x": numbers(3, 4, seed=7)}, ["b", "x", "w", "one"])
    assert len(compiles) == 1
    engine.intermediates(inputs, ["a"])
    assert len(compiles) == 2


def test_constants_weights_and_inputs_need_no_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = mi.compile(file_of(chain(), tmp_path), dims={"n": 3}, cache=False)
    compiles = count_compiles(monkeypatch)
    found = engine.intermediates(chain_inputs(), ["w", "k", "one"])
    assert {name: value.tolist() for name, value in found.items() if name != "w"} == {"k": [5], "one": [1.0]}
    assert not compiles


@pytest.mark.parametrize(
    "options", [{"profile": mi.OptimizationProfile(dims={"n": (1, 2, 8)})}, {"enable_dynamic_shapes": True}]
)
def test_engines_for_many_shapes_are_asked_at_those_of_the_inputs(tmp_path: Path, options: Any) -> None:
    engine = mi.compile(file_of(chain(), tmp_path), cache=False, **options)
    for rows in (1, 5):
        check_all(engine.intermediates(chain_inputs(rows)), judged(chain(), chain_inputs(rows)))


def test_sizes_known_at_run_time_only_are_those_of_the_run() -> None:
    inputs = {**chain_inputs(), "x": np.full((3, 4), -1, np.float32)}
    found = mi.intermediates(chain(), inputs, ["places", "one", "c"], dims={"n": 3})
    np.testing.assert_array_equal(found["places"], judged(chain(), inputs)["places"])


def test_an_input_with_a_value_is_a_constant(tmp_path: Path) -> None:
    engine = mi.compile(file_of(chain(), tmp_path), dims={"n": 3}, specialize={"k": [4]}, cache=False)
    found = engine.intermediates({"x": numbers(3, 4)}, ["counted", "k"])
    assert {name: value.tolist() for name, value in found.items()} == {"counted": [16], "k": [4]}


def test_narrow_types_stay_what_they_are() -> None:
    found = mi.intermediates(chain(), chain_inputs(), ["half", "narrow", "is_large", "counted"], dims={"n": 3})
    assert [value.dtype for value in found.values()] == [np.float16, ml_dtypes.bfloat16, bool, np.int64]


def test_results_of_loops_and_branches_have_values() -> None:
    model, inputs = model_of(BODIES), {"x": numbers(4), "flag": np.array(False)}
    found = mi.intermediates(model, inputs)
    check_all(found, judged(model, inputs))


@pytest.mark.parametrize(("name", "node"), [("twice", "Loop"), ("Loop_1/twice", "Loop"), ("deep", "If")])
def test_a_tensor_inside_of_a_body_is_refused(name: str, node: str) -> None:
    inputs = {"x": numbers(4), "flag": np.array(True)}
    with pytest.raises(mi.UnsupportedError, match=rf"'(twice|deep)' is inside of a body of {node}_\d \({node}\)"):
        mi.intermediates(model_of(BODIES), inputs, [name])


def test_wrong_names_and_inputs_are_refused() -> None:
    model, inputs = chain(), chain_inputs()
    with pytest.raises(mi.InvalidInputError, match=r"no tensor 'counter' \(did you mean counted\?\)"):
        mi.intermediates(model, inputs, ["counter"])
    with pytest.raises(mi.InvalidInputError, match=r"names of tensors is 'c'; it must be a sequence of names"):
        mi.intermediates(model, inputs, "c")
    with pytest.raises(mi.InvalidInputError, match=r"a tensor's name is 1; it must be a string"):
        mi.intermediates(model, inputs, [1])  # pyright: ignore[reportArgumentType]
    with pytest.raises(mi.InvalidInputError, match=r"input 'k' is \[\[1\], \[1, 2\]\]; it must be an array"):
        mi.intermediates(model, {**inputs, "k": [[1], [1, 2]]}, ["c"])
    with pytest.raises(mi.InvalidInputError, match="input 'k' is missing"):
        mi.intermediates(model, {"x": inputs["x"]}, ["c"])
    with pytest.raises(mi.InvalidInputError, match=r"input 'x' has type float64 instead of float32"):
        mi.intermediates(model, {**inputs, "x": np.zeros((3, 4))}, ["c"])


def test_texts_and_sequences_are_refused_by_name_and_left_out_of_all() -> None:
    model = model_of("""
        texts (float[4] x) => (float[4] y) {
            names = Constant <value_strings = ["a", "b"]> ()
            many = SequenceConstruct (x, x)
            at = Constant <value = int64 {0}> ()
            y = SequenceAt (many, at)
        }""")
    inputs = {"x": numbers(4)}
    with pytest.raises(mi.UnsupportedError, match="tensor 'many' is no tensor of numbers"):
        mi.intermediates(model, inputs, ["y", "many"])
    assert mi.intermediates(model, inputs).keys() == {"x", "at", "y"}
    assert mi.intermediates(model, inputs, []) == {}


def test_an_engine_without_a_file_says_who_can_be_asked(tmp_path: Path) -> None:
    engine = mi.compile(chain(), dims={"n": 3}, cache=False)
    with pytest.raises(mi.UnsupportedError, match=r"mini_infer.intermediates\(model, inputs, names\) takes the model"):
        engine.intermediates(chain_inputs())
    engine.close()
    with pytest.raises(mi.InvalidInputError, match="the engine is closed"):
        engine.intermediates(chain_inputs())


def test_a_file_that_has_changed_is_refused(tmp_path: Path) -> None:
    path = file_of(chain(), tmp_path)
    engine = mi.compile(path, dims={"n": 3}, cache=False)
    os.utime(path, ns=(1, 1))
    with pytest.raises(mi.InvalidModelError, match="was changed since the engine was compiled from it"):
        engine.intermediates(chain_inputs())
    path.unlink()
    with pytest.raises(mi.InvalidModelError, match="is gone since the engine was compiled from it"):
        engine.intermediates(chain_inputs())


def test_an_engine_from_the_cache_can_be_asked(tmp_path: Path) -> None:
    path, cache = file_of(chain(), tmp_path), tmp_path / "cache"
    mi.compile(path, dims={"n": 3}, cache=cache)
    engine = mi.compile(path, dims={"n": 3}, cache=cache)
    assert not engine.statistics.seconds, "it was found compiled"
    found = engine.intermediates(chain_inputs(), ["b"])
    np.testing.assert_allclose(found["b"], judged(chain(), chain_inputs())["b"], 1e-5)


def test_what_has_no_onnx_tensors_is_refused(tmp_path: Path) -> None:
    module = tmp_path / "module.mlir"
    module.write_text("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { func.return %x : tensor<4xf32> }")
    with pytest.raises(mi.ConfigError, match=r"module.mlir: a module's text has no ONNX tensors"):
        mi.intermediates(str(module), {"x": numbers(4)})
    with pytest.raises(mi.ConfigError, match="intermediates are of the model without next_token"):
        mi.intermediates(chain(), chain_inputs(), next_token=1)
