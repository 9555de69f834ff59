"""Weights of few bits that are a node's constant: folded, they have a byte for each number."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import mini_infer as mi
from mini_infer.dialects.graph.values import Array

ROWS, DEPTH, BLOCK = 17, 17, 16


def product(weight: Array, scales: Array, zeros: Array, bits: int) -> ModelProto:
    """A product with weights from a Constant node, the depth of which no block divides."""
    made = helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(weight, "w"))
    node = helper.make_node(
        "MatMulNBits", ["x", "w", "s", "z"], ["y"], domain="com.microsoft", K=DEPTH, N=ROWS, bits=bits, block_size=BLOCK
    )
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [made, node],
        "product",
        [value("x", TensorProto.FLOAT, [3, DEPTH])],
        [value("y", TensorProto.FLOAT, [3, ROWS])],
        [numpy_helper.from_array(scales, "s"), numpy_helper.from_array(zeros, "z")],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.mark.parametrize("bits", [4, 8])
def test_folded_weights_mean_what_they_did(bits: int) -> None:
    random, blocks, apart = np.random.default_rng(bits), -(-DEPTH // BLOCK), 8 // bits
    numbers = random.integers(0, 2**bits, (ROWS, blocks, BLOCK), np.uint8)
    middles = random.integers(0, 2**bits, (ROWS, blocks), np.uint8)
    scales = random.uniform(0.01, 0.1, (ROWS, blocks)).astype(np.float32)
    places = np.arange(0, 8, bits, dtype=np.uint8)
    packed = np.bitwise_or.reduce(numbers.reshape(ROWS, blocks, -1, apart) << places, axis=-1)
    zeros = np.bitwise_or.reduce(middles.reshape(ROWS, -1, apart) << places, axis=-1)
    x = random.standard_normal((3, DEPTH)).astype(np.float32)
    wide = (numbers.astype(np.float64) - middles[..., None]) * scales[..., None]
    wanted = x.astype(np.float64) @ wide.reshape(ROWS, -1)[:, :DEPTH].T
    engine = mi.compile(product(packed, scales, zeros, bits), threads=1, compile_threads=1)
    np.testing.assert_allclose(engine(x), wanted, rtol=1e-4, atol=1e-5)
