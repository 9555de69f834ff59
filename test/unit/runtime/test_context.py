"""Execution contexts: bound buffers, an arena of one's own, many contexts on one plan."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from engine_cases import engine, inputs, perceptron
from models.build import ModelBuilder
from onnx.parser import parse_model

import mini_infer as mi
from mini_infer.dialects.graph.values import Array
from mini_infer.runtime.memory.host_memory import aligned_bytes

pytestmark = pytest.mark.usefixtures("with_cache")

NAME, OUTPUT = "perceptron", "perceptron/gemm_4"


def context(arena: object | None = None) -> mi.ExecutionContext:
    return engine(NAME).plan.create_execution_context(arena)


def expected(seed: int = 0) -> Array:
    return engine(NAME)(inputs(NAME, seed)["x"])


def needed() -> int:
    return engine(NAME).plan.arena_bytes


def test_bound_buffers_are_read_and_written_in_place() -> None:
    run = context()
    x, y = np.empty((4, 24), np.float32), np.zeros((4, 8), np.float32)
    run.bind_input("x", x)
    run.bind_output(OUTPUT, y)
    for seed in range(3):
        x[...] = inputs(NAME, seed)["x"]
        run.execute()
        np.testing.assert_array_equal(y, expected(seed))
        np.testing.assert_array_equal(x, inputs(NAME, seed)["x"])


def test_tensors_in_tensors_out() -> None:
    run, lent = context(), mi.Storage.allocate(needed())
    given = inputs(NAME)["x"]
    for x in (given, mi.Tensor.from_array(given), given.tolist(), mi.Tensor.from_array(given.T.copy().T)):
        (y,) = run.run_tensors({"x": x}).values()
        assert y.device == "cpu"
        np.testing.assert_array_equal(y.numpy(), expected())
    with pytest.raises(mi.InvalidInputError, match=r"^input 'x' has type float64 instead of float32"):
        run.run_tensors({"x": mi.Tensor.from_array(given.astype(np.float64))})
    with pytest.raises(mi.InvalidInputError, match=r"^input 'x' lies in the arena"):
        context(lent).run_tensors({"x": mi.Tensor(lent, [4, 24], np.float32)})


@pytest.mark.parametrize("kind", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_intermediates_can_be_looked_at(kind: Any) -> None:
    b = ModelBuilder("halves")
    doubled = b.node("Add", *[b.input("x", [2, 6], kind)] * 2)
    model = b.model([b.node("Transpose", doubled, perm=[1, 0])], [kind])
    run = mi.compile(model, threads=1, enable_memory_planning=False, enable_graph_optimization=False)
    context = run.plan.create_execution_context()
    x = np.arange(12).reshape(2, 6).astype(kind)
    context.run({"x": x})
    (record,) = (each for each in run.plan.memory.tensors if each.offset is not None)
    seen = context.tensor(record.name)
    assert (seen.shape, seen.strides, seen.dtype) == ((2, 6), (6 * x.itemsize, x.itemsize), x.dtype)
    np.testing.assert_array_equal(seen.numpy(), x + x)
    with pytest.raises(
        mi.InvalidInputError, match=r"^the arena holds no tensor 'x': it lies in the memory of an input"
    ):
        context.tensor("x")
    with pytest.raises(mi.InvalidInputError, match=r"^the plan has no tensor 'nothing'; plan\.memory\.tensors"):
        context.tensor("nothing")


def test_an_intermediate_may_lie_among_others() -> None:
    """What a concatenation joins is written where the whole lies, and so has its strides."""
    b = ModelBuilder("parts")
    x = b.input("x", [2, 6])
    whole = b.node("Concat", b.node("Exp", x), b.node("Neg", x), axis=1)
    model = b.model([b.node("MatMul", whole, b.weight(12, 3))])
    run = mi.compile(model, threads=1, enable_graph_optimization=False)
    context = run.plan.create_execution_context()
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    context.run({"x": x})
    inside = [each.name for each in run.plan.memory.tensors if each.shape == (2, 6) and each.offset is not None]
    parts = [context.tensor(each) for each in inside]
    assert [part.strides for part in parts] == [(48, 4)] * 2
    np.testing.assert_allclose(parts[0].numpy(), np.exp(x), rtol=1e-6)
    np.testing.assert_array_equal(parts[1].numpy(), -x)


def test_a_reset_arena_stays_alive_while_code_may_write_there() -> None:
    run = context()
    memory = weakref.ref(run.arena.data)
    run.arena.reset()
    gc.collect()
    assert memory() is not None
    np.testing.assert_array_equal(run.run(inputs(NAME))[OUTPUT], expected())


def test_tensors_and_dlpack_can_be_bound() -> None:
    run = context()
    x, y = mi.Tensor.empty([4, 24], np.float32), mi.Tensor.empty([4, 8], np.float32)
    x.numpy()[...] = inputs(NAME)["x"]
    run.bind_input("x", x)
    run.bind_output(OUTPUT, np.from_dlpack(y))
    run.execute()
    np.testing.assert_array_equal(y.numpy(), expected())


def test_inputs_may_be_read_only_and_lie_at_any_element() -> None:
    run = context()
    block = np.zeros(1 + 96 + 32, np.float32)
    x, y = block[1:97].reshape(4, 24), block[97:].reshape(4, 8)
    x[...] = inputs(NAME)["x"]
    x.flags.writeable = False
    run.bind_input("x", x)
    run.bind_output(OUTPUT, y)
    run.execute()
    np.testing.assert_array_equal(y, expected())


def test_bindings_can_change_between_runs() -> None:
    run = context()
    x = inputs(NAME)["x"]
    first, second = np.zeros((4, 8), np.float32), np.zeros((4, 8), np.float32)
    run.bind_input("x", x)
    run.bind_output(OUTPUT, first)
    run.execute()
    run.bind_output(OUTPUT, second)
    run.bind_input("x", x * 2)
    run.execute()
    np.testing.assert_array_equal(first, expected())
    assert not np.array_equal(second, first)


def test_run_leaves_bindings_alone() -> None:
    run = context()
    x, y = inputs(NAME)["x"], np.zeros((4, 8), np.float32)
    run.bind_input("x", x)
    run.bind_output(OUTPUT, y)
    np.testing.assert_array_equal(run.run(inputs(NAME, 1))[OUTPUT], expected(1))
    assert not y.any()
    run.execute()
    np.testing.assert_array_equal(y, expected())


@pytest.mark.parametrize(
    ("name", "memory", "message"),
    [
        ("y", np.zeros((4, 24), np.float32), "there is no input 'y'; the model has 'x'"),
        ("x", np.zeros((4, 23), np.float32), r"the memory for 'x' has shape \[4, 23\] instead of \[4, 24\]"),
        ("x", np.zeros((4, 24), np.float64), "the memory for 'x' has type float64 instead of float32"),
        ("x", np.zeros((24, 4), np.float32).T, "the memory for 'x' must be row-major without gaps and aligned"),
        (
            "x",
            np.ndarray((4, 24), np.float32, bytearray(400), 1),
            "the memory for 'x' must be row-major without gaps and aligned",
        ),
        ("x", [[0.0]], "expected a numpy array or DLPack memory, got list"),
    ],
)
def test_wrong_memory_cannot_be_bound(name: str, memory: object, message: str) -> None:
    with pytest.raises(mi.InvalidInputError, match=f"^{message}"):
        context().bind_input(name, memory)


def test_outputs_must_be_known_and_writable() -> None:
    with pytest.raises(mi.InvalidInputError, match=f"^there is no output 'x'; the model has '{OUTPUT}'"):
        context().bind_output("x", np.zeros((4, 8), np.float32))
    frozen = np.zeros((4, 8), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(mi.InvalidInputError, match=f"^the memory for '{OUTPUT}' is read-only"):
        context().bind_output(OUTPUT, frozen)


def test_everything_must_be_bound() -> None:
    run = context()
    with pytest.raises(mi.InvalidInputError, match=r"^nothing is bound to 'x'"):
        run.execute()
    run.bind_input("x", inputs(NAME)["x"])
    with pytest.raises(mi.InvalidInputError, match=f"^nothing is bound to '{OUTPUT}'"):
        run.execute()


@pytest.mark.parametrize("start", [0, 95])
def test_output_must_not_overlap_an_input(start: int) -> None:
    run = context()
    block = np.zeros(200, np.float32)
    run.bind_input("x", block[:96].reshape(4, 24))
    run.bind_output(OUTPUT, block[start : start + 32].reshape(4, 8))
    with pytest.raises(mi.InvalidInputError, match=f"^the memory of '{OUTPUT}' overlaps that of 'x'"):
        run.execute()
    assert not block.any()
    run.bind_output(OUTPUT, block[96:128].reshape(4, 8))
    run.execute()


def test_what_is_bound_again_is_checked_again() -> None:
    """After an inference an output is bound onto the input, and later the input onto the output."""
    run = context()
    block = np.zeros(256, np.float32)
    run.bind_input("x", block[:96].reshape(4, 24))
    run.bind_output(OUTPUT, block[96:128].reshape(4, 8))
    run.execute()
    run.bind_output(OUTPUT, block[64:96].reshape(4, 8))
    with pytest.raises(mi.InvalidInputError, match=f"^the memory of '{OUTPUT}' overlaps that of 'x'"):
        run.execute()
    assert not block[:96].any()
    run.bind_output(OUTPUT, block[96:128].reshape(4, 8))
    run.execute()
    run.bind_input("x", block[100:196].reshape(4, 24))
    with pytest.raises(mi.InvalidInputError, match=f"^the memory of '{OUTPUT}' overlaps that of 'x'"):
        run.execute()


def test_an_input_may_begin_where_an_output_ends() -> None:
    run = context()
    block = np.zeros(128, np.float32)
    run.bind_output(OUTPUT, block[:32].reshape(4, 8))
    run.bind_input("x", block[32:].reshape(4, 24))
    block[32:] = inputs(NAME)["x"].reshape(-1)
    run.execute()
    np.testing.assert_array_equal(block[:32].reshape(4, 8), expected())


def test_an_input_without_elements_may_lie_anywhere() -> None:
    model = parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[0] x, float[4] y) => (float[4] z) { z = Concat <axis=0> (x, y) }""")
    run = mi.compile(model, 1).plan.create_execution_context()
    y, z = np.arange(4, dtype=np.float32), np.empty(4, np.float32)
    for name, array in {"x": np.ndarray(0, np.float32, z.data, offset=8), "y": y}.items():
        run.bind_input(name, array)
    run.bind_output("z", z)
    run.execute()
    np.testing.assert_array_equal(z, y)


