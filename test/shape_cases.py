"""Models with dimensions of several sizes, at some of which they are tried; on any device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from models.build import ModelBuilder
from onnx import ModelProto, helper

Build = Callable[[ModelBuilder], Sequence[str]]
Span = tuple[int, int, int]


@dataclass(frozen=True)
class Case:
    """A model, the sizes that its dimensions may have, those that it is tried at, and how often it may be compiled."""

    build: Build
    dims: Mapping[str, Span]
    at: Sequence[Sequence[int]]
    compiles: int = 1

    @property
    def sizes(self) -> list[dict[str, int]]:
        """Sizes by name, to try."""
        return [dict(zip(self.dims, sizes, strict=True)) for sizes in self.at]


def model_of(build: Build) -> ModelProto:
    """The model that a function of this file builds."""
    builder = ModelBuilder(build.__name__)
    return builder.model(build(builder))


def sizes_of(b: ModelBuilder, value: str, start: int, end: int) -> str:
    """Some sizes of a value, as a vector."""
    return b.node("Slice", b.node("Shape", value), b.ints(start), b.ints(end))


def dense(b: ModelBuilder) -> Sequence[str]:
    x = b.node("Gemm", b.input("x", ["n", 12]), b.weight(12, 20), b.weight(20))
    x = b.node("LayerNormalization", x, b.uniform(0.8, 1.2, 20), b.uniform(0, 1, 20))
    return [b.node("Softmax", b.node("Gemm", x, b.weight(20, 7), b.weight(7)))]


def skip(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", [1, 3, "h", "w"])
    y = b.node("Relu", b.node("Conv", x, b.weight(8, 3, 3, 3), b.weight(8), pads=[1, 1, 1, 1]))
    z = b.node("MaxPool", y, kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1])
    z = b.node("Conv", b.node("Concat", y, z, axis=1), b.weight(4, 16, 1, 1))
    return [b.node("AveragePool", z, kernel_shape=[2, 2], strides=[2, 2])]


def attention(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", ["n", "t", 12])
    heads = [
        b.node("Transpose", b.node("Reshape", b.node("MatMul", x, b.weight(12, 12)), b.ints(0, 0, 3, 4)), perm=order)
        for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
    ]
    scores = b.node("Softmax", b.node("Mul", b.node("MatMul", heads[0], heads[1]), b.number(0.5)))
    y = b.node("Transpose", b.node("MatMul", scores, heads[2]), perm=[0, 2, 1, 3])
    return [b.node("Reshape", y, b.node("Concat", sizes_of(b, x, 0, 2), b.ints(-1), axis=0))]


def encoder(b: ModelBuilder) -> Sequence[str]:
    """A layer of a transformer: attention over the tokens, normalised sums, gelu."""
    x = b.input("x", ["batch", "tokens", 32])
    heads = [
        b.node("Transpose", b.node("Reshape", b.node("MatMul", x, b.weight(32, 32)), b.ints(0, 0, 4, 8)), perm=order)
        for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
    ]
    scores = b.node("Softmax", b.node("Mul", b.node("MatMul", heads[0], heads[1]), b.number(0.35)))
    y = b.node("Transpose", b.node("MatMul", scores, heads[2]), perm=[0, 2, 1, 3])
    y = b.node("Add", x, b.node("MatMul", b.node("Reshape", y, b.ints(0, 0, 32)), b.weight(32, 32)))
    y = b.node("LayerNormalization", y, b.uniform(0.8, 1.2, 32), b.uniform(0, 1, 32))
    z = b.node("MatMul", b.node("Gelu", b.node("MatMul", y, b.weight(32, 64))), b.weight(64, 32))
    return [b.node("LayerNormalization", b.node("Add", y, z), b.uniform(0.8, 1.2, 32), b.uniform(0, 1, 32))]


def pictures(b: ModelBuilder) -> Sequence[str]:
    """A convolutional network for a batch: strided, grouped and pointwise filters, a pool, a classifier."""
    x = b.input("x", ["batch", 3, 12, 12])
    y = b.node("Relu", b.node("Conv", x, b.weight(16, 3, 3, 3), b.weight(16), pads=[1] * 4, strides=[2, 2]))
    z = b.node("Add", y, b.node("Conv", y, b.weight(16, 1, 3, 3), pads=[1] * 4, group=16))
    z = b.node("MaxPool", b.node("Conv", z, b.weight(24, 16, 1, 1)), kernel_shape=[2, 2], strides=[2, 2])
    z = b.node("Gemm", b.node("Flatten", b.node("GlobalAveragePool", z)), b.weight(24, 10), b.weight(10))
    return [b.node("Softmax", z)]


def flattened(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", ["n", 3, 4])
    first = b.node("Gather", b.node("Shape", x), b.constant(np.array(0)), axis=0)
    return [b.node("Reshape", x, b.node("Concat", b.node("Unsqueeze", first, b.ints(0)), b.ints(-1), axis=0))]


def last_row(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", ["n", 4])
    rows = b.node("Gather", b.node("Shape", x), b.constant(np.array(0)), axis=0)
    return [b.node("Gather", x, b.node("Sub", rows, b.constant(np.array(1))), axis=0)]


def causal(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", ["n", "n"])
    rows = b.node("Gather", b.node("Shape", x), b.constant(np.array(0)), axis=0)
    along = b.node("Range", b.constant(np.array(0)), rows, b.constant(np.array(1)))
    keep = b.node("LessOrEqual", b.node("Unsqueeze", along, b.ints(0)), b.node("Unsqueeze", along, b.ints(1)))
    return [b.node("Where", keep, x, b.number(-5.0))]


def expanded(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", ["n", 3])
    filled = b.node("ConstantOfShape", b.node("Shape", x), value=helper.make_tensor("v", 1, [1], [2.5]))
    return [b.node("Mul", b.node("Expand", b.weight(1, 3), b.node("Shape", x)), b.node("Add", x, filled))]


def enlarged(b: ModelBuilder) -> Sequence[str]:
    x, twice = b.input("x", [1, 3, "h", "w"]), b.constant(np.array([1, 1, 2, 2], np.float32))
    floor = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return [b.node("Resize", x, "", twice, mode="nearest", **floor), b.node("Resize", x, "", twice, mode="linear")]


def filtered(b: ModelBuilder) -> Sequence[str]:
    return [b.node("Conv", b.input("x", [1, 2, 5, 3]), b.input("w", ["n", 1, 3, 3]), group=2)]


def reduced(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", ["n", 5])
    return [b.node("ReduceMean", x, b.ints(0)), b.node("ReduceMax", x, b.ints(0), keepdims=0), b.node("ReduceMean", x)]


def by_root(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", ["n", 6])
    rows = b.node("Gather", b.node("Shape", x), b.constant(np.array(0)), axis=0)
    return [b.node("Div", x, b.node("Sqrt", b.node("Cast", rows, to=1)))]


def sums(b: ModelBuilder) -> Sequence[str]:
    return [b.node("Add", b.input("x", ["n", 6]), b.input("y", ["m", 6]))]


def scaled_by_floats(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", [1, 2, "n", "n"])
    size = b.node("Floor", b.node("Mul", b.node("Cast", sizes_of(b, x, 2, 4), to=1), b.number(2.0)))
    wanted = b.node("Concat", b.ints(1, 2), b.node("Cast", size, to=7), axis=0)
    floor = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return [b.node("Resize", x, "", "", wanted, mode="nearest", **floor)]


def joined(b: ModelBuilder) -> Sequence[str]:
    x, y = b.input("x", ["n", 6]), b.input("y", ["m", 6])
    return [b.node("Relu", b.node("Concat", x, y, x, axis=0))]


def normalised(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", [1, 3, "h", "w"])
    y = b.node("InstanceNormalization", x, b.weight(3), b.weight(3))
    return [y, b.node("Flatten", b.node("GlobalAveragePool", y))]


def pooled(b: ModelBuilder) -> Sequence[str]:
    """The convolution's result at best is larger than a cache, so that the pool reads it a band at a time."""
    x = b.node("Conv", b.input("x", [1, 3, "h", "w"]), b.weight(64, 3, 7, 7), pads=[3] * 4, strides=[2, 2])
    y = b.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    return [b.node("GlobalAveragePool", b.node("Relu", y))]


