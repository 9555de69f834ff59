"""If, Loop and Scan that decide when the model runs: the results of ONNX Runtime, however memory is used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest
from import_cases import imported, onnxruntime
from onnx import ModelProto
from text_models import model_of, numbers
from xdsl.dialects import scf

import mini_infer as mi
from mini_infer.dialects.errors import InvalidModelError, UnknownValueError, UnsupportedError
from mini_infer.dialects.graph.ops.indexing import ScatterNdOp
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.onnx_to_graph import import_onnx
from mini_infer.lowering.onnx_to_graph.declared_inputs import Ranges

WAYS: list[dict[str, Any]] = [
    {"threads": 1},
    {"threads": 1, "enable_graph_optimization": False, "enable_memory_planning": False},
    {"threads": 2, "check_memory": True},
    {"device": "cuda-emulated"},
]


def judge(model: ModelProto, *calls: dict[str, Array], ways: list[dict[str, Any]] = WAYS) -> None:
    """Compares every call with ONNX Runtime, compiled in several ways."""
    names = [value.name for value in model.graph.output]
    wanted = [onnxruntime(model, inputs) for inputs in calls]
    for way in ways:
        engine = mi.compile(model, **way)
        for inputs, arrays in zip(calls, wanted, strict=True):
            found = engine(inputs)
            for name, array in zip(names, arrays, strict=True):
                np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-6, err_msg=f"{name} {way}")
                assert found[name].shape == array.shape and found[name].dtype == array.dtype


BRANCHES = """
    g (float[4,6] x, bool c) => (float[4,6] y, float[4,6] z) {
      a = Relu(x)
      y, z = If (c) <
        then_branch = t () => (float[4,6] p, float[4,6] q) { p = Neg(a)  q = Add(p, x) },
        else_branch = e () => (float[4,6] r, float[4,6] s) { r = Mul(a, x)  s = Identity(a) }
      >
    }"""


def test_a_condition_of_run_time_chooses_a_branch() -> None:
    judge(model_of(BRANCHES), *({"x": numbers(4, 6), "c": np.array(c)} for c in (True, False)))


def test_branches_in_branches_read_what_lies_outside() -> None:
    text = """
    g (float[3] x, float limit) => (float[3] y) {
      sum = ReduceSum <keepdims = 0> (x)
      large = Greater(sum, limit)
      one = Constant <value = float {1}> ()
      y = If (large) <
        then_branch = t () => (float[3] p) {
          w = Constant <value = float[3] {1, 2, 3}> ()
          u = Add(x, w)
          zero = Constant <value = float {0}> ()
          positive = Greater(sum, zero)
          p = If (positive) <
            then_branch = tt () => (float[3] pp) { pp = Add(u, one) },
            else_branch = te () => (float[3] pe) { pe = Identity(w) }
          >
        },
        else_branch = e () => (float[3] q) { q = Sub(x, one) }
      >
    }"""
    x = np.array([1, -2, 3], np.float32)
    judge(model_of(text), *({"x": x * s, "limit": np.array(t, np.float32)} for s, t in ((1, 0), (-1, -9), (1, 9))))


def test_branches_read_what_is_held_with_its_channels_last() -> None:
    text = """
    g (float[1,4,5,6] x, float[3,4,2,2] w, float[3] b, bool c) => (float[1,3,4,5] y) {
      v = Conv(x, w, b)
      y = If (c) <
        then_branch = t () => (float[1,3,4,5] p) { p = Tanh(v) },
        else_branch = e () => (float[1,3,4,5] q) { n = Neg(v)  q = Add(n, v) }
      >
    }"""
    inputs = {"x": numbers(1, 4, 5, 6), "w": numbers(3, 4, 2, 2), "b": numbers(3)}
    judge(model_of(text), *({**inputs, "c": np.array(value)} for value in (True, False)))


def test_what_a_branch_makes_lives_through_a_loop_that_reads_it() -> None:
    text = """
    g (float[4,8] x, bool c, int64 n) => (float[4,8] y) {
      a, b = If (c) <
        then_branch = t () => (float[4,8] p, float[4,8] q) { p = Sub(x, x)  q = Max(x, x) },
        else_branch = e () => (float[4,8] r, float[4,8] s) { r = Tanh(x)  s = Mul(x, x) }
      >
      y = Loop (n, , a) <
        body = l (int64 i, bool on, float[4,8] before) => (bool go, float[4,8] after) {
          go = Identity(on)
          negative = Neg(b)
          after = Mul(negative, x)
        }
      >
    }"""
    judge(model_of(text), *({"x": numbers(4, 8), "c": np.array(c), "n": np.array(2)} for c in (True, False)))


def python_calls(work: Callable[[], object]) -> int:
    """How many Python functions are called meanwhile."""
    calls = 0

    def observe(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(observe)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def nested(depth: int) -> str:
    """The body of a branch with that many branches in each other, in both sides."""
    if not depth:
        return "(float[4] r) { r = Relu(x) }"
    inside = nested(depth - 1)
    return f"(float[4] r) {{ r = If (c) < then_branch = t () => {inside}, else_branch = e () => {inside} > }}"


def test_branches_in_branches_take_work_by_their_number() -> None:
    models = [model_of(f"g (float[4] x, bool c) => {nested(depth)}") for depth in (4, 4, 6)]
    _, some, more = (python_calls(lambda m=model: mi.plan_memory(m, threads=1)) for model in models)
    assert more < 5 * some


def test_branches_whose_types_differ_are_refused() -> None:
    text = BRANCHES.replace("r = Mul(a, x)", "r = ReduceSum <keepdims = 0> (a)")
    what = r"If_1 \(If\): the condition, as result 0 is tensor<4x6xf32> of the then_branch and tensor<f32> of the else"
    with pytest.raises(UnknownValueError, match=what):
        mi.compile(model_of(text))


COUNTED = """
    g (int64 n, float[2,5] x, float[5] step) => (float[2,5] y) {
      y = Loop (n, , x) <
        body = b (int64 i, bool on, float[2,5] before) => (bool go, float[2,5] after) {
          go = Identity(on)
          scaled = CastLike(i, step)
          moved = Mul(step, scaled)
          sum = Add(before, moved)
          after = Tanh(sum)
        }
      >
    }"""


def test_a_trip_count_of_run_time() -> None:
    inputs = {"x": numbers(2, 5), "step": numbers(5, seed=1)}
    judge(model_of(COUNTED), *({**inputs, "n": np.array(n)} for n in (0, 1, 7, -3)))


def test_a_carried_value_is_written_over_itself() -> None:
    """A loop has one buffer for what it carries, and needs no other."""
    plan = mi.compile(model_of(COUNTED), threads=1).plan.memory
    carried = [record for record in plan.tensors if record.shape == (2, 5) and not record.persistent]
    assert len({record.offset for record in carried}) <= 1


UNTIL = """
    g (int64 n, bool first, float[3] x, float limit) => (float[3] y, int64 turns) {
      zero = Constant <value = int64 {0}> ()
      one = Constant <value = int64 {1}> ()
      y, turns = Loop (n, first, x, zero) <
        body = b (int64 i, bool on, float[3] before, int64 count) => (bool go, float[3] after, int64 counted) {
          after = Add(before, before)
          counted = Add(count, one)
          largest = ReduceMax <keepdims = 0> (after)
          go = Less(largest, limit)
        }
      >
    }"""


def test_a_loop_ends_when_its_condition_says_so() -> None:
    x = np.array([1, 0.5, -3], np.float32)
    calls = [(100, True, 9), (3, True, 900), (0, True, 9), (5, False, 9), (5, True, 0)]
    inputs = [{"n": np.array(n), "first": np.array(f), "x": x, "limit": np.array(t, np.float32)} for n, f, t in calls]
    judge(model_of(UNTIL), *inputs)


def test_a_loop_without_a_trip_count() -> None:
    text = UNTIL.replace("Loop (n, first", "Loop (, first").replace("int64 n, ", "")
    x = np.array([1, 0.5, -3], np.float32)
    judge(model_of(text), *({"first": np.array(f), "x": x, "limit": np.array(99, np.float32)} for f in (True, False)))


def test_a_loop_that_never_ends_is_invalid() -> None:
    text = COUNTED.replace("Loop (n, ,", "Loop (, ,").replace("int64 n, ", "")
    with pytest.raises(InvalidModelError, match=r"Loop_0 \(Loop\): it never ends"):
        mi.compile(model_of(text))


COLLECTING = """
    g (float[3] x) => (float[3] y, float[4,3] all, int64[4] numbers) {
      n = Constant <value = int64 {4}> ()
      y, all, numbers = Loop (n, , x) <
        body = b (int64 i, bool on, float[3] before) => (bool go, float[3] after, float[3] seen, int64 number) {
          go = Identity(on)
          after = Add(before, x)
          seen = Mul(after, before)
          number = Identity(i)
        }
      >
    }"""


def test_rows_are_collected_in_place() -> None:
    model = model_of(COLLECTING)
    judge(model, {"x": numbers(3)})
    plan = mi.plan_memory(model, threads=1)
    scatters = [record for record in plan.tensors if "scatter" in record.kernel]
    assert all(record.persistent for record in scatters), "rows go straight to the outputs"


def test_a_loop_of_no_turns_collects_nothing() -> None:
    text = COLLECTING.replace("int64 {4}", "int64 {0}").replace("[4", "[0")
    judge(model_of(text), {"x": numbers(3)})


def test_what_is_collected_needs_a_bound() -> None:
    text = COLLECTING.replace("float[3] x)", "float[3] x, int64 n)").replace("n = Constant <value = int64 {4}> ()", "")
    with pytest.raises(UnknownValueError, match="the trip count, which bounds what the loop collects, must be known"):
        mi.compile(model_of(text))
    x = numbers(3)
    found = mi.compile(model_of(text), specialize={"n": np.array(4)}, threads=1)(x=x)
    np.testing.assert_allclose(found[1], mi.compile(model_of(COLLECTING), threads=1)(x)[1])


def test_loops_in_loops_and_branches() -> None:
    text = """
    g (int64 n, float[2,3] x) => (float[2,3] y) {
      two = Constant <value = int64 {2}> ()
      y = Loop (n, , x) <
        body = outer (int64 i, bool on, float[2,3] a) => (bool go, float[2,3] b) {
          go = Identity(on)
          odd = Mod(i, two)
          is_odd = Cast <to = 9> (odd)
          b = If (is_odd) <
            then_branch = t () => (float[2,3] p) {
              p = Loop (i, , a) <
                body = inner (int64 j, bool still, float[2,3] c) => (bool more, float[2,3] d) {
                  more = Identity(still)
                  half = Sin(c)
                  d = Sub(half, x)
                }
              >
            },
            else_branch = e () => (float[2,3] q) { q = Add(a, x) }
          >
        }
      >
    }"""
    judge(model_of(text), *({"x": numbers(2, 3), "n": np.array(n)} for n in (0, 1, 6)))


def test_carried_values_that_are_swapped_and_left_alone() -> None:
    text = """
    g (int64 n, float[3] x, float[3] y) => (float[3] a, float[3] b, float[3] c) {
      a, b, c = Loop (n, , x, y, x) <
        body = l (int64 i, bool on, float[3] p, float[3] q, float[3] r) =>
                 (bool go, float[3] s, float[3] t, float[3] u) {
          go = Identity(on)
          s = Identity(q)
          t = Identity(p)
          u = Add(r, p)
        }
      >
    }"""
    inputs = {"x": numbers(3), "y": numbers(3, seed=1)}
    judge(model_of(text), *({**inputs, "n": np.array(n)} for n in (0, 3, 4)))


GROWING = """
    g (float[2] x) => (float[8] y) {
      n = Constant <value = int64 {3}> ()
      y = Loop (n, , x) <
        body = l (int64 i, bool on, float[m] p) => (bool go, float[k] q) {
          go = Identity(on)
          q = Concat <axis = 0> (p, x)
        }
      >
    }"""


def test_a_loop_whose_values_grow_is_written_out() -> None:
    judge(model_of(GROWING), {"x": numbers(2)}, ways=WAYS[:1])
    text = GROWING.replace("float[2] x)", "float[2] x, int64 n)").replace("n = Constant <value = int64 {3}> ()", "")
    what = (
        r"Loop_0 \(Loop\): the trip count, as carried value 0 is tensor<2xf32> "
        r"before an iteration and tensor<4xf32>"
    )
    with pytest.raises(UnknownValueError, match=what):
        mi.compile(model_of(text))


def test_a_loop_that_would_be_written_out_too_often_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="900000 turns of 2 nodes are too many to unroll"):
        mi.compile(model_of(GROWING.replace("int64 {3}", "int64 {900000}")))


def test_shapes_may_hang_on_the_number_of_a_turn_that_is_written_out() -> None:
    text = """
    g (float[5,2] x) => (float[3,1,2] y) {
      n = Constant <value = int64 {3}> ()
      zero = Constant <value = int64[1] {0}> ()
      one = Constant <value = int64 {1}> ()
      y = Loop (n, , ) <
        body = l (int64 i, bool on) => (bool go, float[1,2] part) {
          go = Identity(on)
          end = Add(i, one)
          start = Unsqueeze(i, zero)
          stop = Unsqueeze(end, zero)
          part = Slice(x, start, stop)
        }
      >
    }"""
    judge(model_of(text), {"x": numbers(5, 2)}, ways=WAYS[:1])


SCAN = """
    g (float[2] start, float[2,4,3] x, float[4,2] w) => (float[2] last, float[2,4] sums, float[4,2] back) {
      last, sums, back = Scan <num_scan_inputs = 2, scan_input_axes = [1, 0], scan_input_directions = [1, 0],
                               scan_output_axes = [-1, 0], scan_output_directions = [0, 1],
        body = b (float[2] state, float[2,3] part, float[2] weight) => (float[2] next, float[2] sum, float[2] product) {
          total = ReduceSum <keepdims = 0> (part)
          next = Add(state, weight)
          sum = Mul(total, next)
          product = Mul(state, weight)
        }
      > (start, x, w)
    }"""


def test_scan_along_any_axis_and_backwards() -> None:
    inputs = {"start": numbers(2), "x": numbers(2, 4, 3, seed=1), "w": numbers(4, 2, seed=2)}
    judge(model_of(SCAN), inputs)


def test_scan_of_different_lengths_is_invalid() -> None:
    with pytest.raises(InvalidModelError, match="its scan inputs have different lengths: 4, 5"):
        mi.compile(model_of(SCAN.replace("float[4,2] w", "float[5,2] w")))


def test_scan_of_a_batch_with_lengths() -> None:
    """The opset 8 form, whose batch entries may end at different times; ONNX Runtime has no kernel for its lengths."""
    text = """
    g (int64[2] lengths, float[2,3] start, float[2,4,3] x) => (float[2,3] last, float[2,4,3] all) {
      last, all = Scan <num_scan_inputs = 1, directions = [1],
        body = b (float[3] before, float[3] part) => (float[3] after, float[3] seen) {
          after = Add(before, part)
          seen = Identity(after)
        }
      > (lengths, start, x)
    }"""
    start, x, lengths = numbers(2, 3), numbers(2, 4, 3, seed=1), np.array([4, 2])
    for way in WAYS:
        last, all = mi.compile(model_of(text, 8), **way)(lengths, start, x)
        for entry, length in enumerate(lengths):
            sums = start[entry] + np.cumsum(x[entry, :length][::-1], axis=0)
            np.testing.assert_allclose(last[entry], sums[-1], rtol=1e-5)
            np.testing.assert_allclose(all[entry, :length], sums, rtol=1e-5)
            assert not all[entry, length:].any()


def test_loops_are_loops_in_main() -> None:
    """A trip count that is known makes no copy of the body."""
    module = import_onnx(model_of(COLLECTING))
    assert sum(isinstance(op, scf.ForOp) for op in module.walk()) == 1
    assert sum(isinstance(op, ScatterNdOp) for op in module.walk()) == 2


def test_a_size_of_run_time_that_must_be_a_number_is_one_wherever_values_meet() -> None:
    text = """
    g (float[n] x, float[m] z, bool c) => (float[n] y, float[n] w, float[a] s) {
      ones = Constant <value = float[4] {1, 1, 1, 1}> ()
      two = Constant <value = int64 {2}> ()
      y = If (c) <
        then_branch = t () => (float[4] p) { p = Neg(ones) },
        else_branch = e () => (float[n] q) { q = Neg(x) }
      >
      w = Loop (two, , x) <
        body = b (int64 i, bool go, float[n] v) => (bool on, float[4] u) { on = Identity(go)  u = Add(v, ones) }
      >
      s = Scan (x, z, ones) <
        num_scan_inputs = 3, body = d (float i, float j, float k) => (float l) { l = Sum(i, j, k) }
      >
    }"""
    ranges = Ranges(dims=dict.fromkeys(("n", "m"), (1, 4, 6)))
    module, _ = imported(model_of(text), ranges=ranges)
    assert [op.name for op in module.walk() if op.name in ("scf.if", "scf.for")] == ["scf.if", "scf.for", "scf.for"]


@pytest.mark.parametrize("directions", ["", ", scan_input_directions = [1], scan_output_directions = [1]"])
def test_scan_of_nothing(directions: str) -> None:
    """What is carried stays, and what is collected has no rows."""
    text = f"""
    g (float[2] start, float[0, 2] x) => (float[2] last, float[m, 2] all) {{
      last, all = Scan <num_scan_inputs = 1{directions},
        body = b (float[2] before, float[2] row) => (float[2] after, float[2] made) {{
          after = Add(before, row)
          made = Identity(after)
        }}
      > (start, x)
    }}"""
    start = np.array([1, 2], np.float32)
    found = mi.compile(model_of(text), cache=False)({"start": start, "x": np.zeros((0, 2), np.float32)})
    np.testing.assert_array_equal(found["last"], start)
    assert found["all"].shape == (0, 2)
