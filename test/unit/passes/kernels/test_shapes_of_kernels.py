"""Each family of kernels at many shapes, by one compile: what is left over and short rows are told at run time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from import_cases import reference
from models.build import ModelBuilder, example_inputs
from onnx import ModelProto

import mini_infer as mi
from mini_infer.runtime.native import cpu_targets
from mini_infer.runtime.shapes.dynamic_engine import DynamicEngine

Build = Callable[[ModelBuilder], Sequence[str]]
Span = tuple[int, int, int]

PICTURES: dict[str, Span] = {"n": (1, 1, 3), "h": (3, 11, 24), "w": (3, 11, 24)}
SOME_PICTURES = [[1, 11, 11], [2, 3, 3], [1, 4, 24], [3, 7, 8], [1, 8, 17], [1, 16, 9], [1, 5, 14], [1, 24, 23]]
SEQUENCES: dict[str, Span] = {"t": (1, 5, 13), "n": (1, 6, 9)}
SOME_SEQUENCES = [[5, 6], [1, 1], [13, 9], [6, 5], [7, 3], [2, 8]]
TABLES: dict[str, Span] = {"a": (1, 4, 18), "b": (4, 9, 34)}
SOME_TABLES = [[4, 9], [1, 4], [18, 34], [3, 8], [9, 17], [2, 32]]


def compiled(model: ModelProto, dims: Mapping[str, Span], *, threads: int = 1, **options: Any) -> DynamicEngine:
    profile = mi.OptimizationProfile(dims=dims)
    return cast("DynamicEngine", mi.compile(model, threads, profile=profile, compile_threads=1, **options))


def depthwise(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", ["n", 12, "h", "w"])
    x = b.node("Relu", b.node("Conv", x, b.weight(12, 1, 3, 3), b.weight(12), group=12, pads=[1, 1, 1, 1]))
    return [b.node("Conv", x, b.weight(24, 1, 5, 5), group=12, pads=[2, 2, 2, 2], strides=[2, 2])]


def excited(b: ModelBuilder) -> Sequence[str]:
    """The means of pictures are made of those of their rows, which come with a depthwise convolution."""
    x = b.input("x", ["n", 12, "h", "w"])
    x = b.node("Relu", b.node("Conv", x, b.weight(12, 1, 3, 3), b.weight(12), group=12, pads=[1, 1, 1, 1]))
    return [b.node("Mul", x, b.node("Sigmoid", b.node("GlobalAveragePool", x)))]


def expanded(b: ModelBuilder) -> Sequence[str]:
    """Beside a second-level cache of up to 2 MB the expanded pictures are large, so all three are one kernel."""
    x = b.node("Relu", b.node("Conv", b.input("x", ["n", 4, 88, 88]), b.weight(40, 4, 1, 1)))
    x = b.node("Relu", b.node("Conv", x, b.weight(40, 1, 3, 3), group=40, strides=[2, 2], pads=[1, 1, 1, 1]))
    return [b.node("Conv", x, b.weight(8, 40, 1, 1), b.weight(8))]


def strided(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", ["n", 3, "h", "w"])
    return [b.node("Conv", x, b.weight(12, 3, 3, 3), b.weight(12), strides=[2, 2], pads=[1, 1, 1, 1])]


def dilated(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", ["n", 8, "h", "w"])
    y = b.node("Conv", x, b.weight(8, 1, 3, 3), group=8, pads=[2, 2, 2, 2], dilations=[2, 2])
    return [b.node("Conv", y, b.weight(8, 1, 3, 3), group=8, strides=[2, 2])]


def lstm(b: ModelBuilder) -> Sequence[str]:
    x, weights = b.input("x", ["t", "n", 5]), (b.weight(1, 36, 5), b.weight(1, 36, 9), b.weight(1, 72))
    return b.nodes("LSTM", 3, x, *weights, hidden_size=9)


def gru(b: ModelBuilder) -> Sequence[str]:
    x, weights = b.input("x", ["t", "n", 5]), (b.weight(2, 27, 5), b.weight(2, 27, 9), b.weight(2, 54))
    return b.nodes("GRU", 2, x, *weights, hidden_size=9, direction="bidirectional", linear_before_reset=1)


def scattered(b: ModelBuilder) -> Sequence[str]:
    x, at = b.input("x", ["a", "b"]), b.constant(np.array([[0, 3], [0, 1]]))
    return [b.node("ScatterND", x, at, b.weight(2), reduction="add"), b.node("GatherND", x, at)]


def best(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", ["b", "a"])
    values, places = b.nodes("TopK", 2, x, b.ints(4), axis=0, largest=0)
    return [values, b.node("GatherElements", x, places, axis=0)]


def running(b: ModelBuilder) -> Sequence[str]:
    return [b.node("CumSum", b.input("x", ["a", "b"]), b.constant(np.array(1)), exclusive=1)]


def across_channels(b: ModelBuilder) -> Sequence[str]:
    # As many pictures as channels: the reference takes the one for the other.
    return [b.node("LRN", b.node("Conv", b.input("x", [11, 3, "h", "w"]), b.weight(11, 3, 1, 1)), size=5)]


def turned(b: ModelBuilder) -> Sequence[str]:
    return [b.node("Transpose", b.input("x", ["a", "b", 5]), perm=[2, 0, 1])]


def moved(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", ["n", 8, "h", "w"])
    return [b.node("DepthToSpace", x, blocksize=2), b.node("Pad", x, b.ints(0, 0, 1, 2, 0, 0, 0, 1), mode="reflect")]


def products(b: ModelBuilder) -> Sequence[str]:
    """Of two inputs: how many columns the last panel has is told at run time."""
    x, y = b.input("x", ["n", "a", 6]), b.input("y", ["n", 6, "b"])
    z = b.node("Relu", b.node("MatMul", x, y))
    return [z, b.node("MatMul", z, b.node("Transpose", z, perm=[0, 2, 1]))]


def gated(b: ModelBuilder) -> Sequence[str]:
    """Halves of one product, of as many rows as will be seen."""
    x = b.input("x", ["a", 7])
    gate, up = b.node("MatMul", x, b.weight(7, 21)), b.node("MatMul", x, b.weight(7, 21))
    return [b.node("Mul", b.node("Sigmoid", gate), up)]


def along_rows(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", ["a", "b"])
    return [b.node("Softmax", x), b.node("ReduceSum", x, b.ints(1)), b.node("Softmax", x, axis=0)]


def of_pictures(b: ModelBuilder) -> Sequence[str]:
    x = b.input("x", ["n", 3, "h", "w"])
    return [b.node("GlobalAveragePool", x), b.node("InstanceNormalization", x, b.weight(3), b.weight(3))]


CASES: list[tuple[Build, dict[str, Span], list[list[int]]]] = [
    (depthwise, PICTURES, SOME_PICTURES),
    (excited, PICTURES, SOME_PICTURES),
    (
        dilated,
        PICTURES | {"h": (5, 11, 24), "w": (5, 11, 24)},
        [[n, max(h, 5), max(w, 5)] for n, h, w in SOME_PICTURES],
    ),
    (expanded, {"n": (1, 2, 4)}, [[2], [1], [4]]),
    (lstm, SEQUENCES, SOME_SEQUENCES),
    (gru, SEQUENCES, SOME_SEQUENCES),
    (scattered, TABLES, SOME_TABLES),
    (best, TABLES, SOME_TABLES),
    (running, TABLES, SOME_TABLES),
    (across_channels, {"h": (3, 8, 24), "w": (3, 8, 24)}, [[8, 8], [3, 3], [4, 24], [7, 8]]),
    (turned, TABLES, SOME_TABLES),
    (
        products,
        {"n": (1, 2, 3), "a": (1, 5, 40), "b": (1, 9, 40)},
        [[2, 5, 9], [1, 1, 1], [3, 40, 8], [2, 17, 33], [1, 1, 40]],
    ),
    (gated, {"a": (1, 5, 40)}, [[5], [1], [40], [2], [33]]),
    (along_rows, {"a": (1, 5, 30), "b": (1, 33, 70)}, [[5, 33], [1, 1], [30, 70], [7, 64], [8, 65], [3, 8]]),
    (moved, PICTURES, SOME_PICTURES[:5]),
    (of_pictures, PICTURES, SOME_PICTURES[:5]),
]


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("build", "dims", "at"), CASES, ids=[build.__name__ for build, _, _ in CASES])
def test_one_compile_for_all_shapes(build: Build, dims: Mapping[str, Span], at: Sequence[Sequence[int]]) -> None:
    builder = ModelBuilder(build.__name__)
    model = builder.model(build(builder))
    engine = compiled(model, dims)
    assert any("reduce_mean" in call.kernel and "conv" in call.kernel for call in engine.plan.calls) == (
        build is excited
    )
    for sizes in at:
        inputs = example_inputs(model, 1, **dict(zip(dims, sizes, strict=True)))
        for found, wanted in zip(engine(inputs).values(), reference(model, inputs), strict=True):
            assert found.shape == wanted.shape, sizes
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5, err_msg=str(sizes))
    assert engine.compiles == 1


L2 = 40 << 10  # bytes: small, so that small pictures are large


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("threads", "bits"), [(1, 512), (3, 128)])
@pytest.mark.parametrize(
    ("first", "window", "project"),
    [
        ({"kernel": 1}, {"kernel": (3, 3), "pads": [1, 1, 1, 1]}, 16),
        ({"kernel": 1}, {"kernel": (3, 3), "pads": [1, 1, 1, 1], "strides": [2, 2]}, 16),
        ({"kernel": 3, "pads": [1, 1, 1, 1]}, {"kernel": (5, 5), "pads": [2, 2, 2, 2]}, 0),
        ({"kernel": 1}, {"kernel": (3, 3), "pads": [2, 2, 2, 2], "dilations": [2, 2]}, 16),
        ({"kernel": 1}, {"kernel": (3, 1), "pads": [0, 0, 1, 0], "strides": [3, 1]}, 16),
        ({"kernel": 1}, {"kernel": (1, 3), "pads": [0, 1, 0, 1]}, 16),
    ],
)
def test_bands_of_pictures_of_any_size(
    first: Mapping[str, Any],
    window: Mapping[str, Any],
    project: int,
    threads: int,
    bits: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A convolution, a depthwise one and a pointwise one, as many rows at a time as fit the cache at opt."""
    small = replace(cpu_targets.host_target(), l2_bytes=L2)
    monkeypatch.setattr(cpu_targets, "host_target", lambda: small)
    b = ModelBuilder("bands")
    x, channels = b.input("x", [1, 2, "h", "w"]), 24 if first["kernel"] == 3 else 40

    def conv(x: str, filters: int, channels: int, kernel: tuple[int, ...], **window: Any) -> str:
        y = b.node("Conv", x, b.weight(filters, channels, *kernel), b.weight(filters), **window)
        return b.node("Clip", y, b.constant(np.zeros((), np.float32)), b.constant(np.full((), 6, np.float32)))

    def without(window: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in window.items() if name != "kernel"}

    y = conv(x, channels, 2, (first["kernel"], first["kernel"]), **without(first))
    y = conv(y, channels, 1, window["kernel"], group=channels, **without(window))
    model = b.model([conv(y, project, channels, (1, 1)) if project else y])
    dims: dict[str, Span] = {"h": (5, 46, 60), "w": (5, 12, 50)}
    engine = compiled(model, dims, threads=threads, vector_bits=bits)
    assert [call.kernel for call in engine.plan.calls if call.kernel.startswith("conv")] == ["conv_clip_0"]
    for h, w in ((46, 12), (5, 5), (60, 50), (6, 50), (59, 7), (33, 31), (47, 19)):
        inputs = example_inputs(model, 1, h=h, w=w)
        (found,), (wanted,) = engine(inputs).values(), reference(model, inputs)
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5, err_msg=str((h, w)))
        if h == 46:
            alone = mi.compile(model, threads, vector_bits=bits, dims={"h": h, "w": w}, compile_threads=1)
            np.testing.assert_array_equal(found, *alone(inputs).values())
    assert engine.compiles == 1


