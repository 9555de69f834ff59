"""Matrix products, convolutions and pools mean what ONNX says, in both layouts."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from graph_cases import Build, check, onnx_results, random, run, values_of
from numpy.testing import assert_array_equal
from xdsl.dialects.builtin import i8

from mini_infer.dialects.graph.base import GraphOp
from mini_infer.dialects.graph.ops.block_weight import BlockWeightOp
from mini_infer.dialects.graph.ops.contraction import ConvOp, ConvTransposeOp, MatmulOp, rounded_by_blocks
from mini_infer.dialects.graph.ops.windows import AvgPoolOp, LrnOp, MaxPoolOp
from mini_infer.dialects.graph.values import Array


@pytest.mark.parametrize(
    ("a", "b"),
    [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (6, 4, 5)), ((1, 4), (4, 1)), ((0, 4), (4, 5))],
    ids=["plain", "shared right side", "batches broadcast", "dot", "empty"],
)
def test_matmul(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    check(MatmulOp, [random(*a, seed=1), random(*b, seed=2)], "MatMul")


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_matmul_of_transposed_operands(transpose_a: bool, transpose_b: bool) -> None:
    a, b = random(2, 3, 4, seed=1), random(2, 4, 5, seed=2)
    stored = [np.swapaxes(a, 1, 2) if transpose_a else a, np.swapaxes(b, 1, 2) if transpose_b else b]
    check(
        partial(MatmulOp, transpose_a=transpose_a, transpose_b=transpose_b),
        stored,
        "MatMul",
        inputs=[a, b],
    )


def test_matmul_of_integers_wraps() -> None:
    a = np.full((1, 3), 30000, np.int16)
    assert run(MatmulOp, a, np.ones((3, 1), np.int16))[0].tolist() == [[90000 - 2**16]]


def test_rounding_of_the_left_operand() -> None:
    """Ties to even, a scale per block of the block weight; other right operands leave the left one as it is."""
    x = np.array([[127, 2.5, -254, 3], [1e-45, 0, 0, -127]], np.float32)
    weight, numbers, scale = np.eye(4, dtype=np.float32), np.zeros((4, 4), np.uint8), np.ones((4, 2), np.float32)
    row, *blocks = values_of([x, numbers, scale])
    op = MatmulOp(row, BlockWeightOp(*blocks, bits=8, block=2, depth=4), transpose_b=True, lhs_as=i8)
    assert_array_equal(op.evaluate(x, weight)[0], [[127, 2, -254, 4], [0, 0, 0, -127]])
    assert_array_equal(run(partial(MatmulOp, transpose_b=True, lhs_as=i8), x, weight)[0], x)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rounding_keeps_what_is_no_number(bad: float) -> None:
    x = np.array([1, bad, 3, 4], np.float32)
    assert np.isnan(rounded_by_blocks(x, 2)[:2]).all()
    assert_array_equal(rounded_by_blocks(x, 2)[2:], rounded_by_blocks(x[2:], 2))


CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "1d": ((2, 3, 9), (4, 3, 3), {}),
    "1d strided": ((1, 2, 10), (4, 2, 3), {"strides": [2], "pads": [1, 0]}),
    "2d": ((2, 3, 7, 8), (4, 3, 3, 3), {"pads": [1, 1, 1, 1]}),
    "2d pointwise": ((1, 3, 4, 4), (5, 3, 1, 1), {}),
    "2d strided": ((1, 3, 9, 8), (4, 3, 3, 2), {"strides": [2, 3], "pads": [0, 1, 2, 1]}),
    "2d dilated": ((1, 2, 9, 9), (3, 2, 3, 3), {"dilations": [2, 3], "pads": [2, 3, 2, 3]}),
    "2d grouped": ((2, 4, 6, 6), (6, 2, 3, 3), {"group": 2}),
    "2d depthwise": ((1, 4, 6, 6), (8, 1, 3, 3), {"group": 4, "pads": [1, 1, 1, 1]}),
    "2d line": ((1, 2, 5, 9), (2, 2, 1, 7), {"pads": [0, 3, 0, 3]}),
    "3d": ((1, 2, 5, 6, 7), (3, 2, 2, 3, 2), {"strides": [1, 2, 1]}),
}


def ours(attributes: dict[str, Any]) -> dict[str, Any]:
    """ONNX's attributes under the names of the graph dialect."""
    names = {"group": "groups", "kernel_shape": "kernel"}
    return {names.get(name, name): value for name, value in attributes.items()}


