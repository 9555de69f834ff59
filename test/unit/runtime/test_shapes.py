"""One compile for all shapes of a profile: its results, its plans, and what it refuses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, cast

import numpy as np
import pytest
from import_cases import reference
from models.build import ModelBuilder, example_inputs
from onnx.parser import parse_model
from onnx.reference import ReferenceEvaluator
from shape_cases import (
    CASES,
    PICTURES,
    ROWS,
    Build,
    Case,
    Span,
    dense,
    joined,
    last_row,
    model_of,
    scaled_by_floats,
    sizes_of,
    skip,
)

import mini_infer as mi
from mini_infer.dialects.graph.values import Array
from mini_infer.runtime.shapes import dynamic_engine
from mini_infer.runtime.shapes.dynamic_engine import DynamicEngine

pytestmark = pytest.mark.usefixtures("with_cache")


def compiled(build: Build, dims: Mapping[str, Span], **options: Any) -> DynamicEngine:
    """An engine for a profile; on one thread, unless told otherwise."""
    settings: dict[str, Any] = {"threads": 1, "compile_threads": 1, **options}
    engine = mi.compile(model_of(build), profile=mi.OptimizationProfile(dims=dims), **settings)
    return cast("DynamicEngine", engine)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.build.__name__)
def test_results_at_many_shapes(case: Case) -> None:
    model, engine = model_of(case.build), compiled(case.build, case.dims)
    for sizes in case.sizes:
        inputs = example_inputs(model, 1, **sizes)
        for found, wanted in zip(engine(inputs).values(), reference(model, inputs), strict=True):
            assert found.shape == wanted.shape, sizes
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5, err_msg=str(sizes))
    assert engine.compiles <= case.compiles


@cache
def dense_engine(threads: int = 1) -> DynamicEngine:
    """The perceptron, for 1 to 16 rows."""
    return compiled(dense, ROWS, threads=threads)


def dense_inputs(rows: int, seed: int = 0) -> dict[str, Array]:
    """So many rows for it."""
    return example_inputs(model_of(dense), seed, n=rows)


@pytest.mark.parametrize("threads", [1, 2])
def test_nearly_the_bits_of_a_compile_for_the_shape(threads: int) -> None:
    engine = dense_engine(threads)
    for rows in (4, 7):
        alone = mi.compile(model_of(dense), dims={"n": rows}, threads=threads, compile_threads=1)
        found, wanted = engine(dense_inputs(rows)), alone(dense_inputs(rows))
        for name in wanted:  # another schedule may add up in another order
            np.testing.assert_allclose(found[name], wanted[name], rtol=1e-5, atol=1e-7)
    assert engine.compiles <= threads  # a share of few rows is none, which a guard says


def test_other_threads_give_the_same_bits() -> None:
    for rows in (1, 4, 16):
        one, two = (dense_engine(threads)(dense_inputs(rows)) for threads in (1, 2))
        assert all(np.array_equal(one[name], two[name]) for name in one)


def test_many_threads_at_once_with_different_shapes() -> None:
    engine = dense_engine()
    wanted = {rows: engine(dense_inputs(rows)) for rows in range(1, 17)}

    def run(turn: int) -> bool:
        rows = 1 + turn % 16
        found = engine(dense_inputs(rows))
        return all(np.array_equal(found[name], wanted[rows][name]) for name in found)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(run, range(96)))
    assert engine.compiles == 1


def test_a_context_keeps_its_arena() -> None:
    engine = dense_engine()
    context = engine.plan_for({"x": (1, 12)}).create_execution_context()
    address, capacity = context.arena.address, context.arena.capacity
    for rows in (16, 1, 7):
        context.set_shapes({"x": (rows, 12)})
        outputs = context.run(dense_inputs(rows))
        wanted = engine(dense_inputs(rows))
        assert all(np.array_equal(outputs[name], wanted[name]) for name in wanted)
        assert (context.arena.address, context.arena.capacity) == (address, capacity)


def test_set_shapes_on_bound_memory() -> None:
    engine = dense_engine()
    context = engine.plan.create_execution_context()
    x, y = np.zeros((16, 12), np.float32), np.zeros((16, 7), np.float32)
    (output,) = engine.output_names
    for rows in (2, 16, 5):
        context.set_shapes({"x": (rows, 12)})
        with pytest.raises(mi.InvalidInputError, match="nothing is bound to 'x'"):
            context.execute()
        x[:rows] = dense_inputs(rows)["x"]
        context.bind_input("x", x[:rows])
        context.bind_output(output, y[:rows])
        context.execute()
        assert np.array_equal(y[:rows], engine(dense_inputs(rows))[output])


def test_a_larger_arena_leaves_counts_bound() -> None:
    model = parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[N, N] x, float[5] z) => (float[N, N] y, int64[1, K] places) {
            a = MatMul (x, x)
            b = MatMul (a, a)
            y = Add (a, b)
            places = NonZero (z)
        }""")
    engine = mi.compile(model, 1, enable_dynamic_shapes=True)
    z, places = np.array([1, 0, 1, 1, 0], np.float32), np.zeros((1, 5), np.int64)
    context = engine.plan_for({"x": (3, 3), "z": (5,)}).create_execution_context()
    capacity = context.arena.capacity
    context.set_shapes({"x": (100, 100), "z": (5,)})
    assert context.arena.capacity > capacity
    for name, memory in {"x": np.eye(100, dtype=np.float32), "z": z}.items():
        context.bind_input(name, memory)
    context.bind_output("y", np.empty((100, 100), np.float32))
    context.bind_output("places", places)
    context.execute()
    assert context.output_shape("places") == (1, 3)
    assert places[0, :3].tolist() == [0, 2, 3]


