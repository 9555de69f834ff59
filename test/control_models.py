"""Small models with loops and branches that hang on their inputs, and inputs for them: tests of devices."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto
from text_models import model_of, numbers

from mini_infer.dialects.graph.values import Array

BRANCH = """
    g (float[4,6] x, bool c) => (float[4,6] y, float[4,6] z) {
      a = Relu(x)
      y, z = If (c) <
        then_branch = t () => (float[4,6] p, float[4,6] q) { p = Neg(a)  q = Add(p, x) },
        else_branch = e () => (float[4,6] r, float[4,6] s) { r = Mul(a, x)  s = Identity(a) }
      >
    }"""
UNTIL = """
    g (float[4,8] x, int64 n, bool c) => (float[4,8] y, int64 last) {
      zero = Constant <value_int = 0> ()
      y, last = Loop (n, c, x, zero) <
        body = l (int64 i, bool on, float[4,8] before, int64 sum) => (bool go, float[4,8] after, int64 more) {
          all = ReduceSum <keepdims = 0> (before)
          limit = Constant <value = float {100}> ()
          go = Less(all, limit)
          number = Cast <to = 1> (i)
          part = Add(number, x)
          after = Add(before, part)
          more = Add(sum, i)
        }
      >
    }"""
"""At most n turns, as long as a sum is small."""
COLLECTED = """
    g (float[4] x, bool c) => (float[4] y, float[k,4] z) {
      n = Constant <value_int = 5> ()
      y, z = Loop (n, c, x) <
        body = l (int64 i, bool on, float[4] before) => (bool go, float[4] after, float[4] row) {
          limit = Constant <value_int = 3> ()
          go = Less(i, limit)
          after = Add(before, x)
          row = Neg(after)
        }
      >
    }"""
"""Rows of all turns, as many as there are."""
NESTED = """
    g (float[8] x, int64 n) => (float[8] y) {
      y = Loop (n, , x) <
        body = l (int64 i, bool on, float[8] before) => (bool go, float[8] after) {
          go = Identity(on)
          all = ReduceSum <keepdims = 0> (before)
          limit = Constant <value = float {10}> ()
          small = Less(all, limit)
          after = If (small) <
            then_branch = t () => (float[8] p) {
              p = Loop (i, , before) <
                body = m (int64 j, bool on2, float[8] b) => (bool g, float[8] a) { g = Identity(on2)  a = Add(b, x) }
              >
            },
            else_branch = e () => (float[8] q) { q = Neg(before) }
          >
        }
      >
    }"""
"""A loop in a branch in a loop."""
SCAN = """
    g (float[5,3] x, float[3] first) => (float[3] last, float[5,3] all) {
      last, all = Scan <num_scan_inputs = 1,
        body = s (float[3] before, float[3] part) => (float[3] after, float[3] row) {
          after = Add(before, part)
          row = Tanh(after)
        }
      > (first, x)
    }"""
"""As many turns as are known."""

X = np.abs(numbers(4, 8))
CALLS: dict[str, tuple[str, list[dict[str, Array]]]] = {
    "branch": (BRANCH, [{"x": numbers(4, 6), "c": np.array(c)} for c in (True, False)]),
    "until": (
        UNTIL,
        [{"x": X, "n": np.array(n), "c": np.array(c)} for n, c in ((0, True), (3, False), (2, True), (50, True))],
    ),
    "collected": (COLLECTED, [{"x": numbers(4), "c": np.array(c)} for c in (True, False)]),
    "nested": (NESTED, [{"x": np.abs(numbers(8)), "n": np.array(n)} for n in (0, 1, 2, 6)]),
    "scan": (SCAN, [{"x": numbers(5, 3), "first": numbers(3)}]),
}


def control_model(name: str) -> ModelProto:
    """A model of CALLS."""
    return model_of(CALLS[name][0])
