"""Caches that are bound, or handed on as tensors: on a GPU they stay there, and results are the CPU's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import numpy as np
import pytest
from text_models import model_of

import mini_infer as mi
from mini_infer.dialects.graph.values import Array
from mini_infer.runtime.shapes.dynamic_engine import DynamicEngine

DEVICES = ["cpu", "cuda-emulated"]
JOINED = """
g (float[2, S, 3] x, float[2, P, 3] c) => (float[2, T, 3] c2, float[2, 3] y) <int64[1] one = {1}> {
    c2 = Concat <axis = 1> (c, x)
    y = ReduceSum <keepdims = 0> (c2, one)
}"""
CHUNKS = [np.random.default_rng(length).standard_normal((2, length, 3)).astype(np.float32) for length in (3, 1, 1, 2)]


@cache
def engine(device: str) -> DynamicEngine:
    """A cache to which new elements are joined, and the sum of what is in it."""
    profile = mi.OptimizationProfile(dims={"S": (1, 1, 4), "P": (0, 4, 12)})
    return cast("DynamicEngine", mi.compile(model_of(JOINED), device=device, profile=profile, caches={"c": "c2"}))


def sums() -> list[Array]:
    return [np.concatenate(CHUNKS[: number + 1], 1).sum(1) for number in range(len(CHUNKS))]


def host(value: Any) -> Array:
    """An array, or a tensor's elements."""
    found: Array = value.to("cpu").numpy() if isinstance(value, mi.Tensor) else value
    return found


@pytest.mark.parametrize("device", DEVICES)
def test_a_present_is_the_next_past(device: str) -> None:
    """As an array it is copied to a GPU and back; as a tensor it lies there, in one place."""
    for kind in ("array", "tensor"):
        past: Any = np.zeros((2, 0, 3), np.float32)
        places: set[int] = set()
        for chunk, wanted in zip(CHUNKS, sums(), strict=True):
            shapes = {"x": chunk.shape, "c": past.shape}
            context = engine(device).plan_for(shapes).create_execution_context()
            given = {"x": chunk, "c": past}
            out: Mapping[str, Any] = context.run(given) if kind == "array" else context.run_tensors(given)
            np.testing.assert_allclose(host(out["y"]), wanted, rtol=1e-6)
            past = out["c2"]
            places.add(past.ctypes.data if kind == "array" else past.address)
            assert kind == "array" or past.device == device
        np.testing.assert_array_equal(host(past), np.concatenate(CHUNKS, 1))
        assert len(places) == 1


def test_a_tensor_that_is_no_beginning_of_a_buffer_is_copied() -> None:
    plan = engine("cuda-emulated").plan_for({"x": (2, 1, 3), "c": (2, 3, 3)})
    context = plan.create_execution_context()
    first = context.run_tensors({"x": CHUNKS[1], "c": CHUNKS[0]})["c2"]
    kept = host(first).copy()
    elsewhere = mi.Tensor.from_array(kept).to("cuda-emulated")
    context.use(engine("cuda-emulated").plan_for({"x": (2, 1, 3), "c": (2, 4, 3)}))
    again = context.run_tensors({"x": CHUNKS[1], "c": elsewhere})["c2"]
    assert again.address != elsewhere.address
    np.testing.assert_array_equal(host(elsewhere), kept)
    np.testing.assert_array_equal(host(again)[:, :4], kept)
    moved = context.run_tensors({"x": CHUNKS[1], "c": first.pinned()})["c2"]  # the same bytes, but no present
    assert moved.address != first.address


@pytest.mark.parametrize("device", DEVICES)
def test_a_bound_cache_is_left_out(device: str) -> None:
    """It is updated where it is bound, as shapes change; so is its output."""
    context, past = None, 0
    room = engine(device).plan_for({"x": (2, 1, 3), "c": (2, 1, 3)}).room("c")
    memory = mi.Tensor.empty(room.shape, room.dtype, device=device)
    for chunk, wanted in zip(CHUNKS, sums(), strict=True):
        plan = engine(device).plan_for({"x": chunk.shape, "c": (2, past, 3)})
        if context is None:
            context = plan.create_execution_context()
            with pytest.raises(mi.InvalidInputError, match="input 'c' is missing"):
                context.run({"x": chunk})
            context.bind_input("c", memory)
        context.use(plan)
        out = context.run({"x": chunk})
        assert [*out] == ["y"]
        np.testing.assert_allclose(out["y"], wanted, rtol=1e-6)
        past += chunk.shape[1]
    np.testing.assert_array_equal(host(memory)[:, :past], np.concatenate(CHUNKS, 1))


@pytest.mark.parametrize("device", DEVICES)
def test_bound_caches_that_overlap_are_refused(device: str) -> None:
    text = """
    g (float[1, 4] x, float[P, 4] c, float[P, 4] d) => (float[T, 4] c2, float[T, 4] d2) {
        c2 = Concat <axis = 0> (c, x)
        d2 = Concat <axis = 0> (d, x)
    }"""
    profile, caches = mi.OptimizationProfile(dims={"P": (0, 4, 12)}), {"c": "c2", "d": "d2"}
    made = cast("DynamicEngine", mi.compile(model_of(text), device=device, profile=profile, caches=caches))
    context = made.plan_for({"x": (1, 4), "c": (1, 4), "d": (1, 4)}).create_execution_context()
    memory = mi.Tensor.empty(context.plan.room("c").shape, np.float32, device=device)
    for name in caches:
        context.bind_input(name, memory)
    with pytest.raises(mi.InvalidInputError, match="the memory of 'd' overlaps that of 'c'"):
        context.run({"x": np.ones((1, 4), np.float32)})


def test_an_input_in_a_bound_cache_is_copied() -> None:
    """It is read again once the cache is written."""
    text = """
    g (float[4, 3] x, float[P, 3] c) => (float[T, 3] c2, float[4, 3] y) <int64[1] zero = {0}> {
        c2 = Concat <axis = 0> (c, x)
        sum = ReduceSum (c2, zero)
        y = Add (x, sum)
    }"""
    profile = mi.OptimizationProfile(dims={"P": (0, 4, 12)})
    made = cast("DynamicEngine", mi.compile(model_of(text), profile=profile, caches={"c": "c2"}))
    plan = made.plan_for({"x": (4, 3), "c": (0, 3)})
    memory = np.random.default_rng(0).standard_normal(plan.room("c").shape).astype(np.float32)
    context, x = plan.create_execution_context(), memory[2:6].copy()
    context.bind_input("c", memory)
    found = context.run({"x": memory[2:6]})["y"]
    np.testing.assert_allclose(found, x + x.sum(0), rtol=1e-6)


def test_only_a_tensor_of_the_device_is_bound() -> None:
    plan = engine("cuda-emulated").plan_for({"x": (2, 1, 3), "c": (2, 4, 3)})
    context = plan.create_execution_context()
    with pytest.raises(
        mi.InvalidInputError, match="the memory for 'c' must be a tensor on 'cuda-emulated', got ndarray"
    ):
        context.bind_input("c", np.zeros(plan.room("c").shape, np.float32))
