"""What `close`, or the end of a `with` block, releases, what stays, and what use after it is; inputs and outputs."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from engine_cases import MODELS, inputs
from models.build import ModelBuilder
from onnx import ModelProto
from onnx.parser import parse_model

import mini_infer as mi
from mini_infer.runtime.plan import ExecutionContext
from mini_infer.runtime.shapes.dynamic_engine import DynamicEngine

BATCHES = mi.OptimizationProfile(dims={"batch": (1, 2, 4)})


def compiled(**options: Any) -> mi.Engine:
    """An engine of its own, which may be closed."""
    return mi.compile(MODELS["perceptron"](), threads=1, **options)


def growing() -> ModelProto:
    """A model for any batch, one of whose outputs has a size that turns out in a run."""
    return parse_model("""
        <ir_version: 8, opset_import: ["": 17]>
        growing (float[batch, 3] x) => (float[batch, 6] y, int64[2, found] places) {
            relu = Relu(x)
            y = Concat <axis = 1> (x, relu)
            places = NonZero(x)
        }""")


X = inputs("perceptron")["x"]
AFTER_ENGINE: dict[str, Callable[[mi.Engine], object]] = {
    "call": lambda engine: engine(X),
    "call by name": lambda engine: engine({"x": X}),
    "plan": lambda engine: engine.plan,
    "plan_for": lambda engine: engine.plan_for({"x": X.shape}),
    "inputs": lambda engine: engine.inputs,
    "outputs": lambda engine: engine.outputs,
    "with": lambda engine: engine.__enter__(),
}
AFTER_CONTEXT: dict[str, Callable[[ExecutionContext], object]] = {
    "run": lambda context: context.run({"x": X}),
    "run_tensors": lambda context: context.run_tensors({"x": X}),
    "execute": lambda context: context.execute(),
    "bind_input": lambda context: context.bind_input("x", X),
    "bind_output": lambda context: context.bind_output(context.plan.output_names[0], X),
    "set_shapes": lambda context: context.set_shapes({"x": X.shape}),
    "use": lambda context: context.use(context.plan),
    "output_shape": lambda context: context.output_shape(context.plan.output_names[0]),
    "tensor": lambda context: context.tensor("anything"),
    "profile": lambda context: context.profile(),
    "arena": lambda context: context.arena,
    "with": lambda context: context.__enter__(),
}


@pytest.mark.parametrize("options", [{}, {"check_memory": True}], ids=["plain", "check_memory"])
def test_use_of_a_closed_engine_is_one_error(options: dict[str, Any]) -> None:
    with compiled(**options) as engine:
        engine(X)
    for use in AFTER_ENGINE.values():
        with pytest.raises(mi.InvalidInputError, match="the engine is closed"):
            use(engine)
    assert repr(engine) == f"{type(engine).__name__}(closed)"
    engine.close()


def test_use_of_a_closed_context_is_one_error() -> None:
    with compiled().plan.create_execution_context() as context:
        context.run({"x": X})
    for use in AFTER_CONTEXT.values():
        with pytest.raises(mi.InvalidInputError, match="the context is closed"):
            use(context)
    assert repr(context) == "ExecutionContext(closed)"
    context.close()


def test_closing_releases_code_and_arena() -> None:
    engine = compiled()
    engine(X)
    plan = engine.plan
    held = [weakref.ref(plan.code), weakref.ref(engine._idle[0].arena)]  # pyright: ignore[reportPrivateUsage]
    engine.close()
    assert held[1]() is None, "the arena of the engine's context is gone"
    del plan
    gc.collect()
    assert held[0]() is None, "and the code, once nobody holds the plan"


def test_what_others_hold_outlives_the_engine() -> None:
    with compiled(enable_memory_planning=False) as engine:
        expected = engine(X)
        context = engine.plan.create_execution_context()
    with context:
        found = context.run({"x": X})
        record = next(each for each in context.plan.memory.tensors if each.offset is not None)
        inside = context.tensor(record.name)
    np.testing.assert_array_equal(next(iter(found.values())), expected)
    assert np.isfinite(inside.numpy()).all()


def test_a_lent_arena_is_given_back() -> None:
    plan = compiled().plan
    storage = mi.Storage.allocate(plan.arena_bytes, plan.alignment)
    with plan.create_execution_context(storage) as context:
        context.run({"x": X})
    assert storage.capacity == plan.arena_bytes
    plan.create_execution_context(storage).run({"x": X})


def test_a_context_that_runs_is_not_closed() -> None:
    context = compiled().plan.create_execution_context()
    with context._run_guard, pytest.raises(mi.InvalidInputError, match="runs in another thread"):  # pyright: ignore[reportPrivateUsage]
        context.close()
    context.run({"x": X})


@pytest.mark.parametrize("options", [{"dims": {"batch": 2}}, {"profile": BATCHES}], ids=["one shape", "many shapes"])
def test_a_call_under_way_ends_as_usual(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread is inside of a call while another one closes the engine."""
    engine = mi.compile(growing(), threads=1, **options)
    x = np.ones((2, 3), np.float32)
    expected = engine({"x": x})
    inside, closed, whole = threading.Event(), threading.Event(), ExecutionContext.run_ordered
    used: list[ExecutionContext] = []

    def slow(context: ExecutionContext, *given: Any) -> Any:
        used.append(context)
        inside.set()
        assert closed.wait(60)
        return whole(context, *given)

    monkeypatch.setattr(ExecutionContext, "run_ordered", slow)
    found: dict[str, Any] = {}
    thread = threading.Thread(target=lambda: found.update(engine({"x": x})))
    thread.start()
    assert inside.wait(60)
    engine.close()
    closed.set()
    thread.join()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)
    assert repr(used[0]) == "ExecutionContext(closed)", "it is released when the call is over"


