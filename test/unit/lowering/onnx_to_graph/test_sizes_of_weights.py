"""Dimensions with a range beside weights, which are of one size: patterns keep the shapes that others count on."""

from __future__ import annotations

import numpy as np
import pytest
from import_cases import imported, kinds, reference
from text_models import model_of, numbers

from mini_infer.dialects.graph.fixed_sizes import settle
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.sizes.guards import Guards
from mini_infer.lowering.onnx_to_graph.declared_inputs import Ranges
from mini_infer.lowering.pipelines import phases, run_phases

MODELS = {
    "mul add": """
      s = Softmax(x)
      y = BatchNormalization(s, w, w, w, w)""",
    "layer_norm": """
      m = ReduceMean <axes = [1]> (x)
      d = Sub(x, m)
      q = Mul(d, d)
      v = ReduceMean <axes = [1]> (q)
      one = Constant <value = float {1}> ()
      e = Add(v, one)
      r = Sqrt(e)
      f = Div(d, r)
      a = Mul(f, w)
      y = Add(a, w)""",
}


@pytest.mark.parametrize("becomes", MODELS)
def test_what_replaces_an_op_has_its_sizes(becomes: str) -> None:
    constants = "w = Constant <value = float[4] {1, 2, 0.5, 3}> ()"
    model = model_of(
        f"g (float[n, c] x) => (float[n, c] y, float[n, c] z) {{ {constants} {MODELS[becomes]} z = Relu(y) }}"
    )
    with Guards().collecting() as guards:
        module, ctx = imported(model, ranges=Ranges(dims={"n": (1, 3, 5), "c": (1, 4, 6)}))
        run_phases(ctx, module, phases()[:2])
    assert "c - 4 == 0" in map(str, guards.noted.values())
    assert set(becomes.split()) <= set(kinds(module))
    settle(module)
    x = numbers(3, 4)
    found = interpret(module, {"x": x}, ctx.blobs)
    for got, wanted in zip(found.values(), reference(model, {"x": x}), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_a_constant_that_is_repeated_so_often_as_is_known_at_run_time_is_none() -> None:
    """There is no array of it: counts of n-grams, some of which are always 0, as bytes whose signs are flipped."""
    x = np.array([[0, 1, 1, 2, 0], [1, 0, 2, 2, 1]])
    model = model_of("""
      g (int64[n, c] x) => (int8[n, k] y) {
        scale = Constant <value = float {0.125}> ()
        zero = Constant <value = int8 {100}> ()
        t = TfIdfVectorizer <max_gram_length = 2, max_skip_count = 0, min_gram_length = 1, mode = "TF",
                             ngram_counts = [0, 3], ngram_indexes = [2, 1, 6, 5, 4],
                             pool_int64s = [0, 2, 1, 1, 0, 1, 1]> (x)
        y = QuantizeLinear (t, scale, zero)
      }""")
    ranges = Ranges(dims={"n": (1, 2, 24), "c": (4, 5, 9)})
    with Guards().collecting():
        module, ctx = imported(model, ranges=ranges)
        run_phases(ctx, module, phases()[:2])
    settle(module)
    (found,) = interpret(module, {"x": x}, ctx.blobs).values()
    np.testing.assert_array_equal(found, reference(model, {"x": x})[0])
