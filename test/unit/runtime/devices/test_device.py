"""Devices: memory, code and runs are asked of them by name, also of one whose memory numpy can't see."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from engine_cases import engine, inputs, perceptron
from models.build import SMALL_MODELS, ModelBuilder, example_inputs
from toy_device import NAME as TOY
from toy_device import Toy, ToyMemory, toy

import mini_infer as mi
from mini_infer.runtime.device import Array

assert toy  # the fixture
COMPILERS = (
    "import sys, mini_infer as mi; mi.Tensor.empty([2], 'f4'); print({'llvmlite', 'onnx', 'xdsl'} & {*sys.modules})"
)
OUTPUT = "perceptron/gemm_4"


def on_toy(array: Array) -> mi.Tensor:
    return mi.Tensor.from_array(array).to(TOY)


def back(tensor: mi.Tensor) -> Array:
    return tensor.to("cpu").numpy()


@pytest.fixture
def plan(toy: Toy) -> mi.InferencePlan:
    """Of a small model, on the toy."""
    return mi.compile(perceptron(), threads=1, device=TOY).plan


@pytest.mark.parametrize("name", ["mlp", "lstm"])
def test_arrays_are_run_on_a_device(toy: Toy, name: str) -> None:
    model = SMALL_MODELS[name]()
    given = example_inputs(model)
    expected = mi.compile(model, 1)(given)
    assert not toy.allocated
    there = mi.compile(model, 1, device=TOY)
    for _ in range(2):
        for name, array in there(given).items():
            np.testing.assert_array_equal(array, expected[name])
    assert toy.runs == 2
    plan = there.plan
    sizes = [plan.weights.nbytes, plan.arena_bytes, *[8 * len(plan.checks)] * bool(plan.checks)]
    stop_word = 8
    assert toy.allocated == [*sizes, stop_word, *(spec.nbytes for spec in (*plan.inputs, *plan.outputs))]


def test_tensors_of_the_device_are_bound(toy: Toy, plan: mi.InferencePlan) -> None:
    context = plan.create_execution_context()
    x, y = mi.Tensor.empty([4, 24], np.float32, device=TOY), mi.Tensor.empty([4, 8], np.float32, device=TOY)
    context.bind_input("x", x)
    context.bind_output(OUTPUT, y)
    allocated = len(toy.allocated)
    for seed in range(3):
        given = inputs("perceptron", seed)["x"]
        x.copy_from(given)
        context.execute()
        np.testing.assert_array_equal(back(y), engine("perceptron")(given))
    assert len(toy.allocated) == allocated
    np.testing.assert_array_equal(context.run({"x": x})[OUTPUT], back(y))


def test_what_is_bound_stays_where_it_was(toy: Toy, plan: mi.InferencePlan) -> None:
    context = plan.create_execution_context()
    given = inputs("perceptron")["x"]
    x, y = on_toy(given), mi.Tensor.empty([4, 8], np.float32, device=TOY)
    context.bind_input("x", x)
    context.bind_output(OUTPUT, y)
    x.storage.reset()
    x.set_shape_metadata([0])
    del x
    gc.collect()
    context.execute()
    np.testing.assert_array_equal(back(y), engine("perceptron")(given))


def test_only_fitting_tensors_of_the_device_are_bound(toy: Toy, plan: mi.InferencePlan) -> None:
    context = plan.create_execution_context()
    for memory, message in (
        (np.zeros((4, 24), np.float32), "must be a tensor on 'toy', got ndarray"),
        (mi.Tensor.empty([4, 24], np.float32), "must be a tensor on 'toy', got a tensor on 'cpu'"),
        (mi.Tensor.empty([4, 24], np.float64, device=TOY), "has type float64 instead of float32"),
        (mi.Tensor.empty([24, 4], np.float32, device=TOY), r"has shape \[24, 4\] instead of \[4, 24\]"),
        (on_toy(np.zeros((24, 4), np.float32).T), "must be row-major without gaps and aligned"),
        (mi.Tensor(mi.Storage.allocate(385, device=TOY), [4, 24], "f4", 1), "must be row-major without gaps and alig"),
    ):
        with pytest.raises(mi.InvalidInputError, match=f"^the memory for 'x' {message}"):
            context.bind_input("x", memory)
    frozen = mi.Storage.borrow(ToyMemory(128, writable=False), TOY)
    with pytest.raises(mi.InvalidInputError, match=f"^the memory for '{OUTPUT}' is read-only"):
        context.bind_output(OUTPUT, mi.Tensor(frozen, [4, 8], np.float32))
    with pytest.raises(mi.InvalidInputError, match=r"the memory is on 'toy', where numpy can't see it"):
        engine("perceptron").plan.create_execution_context().bind_input("x", on_toy(np.zeros((4, 24), np.float32)))


def test_overlap_is_seen_on_the_device(toy: Toy, plan: mi.InferencePlan) -> None:
    context = plan.create_execution_context()
    block = mi.Storage.allocate(1024, device=TOY)
    context.bind_input("x", mi.Tensor(block, [4, 24], np.float32))
    context.bind_output(OUTPUT, mi.Tensor(block, [4, 8], np.float32, offset=380))
    with pytest.raises(mi.InvalidInputError, match=f"^the memory of '{OUTPUT}' overlaps that of 'x'"):
        context.execute()
    context.bind_output(OUTPUT, mi.Tensor(block, [4, 8], np.float32, offset=384))
    context.execute()


def test_arenas_are_on_the_device(toy: Toy, plan: mi.InferencePlan) -> None:
    given = inputs("perceptron")
    lent = mi.Storage.allocate(plan.arena_bytes, device=TOY)
    np.testing.assert_array_equal(
        plan.create_execution_context(lent).run(given)[OUTPUT], engine("perceptron")(given["x"])
    )
    assert lent.copy_out().any()
    with pytest.raises(mi.InvalidInputError, match=r"^the arena is on 'cpu'; the plan runs on 'toy'"):
        plan.create_execution_context(mi.Storage.allocate(plan.arena_bytes))
    with pytest.raises(mi.InvalidInputError, match=r"^ndarray is no memory of the toy's"):
        plan.create_execution_context(np.zeros(plan.arena_bytes, np.uint8))


def test_intermediates_times_and_wrong_indices_come_from_the_device(toy: Toy) -> None:
    b = ModelBuilder("lookup")
    x, ids = b.input("x", [5, 6]), b.input("ids", [3], np.int64)
    doubled = b.node("Add", x, x)
    model = b.model([b.node("Gather", doubled, ids, axis=0)])
    options: dict[str, Any] = {"enable_profiling": True, "enable_graph_optimization": False}
    context = mi.compile(model, 1, device=TOY, **options).plan.create_execution_context()
    given = np.arange(30, dtype=np.float32).reshape(5, 6)
    (output,) = context.run({"x": given, "ids": np.array([1, 4, 0])}).values()
    np.testing.assert_array_equal(output, 2 * given[[1, 4, 0]])
    record = next(each for each in context.plan.memory.tensors if each.offset is not None and each.shape == (5, 6))
    np.testing.assert_array_equal(back(context.tensor(record.name)), given + given)
    assert len(context.profile()) == len(context.plan.calls) and all(each.nanoseconds > 0 for each in context.profile())
    with pytest.raises(mi.InvalidInputError, match="5"):
        context.run({"x": given, "ids": np.array([1, 5, 0])})
    context.run({"x": given, "ids": np.array([1, -5, 0])})


@pytest.mark.parametrize("array", [np.arange(12.0).reshape(3, 4), np.arange(12)[::-2], np.ones(()), np.zeros((2, 0))])
def test_tensors_go_to_the_device_and_back(toy: Toy, array: Array) -> None:
    there = on_toy(array)
    assert (there.device, there.shape, there.dtype) == (TOY, array.shape, array.dtype)
    assert there.to(TOY) is there and there.is_contiguous == array.flags.c_contiguous
    np.testing.assert_array_equal(back(there), array)
    more = np.add(array, 1, out=np.empty_like(array))
    there.copy_from(more)
    np.testing.assert_array_equal(back(there), more)
    other = mi.Tensor.empty(array.shape, array.dtype)
    other.copy_from(there)
    np.testing.assert_array_equal(other.numpy(), more)


def test_gaps_between_the_elements_of_a_tensor_stay_as_they_are(toy: Toy) -> None:
    storage = mi.Storage(24, TOY, alignment=8)
    storage.copy_in(np.arange(24, dtype=np.uint8))
    mi.Tensor(storage, [3], np.uint8, offset=2, strides=[4]).copy_from(np.full(3, 99, np.uint8))
    expected = np.arange(24, dtype=np.uint8)
    expected[2:11:4] = 99
    np.testing.assert_array_equal(storage.copy_out(), expected)
    storage.zero()
    assert not storage.copy_out(3, 5).any() and storage.copy_out(3, 5).size == 5


def test_tensors_of_the_device_are_reshaped_and_resized_there(toy: Toy) -> None:
    array = np.arange(12, dtype=np.float32).reshape(3, 4).T
    flat = on_toy(array).reshape([-1])
    assert flat.device == TOY
    np.testing.assert_array_equal(back(flat), array.reshape(-1))
    flat.resize([13, 5])
    assert flat.device == TOY and not back(flat).any()


def test_numpy_does_not_see_into_the_device(toy: Toy) -> None:
    tensor = on_toy(np.ones(3))
    for look in (tensor.numpy, tensor.__dlpack__, lambda: tensor.storage.data):
        with pytest.raises(mi.InvalidInputError, match=r"^the memory is on 'toy', where numpy can't see it; Tensor.to"):
            look()


@pytest.mark.parametrize("device", ["cpu", TOY])
def test_copies_stay_inside_the_storage(toy: Toy, device: str) -> None:
    storage = mi.Storage(8, device, alignment=8)
    with pytest.raises(mi.InvalidInputError, match="offset is -1; it must be an integer of at least 0"):
        storage.copy_in(np.zeros(1, np.uint8), -1)
    for offset, size in ((0, 9), (7, 2)):
        with pytest.raises(mi.InvalidInputError, match=f"^{size} bytes at byte {offset}: the storage has 8 bytes"):
            storage.copy_in(np.zeros(size, np.uint8), offset)
        with pytest.raises(mi.InvalidInputError, match=f"^{size} bytes at byte {offset}: the storage has 8 bytes"):
            storage.copy_out(offset, size)
    with pytest.raises(mi.InvalidInputError, match="offset is -1; it must be an integer of at least 0"):
        storage.copy_out(-1, 1)


def test_read_only_storages_stay_as_they_are() -> None:
    storage = mi.Storage.borrow(np.frombuffer(b"abcdefgh", np.uint8))
    for change in (storage.zero, lambda: storage.copy_in(np.zeros(4, np.uint8))):
        with pytest.raises(mi.InvalidInputError, match="the storage is read-only"):
            change()


def test_only_like_is_copied_into_a_tensor() -> None:
    tensor = mi.Tensor.empty([2], np.float32)
    with pytest.raises(mi.InvalidInputError, match=r"^float64\[2\] can't be copied into float32\[2\]"):
        tensor.copy_from(np.ones(2))
    frozen = np.ones(2, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(mi.InvalidInputError, match=r"^the tensor is read-only"):
        mi.Tensor.from_array(frozen).copy_from(tensor)


def test_memory_is_not_checked_on_other_devices(toy: Toy) -> None:
    with pytest.raises(mi.UnsupportedError, match=r"^check_memory is not supported on the device 'toy'"):
        mi.compile(perceptron(), 1, device=TOY, check_memory=True)


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(mi.ConfigError, match=r"^device 'tpu' is not supported; there is 'cpu', 'cuda'"):
        mi.Storage.allocate(8, device="tpu")


def test_tensors_alone_import_no_compiler() -> None:
    told = subprocess.run([sys.executable, "-c", COMPILERS], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "set()"