def check_layouts(build: Build, x: Array, *others: Array, op_type: str, attributes: dict[str, Any]) -> None:
    """`build` takes a `layout`; both layouts must give what ONNX gives."""

    def channels_first(*values: Any) -> GraphOp:
        return build(*values, layout="NCHW")

    def channels_last(*values: Any) -> GraphOp:
        return build(*values, layout="NHWC")

    check(channels_first, [x, *others], op_type, attributes)
    (expected,) = onnx_results(op_type, [x, *others], attributes)
    (result,) = run(channels_last, np.ascontiguousarray(np.moveaxis(x, 1, -1)), *others)
    np.testing.assert_allclose(np.moveaxis(result, -1, 1), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_conv(name: str) -> None:
    x, weight, attributes = CONVOLUTIONS[name]
    arrays = [random(*x, seed=1), random(*weight, seed=2), random(weight[0], seed=3)]

    def build(*values: Any, layout: str) -> GraphOp:
        return ConvOp(*values, **ours(attributes), layout=layout)

    check_layouts(build, *arrays, op_type="Conv", attributes=attributes)
    check_layouts(build, *arrays[:2], op_type="Conv", attributes=attributes)


TRANSPOSED: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "1d": ((1, 2, 5), (2, 3, 3), {"strides": [2]}),
    "2d": ((2, 3, 4, 5), (3, 2, 3, 3), {}),
    "2d strided": ((1, 2, 4, 3), (2, 3, 3, 2), {"strides": [2, 3], "pads": [1, 0, 0, 1]}),
    "2d output padding": ((1, 2, 3, 3), (2, 2, 3, 3), {"strides": [3, 2], "output_padding": [1, 1]}),
    "2d dilated": ((1, 1, 3, 3), (1, 1, 2, 2), {"dilations": [2, 2]}),
    "3d": ((1, 1, 3, 4, 5), (1, 2, 3, 3, 3), {}),
}


@pytest.mark.parametrize("name", TRANSPOSED)
def test_conv_transpose(name: str) -> None:
    x, weight, attributes = TRANSPOSED[name]
    outputs = weight[1] * attributes.get("group", 1)
    arrays = [random(*x, seed=1), random(*weight, seed=2), random(outputs, seed=3)]

    def build(*values: Any, layout: str) -> GraphOp:
        return ConvTransposeOp(*values, **ours(attributes), layout=layout)

    check_layouts(build, *arrays, op_type="ConvTranspose", attributes=attributes)


def test_grouped_conv_transpose_is_one_for_each_group() -> None:
    x, weight = random(2, 4, 3, 3, seed=1), random(4, 3, 2, 2, seed=2)
    halves = [
        run(partial(ConvTransposeOp, strides=(2, 1)), x[:, part], weight[part])[0]
        for part in (slice(0, 2), slice(2, 4))
    ]
    (whole,) = run(partial(ConvTransposeOp, strides=(2, 1), groups=2), x, weight)
    np.testing.assert_allclose(whole, np.concatenate(halves, 1), rtol=1e-6)


POOLS: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "1d": ((1, 2, 9), {"kernel_shape": [2]}),
    "2d": ((2, 3, 7, 7), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "2d uneven": ((1, 2, 6, 7), {"kernel_shape": [2, 3], "strides": [1, 2], "pads": [0, 1, 1, 2]}),
    "2d ceil": ((1, 1, 6, 5), {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": True}),
    "2d ceil padded": (
        (1, 1, 6, 6),
        {"kernel_shape": [2, 2], "strides": [3, 3], "pads": [1, 1, 1, 1], "ceil_mode": True},
    ),
    "2d ceil, a last window would start in the padding": (
        (1, 1, 5, 8),
        {"kernel_shape": [2, 2], "strides": [3, 3], "pads": [1, 1, 1, 1], "ceil_mode": True},
    ),
    "2d dilated": ((1, 1, 8, 8), {"kernel_shape": [2, 2], "dilations": [3, 2]}),
    "3d": ((1, 2, 4, 5, 6), {"kernel_shape": [2, 2, 2], "strides": [2, 1, 2]}),
}


def pool(operation: Any, attributes: dict[str, Any]) -> Build:
    """A builder of a pool with ONNX's attributes."""

    def build(x: Any, layout: str) -> GraphOp:
        return operation(x, **ours(attributes), layout=layout)

    return build


@pytest.mark.parametrize("name", POOLS)
def test_max_pool(name: str) -> None:
    shape, attributes = POOLS[name]
    build = pool(MaxPoolOp, attributes)
    check_layouts(build, random(*shape), op_type="MaxPool", attributes=attributes)


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("count", [False, True])
def test_avg_pool(name: str, count: bool) -> None:
    shape, attributes = POOLS[name]
    attributes = {**attributes, "count_include_pad": count}
    build = pool(AvgPoolOp, attributes)
    check_layouts(build, random(*shape), op_type="AveragePool", attributes=attributes)


def test_avg_pool_never_counts_what_lies_beyond_the_padding() -> None:
    def build(x: Any) -> GraphOp:
        return AvgPoolOp(x, (2,), strides=(2,), ceil_mode=True, count_include_pad=True)

    (result,) = run(build, np.array([[[1, 2, 3]]], np.float32))
    assert result.tolist() == [[[1.5, 3]]]


def test_max_pool_of_integers() -> None:
    x = np.array([[[-3, -2, -5]]], np.int8)
    assert run(partial(MaxPoolOp, kernel=(3,), pads=(1, 1)), x)[0].tolist() == [[[-2, -2, -2]]]


@pytest.mark.parametrize("size", [3, 4])
def test_lrn(size: int) -> None:
    attributes: dict[str, Any] = {"size": size, "alpha": 0.01, "beta": 0.6, "bias": 1.5}

    def build(x: Any, layout: str) -> GraphOp:
        return LrnOp(x, **attributes, layout=layout)

    # The batch is as large as the number of channels: the reference takes one for the other.
    check_layouts(build, random(6, 6, 3, 3), op_type="LRN", attributes=attributes)


def test_half_precision_sums_are_kept_in_single_precision() -> None:
    ones = np.ones((1, 4096), np.float16)
    assert run(MatmulOp, ones, ones.T)[0].item() == 4096
