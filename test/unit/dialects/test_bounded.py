"""Results of a size that turns out when the model runs: cut to what there is, and carried on where ops can."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from import_cases import onnxruntime
from onnx import ModelProto
from text_models import model_of, numbers

import mini_infer as mi
from mini_infer.dialects.errors import InvalidInputError, InvalidModelError, UnsupportedError
from mini_infer.dialects.graph.blobs import MiniContext, blob_store
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.onnx_to_graph import import_onnx
from mini_infer.runtime.shapes.dynamic_engine import DynamicEngine

WAYS: list[dict[str, Any]] = [
    {"threads": 2, "check_memory": True},
    {"threads": 1, "enable_graph_optimization": False, "enable_memory_planning": False},
]


def judge(model: ModelProto, *calls: dict[str, Array], ways: list[dict[str, Any]] = WAYS) -> None:
    """Compares every call with ONNX Runtime: by the interpreter, and compiled in several ways."""
    ctx = MiniContext()
    module = import_onnx(model, ctx=ctx)
    runs: list[Callable[[dict[str, Array]], dict[str, Array]]] = [mi.compile(model, **way) for way in ways]
    runs.append(partial(interpret, module, store=blob_store(ctx)))
    for inputs in calls:
        wanted = onnxruntime(model, inputs)
        for run in runs:
            found = run(inputs)
            assert len(found) == len(wanted), "counts are not among the results"
            for value, array in zip(model.graph.output, wanted, strict=True):
                assert found[value.name].shape == array.shape
                np.testing.assert_allclose(found[value.name], array, rtol=1e-5, atol=1e-6, err_msg=value.name)


SPARSE = np.array([[0, 3, 0], [-1, 0, 2]], np.float32)


def test_non_zero() -> None:
    model = model_of("g (float[2,3] x) => (int64[2,n] y) { y = NonZero(x) }")
    judge(model, *({"x": x} for x in (SPARSE, np.zeros_like(SPARSE), np.ones_like(SPARSE), -0.0 * SPARSE)))


@pytest.mark.thinned(2)
@pytest.mark.parametrize("axis", ["<axis = 0>", "<axis = -1>", ""])
def test_compress(axis: str) -> None:
    model = model_of(f"g (float[4,3] x, bool[3] c) => (float[m] y) {{ y = Compress {axis} (x, c) }}")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    conditions = ([True, False, True], [False] * 3, [True] * 3)
    judge(model, *({"x": numbers(4, 3), "c": np.array(c)} for c in conditions))


UNIQUE = "g (float[3,4] x) => (float[k] y, int64[m] i, int64[n] r, int64[m] c) { y, i, r, c = Unique <A> (x) }"


@pytest.mark.thinned(3)
@pytest.mark.parametrize("attributes", ["sorted = 1", "sorted = 0", "axis = 0", "axis = 1, sorted = 0", "axis = -1"])
def test_unique(attributes: str) -> None:
    model = model_of(UNIQUE.replace("A", attributes))
    model.graph.output[0].type.tensor_type.ClearField("shape")
    random = np.random.default_rng(0)
    judge(
        model,
        *({"x": random.integers(-1, high, (3, 4)).astype(np.float32)} for high in (0, 1, 9)),
        ways=[{"threads": 2}],
    )


def test_unique_knows_one_nan_and_one_zero() -> None:
    model = model_of("g (float[6] x) => (float[k] y) { y = Unique(x) }")
    x = np.array([np.nan, 0, -0.0, 1, np.nan, -np.inf], np.float32)
    np.testing.assert_array_equal(mi.compile(model, threads=1)(x), [-np.inf, 0, 1, np.nan])


BOXES = """
    g (float[2,12,4] boxes, float[2,3,12] scores, int64[1] most, float[1] overlap, float[1] least)
        => (int64[n,3] chosen) { chosen = NonMaxSuppression <CENTER> (boxes, scores, most, overlap, least) }"""


@pytest.mark.thinned(2)
@pytest.mark.parametrize("center", ["", "<center_point_box = 1>"])
def test_non_max_suppression(center: str) -> None:
    random = np.random.default_rng(1)
    model = model_of(BOXES.replace("<CENTER>", center))
    calls: list[dict[str, Array]] = []
    for most, overlap, least in ((3, 0.2, 0.3), (100, 0.5, 0.0), (0, 0.5, 0.0), (2, 0.0, 2.0)):
        calls.append(
            {
                "boxes": random.random((2, 12, 4), np.float32),
                "scores": random.integers(0, 6, (2, 3, 12)).astype(np.float32) / 5,
                "most": np.array([most]),
                "overlap": np.array([overlap], np.float32),
                "least": np.array([least], np.float32),
            }
        )
    judge(model, *calls, ways=[{"threads": 2}])


def test_any_number_of_boxes_by_one_compile() -> None:
    model = model_of("""
        g (float[2,n,4] boxes, float[2,3,n] scores, float[1] overlap) => (int64[m,3] chosen) {
            most = Constant <value = int64[1] {7}> ()
            chosen = NonMaxSuppression(boxes, scores, most, overlap)
        }""")
    engine = mi.compile(model, threads=1, profile=mi.OptimizationProfile(dims={"n": (7, 64, 150)}))
    random = np.random.default_rng(2)
    for count in (7, 63, 64, 65, 150):
        boxes, scores = random.random((2, count, 4), np.float32), random.random((2, 3, count), np.float32)
        call = {"boxes": boxes, "scores": scores, "overlap": np.array([0.4], np.float32)}
        np.testing.assert_array_equal(engine(call)["chosen"], onnxruntime(model, call)[0])
    assert isinstance(engine, DynamicEngine) and engine.compiles == 1


def test_a_loop_that_ends_early_has_collected_so_many_rows() -> None:
    text = """
    g (float[2] x, float limit) => (float[2] last, float[r,2] all) {
      n = Constant <value = int64 {6}> ()
      yes = Constant <value = bool {1}> ()
      last, all = Loop (n, yes, x) <
        body = b (int64 i, bool on, float[2] before) => (bool go, float[2] after, float[2] seen) {
          after = Add(before, x)
          seen = Neg(after)
          largest = ReduceMax <keepdims = 0> (after)
          go = Less(largest, limit)
        }
      >
    }"""
    x = np.array([1, 2], np.float32)
    judge(model_of(text), *({"x": x, "limit": np.array(limit, np.float32)} for limit in (5, 0, 99)))


def test_what_is_made_of_them_is_cut_too() -> None:
    """The selected elements themselves: as exporters write x[x != 0]; and what is computed of each."""
    text = """
    g (float[2,3] x, float[3,2] table) => (float[k] y, float[k,2] rows, float[k,2] products, int64[2] sizes) {
      where = NonZero(x)
      indices = Transpose(where)
      elements = GatherND(x, indices)
      halves = Mul(elements, elements)
      y = Sqrt(halves)
      column = Constant <value = int64 {1}> ()
      columns = Gather <axis = 0> (where, column)
      rows = Gather(table, columns)
      w = Constant <value = float[2,2] {1, 2, 3, 4}> ()
      products = MatMul(rows, w)
      sizes = Shape(products)
    }"""
    inputs = {"table": numbers(3, 2)}
    judge(model_of(text), *({**inputs, "x": x} for x in (SPARSE, np.zeros_like(SPARSE), np.ones_like(SPARSE))))


def test_pictures_that_are_selected_go_through_ops_that_know_nothing_of_counts() -> None:
    """Whatever keeps entries apart keeps those that count: convolutions, pools, products with what is selected too."""
    text = """
    g (float[4,2,5,5] x, bool[4] c, float[3,2,3,3] w) => (float[k,3,2,2] y, int64[k,3,2,1] best, float[k,3,2,2] z) {
      some = Compress <axis = 0> (x, c)
      made = Conv(some, w)
      pooled = MaxPool <kernel_shape = [2, 2]> (made)
      axis = Constant <value = int64 {2}> ()
      y = CumSum(pooled, axis)
      one = Constant <value = int64[1] {1}> ()
      largest, best = TopK(pooled, one)
      z = MatMul(pooled, y)
    }"""
    inputs = {"x": numbers(4, 2, 5, 5), "w": numbers(3, 2, 3, 3)}
    judge(model_of(text), *({**inputs, "c": np.array(c)} for c in ([True, False, True, True], [False] * 4, [True] * 4)))


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ("y = ReduceSum <keepdims = 0> (w)", r"graph.reduce_sum along an axis of 6 elements at most"),
        ("y = Concat <axis = 1> (w, w)", r"graph.concat along an axis of 6 elements at most"),
        ("v = NonZero(w)  y = Concat <axis = 0> (w, v)", r"along an axis of 6 elements at most"),
        ("o = Constant <value = int64[6] {1,1,1,1,1,1}> ()  y = Add(w, o)", "graph.add with a value of 6 elements"),
        ("v = NonZero(z)  y = Add(w, v)", "graph.add of values that end at different places"),
        ("s = Constant <value = int64[1] {-1}> ()  y = Reshape(w, s)", "graph.reshape along an axis of 6"),
        ("s = Constant <value = int64[2] {3, 2}> ()  y = Reshape(w, s)", "12 elements can't take the shape"),
        ("y = EyeLike(w)", r"operand 0 \(w\) has at most 6 elements along axis 1"),
        (
            "n = Constant <value = int64 {2}> () "
            "y = Loop (n, , w) <body = b (int64 i, bool on, int64[2,k] p) => (bool go, int64[2,k] q) "
            "{ go = Identity(on)  q = Neg(p) }>",
            "a loop or a branch that hands it on",
        ),
    ],
)
def test_what_would_have_to_know_how_many_there_are_is_refused(nodes: str, message: str) -> None:
    text = f"g (float[2,3] x, float[2,3] z) => (int64[a,b] y) {{ w = NonZero(x)  {nodes} }}"
    with pytest.raises(UnsupportedError, match=message) as caught:
        mi.compile(model_of(text))
    assert "the number is known at run time only" in str(caught.value)


def test_a_plan_says_what_is_bounded() -> None:
    engine = mi.compile(model_of("g (float[2,3] x) => (int64[2,n] y) { y = NonZero(x) }"), threads=1)
    (spec,) = engine.plan.outputs
    assert (spec.shape, spec.bounded, str(spec)) == ((2, 6), (1,), "y: int64[2, <=6]")
    assert engine.output_names == ("y",)


def test_bound_memory_has_room_for_all_there_can_be() -> None:
    engine = mi.compile(model_of("g (float[2,3] x) => (int64[2,n] y) { y = NonZero(x) }"), threads=1)
    context = engine.plan.create_execution_context()
    y, x = np.empty((2, 6), np.int64), SPARSE.copy()
    context.bind_input("x", x)
    context.bind_output("y", y)
    with pytest.raises(InvalidInputError, match="how large 'y' is turns out in a run; there was none"):
        context.output_shape("y")
    context.execute()
    assert context.output_shape("y") == (2, 3)
    np.testing.assert_array_equal(y[:, :3], np.nonzero(SPARSE))
    x[:] = 0
    context.execute()
    assert context.output_shape("y") == (2, 0)
    (tensor,) = context.run_tensors({"x": SPARSE}).values()
    np.testing.assert_array_equal(tensor.numpy(), np.nonzero(SPARSE))


def test_conditions_and_boxes_of_other_shapes_are_invalid() -> None:
    for text, message in (
        ("g (float[4] x, float[4] c) => (float[m] y) { y = Compress(x, c) }", "a list of booleans"),
        ("g (float[4] x, bool[2,2] c) => (float[m] y) { y = Compress(x, c) }", "a list of booleans"),
        (BOXES.replace("<CENTER>", "").replace("float[2,3,12]", "float[2,3,9]"), "don't fit scores of"),
        ("g (float x) => (int64[m,n] y) { y = NonZero(x) }", "a scalar has no axes"),
    ):
        with pytest.raises(InvalidModelError, match=message):
            mi.compile(model_of(text))


@pytest.mark.parametrize(
    ("type", "cut"), [("tensor<f32>", "[0, 0]"), ("tensor<i64>", "[0, 1]"), ("tensor<i64>", "[1, 0]")]
)
def test_a_count_cuts_a_result_that_is_there(type: str, cut: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.mlir"
    path.write_text(
        f"""builtin.module attributes {{mini_infer.level = "graph"}} {{
          func.func @main(%x: tensor<4xf32>, %n: {type}) -> (tensor<4xf32>, {type} {{graph.counts = [{cut}]}}) {{
            %y = graph.relu %x : tensor<4xf32>
            %m = graph.abs %n : {type}
            func.return %y, %m : tensor<4xf32>, {type}
          }}
        }}"""
    )
    with pytest.raises(InvalidModelError, match="@main: 'output1' is no count of results that are there"):
        mi.compile(path, threads=1)
