"""Small models, compiled once, for tests of the engine and its contexts."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

import numpy as np
from everything_shared import everything_shared
from models.build import ModelBuilder, example_inputs
from onnx import ModelProto

import mini_infer as mi
from mini_infer.dialects.graph.values import Array


def perceptron() -> ModelProto:
    """x[4, 24] -> two matrix products with a relu between them: one input, one output, and an arena."""
    b = ModelBuilder("perceptron")
    x = b.input("x", [4, 24])
    x = b.node("Relu", b.node("Gemm", x, b.weight(24, 40), b.weight(40)))
    x = b.node("Tanh", b.node("Gemm", x, b.weight(40, 40), b.weight(40)))
    return b.model([b.node("Gemm", x, b.weight(40, 8), b.weight(8))])


def lookup() -> ModelProto:
    """Two inputs of different types, two outputs: rows of a table, scaled, and their sums."""
    b = ModelBuilder("lookup")
    ids, scale = b.input("ids", [5], np.int64), b.input("scale", [5, 1])
    rows = b.node("Mul", b.node("Gather", b.weight(8, 6), ids), scale)
    return b.model([rows, b.node("ReduceSum", rows, b.ints(1), keepdims=0)])


MODELS = {"perceptron": perceptron, "lookup": lookup}


@cache
def engine(name: str, **options: Any) -> mi.Engine:
    """A compiled model of MODELS, on one thread unless told otherwise, and then on those, little as its work is."""
    with everything_shared():
        return mi.compile(MODELS[name](), **cast("Any", {"threads": 1, **options}))


def inputs(name: str, seed: int = 0) -> dict[str, Array]:
    """Seeded inputs for a model of MODELS."""
    return example_inputs(MODELS[name](), seed)