def test_outputs_must_not_overlap_each_other_but_inputs_may() -> None:
    run = engine("lookup").plan.create_execution_context()
    first, second = run.plan.output_names
    block = np.zeros(64, np.float32)
    run.bind_input("ids", np.zeros(5, np.int64))
    run.bind_input("scale", np.ones((5, 1), np.float32))
    run.bind_output(first, block[:30].reshape(5, 6))
    run.bind_output(second, block[29:34])
    with pytest.raises(mi.InvalidInputError, match=f"^the memory of '{second}' overlaps that of '{first}'"):
        run.execute()
    run.bind_output(second, block[30:35])
    run.execute()


@pytest.mark.parametrize("reset", [False, True])
def test_nothing_bound_may_lie_in_the_bytes_that_the_arena_began_with(reset: bool) -> None:
    arena = aligned_bytes(max(needed(), 512))
    run = context(arena)
    inside = arena[:384].view(np.float32).reshape(4, 24)
    if reset:
        run.arena.reset()
    run.bind_input("x", inside)
    run.bind_output(OUTPUT, np.zeros((4, 8), np.float32))
    with pytest.raises(mi.InvalidInputError, match=r"^the memory of the arena overlaps that of 'x'"):
        run.execute()
    with pytest.raises(mi.InvalidInputError, match=r"^input 'x' lies in the arena"):
        run.run({"x": inside})


