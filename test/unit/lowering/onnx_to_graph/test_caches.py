"""Caches: an input and an output in the same memory, which a run updates; results are those of a model without."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from onnx import ModelProto, parser

import mini_infer as mi
from mini_infer.dialects.graph.values import Array
from mini_infer.runtime.shapes.dynamic_engine import DynamicEngine
from mini_infer.tools.mini_opt.command import main

ROWS = mi.OptimizationProfile(dims={"B": (1, 1, 2), "P": (1, 8, 20), "S": (1, 1, 5)})
SIZES = [(1, 3, 1), (1, 4, 2), (2, 1, 5), (2, 20, 5), (1, 20, 1)]

# How a present may come from a past of another length, and what else may read either.
GROWING = {
    "joined": "c2 = Concat <axis = 2> (c, x)",
    "of a product": "v = MatMul (x, w) c2 = Concat <axis = 2> (c, v) y = MatMul (c2, w)",
    "read before and after": "a = Relu (c) c2 = Concat <axis = 2> (c, x) b = Neg (c) y = Concat <axis = 2> (a, b)",
    "joined in front": "c2 = Concat <axis = 2> (x, c)",
    "changed when joined": "j = Concat <axis = 2> (c, x) c2 = Sigmoid (j) y = Neg (c)",
    "changed in the end": "j = Concat <axis = 2> (c, x) c2 = Sigmoid (j)",
    "scattered into": "i = Constant <value = int64[1, 3] {0, 1, 0}> () "
    "u = Constant <value = float[1, 4] {9, 8, 7, 6}> () j = Concat <axis = 2> (c, x) c2 = ScatterND (j, i, u)",
    "changed before": "a = Neg (c) c2 = Concat <axis = 2> (a, x)",
    "returned twice": "c2 = Concat <axis = 2> (c, x) y = Identity (c2)",
    "and the past returned": "c2 = Concat <axis = 2> (x, c) y = Identity (c)",
    "summed": "c2 = Concat <axis = 2> (c, x) y = Softmax (c2)",
}
# The same of pasts that are as long as presents.
UPDATED = {
    "in place": "c2 = Add (c, x)",
    "read later": "c2 = Add (c, x) y = Neg (c)",
    "read before": "y = Neg (c) c2 = Add (c, x)",
    "twice": "a = Add (c, x) c2 = Mul (a, x)",
    "moved": "i = Constant <value_ints = [2, 0, 1]> () c2 = Gather <axis = 1> (c, i) y = Exp (c)",
    "moved on": "s = Constant <value_ints = [1]> () e = Constant <value_ints = [3]> () "
    "a = Slice (c, s, e, s) h = Constant <value_ints = [1]> () f = Constant <value_ints = [0]> () "
    "b = Slice (x, f, h, h) c2 = Concat <axis = 1> (a, b)",
    "not at all": "c2 = Identity (c) y = Add (c, x)",
    "replaced": "c2 = Neg (x)",
    "swapped": "c2 = Identity (x) y = Identity (c)",
    "scattered": "f = Constant <value_ints = [0]> () i = Constant <value_ints = [1]> () j = Unsqueeze (i, f) "
    "c2 = ScatterND (c, j, x)",
}


def growing(name: str) -> ModelProto:
    """A model with a past [B, 2, P, 4] and a present [B, 2, P + S, 4]."""
    y = ", float[B, 2, T, 4] y" if "y =" in GROWING[name] else ""
    return _model("float[B, 2, S, 4] x, float[B, 2, P, 4] c", f"float[B, 2, R, 4] c2{y}", GROWING[name])


def updated(name: str) -> ModelProto:
    """A model with a past and a present of shape [4, 3]."""
    y = ", float[4, 3] y" if "y =" in UPDATED[name] else ""
    if name == "scattered":
        return _model("float[1, 3] x, float[4, 3] c", "float[4, 3] c2", UPDATED[name])
    return _model("float[4, 3] x, float[4, 3] c", f"float[4, 3] c2{y}", UPDATED[name])


def _model(inputs: str, outputs: str, body: str) -> ModelProto:
    weight = "float[4, 4] w = {1, 2, 0, -1, 0.5, 1, 3, 1, -2, 0, 1, 1, 1, 1, -1, 2}"
    text = f'<ir_version: 9, opset_import: ["" : 18]> g ({inputs}) => ({outputs}) <{weight}> {{ {body} }}'
    return cast("Any", parser).parse_model(text)


def inputs_of(engine: mi.Engine, shapes: Mapping[str, tuple[int, ...]], seed: int = 0) -> dict[str, Array]:
    """Normally distributed numbers."""
    random = np.random.default_rng(seed)
    return {name: random.standard_normal(shapes[name]).astype(np.float32) for name in engine.input_names}


@pytest.mark.thinned(5)
@pytest.mark.parametrize("optimized", [True, False])
@pytest.mark.parametrize("name", GROWING)
def test_a_growing_cache_changes_no_result(name: str, optimized: bool) -> None:
    settings: dict[str, Any] = {"threads": 1, "compile_threads": 1, "profile": ROWS}
    settings |= {"enable_graph_optimization": optimized, "enable_memory_planning": optimized}
    plain = mi.compile(growing(name), **settings)
    engine = cast("DynamicEngine", mi.compile(growing(name), caches={"c": "c2"}, **settings))
    for batch, past, new in SIZES:
        given = inputs_of(engine, {"x": (batch, 2, new, 4), "c": (batch, 2, past, 4)})
        before = {key: array.copy() for key, array in given.items()}
        expected, found = plain(given), engine(given)
        for key in expected:
            np.testing.assert_array_equal(found[key], expected[key], err_msg=f"{key} at {batch, past, new}")
        for key, array in given.items():
            np.testing.assert_array_equal(array, before[key])
    assert engine.compiles == 1


@pytest.mark.thinned(3)
@pytest.mark.parametrize("optimized", [True, False])
@pytest.mark.parametrize("name", UPDATED)
def test_an_updated_cache_changes_no_result(name: str, optimized: bool) -> None:
    settings: dict[str, Any] = {"threads": 1, "compile_threads": 1}
    settings |= {"enable_graph_optimization": optimized, "enable_memory_planning": optimized}
    plain = mi.compile(updated(name), **settings)
    engine = mi.compile(updated(name), caches={"c": "c2"}, **settings)
    found = inputs_of(engine, {spec.name: spec.shape for spec in engine.plan.inputs})
    for _ in range(3):
        expected = plain({key: found[key].copy() for key in plain.input_names})
        given = {key: found[key] for key in engine.input_names}
        found = {**given, **engine(given)}
        for key in expected:
            np.testing.assert_array_equal(found[key], expected[key], err_msg=key)
        found["c"] = found["c2"]


def test_watched_memory_finds_nothing_wrong_with_caches() -> None:
    for model in (growing("read before and after"), updated("read later")):
        dims = {"B": 2, "P": 3, "S": 2} if "B" in str(model) else {}
        engine = mi.compile(model, caches={"c": "c2"}, dims=dims, check_memory=True, threads=1, compile_threads=1)
        engine(inputs_of(engine, {spec.name: spec.shape for spec in engine.plan.inputs}))


@pytest.mark.parametrize("name", ["joined", "changed in the end", "scattered into"])
def test_what_is_joined_and_changed_takes_no_memory_of_the_arena(name: str) -> None:
    assert mi.plan_memory(growing(name), 1, profile=ROWS, caches={"c": "c2"}).arena_bytes == 0


def test_what_a_run_gave_is_updated_where_it_is_and_other_arrays_are_copied() -> None:
    engine = mi.compile(growing("joined"), caches={"c": "c2"}, profile=ROWS, threads=1, compile_threads=1)
    assert str(engine.plan.room("c")) == "c: float32[1, 2, 25, 4]"
    parts = [np.full((1, 2, size, 4), size, np.float32) for size in (3, 1, 2, 5)]
    present = engine(x=parts[1], c=parts[0])
    address = present.ctypes.data
    for part in parts[2:]:
        present = engine(x=part, c=present)
        assert present.ctypes.data == address
    np.testing.assert_array_equal(present, np.concatenate([parts[0], *parts[1:]], 2))
    other = engine(x=parts[1], c=present.copy())
    assert not np.may_share_memory(other, present)
    part = engine(x=parts[1], c=present[:, :, 1:5])  # which begins elsewhere
    assert not np.may_share_memory(part, present)
    wider = engine(x=np.zeros((2, 2, 1, 4), np.float32), c=np.zeros((2, 2, 1, 4), np.float32))
    assert not np.may_share_memory(engine(x=parts[1], c=wider[:1]), wider)  # a room for two


def test_bound_caches_stay_bound_when_shapes_change() -> None:
    engine = mi.compile(growing("of a product"), caches={"c": "c2"}, profile=ROWS, threads=1, compile_threads=1)
    plain = mi.compile(growing("of a product"), profile=ROWS, threads=1, compile_threads=1)
    context = engine.plan.create_execution_context()
    room = mi.Tensor.empty(engine.plan.room("c").shape, np.float32)
    past = np.ones((1, 2, 3, 4), np.float32)
    room.numpy()[:, :, :3] = past
    x = np.full((1, 2, 1, 4), 2, np.float32)
    for step in range(3, 9):
        context.set_shapes({"x": x.shape, "c": (1, 2, step, 4)})
        if step == 3:
            context.bind_input("c", room)
        context.bind_input("x", x)
        y = np.empty((1, 2, step + 1, 4), np.float32)
        context.bind_output("y", y)
        context.execute()
        expected = plain({"x": x, "c": past})
        past = expected["c2"]
        np.testing.assert_array_equal(y, expected["y"])
        np.testing.assert_array_equal(room.numpy()[:, :, : step + 1], past)


def test_what_is_bound_to_a_cache_is_checked() -> None:
    engine = mi.compile(growing("of a product"), caches={"c": "c2"}, profile=ROWS, threads=1, compile_threads=1)
    context = engine.plan.create_execution_context()
    room = np.zeros((1, 2, 25, 4), np.float32)
    with pytest.raises(mi.InvalidInputError, match="'c2' lies in the memory of the cache 'c'"):
        context.bind_output("c2", room)
    with pytest.raises(mi.InvalidInputError, match=r"'c' has shape \[1, 2, 8, 4\] instead of \[1, 2, 25, 4\]"):
        context.bind_input("c", room[:, :, :8])
    with pytest.raises(mi.InvalidInputError, match="'y' is no cache; the caches are 'c'"):
        engine.plan.room("y")
    context.bind_input("c", room)
    context.bind_input("x", room.reshape(-1)[:8].reshape(1, 2, 1, 4))
    context.bind_output("y", np.zeros((1, 2, 9, 4), np.float32))
    with pytest.raises(mi.InvalidInputError, match="the memory of 'c' overlaps that of 'x'"):
        context.execute()
    room.flags.writeable = False
    with pytest.raises(mi.InvalidInputError, match="'c' is read-only"):
        context.bind_input("c", room)


@pytest.mark.parametrize(
    ("caches", "profile", "message"),
    [
        ({"d": "c2"}, True, "there is no input 'd'; there are: x, c"),
        ({"c": "d"}, True, "there is no output 'd'; there are: c2"),
        ({"c": "c2", "x": "c2"}, True, "output 'c2' can't lie in the memory of two inputs"),
        ({"c": "c2"}, False, "input 'c' has no largest size below 1073741824 along axis 2"),
    ],
)
def test_what_can_be_no_cache_is_refused(caches: dict[str, str], profile: bool, message: str) -> None:
    settings: dict[str, Any] = {"profile": ROWS} if profile else {"enable_dynamic_shapes": True}
    engine = None
    with pytest.raises(mi.InvalidInputError, match=message):
        engine = mi.compile(growing("joined"), caches=caches, compile_threads=1, **settings)
        engine(x=np.zeros((1, 2, 1, 4), np.float32), c=np.zeros((1, 2, 1, 4), np.float32))


def test_a_past_that_becomes_another_caches_present_is_copied_first() -> None:
    """Beside a past without elements; also where two pasts change places."""
    past = "float[2, 5] a, float[2, 5] p, float[2, 0] q"
    body = "p2 = Concat <axis = 0> (a, p) q2 = Concat <axis = 1> (p, q)"
    beside = _model(past, "float[4, 5] p2, float[2, 5] q2", body)
    swapped = _model(
        "float[2, 5] p, float[2, 5] q", "float[2, 5] p2, float[2, 5] q2", "p2 = Identity (q) q2 = Identity (p)"
    )
    for model in (beside, swapped):
        plain, cached = (mi.compile(model, 1, caches=each) for each in ({}, {"p": "p2", "q": "q2"}))
        given = inputs_of(plain, {spec.name: tuple(map(int, spec.shape)) for spec in plain.inputs})
        expected = plain({name: array.copy() for name, array in given.items()})
        found = cached({name: array.copy() for name, array in given.items()})
        for name, array in expected.items():
            np.testing.assert_array_equal(found[name], array)


def test_sizes_may_differ_along_one_axis_only() -> None:
    model = _model(
        "float[2, 3] x, float[2, 3] c", "float[6] c2", "s = Constant <value_ints = [6]> () c2 = Reshape (c, s)"
    )
    with pytest.raises(mi.InvalidInputError, match="they may differ along one axis only"):
        mi.compile(model, caches={"c": "c2"}, compile_threads=1)


def test_caches_are_a_mapping_of_names() -> None:
    with pytest.raises(mi.ConfigError, match="caches: 'c' is 3; it must be an output's name"):
        mi.EngineConfig(caches=cast("Any", {"c": 3}))


def test_mini_opt_declares_caches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "joined.onnx"
    path.write_bytes(growing("joined").SerializeToString())
    ranges = [f"--range={name}=1,2,8" for name in ("B", "P", "S")]
    assert main([str(path), *ranges, "--cache=c=c2", "--to=buffers"]) == 0
    assert 'memref<(B)x2x16x4xf32> {graph.name = "c", graph.cache = ' in capsys.readouterr().out
    assert main([str(path), *ranges, "--cache=c=c2", "--gpu=sm_80", "-t", "launches"]) == 0
    assert "x+0, c+P * 16" in capsys.readouterr().out
    assert main([str(path), *ranges, "--cache=c", "--to=buffers"]) == 1
    assert "--cache c: expected INPUT=OUTPUT" in capsys.readouterr().err


def test_one_array_for_two_caches_is_two_caches() -> None:
    body = "c2 = Concat <axis = 0> (c, x) n = Neg (x) d2 = Concat <axis = 0> (d, n)"
    model = _model("float[S, 4] x, float[P, 4] c, float[P, 4] d", "float[T, 4] c2, float[U, 4] d2", body)
    profile = mi.OptimizationProfile(dims={"S": (1, 1, 4), "P": (0, 4, 32)})
    engine = mi.compile(model, caches={"c": "c2", "d": "d2"}, profile=profile, threads=1, compile_threads=1)
    x, old = np.ones((1, 4), np.float32), np.zeros((3, 4), np.float32)
    for past in (engine(x=x, c=old, d=old)[0], engine(x=x, c=old, d=old)[0][:0]):
        before = past.copy()
        c, d = engine(x=x, c=past, d=past)
        np.testing.assert_array_equal(c, np.concatenate([before, x]))
        np.testing.assert_array_equal(d, np.concatenate([before, -x]))


def test_what_may_not_be_written_or_is_read_too_is_copied() -> None:
    engine = mi.compile(updated("read later"), caches={"c": "c2"}, threads=1, compile_threads=1)
    c2, _ = engine(x=np.ones((4, 3), np.float32), c=np.ones((4, 3), np.float32))
    c2.flags.writeable = False
    again, y = engine(x=c2, c=c2)
    np.testing.assert_array_equal(c2, 2)
    np.testing.assert_array_equal(again, 4)
    np.testing.assert_array_equal(y, -2)
    last, y = engine(x=again, c=again)
    np.testing.assert_array_equal(last, 8)
    np.testing.assert_array_equal(y, -4)
