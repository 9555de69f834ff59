"""A function that is called after each kernel call of a run, and the check for NaN and infinities on top of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
import pytest
from everything_shared import everything_shared
from models.build import ModelBuilder, example_inputs
from models.judging import distance
from models.small import SMALL_MODELS, mlp
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator
from text_models import model_of, numbers

import mini_infer as mi
from mini_infer.dialects.graph.values import Array

LOOP = """
    turns (float[4] x, bool go) => (float[4] y, float[n, 4] all, float[4] z) {
        count = Constant <value = int64 {3}> ()
        y, all = Loop (count, go, x) <body = turn (int64 i, bool on, float[4] state)
                => (bool goes_on, float[4] next, float[4] kept) {
            goes_on = Identity (on)
            twice = Add (state, state)
            next = Tanh (twice)
            kept = Exp (next)
        }>
        z = If (go) <then_branch = yes () => (float[4] t) { t = Softmax (y) },
                     else_branch = no () => (float[4] e) { e = Neg (y) }>
    }"""


def compiled(model: ModelProto, threads: int = 1, **options: Any) -> mi.Engine:
    with everything_shared():
        return mi.compile(model, threads, cache=False, **cast("Any", {"enable_hooks": True, **options}))


def runs_of(engine: mi.Engine, inputs: Mapping[str, Any]) -> list[mi.KernelRun]:
    """The calls of a run, with copies of their results."""
    found = list[mi.KernelRun]()

    def hook(run: mi.KernelRun) -> None:
        shown, others = ({name: each.copy() for name, each in some.items()} for some in (run.outputs, run.temporaries))
        found.append(mi.KernelRun(run.step, run.kernel, run.nodes, run.turn, shown, others))

    with engine.create_context() as context:
        outputs = context.run(inputs, hook=hook)
    for name, value in cast("dict[str, Array]", engine(inputs)).items():
        np.testing.assert_array_equal(outputs[name], value)
    return found


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["resnet", "unet", "transformer"])
def test_a_hook_sees_every_call_in_order_and_tensors_as_in_the_model(name: str, threads: int) -> None:
    model = SMALL_MODELS[name]()
    inputs, engine = example_inputs(model), compiled(model, threads)
    runs = runs_of(engine, inputs)
    assert [run.step for run in runs] == [*range(len(engine.plan.memory.steps))]
    assert [run.kernel for run in runs] == [*engine.plan.memory.steps]
    assert [run.nodes for run in runs] == [*engine.plan.memory.step_nodes]
    wanted = mi.intermediates(model, inputs)
    seen = {name: value for run in runs for name, value in run.outputs.items()}
    assert len(seen) > 4
    for tensor, value in seen.items():
        assert value.shape == wanted[tensor].shape and distance(value, wanted[tensor]) < 1e-5, tensor


def test_axes_are_told_apart_where_all_have_one_size() -> None:
    """Channels lie last, and no shape says so."""
    b = ModelBuilder("cube")
    x = b.node("Relu", b.node("Conv", b.input("x", [1, 16, 16, 16]), b.weight(16, 16, 3, 3), pads=[1, 1, 1, 1]))
    model = b.model([b.node("Conv", x, b.weight(16, 16, 3, 3), pads=[1, 1, 1, 1])])
    inputs = example_inputs(model)
    runs, wanted = runs_of(compiled(model), inputs), mi.intermediates(model, inputs)
    assert any(run.outputs.get(x) is not None for run in runs)
    for run in runs:
        for name, value in run.outputs.items():
            assert distance(value, wanted[name]) < 1e-5, name


def test_a_copy_in_another_order_is_no_tensor_of_the_model() -> None:
    """The convolution reads a transposed copy, of the same sizes, which stems from the same node."""
    model = model_of("""
        copies (float[2, 4, 3] past, float[2, 4, 1] x, float[4, 1, 4] w) => (float[2, 4, 1] y, float[2, 4, 3] next) {
            all = Concat <axis = 2> (past, x)
            y = Conv <group = 4> (all, w)
            starts = Constant <value = int64[1] {1}> ()
            stops = Constant <value = int64[1] {4}> ()
            axes = Constant <value = int64[1] {2}> ()
            next = Slice (all, starts, stops, axes)
        }""")
    inputs = {"past": numbers(2, 4, 3), "x": numbers(2, 4, 1, seed=1), "w": numbers(4, 1, 4, seed=2)}
    wanted, runs = mi.intermediates(model, inputs), runs_of(compiled(model), inputs)
    seen = [(name, value) for run in runs for name, value in run.outputs.items()]
    assert {name for name, _ in seen} == {"all", "y", "next"}
    for name, value in seen:
        assert distance(value, wanted[name]) < 1e-5, name


def test_calls_in_loops_and_branches_tell_their_turns() -> None:
    engine = compiled(model_of(LOOP))
    x = numbers(4)
    runs = runs_of(engine, {"x": x, "go": np.array(True)})
    in_loop = [run for run in runs if "Loop_1/next" in run.outputs]
    assert [run.turn for run in in_loop] == [0, 1, 2]
    state = x
    for run in in_loop:
        state = np.tanh(state + state)
        np.testing.assert_allclose(run.outputs["Loop_1/next"], state, 1e-5)
    taken = {node for run in runs for node in run.nodes}
    assert any("Softmax" in node for node in taken) and not any("Neg" in node for node in taken)
    assert "z" in {name for run in runs for name in run.outputs}


class Stop(Exception):
    pass


@pytest.mark.parametrize("options", [{}, {"enable_cancellation": False}])
@pytest.mark.parametrize("threads", [1, 2])
def test_an_exception_ends_the_run_and_is_raised(threads: int, options: Any) -> None:
    model = SMALL_MODELS["resnet"]()
    inputs, engine, seen = example_inputs(model), compiled(model, threads, **options), list[int]()

    def hook(run: mi.KernelRun) -> None:
        seen.append(run.step)
        if run.step == 2:
            raise Stop("enough")

    with engine.create_context() as context:
        with pytest.raises(Stop, match="enough"):
            context.run(inputs, hook=hook)
        assert seen == [0, 1, 2]
        again = context.run(inputs, time_limit=100)  # without a hook, as if nothing had been
    for name, value in cast("dict[str, Array]", engine(inputs)).items():
        np.testing.assert_array_equal(again[name], value)


def test_a_time_limit_ends_a_run_with_a_hook() -> None:
    model, seen = SMALL_MODELS["resnet"](), list[int]()

    def hook(run: mi.KernelRun) -> None:
        seen.append(run.step)
        time.sleep(0.05)

    with compiled(model).create_context() as context:
        with pytest.raises(mi.TimeLimitError):
            context.run(example_inputs(model), time_limit=0.02, hook=hook)
        assert seen == [0]


def test_caches_are_looked_at_as_far_as_they_reach() -> None:
    """What lies behind the tokens of a cache is anything."""
    model = model_of("""
        appends (float[1, 2, past, 4] past_keys, float[1, 2, 1, 4] key) => (float[1, 2, all, 4] keys, float[1] sum) {
            keys = Concat <axis = 2> (past_keys, key)
            total = ReduceSum <keepdims = 0> (keys)
            axes = Constant <value = int64[1] {0}> ()
            sum = Unsqueeze (total, axes)
        }""")
    engine = compiled(model, check="nan", dims={"past": 3}, caches={"past_keys": "keys"})
    good, bad = np.ones((1, 2, 3, 4), np.float32), np.full((1, 2, 1, 4), np.nan, np.float32)
    outputs = cast("dict[str, Array]", engine({"past_keys": good, "key": good[:, :, :1]}))
    np.testing.assert_array_equal(outputs["sum"], [32])
    with pytest.raises(mi.NonFiniteError, match="input 'key' has a NaN"):
        engine({"past_keys": good, "key": bad})
    runs = list[mi.KernelRun]()
    with engine.create_context() as context:
        room = np.full(context.plan.room("past_keys").shape, np.nan, np.float32)
        room[:, :, :3] = 1
        context.bind_input("past_keys", room)
        context.bind_input("key", good[:, :, :1].copy())
        context.bind_output("sum", np.empty(1, np.float32))
        context.execute()
        context.run({"past_keys": good, "key": good[:, :, :1]}, hook=runs.append)
    assert runs


def test_a_hook_is_called_by_the_thread_of_the_run() -> None:
    model, callers = SMALL_MODELS["mlp"](), set[int]()
    with compiled(model, 2).create_context() as context:
        context.run(example_inputs(model), hook=lambda _: callers.add(threading.get_ident()))
    assert callers == {threading.get_ident()}


def test_views_are_read_only_and_outlive_the_context() -> None:
    model, kept = SMALL_MODELS["mlp"](), list[Array]()
    context = compiled(model).create_context()
    context.run(example_inputs(model), hook=lambda run: kept.extend(run.outputs.values()))
    with pytest.raises(ValueError, match="read-only"):
        kept[0][...] = 0
    context.close()
    del context
    assert all(np.isfinite(each).all() for each in kept)


def test_no_hook_without_hook_points() -> None:
    model = SMALL_MODELS["mlp"]()
    plain = mi.compile(model, 1, cache=False)
    with plain.create_context() as context, pytest.raises(mi.ConfigError, match="compile with enable_hooks=True"):
        context.run(example_inputs(model), hook=print)
    with compiled(model).create_context() as context, pytest.raises(mi.ConfigError, match="hook is 3; it must be"):
        context.run(example_inputs(model), hook=cast("Any", 3))
    emulated = mi.compile(model, device="cuda-emulated")
    with emulated.create_context() as context, pytest.raises(mi.UnsupportedError, match="hooks are for the CPU"):
        context.run(example_inputs(model), hook=print)


@pytest.mark.parametrize("options", [{"enable_hooks": True}, {"check": "nan"}])
def test_what_can_not_be_looked_at_is_refused(options: dict[str, Any]) -> None:
    (name,) = options
    model = mlp(batch="n")
    profile = mi.OptimizationProfile(dims={"n": (1, 2, 4)})
    refused: list[tuple[Callable[[], object], str]] = [
        (lambda: mi.compile(model, profile=profile, **options), f"{name} is for one shape"),
        (lambda: mi.compile(model, device="cuda-emulated", **options), f"{name} does nothing on the device 'cuda-em"),
        (lambda: mi.compile(model, check_memory=True, **options), f"{name} does nothing with check_memory=True"),
        (lambda: mi.build(model, "m.mi", dims={"n": 1}, **options), "a file is for CPUs, without check_memory, enabl"),
        (lambda: mi.emit_c(model, "m", dims={"n": 1}, **options), f"{name} does nothing in C code"),
    ]
    for call, message in refused:
        with pytest.raises(mi.ConfigError, match=message):
            call()


def halves() -> ModelProto:
    """a = relu(x), b = log(a), y = b * w: a logarithm of 0 is -inf, 0 times that a NaN."""
    return model_of("""
        halves (float[2, 3] x, float[3] w) => (float[2, 3] y) {
            a = Relu (x)
            b = Log (a)
            s = Softmax <axis = 0> (b)
            y = Mul (s, w)
        }""")


GOOD = {"x": np.array([[1, 2, 3], [4, 5, 6]], np.float32), "w": np.ones(3, np.float32)}


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize(("kind", "tensor"), [("nan", "s"), ("inf", "b")])
def test_the_first_call_that_makes_one_is_named(kind: str, tensor: str, fused: bool) -> None:
    engine = compiled(halves(), enable_hooks=False, check=kind, enable_graph_optimization=fused)
    bad = {**GOOD, "x": np.array([[1, 2, -3], [4, 5, -6]], np.float32)}
    np.testing.assert_allclose(engine(GOOD)["y"], mi.intermediates(halves(), GOOD, ["y"])["y"], 1e-6)
    if fused and kind == "inf":  # the kernel keeps it to itself
        return
    what = "a NaN" if kind == "nan" else "an infinity"
    with pytest.raises(mi.NonFiniteError, match=rf"has {what} at \[0, 2\]: made by kernel .*\(step \d\) of") as caught:
        engine(bad)
    error = caught.value
    assert error.index == (0, 2) and error.kernel in engine.plan.memory.steps and error.turn == 0
    assert fused or error.tensor == tensor
    engine(GOOD)  # the engine goes on


def test_an_input_is_named_as_such() -> None:
    engine = compiled(halves(), check="nan")
    with pytest.raises(mi.NonFiniteError, match=r"^input 'w' has a NaN at \[1\]$") as caught:
        engine({**GOOD, "w": np.array([1, np.nan, 1], np.float32)})
    assert (caught.value.tensor, caught.value.index, caught.value.kernel) == ("w", (1,), "")


def test_a_weight_is_named_as_such() -> None:
    b = ModelBuilder("weights")
    weight = np.ones((16, 16), np.float32)
    weight[3, 5] = np.nan
    model = b.model([b.node("MatMul", b.input("x", [4, 16]), b.constant(weight, "broken"))])
    with pytest.raises(mi.NonFiniteError, match=r"whose weights \(.*\) have one already"):
        compiled(model, check="nan")({"x": np.ones((4, 16), np.float32)})


def test_a_turn_of_a_loop_is_told() -> None:
    model = model_of("""
        grows (float[2] x, int64 count, bool go) => (float[2] y) {
            y = Loop (count, go, x) <body = turn (int64 i, bool on, float[2] state) => (bool more, float[2] next) {
                more = Identity (on)
                next = Mul (state, state)
            }>
        }""")
    engine = compiled(model, check="inf")
    inputs = {"x": np.array([1, 1e6], np.float32), "count": np.array(5), "go": np.array(True)}
    with pytest.raises(mi.NonFiniteError, match=r"has an infinity at \[1\].*turn 2") as caught:
        engine(inputs)
    assert caught.value.turn == 2  # 1e12, 1e24, 1e48


def test_contexts_and_bound_buffers_are_checked_too() -> None:
    engine = compiled(halves(), check="nan")
    bad = {**GOOD, "x": np.zeros((2, 3), np.float32)}
    with engine.create_context() as context:
        for call in (lambda: context.run(bad), lambda: context.run_tensors(bad)):
            with pytest.raises(mi.NonFiniteError, match="has a NaN"):
                call()
        for name, value in bad.items():
            context.bind_input(name, value)
        context.bind_output("y", np.empty((2, 3), np.float32))
        with pytest.raises(mi.NonFiniteError, match="has a NaN"):
            context.execute()


def test_a_hook_of_an_engine_with_a_check_sees_the_call_that_is_wrong() -> None:
    seen = list[mi.KernelRun]()
    with compiled(halves(), check="nan").create_context() as context, pytest.raises(mi.NonFiniteError) as caught:
        context.run({**GOOD, "x": np.zeros((2, 3), np.float32)}, hook=seen.append)
    assert seen[-1].kernel == caught.value.kernel


def test_the_reference_agrees_on_what_the_small_model_gives() -> None:
    reference = cast("Any", ReferenceEvaluator(halves())).run(None, GOOD)
    np.testing.assert_allclose(mi.intermediates(halves(), GOOD, ["y"])["y"], reference[0], 1e-6)