def test_the_caller_may_lend_the_arena() -> None:
    arena = aligned_bytes(needed() + 100)
    arena[:] = 255  # NaN where read before it is written
    run = context(arena)
    assert run.arena.address == arena.ctypes.data and not run.arena.owned
    np.testing.assert_array_equal(run.run(inputs(NAME))[OUTPUT], expected())
    assert (arena[needed() :] == 255).all()


def test_a_tensor_may_be_the_arena() -> None:
    arena = mi.Tensor.empty([needed()], np.uint8)
    np.testing.assert_array_equal(context(arena).run(inputs(NAME))[OUTPUT], expected())


def test_a_storage_may_be_the_arena() -> None:
    arena = mi.Storage.allocate(max(needed(), 384))
    run = context(arena)
    np.testing.assert_array_equal(run.run(inputs(NAME))[OUTPUT], expected())
    with pytest.raises(mi.InvalidInputError, match=r"^input 'x' lies in the arena"):
        run.run({"x": mi.Tensor(arena, [4, 24], np.float32)})


def test_an_input_may_lie_in_what_the_arena_leaves_free() -> None:
    size = needed()
    block = aligned_bytes(size + 384)
    x = block[size:].view(np.float32).reshape(4, 24)
    x[...] = inputs(NAME)["x"]
    np.testing.assert_array_equal(context(block).run({"x": x})[OUTPUT], expected())