def sampled(b: ModelBuilder) -> Sequence[str]:
    return [b.node("GridSample", b.input("x", [1, 3, "h", "w"]), b.input("grid", [1, 5, "h", 2]))]


def cropped(b: ModelBuilder) -> Sequence[str]:
    return [b.node("CenterCropPad", b.input("x", [3, "h", "w"]), b.ints(8, 8), axes=[1, 2])]


def mirrored(b: ModelBuilder) -> Sequence[str]:
    x = b.node("Tanh", b.input("x", ["n", 3]))
    return [b.node("Pad", x, b.ints(1, 0, 1, 1), mode="reflect"), b.node("Pad", x, b.ints(2, 1, 0, 0), mode="edge")]


def widened(b: ModelBuilder) -> Sequence[str]:
    """To sizes that are numbers, and from 1 to a size; parts of which there are as many as elements."""
    x = b.input("x", ["n", 1])
    parts = b.node("SplitToSequence", x, axis=0)
    last = b.node("SequenceAt", parts, b.constant(np.array(-1)))
    shape = b.node("Concat", b.ints(5), b.node("Shape", x), axis=0)
    return [b.node("Expand", x, b.ints(4, 3)), last, b.node("Expand", b.weight(5, 1, 1), shape)]


def fitted(b: ModelBuilder) -> Sequence[str]:
    """Sizes that weights have, too."""
    x = b.input("x", [2, "c", "w"])
    normed = b.node("InstanceNormalization", x, b.weight(4), b.weight(4))
    filtered = b.node("Conv", normed, b.weight(3, 4, 3))
    parts = b.nodes("Split", 2, x, b.ints(1, 3), axis=1)
    return [filtered, *parts, b.node("Reshape", x, b.ints(2, 2, 2, 6))]