def test_an_engine_for_many_shapes_is_closed() -> None:
    x = np.ones((3, 3), np.float32)
    with mi.compile(growing(), threads=1, profile=BATCHES) as engine:
        assert isinstance(engine, DynamicEngine)
        engine(x)
        code = weakref.ref(engine.plan.code)
    for use in (lambda: engine(x), lambda: engine.plan, lambda: engine.plan_for({"x": (1, 3)}), lambda: engine.inputs):
        with pytest.raises(mi.InvalidInputError, match="the engine is closed"):
            use()
    assert repr(engine) == "DynamicEngine(closed)"
    assert engine._repr_html_() is None, "a notebook shows the repr"  # pyright: ignore[reportPrivateUsage]
    engine.close()
    gc.collect()
    assert code() is None


def test_inputs_and_outputs_of_one_shape() -> None:
    engine = compiled()
    assert engine.inputs == (mi.TensorSpec("x", (4, 24), np.dtype(np.float32)),)
    assert engine.outputs == engine.plan.outputs


def test_inputs_and_outputs_of_many_shapes() -> None:
    engine = mi.compile(growing(), threads=1, profile=BATCHES)
    assert engine.inputs == (mi.SymbolicSpec("x", ("batch", 3), np.dtype(np.float32)),)
    assert [each.shape for each in engine.outputs] == [("batch", 6), (2, "batch * 3")]
    assert str(engine.outputs[1]).endswith(": int64[2, <=batch * 3]")
    assert all(type(size) in (int, str) for spec in (*engine.inputs, *engine.outputs) for size in spec.shape)


def test_a_dimension_goes_by_its_name_where_code_counts_on_a_multiple() -> None:
    b = ModelBuilder("multiple")
    x = b.input("x", ["tokens", 7])
    engine = mi.compile(
        b.model([b.node("Reshape", x, b.ints(8, -1))]),
        threads=1,
        profile=mi.OptimizationProfile(dims={"tokens": (8, 64, 512)}),
    )
    assert engine.inputs[0].shape == ("tokens", 7)
    assert engine.outputs[0].shape == (8, "tokens / 8 * 7")


def test_without_a_profile_shapes_are_known_after_the_first_call() -> None:
    engine = mi.compile(growing(), threads=1, enable_dynamic_shapes=True)
    for use in (lambda: engine.inputs, lambda: engine.outputs):
        with pytest.raises(mi.InvalidInputError, match="there is no plan before the first call"):
            use()
    engine.warmup([{"x": (2, 3)}])
    assert engine.inputs[0].shape == ("batch", 3)