def test_an_arena_of_no_bytes_may_lie_anywhere() -> None:
    plan = engine("lookup").plan
    assert plan.arena_bytes == 0
    given = inputs("lookup")
    lent = plan.create_execution_context(aligned_bytes(64)[1:9]).run(given)
    for name, array in plan.create_execution_context().run(given).items():
        np.testing.assert_array_equal(lent[name], array)


def test_lent_arena_is_checked() -> None:
    block = aligned_bytes(needed() + 256)
    with pytest.raises(
        mi.InvalidInputError, match=f"^the arena has {needed() - 1} bytes, but the plan needs {needed()}"
    ):
        context(block[: needed() - 1])
    with pytest.raises(mi.InvalidInputError, match=r"is not aligned to 256 bytes"):
        context(block[8:])
    with pytest.raises(mi.InvalidInputError, match=r"^borrowed memory must be contiguous"):
        context(np.zeros((needed(), 2), np.uint8)[:, 0])
    block.flags.writeable = False
    with pytest.raises(mi.InvalidInputError, match=r"^the arena is read-only"):
        context(block)


def test_two_contexts_share_one_allocation() -> None:
    size = -(-needed() // 256) * 256
    block = aligned_bytes(2 * size)
    runs = context(block[:size]), context(block[size:])

    def work(seed: int) -> Array:
        return runs[seed].run(inputs(NAME, seed))[OUTPUT]

    with ThreadPoolExecutor(2) as pool:
        for _ in range(20):
            for seed, result in enumerate(pool.map(work, range(2))):
                np.testing.assert_array_equal(result, expected(seed))


def test_many_threads_have_a_context_each() -> None:
    plan = engine(NAME).plan
    wanted = [expected(seed) for seed in range(4)]

    def work(seed: int) -> list[Array]:
        run = plan.create_execution_context()
        return [run.run(inputs(NAME, seed))[OUTPUT] for _ in range(25)]

    with ThreadPoolExecutor(4) as pool:
        for seed, results in enumerate(pool.map(work, range(4))):
            for result in results:
                np.testing.assert_array_equal(result, wanted[seed])


def test_a_context_that_runs_refuses_another_thread() -> None:
    """Whichever way it runs and is asked again; afterwards it runs as before."""
    context, x = engine("perceptron").plan.create_execution_context(), inputs("perceptron")
    expected = context.run(x)
    context.bind_input("x", x["x"])
    for name, value in expected.items():
        context.bind_output(name, np.empty_like(value))
    started, go_on = Event(), Event()
    session = cast("Any", context)._session

    class Waiting:
        """The session, whose run takes until it is told to go on."""

        def __getattr__(self, name: str) -> Any:
            return getattr(session, name)

        def run_taken(self, *given: Any) -> Any:
            started.set()
            assert go_on.wait(60)
            return session.run_taken(*given)

    cast("Any", context)._session = Waiting()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(context.run, x)
        assert started.wait(60)
        for again in (lambda: context.run(x), context.execute, lambda: context.run_tensors(x)):
            with pytest.raises(mi.InvalidInputError, match=r"^the context runs in another thread"):
                again()
        go_on.set()
        for name, value in first.result().items():
            np.testing.assert_array_equal(value, expected[name])
    context.execute()


def test_a_context_outlives_its_engine() -> None:
    run = mi.compile(perceptron(), threads=1).plan.create_execution_context()
    gc.collect()
    np.testing.assert_array_equal(run.run(inputs(NAME))[OUTPUT], expected())