def test_plans_fit_and_tell_their_own_shapes() -> None:
    engine = compiled(skip, PICTURES)
    largest = engine.plan.arena_bytes
    for size in (8, 4, 9, 32):
        plan = engine.plan_for({"x": (1, 3, size, size)})
        memory = plan.memory
        assert memory.arena_bytes <= plan.arena_bytes == largest
        assert plan.inputs[0].shape == (1, 3, size, size)
        assert plan.outputs[0].shape == (1, 4, size // 2, size // 2)
        live = [each for each in memory.tensors if each.offset is not None]
        assert live
        assert all(each.offset + each.bytes <= memory.arena_bytes for each in live if each.offset is not None)
        assert engine.plan_for({"x": (1, 3, size, size)}) is plan


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamic_engine, "MOST_FAMILIES", 2)
    engine = compiled(scaled_by_floats, {"n": (1, 2, 9)})
    for compiles, size in enumerate((2, 3, 4, 2, 4, 3), 1):
        x = np.full((1, 2, size, size), size, np.float32)
        assert np.array_equal(engine(x), np.full((1, 2, 2 * size, 2 * size), size))
        assert engine.compiles == {4: 3, 5: 3, 6: 4}.get(compiles, compiles)


def test_warmup_plans_ahead() -> None:
    engine = compiled(last_row, ROWS)
    engine.warmup([{"x": (rows, 4)} for rows in (1, 2, 16)])
    compiles = engine.compiles
    for rows in (1, 2, 16):
        engine(np.zeros((rows, 4), np.float32))
    assert engine.compiles == compiles


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros((17, 12)), r"input 'x': dimension 0( \(n\))? is 17, but must be from 1 to 16"),
        (np.zeros((0, 12)), r"input 'x': dimension 0( \(n\))? is 0, but must be from 1 to 16"),
        (np.zeros((4, 13)), r"input 'x': dimension 1 is 13 instead of 12"),
        (np.zeros(12), r"input 'x' has shape \[12\] instead of \[n, 12\]"),
    ],
)
def test_shapes_outside_of_the_profile(x: Array, message: str) -> None:
    engine = dense_engine()
    with pytest.raises(mi.InvalidInputError, match=message):
        engine(x.astype(np.float32))
    with pytest.raises(mi.InvalidInputError, match=message):
        engine.plan_for({"x": x.shape})
    assert engine.compiles == 1


def test_a_constant_index_is_checked_at_every_shape() -> None:
    def third(b: ModelBuilder) -> Sequence[str]:
        return [b.node("Gather", b.input("x", ["n", 4]), b.constant(np.array([1, 3, 2])), axis=0)]

    engine = compiled(third, ROWS)
    assert engine(np.ones((9, 4), np.float32)).shape == (3, 4)
    with pytest.raises(mi.InvalidModelError, match="index 3 is outside of a dimension of 3 elements"):
        engine(np.ones((3, 4), np.float32))