@pytest.mark.thinned(2)
@pytest.mark.parametrize("auto_pad", ["SAME_LOWER", "SAME_UPPER"])
def test_pads_that_hang_on_the_length_of_rows(auto_pad: str) -> None:
    """With strides of 2, kernels of 2 and 3 columns: one compile where an even and an odd length have the same pads."""
    b = ModelBuilder("pads")
    x = b.input("x", [1, 9, 3, "w"])
    columns = [b.node("Conv", x, b.weight(2, 9, 3, size), auto_pad=auto_pad, strides=[2, 2]) for size in (2, 3)]
    model = b.model(columns)
    engine = compiled(model, {"w": (1, 3, 64)})
    for width in (3, 1, 2, 4, 27, 28, 29, 30, 63, 64):
        inputs = example_inputs(model, 1, w=width)
        for found, wanted in zip(engine(inputs).values(), reference(model, inputs), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5, err_msg=str(width))
    assert engine.compiles <= 3


@pytest.mark.parametrize("least", [1, 2, 150])
def test_products_of_any_number_of_rows(least: int) -> None:
    """Rows are cut into nearly equal tiles when the model runs; whole numbers give the same sums in any order."""
    b = ModelBuilder("rows")
    weight = np.arange(-20, 22, dtype=np.float32).reshape(2, 21)
    y = b.node("MatMul", b.input("x", ["n", 2]), b.constant(weight))
    most = 230
    engine = compiled(b.model([y]), {"n": (least, least + 30, most)})
    x = np.arange(-most, most, dtype=np.float32).reshape(most, 2)
    for rows in range(least, most + 1):
        np.testing.assert_array_equal(engine(x[:rows]), x[:rows] @ weight)
    assert engine.compiles <= 2  # a single row is other code
