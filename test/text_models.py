"""Models in ONNX's text form, which shows graphs within graphs as they are."""

from __future__ import annotations

from functools import cache

import numpy as np
from onnx import ModelProto, numpy_helper, parser

from mini_infer.dialects.graph.values import Array

LOOPS = """
    g (float[8,16] x, int64 turns, bool on) => (float[8,16] y) {
      going = Constant <value = bool {1}> ()
      z = Relu(x)
      a = Loop(turns, going, z) <
        body = b (int64 i, bool before, float[8,16] c) => (bool still, float[8,16] d) {
          still = Identity(before)
          d = Softmax(c)
        }
      >
      y = If (on) <
        then_branch = t () => (float[8,16] e) { e = Exp(a) },
        else_branch = f () => (float[8,16] h) { h = Tanh(a) }
      >
    }"""
"""A relu, softmax in a loop, and one of two branches, each a kernel of its own."""


def model_of(text: str, opset: int = 17) -> ModelProto:
    """A model of which only the graph is given."""
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}')


def numbers(*shape: int, seed: int = 0) -> Array:
    """Normally distributed float32."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@cache
def pictures() -> ModelProto:
    """Convolutions of 64 x 64 pixels, whose transforms want scratch, then a mean."""
    model = model_of("""
        convolutions (float[1, 8, 64, 64] x) => (float[1, 64, 1, 1] y) {
            a = Conv <pads = [1, 1, 1, 1]> (x, w1)
            b = Relu (a)
            c = Conv <pads = [1, 1, 1, 1]> (b, w2)
            d = Relu (c)
            e = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (d, w2)
            f = Relu (e)
            g = Conv <pads = [1, 1, 1, 1]> (f, w2)
            y = GlobalAveragePool (g)
        }""")
    for number, (name, shape) in enumerate({"w1": (64, 8, 3, 3), "w2": (64, 64, 3, 3)}.items()):
        model.graph.initializer.append(numpy_helper.from_array(numbers(*shape, seed=number) * 0.05, name))
    return model