def test_shapes_that_contradict_each_other() -> None:
    def both(b: ModelBuilder) -> Sequence[str]:
        return [b.node("Add", b.input("x", ["n", 6]), b.input("y", ["n", 6]))]

    engine = compiled(both, ROWS)
    with pytest.raises(mi.InvalidInputError, match=r"input 'y': dimension 0 \(n\) is 3 instead of 2"):
        engine(np.zeros((2, 6), np.float32), np.zeros((3, 6), np.float32))
    assert engine.compiles == 1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dims": {"m": (1, 2, 3)}}, mi.InvalidInputError, "no input has a dynamic dimension m; there are: n"),
        ({"shapes": {"z": ((1,), (1,), (1,))}}, mi.InvalidInputError, "there is no input z; the inputs are x"),
        ({"shapes": {"x": ((1,), (2,), (3,))}}, mi.InvalidInputError, "input x has 2 dimensions, profile gives"),
        ({"dims": {"n": (3, 2, 4)}}, mi.ConfigError, "from 3 over 2 to 4; it must be 0 <= min <= opt <= max"),
        ({"dims": {"n": (-1, 2, 4)}}, mi.ConfigError, "from -1 over 2 to 4; it must be 0 <= min <= opt <= max"),
        ({"dims": {"n": (1, 4)}}, mi.ConfigError, r"dimension 'n' needs three sizes \(min, opt, max\)"),
        ({"dims": 3}, mi.ConfigError, "dims is 3; it must be a mapping"),
        ({"shapes": {"x": ((1, 12), (2, 12))}}, mi.ConfigError, r"needs three shapes \(min, opt, max\)"),
        ({"shapes": {"x": ((1, 12), (2, 12), (4,))}}, mi.ConfigError, "have 2, 2 and 1 dims"),
    ],
)
def test_profiles_that_do_not_fit(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        mi.compile(model_of(dense), profile=mi.OptimizationProfile(**options))


def test_a_profile_of_whole_shapes_may_widen_what_the_model_states() -> None:
    def fixed(b: ModelBuilder) -> Sequence[str]:
        return [b.node("Relu", b.input("x", [2, 6]))]

    profile = mi.OptimizationProfile(shapes={"x": ((1, 6), (2, 6), (5, 6))})
    engine = mi.compile(model_of(fixed), profile=profile, threads=1)
    x = np.arange(-15, 15, dtype=np.float32).reshape(5, 6)
    assert np.array_equal(engine(x), np.maximum(x, 0))


def unnamed(b: ModelBuilder) -> Sequence[str]:
    """Dimensions without a name around one that has one."""
    return [b.node("Relu", b.input("x", ["", "n", ""]))]


def test_unnamed_dimensions_have_ranges_by_input_and_axis() -> None:
    profile = mi.OptimizationProfile(dims={"x.0": (1, 2, 4), "n": (1, 3, 5)})
    engine = mi.compile(model_of(unnamed), profile=profile, dims={"x.2": 6}, threads=1)
    assert engine.inputs[0].shape == ("x.0", "n", 6)
    for shape in (2, 3, 6), (1, 5, 6), (4, 1, 6):
        x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        assert np.array_equal(engine(x), np.maximum(x, 0))
    with pytest.raises(mi.InvalidInputError, match="input 'x': dimension 0 is 5, but must be from 1 to 4"):
        engine(np.ones((5, 3, 6), np.float32))


@pytest.mark.parametrize("name", ["x.1", "x.3", "X.0"])
def test_names_of_unnamed_dimensions_are_listed(name: str) -> None:
    message = f"profile: no input has a dynamic dimension {name}; there are: n, x.0, x.2"
    with pytest.raises(mi.InvalidInputError, match=f"^{re.escape(message)}$"):
        mi.compile(model_of(unnamed), profile=mi.OptimizationProfile(dims={name: (1, 2, 4)}))


def test_dimensions_that_are_bound_beside_a_profile() -> None:
    model = model_of(joined)
    profile = mi.OptimizationProfile(dims={"n": (1, 2, 8)})
    engine = mi.compile(model, profile=profile, dims={"m": 3}, threads=1)
    assert engine(np.ones((5, 6), np.float32), np.ones((3, 6), np.float32)).shape == (13, 6)
    with pytest.raises(mi.InvalidInputError, match="input 'y': dimension 0 is 4 instead of 3"):
        engine(np.ones((5, 6), np.float32), np.ones((4, 6), np.float32))


def test_any_shape_without_a_profile() -> None:
    engine = cast("DynamicEngine", mi.compile(model_of(dense), enable_dynamic_shapes=True, threads=1))
    with pytest.raises(mi.InvalidInputError, match="no plan before the first call"):
        _ = engine.plan
    for rows in (3, 1, 0, 100):
        inputs = dense_inputs(rows)
        (wanted,) = reference(model_of(dense), inputs)
        np.testing.assert_allclose(engine(inputs["x"]), wanted, rtol=1e-4, atol=1e-5)


def test_options_that_do_not_go_with_many_shapes() -> None:
    with pytest.raises(mi.ConfigError, match="profile is 3; it must be an OptimizationProfile"):
        mi.compile(model_of(dense), profile=cast("Any", 3))
    with pytest.raises(mi.ConfigError, match="check_memory is for one shape"):
        mi.compile(model_of(dense), enable_dynamic_shapes=True, check_memory=True)
    with pytest.raises(mi.ConfigError, match="enable_dynamic_shapes leaves open what a profile gives ranges to"):
        mi.compile(model_of(dense), enable_dynamic_shapes=True, profile=mi.OptimizationProfile(dims={"n": (1, 2, 4)}))


def test_a_plan_of_one_shape_has_no_others() -> None:
    engine = mi.compile(model_of(dense), dims={"n": 2}, threads=1, compile_threads=1)
    with pytest.raises(mi.InvalidInputError, match="the plan has one shape; compile with a profile"):
        engine.plan.create_execution_context().set_shapes({"x": (3, 12)})
    with pytest.raises(mi.InvalidInputError, match=r"has shape \[3, 12\] instead of \[2, 12\]"):
        engine.plan_for({"x": (3, 12)})


def falling(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", ["n", 64])
    rest = b.node("Concat", b.node("Sub", b.ints(16), sizes_of(b, x, 0, 1)), b.ints(64), axis=0)
    y = b.node("Tanh", b.node("Expand", b.node("ReduceMean", x, b.ints(0)), rest))
    return [b.node("Gemm", y, b.weight(64, 64), b.weight(64))]


def test_the_arena_holds_buffers_that_are_largest_at_the_smallest_shape() -> None:
    model, engine = model_of(falling), compiled(falling, {"n": (1, 8, 15)})
    for rows in (15, 1, 8):
        plan, inputs = engine.plan_for({"x": (rows, 64)}), example_inputs(model, 1, n=rows)
        assert plan.memory.arena_bytes <= plan.arena_bytes
        (found,), (wanted,) = engine(inputs).values(), reference(model, inputs)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert engine.compiles == 1


def computed_rows(b: ModelBuilder) -> Sequence[str]:
    """A product whose left-hand side is computed block by block into scratch."""
    x = b.input("x", ["n", 64])
    rest = b.node("Concat", b.node("Sub", b.ints(16), sizes_of(b, x, 0, 1)), b.ints(64), axis=0)
    y = b.node("Gemm", b.node("Relu", x), b.weight(64, 64), b.weight(64))
    z = b.node("Tanh", b.node("Expand", b.node("ReduceMean", y, b.ints(0)), rest))
    return [b.node("Softmax", b.node("Concat", y, b.node("Gemm", z, b.weight(64, 64), b.weight(64)), axis=0), axis=0)]


def test_scratch_is_for_the_blocks_that_code_makes() -> None:
    model, engine = model_of(computed_rows), compiled(computed_rows, {"n": (1, 8, 15)})
    for rows in (15, 8, 1):
        inputs = example_inputs(model, 1, n=rows)
        (found,), (wanted,) = engine(inputs).values(), reference(model, inputs)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_what_is_left_over_of_dimensions_that_may_be_0() -> None:
    def halves(b: ModelBuilder) -> Sequence[str]:
        x = b.input("x", ["a", "b", "c", "d"])
        rest = b.node("Concat", sizes_of(b, x, 0, 3), b.ints(-1, 2), axis=0)
        return [b.node("Reshape", x, rest)]

    engine = cast("DynamicEngine", mi.compile(model_of(halves), enable_dynamic_shapes=True, threads=1))
    for last in (6, 2):
        assert engine.plan_for({"x": (2, 3, 4, last)}).outputs[0].shape == (2, 3, 4, last // 2, 2)
    assert engine.compiles == 1


def test_filters_of_groups_may_have_any_width() -> None:
    model = parse_model(
        """<ir_version: 8, opset_import: ["": 17]>
        filters (float[1,10,5,16] x, float[15,2,2,k] w) => (float[1,15,4,m] y) { y = Conv<group=5>(x, w) }"""
    )
    engine = mi.compile(model, threads=1, compile_threads=1, profile=mi.OptimizationProfile(dims={"k": (1, 3, 16)}))
    random, reference = np.random.default_rng(3), cast("Any", ReferenceEvaluator(model))
    for width in (3, 1, 16):
        x = random.standard_normal((1, 10, 5, 16)).astype(np.float32)
        w = random.standard_normal((15, 2, 2, width)).astype(np.float32)
        expected = reference.run(None, {"x": x, "w": w})[0]
        np.testing.assert_allclose(engine(x, w), expected, rtol=1e-4, atol=1e-4)