def strided(b: ModelBuilder) -> Sequence[str]:
    """Results channels first, which are turned in tiles of pixels and channels, with others left over at each shape."""
    x = b.input("x", ["n", 8, "h", "w"])
    y = b.node("Conv", x, b.weight(20, 8, 1, 1), strides=[2, 2])
    return [y, b.node("Conv", x, b.weight(9, 8, 3, 3), pads=[1] * 4)]


def halved(b: ModelBuilder) -> Sequence[str]:
    """Half as many columns, rounded down, which must be eight."""
    scales = b.constant(np.array([1, 0.5], np.float32))
    return [b.node("MatMul", b.node("Resize", b.input("x", [3, "w"]), "", scales, mode="linear"), b.weight(8, 3))]


ROWS: dict[str, Span] = {"n": (1, 4, 16)}
PICTURES: dict[str, Span] = {"h": (4, 8, 32), "w": (4, 8, 32)}
SOME_ROWS = [[4], [1], [2], [7], [16]]
SOME_PICTURES = [[8, 8], [4, 6], [32, 16], [31, 32]]

# How often each may be compiled is what it takes today: where one turns out to take less, say so here.
CASES = [
    Case(dense, ROWS, SOME_ROWS),
    Case(skip, PICTURES, SOME_PICTURES, 2),
    Case(attention, {"n": (1, 2, 4), "t": (1, 5, 20)}, [[2, 5], [1, 1], [4, 20], [3, 7]]),
    Case(flattened, ROWS, SOME_ROWS),
    Case(last_row, ROWS, SOME_ROWS),
    Case(causal, ROWS, SOME_ROWS),
    Case(expanded, ROWS, SOME_ROWS, 2),
    Case(enlarged, PICTURES, SOME_PICTURES, 2),
    Case(filtered, {"n": (2, 6, 32)}, [[6], [2], [4], [30]], 2),
    Case(reduced, ROWS, SOME_ROWS),
    Case(by_root, ROWS, SOME_ROWS),
    Case(sums, {"n": (1, 2, 8), "m": (1, 1, 8)}, [[2, 1], [8, 1], [1, 1], [3, 3], [1, 5]], 3),
    Case(scaled_by_floats, {"n": (1, 2, 8)}, [[2], [1], [3]], 3),
    Case(joined, {"n": (1, 2, 8), "m": (1, 3, 9)}, [[2, 3], [1, 9], [8, 1]]),
    Case(normalised, PICTURES, SOME_PICTURES),
    Case(sampled, PICTURES, SOME_PICTURES, 4),
    Case(cropped, PICTURES, SOME_PICTURES, 4),
    Case(mirrored, ROWS, [[4], [1], [7]], 2),
    Case(widened, {"n": (1, 4, 4)}, [[4], [1]], 2),
    Case(fitted, {"c": (1, 4, 8), "w": (3, 6, 9)}, [[4, 6]]),
    Case(fitted, {"c": (4, 4, 4), "w": (6, 6, 6)}, [[4, 6]]),
    Case(strided, {"n": (1, 1, 3), **PICTURES}, [[1, 8, 8], [3, 5, 7], [1, 4, 4], [2, 32, 31]]),
    Case(halved, {"w": (16, 16, 17)}, [[16], [17]], 2),
    Case(halved, {"w": (1, 16, 64)}, [[16], [17]], 2),
    Case(pooled, {"h": (32, 192, 192), "w": (32, 192, 192)}, [[192, 192], [64, 96], [32, 32]]),
]
