"""Small models whose dimensions n and m have names: one of each kind of operator that shapes of run time go through."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from onnx import ModelProto
from xdsl.dialects.builtin import ModuleOp

import mini_infer as mi
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.runtime.compile.module_to_plan import plan_memory
from mini_infer.runtime.compile.source import source_of
from mini_infer.runtime.config import EngineConfig

from .builder import ModelBuilder, open_dimensions

Build = Callable[[ModelBuilder], Sequence[str]]


def elementwise(b: ModelBuilder) -> Sequence[str]:
    x, y = b.input("x", ["n", 6]), b.input("y", ["n", 1])
    return [b.node("Sigmoid", b.node("Mul", b.node("Add", x, y), b.weight(6)))]


def matmul(b: ModelBuilder) -> Sequence[str]:
    x = b.node("Gemm", b.input("x", ["n", 12]), b.weight(12, 20), b.weight(20))
    return [b.node("MatMul", b.node("Relu", x), b.weight(20, 7))]


def products_of_values(b: ModelBuilder) -> Sequence[str]:
    return [b.node("MatMul", b.input("x", [2, "n", 8]), b.input("y", [2, 8, "m"]))]


def convolutions(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", [1, 3, "n", "m"])
    y = b.node("Relu", b.node("Conv", x, b.weight(8, 3, 3, 3), b.weight(8), pads=[1, 1, 1, 1]))
    return [b.node("Conv", y, b.weight(4, 8, 1, 1), b.weight(4))]


def pooling(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", [1, 3, "n", "m"])
    y = b.node("MaxPool", x, kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1])
    return [b.node("AveragePool", y, kernel_shape=[2, 2], strides=[2, 2]), b.node("GlobalAveragePool", y)]


def softmax(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", ["n", "m"])
    return [b.node("Softmax", x), b.node("Softmax", x, axis=0)]


def normalised(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", ["n", 3, "m"])
    y = b.node("LayerNormalization", b.node("Transpose", x, perm=[0, 2, 1]), b.uniform(0.8, 1.2, 3))
    return [y, b.node("InstanceNormalization", x, b.weight(3), b.weight(3))]


def attention(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", [2, "n", 12])
    heads = [
        b.node("Transpose", b.node("Reshape", b.node("MatMul", x, b.weight(12, 12)), b.ints(0, 0, 3, 4)), perm=order)
        for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
    ]
    scores = b.node("Softmax", b.node("Mul", b.node("MatMul", heads[0], heads[1]), b.number(0.5)))
    return [
        b.node("Reshape", b.node("Transpose", b.node("MatMul", scores, heads[2]), perm=[0, 2, 1, 3]), b.ints(0, 0, -1))
    ]


def moved(b: ModelBuilder) -> Sequence[str]:
    x, y = b.input("x", ["n", 6]), b.input("y", ["m", 6])
    z = b.node("Concat", x, y, x, axis=0)
    cut = b.node("Slice", z, b.ints(1), b.ints(-2), b.ints(0), b.ints(2))
    return [b.node("Transpose", z), cut, b.node("Slice", z, b.ints(-1), b.ints(-9), b.ints(0), b.ints(-3))]


def padded(b: ModelBuilder) -> Sequence[str]:
    return [b.node("Pad", b.input("x", ["n", "m"]), b.ints(1, 2, 0, 3))]


def reflected(b: ModelBuilder) -> Sequence[str]:
    return [b.node("Pad", b.input("x", ["n", "m"]), b.ints(1, 2, 1, 0), mode="reflect")]


def resized(b: ModelBuilder) -> Sequence[str]:
    x, twice = b.input("x", [1, 2, "n", "m"]), b.constant(np.array([1, 1, 2, 2], np.float32))
    floor = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return [b.node("Resize", x, "", twice, mode="nearest", **floor), b.node("Resize", x, "", twice, mode="linear")]


def gathered(b: ModelBuilder) -> Sequence[str]:
    x, at = b.input("x", ["n", 5]), b.input("at", ["m"], np.int64)
    return [
        b.node("Gather", x, at, axis=0),
        b.node("Gather", x, b.ints(1), axis=0),
        b.node("Gather", x, b.ints(-1), axis=0),
    ]


def reduced(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", ["n", 5, "m"])
    return [
        b.node("ReduceMean", x, b.ints(0)),
        b.node("ReduceMax", x, b.ints(1)),
        b.node("ReduceSum", x, b.ints(2)),
    ]


def reshaped(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", ["n", 4, "m"])
    flat = b.node("Exp", b.node("Reshape", x, b.ints(0, -1)))
    back = b.node("Reshape", flat, b.node("Shape", x))
    return [b.node("Transpose", back, perm=[2, 1, 0]), b.node("Flatten", x, axis=2)]


def shaped(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", ["n", "n"])
    rows = b.node("Gather", b.node("Shape", x), b.constant(np.array(0)), axis=0)
    along = b.node("Range", b.constant(np.array(0)), rows, b.constant(np.array(1)))
    keep = b.node("LessOrEqual", b.node("Unsqueeze", along, b.ints(0)), b.node("Unsqueeze", along, b.ints(1)))
    wide = b.node("Expand", b.weight(1, 1), b.node("Shape", x))
    return [b.node("Where", keep, x, wide), b.node("Div", x, b.node("Sqrt", b.node("Cast", rows, to=1)))]


DYNAMIC_MODELS: list[Build] = [
    elementwise,
    matmul,
    products_of_values,
    convolutions,
    pooling,
    softmax,
    normalised,
    attention,
    moved,
    padded,
    reflected,
    resized,
    gathered,
    reduced,
    reshaped,
    shaped,
]


def dynamic_model(build: Build) -> ModelProto:
    """The model that such a function builds."""
    builder = ModelBuilder(build.__name__)
    return builder.model(build(builder))


def planned(build: Build, spans: Mapping[str, tuple[int, int, int]]) -> tuple[ModuleOp, MiniContext, EngineConfig]:
    """The model on an arena, for sizes of n and m from, best and to."""
    model = dynamic_model(build)
    dims = {name: spans[name] for name in open_dimensions(model) if name in spans}
    config = EngineConfig.of(profile=mi.OptimizationProfile(dims=dims), threads=1)
    module, ctx = source_of(model).load(config)
    plan_memory(module, ctx, config)
    return module, ctx, config
