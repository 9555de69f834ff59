"""Attention in windows has a bias gathered from a table and a mask of regions: no launch computes constants."""

from __future__ import annotations

import numpy as np
from models.builder import ModelBuilder
from onnx import ModelProto

import mini_infer as mi

SIDE, HEADS, WIDTH = 7, 3, 24
TOKENS = SIDE * SIDE


def window_attention() -> ModelProto:
    """Four windows of 7 x 7 tokens, shifted, as Swin Transformer has them."""
    b = ModelBuilder("windows")
    x = b.input("x", [4, TOKENS, WIDTH])
    steps = np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij")).reshape(2, -1)
    apart = steps[:, :, None] - steps[:, None] + SIDE - 1
    places = b.constant((apart[0] * (2 * SIDE - 1) + apart[1]).reshape(-1))
    bias = b.node("Reshape", b.node("Gather", b.weight((2 * SIDE - 1) ** 2, HEADS), places), b.ints(TOKENS, TOKENS, -1))
    bias = b.node("Transpose", bias, perm=[2, 0, 1])
    regions = np.add.outer(*(np.repeat([0, step, 2 * step], [7, 4, 3]) for step in (3, 1))).astype(np.float32)
    tiles = b.node("Transpose", b.node("Reshape", b.constant(regions), b.ints(2, 7, 2, 7)), perm=[0, 2, 1, 3])
    tiles = b.node("Reshape", tiles, b.ints(4, TOKENS))
    apart = b.node("Sub", b.node("Unsqueeze", tiles, b.ints(1)), b.node("Unsqueeze", tiles, b.ints(2)))
    mask = b.node("Where", b.node("Equal", apart, b.number(0)), b.number(0), b.number(-100))
    parts = b.node("Reshape", b.node("MatMul", x, b.weight(WIDTH, 3 * WIDTH)), b.ints(4, TOKENS, 3, HEADS, 8))
    parts = b.node("Transpose", parts, perm=[2, 0, 3, 1, 4])
    q, k, v = (b.node("Gather", parts, b.constant(np.array(number)), axis=0) for number in range(3))
    scores = b.node("Add", b.node("MatMul", q, b.node("Transpose", k, perm=[0, 1, 3, 2])), bias)
    scores = b.node("Softmax", b.node("Add", scores, b.node("Unsqueeze", mask, b.ints(1))))
    return b.model([b.node("Transpose", b.node("MatMul", scores, v), perm=[0, 2, 1, 3])])


def test_no_launch_computes_constants() -> None:
    model, x = window_attention(), np.random.default_rng(0).standard_normal((4, TOKENS, WIDTH)).astype(np.float32)
    engine = mi.compile(model, device="cuda-emulated", cache=False)
    assert not [each.kernel for each in engine.plan.calls if "gather" in each.kernel or "where" in each.kernel]
    (found,), (wanted,) = engine({"x": x}).values(), mi.compile(model, cache=False)({"x": x}).values()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
