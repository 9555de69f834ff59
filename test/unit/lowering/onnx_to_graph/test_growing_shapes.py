"""Shapes that grow from nothing: dimensions of 0, sizes that are called by sums, plans that serve several shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from import_cases import reference
from models.builder import ModelBuilder, example_inputs
from onnx import ModelProto, parser

import mini_infer as mi
from mini_infer.dialects.sizes.formulas import formulas, grows
from mini_infer.dialects.sizes.polynomials import Symbol
from mini_infer.dialects.sizes.sizes import size_of, terms_of, value_at
from mini_infer.passes.planning import Buffer, Problem, check, lower_bound, solve
from mini_infer.runtime.shapes.buckets import BucketPlans
from mini_infer.runtime.shapes.dynamic_engine import DynamicEngine

N, M = Symbol("n", 0, 40), Symbol("m", 1, 9)


def engine_for(model: ModelProto, **dims: tuple[int, int, int]) -> DynamicEngine:
    """An engine for ranges of dimensions."""
    profile = mi.OptimizationProfile(dims=dims)
    return cast("DynamicEngine", mi.compile(model, profile=profile, threads=1, compile_threads=1))


def check_at(engine: DynamicEngine, model: ModelProto, **dims: int) -> None:
    """Compares with onnx.reference where dimensions have these sizes."""
    inputs = example_inputs(model, 1, **dims)
    for found, wanted in zip(engine(inputs).values(), reference(model, inputs), strict=True):
        assert found.shape == wanted.shape, dims
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5, err_msg=str(dims))


def test_joining_what_is_empty_takes_no_compile_of_its_own() -> None:
    b = ModelBuilder("joined")
    x, y = b.input("past", ["n", "past", 6]), b.input("new", ["n", "rows", 6])
    z = b.node("Concat", x, b.node("Tanh", y), axis=1)
    model = b.model([z, b.node("Softmax", b.node("MatMul", z, b.weight(6, 5)), axis=1), b.node("Relu", x)])
    engine = engine_for(model, n=(1, 1, 3), past=(0, 5, 20), rows=(1, 1, 8))
    for n, past, rows in ((1, 5, 1), (1, 0, 8), (2, 0, 1), (3, 20, 3), (1, 1, 1)):
        check_at(engine, model, n=n, past=past, rows=rows)
    assert engine.compiles == 1


def test_one_query_behind_a_past_of_any_length() -> None:
    b = ModelBuilder("step", opset=23)
    q, k, v = (b.input(name, [1, heads, 1, 8]) for name, heads in (("q", 6), ("k", 2), ("v", 2)))
    pasts = [b.input(name, [1, 2, "past", 8]) for name in ("pk", "pv")]
    attended = b.nodes("Attention", 3, q, k, v, "", *pasts, is_causal=1)[0]
    model = b.model([b.node("Reshape", attended, b.ints(6, 8))])
    engine = engine_for(model, past=(0, 20, 40))
    for past in (20, 0, 1, 3, 7, 40):
        check_at(engine, model, past=past)
    assert engine.compiles == 1


@pytest.mark.parametrize(("operator", "compiles"), [("ReduceSum", 4), ("MatMul", 3), ("Gather", 1)])
def test_something_made_of_nothing_is_right_too(operator: str, compiles: int) -> None:
    b = ModelBuilder("made")
    x = b.input("x", [3, "n"])
    match operator:
        case "MatMul":
            y = b.node("MatMul", x, b.node("Transpose", x, perm=[1, 0]))
        case "Gather":
            y = b.node("Gather", b.node("Concat", x, b.weight(3, 1), axis=1), b.ints(-1), axis=1)
        case _:
            y = b.node(operator, x, b.ints(1))
    model = b.model([y])
    engine = engine_for(model, n=(0, 5, 9))
    for n in (5, 0, 9, 1, 0):
        check_at(engine, model, n=n)
    assert engine.compiles <= compiles


def test_all_kinds_of_kernels_take_no_rows() -> None:
    b = ModelBuilder("rows")
    x = b.input("x", ["n", 3, 8, 6])
    y = b.node("Relu", b.node("Conv", x, b.weight(4, 3, 3, 3), b.weight(4), pads=[1, 1, 1, 1]))
    pooled = b.node("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2])
    rows = b.node(
        "LayerNormalization", b.node("Reshape", pooled, b.ints(0, 48)), b.uniform(0.8, 1.2, 48), b.uniform(0, 1, 48)
    )
    scores = b.node("Softmax", b.node("Gemm", b.node("Tanh", rows), b.weight(48, 5), b.weight(5)))
    best = b.node("ArgMax", scores, axis=1)
    model = b.model(
        [scores, b.node("ReduceSum", y, b.ints(1)), best, b.node("Transpose", x, perm=[1, 0, 3, 2])],
        [np.float32, np.float32, np.int64, np.float32],
    )
    engine = engine_for(model, n=(0, 2, 4))
    for n in (2, 0, 1, 4, 0):
        check_at(engine, model, n=n)
    assert engine.compiles <= 2


def test_elementwise_kernels_take_nothing_too() -> None:
    b = ModelBuilder("moved")
    x = b.input("x", ["m", "n", 6])
    turned = b.node("Transpose", x, perm=[2, 0, 1])
    part = b.node("Slice", x, b.ints(1), b.ints(4), b.ints(2))
    widened = b.node("Pad", x, b.ints(0, 2, 0, 0, 1, 0))
    chosen = b.node("Gather", x, b.ints(3, 0), axis=2)
    wide = b.node("Mul", b.node("Unsqueeze", x, b.ints(0)), b.weight(3, 1, 1, 6))
    model = b.model([turned, part, widened, chosen, wide])
    engine = engine_for(model, m=(0, 2, 4), n=(0, 3, 9))
    for m, n in ((2, 3), (2, 0), (0, 3), (0, 0), (4, 9), (1, 1)):
        check_at(engine, model, m=m, n=n)
    assert engine.compiles <= 5


def test_an_engine_may_be_made_for_nothing() -> None:
    b = ModelBuilder("empty")
    model = b.model([b.node("Relu", b.input("x", ["n", 4]))])
    engine = engine_for(model, n=(0, 0, 9))
    for n in (0, 3, 9, 0):
        check_at(engine, model, n=n)
    assert engine.compiles == 2
    with pytest.raises(mi.InvalidInputError, match="dimension 0 is 10, but must be from 0 to 9"):
        check_at(engine, model, n=10)


def summed() -> ModelProto:
    """A mask whose length is said to be a sum."""
    b = ModelBuilder("summed")
    mask, past, new = b.input("mask", ["past + rows"]), b.input("past", ["past", 4]), b.input("new", ["rows", 4])
    z = b.node("Concat", past, new, axis=0)
    return b.model([b.node("Mul", z, b.node("Unsqueeze", mask, b.ints(1)))])


def test_a_dimension_that_is_called_by_a_sum_is_one() -> None:
    model = summed()
    inputs = example_inputs(model, 1, **{"past": 3, "rows": 2, "past + rows": 5})
    engine = engine_for(model, past=(0, 2, 9), rows=(1, 1, 3))
    alone = mi.compile(model, dims={"past": 3, "rows": 2}, threads=1, compile_threads=1)
    (wanted,) = reference(model, inputs)
    for each in (engine, alone):
        assert np.array_equal(each(*inputs.values()), wanted)
    assert engine.compiles == 1
    with pytest.raises(mi.InvalidInputError, match=r"'mask': dimension 0 \(past \+ rows\) is 4 instead of 5"):
        engine(inputs["mask"][:4], inputs["past"], inputs["new"])


sizes = st.recursive(
    st.sampled_from([size_of(N, 7), size_of(M, 2)]) | st.integers(-3, 70),
    lambda inner: (
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1])
        | st.tuples(inner, inner).map(lambda pair: pair[0] * pair[1])
        | st.tuples(inner, st.integers(2, 9)).map(lambda pair: pair[0] // pair[1])
    ),
    max_leaves=6,
)


@given(st.lists(sizes, max_size=4), st.integers(0, 40), st.integers(1, 9))
def test_formulas_are_what_sizes_are(given_sizes: Sequence[int], n: int, m: int) -> None:
    found = formulas(map(terms_of, given_sizes), [N, M])(n, m)
    assert list(found) == [value_at(size, {N: n, M: m}) for size in given_sizes]


@given(sizes, st.integers(0, 40), st.integers(0, 40), st.integers(1, 9), st.integers(1, 9))
def test_what_grows_is_never_smaller_further_on(size: int, n: int, more: int, m: int, further: int) -> None:
    if grows(terms_of(size)):
        first, second = ({N: a, M: b} for a, b in ((min(n, more), min(m, further)), (max(n, more), max(m, further))))
        assert value_at(size, first) <= value_at(size, second)


@pytest.mark.parametrize("bounded", [True, False])
def test_the_places_of_every_shape_are_right_and_low(bounded: bool) -> None:
    n, m = size_of(N, 7), size_of(M, 2)
    given_sizes = [n * 64, m * n * 8, 64 * (40 - n), (n + 3) // 4 * 64, 128, n * m // -(-n * m // 28) * 64]
    lives = [(0, 2), (1, 3), (2, 4), (0, 4), (3, 5), (1, 5)]
    buffers = [Buffer(i, size, *live) for i, (size, live) in enumerate(zip(given_sizes, lives, strict=True))]
    places = BucketPlans(Problem(tuple(buffers), alignment=64), [N, M], bounded)
    for values in [(a, b) for a in range(1, 41) for b in (1, 2, 5, 9)]:
        placed = places.at(values)
        numbers = dict(zip([N, M], values, strict=True))
        exact = [Buffer(each.id, value_at(each.size, numbers), each.birth, each.death) for each in buffers]
        problem = Problem(tuple(exact), alignment=64)
        bound = lower_bound(problem)
        ends = [placed.plan.offsets[each.id] + -(-each.size // 64) * 64 for each in exact if each.size]
        proven = {"bound": bound, "proven_bound": bound.height, "optimal": max(ends) == bound.height}
        check(problem, replace(placed.plan, height=max(ends), **proven))
        assert not bounded or placed.plan.height <= places.bytes_of_all
        assert bound.height <= placed.plan.height <= 1.1 * solve(problem).height


def test_sizes_near_each_other_share_their_places() -> None:
    """Values are rounded up to one of 7 significant bits: a plan then serves a 64th more."""
    long = Symbol("long", 1, 4000)
    size = size_of(long, 1000)
    buffers = tuple(Buffer(i, size * times, i, i + 2) for i, times in enumerate((64, 128, 64)))
    places = BucketPlans(Problem(buffers, alignment=64), [long], bounded=True)
    first = places.at((994,))
    assert first.plan.height == 192 * 1000
    assert places.at((970,)) is first, "what is not much smaller, too"
    assert places.at((1000,)) is first is not places.at((1001,)) is not places.at((960,))
    assert places.at((3999,)).plan.height == 192 * 4000 == places.bytes_of_all
    assert len({id(places.at((each,))) for each in range(1000, 2000)}) <= 64 + 1


def test_a_new_shape_near_a_known_one_plans_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    b = ModelBuilder("near")
    x = b.input("x", ["n", 8])
    y = b.node("Softmax", b.node("Gemm", b.node("Relu", x), b.weight(8, 8), b.weight(8)))
    engine = engine_for(b.model([b.node("Gemm", y, b.weight(8, 3), b.weight(3))]), n=(1, 40, 64))
    engine.plan_for({"x": (33, 8)})
    monkeypatch.setattr("mini_infer.runtime.shapes.buckets.solve", None)
    for n in range(34, 65):
        assert engine.plan_for({"x": (n, 8)}).outputs[0].shape == (n, 3)


def test_a_sum_with_a_term_that_is_nothing_at_first_is_another_sum_later() -> None:
    text = '<ir_version: 9, opset_import: ["" : 18]> g (float["p + s"] m, float[p] c, float[s] x) => (float[n] y) '
    model = cast("Any", parser).parse_model(text + "{ j = Concat <axis = 0> (c, x) y = Mul (j, m) }")
    engine = mi.compile(model, enable_dynamic_shapes=True, threads=1, compile_threads=1)
    assert "not compiled before the first call" in repr(engine)
    for past, new in ((0, 1), (2, 1), (5, 3), (0, 2)):
        y = engine(m=np.full(past + new, 3, np.float32), c=np.ones(past, np.float32), x=np.ones(new, np.float32))
        np.testing.assert_array_equal(y, np.full(past + new, 3, np.float32))
    with pytest.raises(mi.InvalidInputError, match=r"dimension 0 .* is 4 instead of 3"):
        engine(m=np.ones(4, np.float32), c=np.ones(2, np.float32), x=np.ones(1, np.float32))


@pytest.mark.parametrize("shape", [3, "ab", None, (None, 4), (float("nan"),), (1.9,)])
def test_what_is_no_shape_is_named(shape: Any) -> None:
    engine = mi.compile(model_of_one(), profile=mi.OptimizationProfile(dims={"n": (1, 2, 3)}), compile_threads=1)
    with pytest.raises(mi.InvalidInputError, match=r"the shape of input 'x' is .* must be a sequence of sizes"):
        engine.plan_for({"x": shape})


@cache
def model_of_one() -> Any:
    """A model of one input of one axis."""
    text = '<ir_version: 9, opset_import: ["" : 18]> g (float[n] x) => (float[n] y) { y = Relu (x) }'
    return cast("Any", parser).parse_model(text)


def test_a_head_of_any_size() -> None:
    b = ModelBuilder("head")
    scores = b.node("Softmax", b.node("MatMul", b.input("q", [2, 3, "rows", 4]), b.weight(2, 3, 4, 5)), axis=-1)
    model = b.model([b.node("MatMul", scores, b.input("v", [2, 3, 5, "size"]))])
    engine = engine_for(model, rows=(1, 6, 9), size=(1, 20, 40))
    for rows, size in ((6, 20), (1, 7), (9, 40)):
        check_at(engine, model, rows=rows, size=size)


def test_filters_of_bytes_of_any_size() -> None:
    text = (
        '<ir_version: 9, opset_import: ["" : 18]> g (uint8[1, 2, 8, 9] x, int8[4, 2, 3, k] w) => (uint8[1, 4, 6, n] y) '
    )
    text += "<float s = {0.5}, uint8 a = {3}, int8 z = {0}> { y = QLinearConv (x, s, a, w, s, z, s, a) }"
    model = cast("Any", parser).parse_model(text)
    engine = mi.compile(model, profile=mi.OptimizationProfile(dims={"k": (1, 3, 4)}), threads=1, compile_threads=1)
    random = np.random.default_rng(0)
    for k in (3, 1, 4):
        x = random.integers(0, 9, (1, 2, 8, 9)).astype(np.uint8)
        w = random.integers(-2, 3, (4, 2, 3, k)).astype(np.int8)
        expected = reference(model, {"x": x, "w": w})[0]
        assert np.abs(engine(x=x, w=w).astype(int) - expected).max() <= 1  # ties are rounded in another order there


def test_merged_dimensions_of_which_one_is_1_now() -> None:
    body = "r = Reshape (x, shape) y = Slice (r, start, end, axis, step)"
    numbers = "int64[3] shape = {2, -1, 5}, int64[1] start = {2}, int64[1] end = {-3}, int64[1] axis = {0}"
    graph = f"g (float[2, N, 5, M] x) => (float[2, K, 5] y) <{numbers}, int64[1] step = {{-1}}> {{ {body} }}"
    model = cast("ModelProto", cast("Any", parser).parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {graph}'))
    engine = engine_for(model, N=(1, 4, 33), M=(1, 6, 9))
    for rows, columns in ((4, 6), (4, 1), (1, 6), (1, 1), (10, 5)):
        check_at(engine, model, N=rows, M=columns)
