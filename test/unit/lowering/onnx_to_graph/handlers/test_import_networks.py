"""Attention, recurrent networks, resizing and quantisation compute what ONNX says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from graph_cases import random
from import_cases import Case, check, computed, imported, kinds, one_node

from mini_infer.dialects.errors import InvalidModelError, UnsupportedError
from mini_infer.dialects.graph.values import Array

COORDINATES = "coordinate_transformation_mode"
Q, K, V = random(2, 4, 5, 6), random(2, 2, 7, 6, seed=1), random(2, 2, 7, 3, seed=2)
FLAT = [random(2, 5, 24), random(2, 7, 12, seed=1), random(2, 7, 8, seed=2)]
HEADS = {"q_num_heads": 4, "kv_num_heads": 2}
ANGLES = random(2, 5, 3), random(2, 5, 3, seed=1)
KEEP = np.random.default_rng(3).random((5, 7)) < 0.7


@pytest.mark.parametrize(
    ("operands", "attributes"),
    [
        ([Q, K, V], {}),
        ([Q, K, V], {"scale": 0.3, "is_causal": 1}),
        ([Q, K, V, random(5, 7, seed=4)], {}),
        ([Q, K, V, KEEP], {}),
        ([Q, K, V, random(2, 1, 5, 7, seed=4)], {"is_causal": 1}),
        (FLAT, HEADS),
    ],
)
def test_attention(operands: Sequence[Array], attributes: dict[str, Any]) -> None:
    case = Case("Attention", operands, 23, attributes)
    assert "attention" in kinds(imported(one_node(case)[0])[0])
    check(case)


@pytest.mark.parametrize(
    ("operands", "attributes", "opset", "results"),
    [
        ([Q, K, V], {"qk_matmul_output_mode": 1}, 23, 4),
        ([Q, K, V, None, random(2, 2, 3, 6), random(2, 2, 3, 3)], {"is_causal": 1}, 24, 3),
        ([Q, K, V, None, random(2, 2, 3, 6), random(2, 2, 3, 3)], {}, 23, 3),
        ([Q, K, V, random(5, 6), None, None, np.array([3, 6])], {}, 24, 1),
        ([Q, K, V], {"left_window_size": 2, "right_window_size": 1}, 25, 1),
    ],
)
def test_attention_taken_apart(
    operands: Sequence[Array | None], attributes: dict[str, Any], opset: int, results: int
) -> None:
    check(Case("Attention", operands, opset, attributes, results=results))


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("positions", [None, np.array([[3, 1, 0, 2, 5], [0, 1, 2, 3, 4]])])
@pytest.mark.parametrize("turned", [0, 4])
def test_rotary_embedding(interleaved: int, positions: Array | None, turned: int) -> None:
    pairs = (turned or 6) // 2
    shape = (2, 5, pairs) if positions is None else (9, pairs)
    angles = random(*shape), random(*shape, seed=1)
    attributes = {"interleaved": interleaved, "rotary_embedding_dim": turned, "num_heads": 4}
    check(Case("RotaryEmbedding", [Q, *angles, positions], 23, attributes))
    check(Case("RotaryEmbedding", [FLAT[0], *angles, positions], 23, attributes))


def test_rotary_embedding_adds_no_movement() -> None:
    model, _ = one_node(Case("RotaryEmbedding", [Q, random(2, 5, 3), random(2, 5, 3)], 23, known=[1, 2]))
    found = kinds(imported(model)[0])
    assert sorted(found) == ["add", "concat", *["constant"] * 2, *["mul"] * 4, *["slice"] * 2, "sub"]


FIVE: dict[str, Any] = {"hidden_size": 5}


BOTH_WAYS = {"direction": "bidirectional"}


def recurrent(gates: int, directions: int, **extra: Array | None) -> list[Array | None]:
    """Operands of a recurrent operator: 4 steps, batch 2, 3 inputs, 5 hidden."""
    weights = random(directions, gates * 5, 3, seed=1), random(directions, gates * 5, 5, seed=2)
    return [
        random(4, 2, 3),
        *weights,
        extra.get("bias"),
        None,
        extra.get("h"),
        extra.get("c"),
        extra.get("p"),
    ]


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("op_type", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_recurrent(op_type: str, gates: int, direction: str) -> None:
    count = 2 if direction == "bidirectional" else 1
    initial = {"h": random(count, 2, 5, seed=4), "c": random(count, 2, 5, seed=5)} if op_type == "LSTM" else {}
    given = recurrent(gates, count, bias=random(count, 2 * gates * 5, seed=3), **initial)
    operands = given if op_type == "LSTM" else given[:6]
    attributes: dict[str, Any] = {**FIVE, "direction": direction}
    results = 3 if op_type == "LSTM" else 2
    check(Case(op_type, operands, 14, attributes, known=[1, 2], results=results, runtime=True))


@pytest.mark.parametrize(
    "case",
    [
        Case("LSTM", recurrent(4, 1), 7, FIVE, results=1),
        Case("LSTM", recurrent(4, 1, p=random(1, 15, seed=6)), 14, FIVE, results=3),
        Case("GRU", recurrent(3, 1)[:3], 14, {**FIVE, "linear_before_reset": 1}, results=2),
        Case("GRU", recurrent(3, 1, h=random(1, 2, 5))[:6], 7, FIVE, results=2),
        Case("RNN", recurrent(1, 1)[:3], 14, {**FIVE, "activations": ["Relu"]}, results=2),
        Case("RNN", recurrent(1, 1, h=random(1, 2, 5))[:6], 14, {**FIVE, "activations": ["Sigmoid"]}, results=2),
        Case("LSTM", [*recurrent(4, 1)[:4], np.array([4, 4], np.int32)], 14, FIVE, [4]),
    ],
    ids=str,
)
def test_recurrent_variants(case: Case) -> None:
    check(Case(case.op_type, case.operands, case.opset, case.attributes, case.known, case.results, runtime=True))


@pytest.mark.parametrize(("op_type", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_batch_first_layout(op_type: str, gates: int) -> None:
    operands = recurrent(gates, 1)[:3]
    check(Case(op_type, operands, 14, {**FIVE, "layout": 1}, results=2))


IMAGE = random(1, 2, 5, 4)


def floats(*values: float) -> Array:
    """A float32 array."""
    return np.array(values, np.float32)


def sizes(*values: int) -> Array:
    """An int64 array."""
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    "case",
    [
        Case("Resize", [IMAGE, floats(1, 1, 2, 3)], 10, known=[1]),
        Case("Resize", [IMAGE, floats(1, 1, 2, 3)], 10, {"mode": "linear"}, known=[1]),
        Case("Upsample", [IMAGE, floats(1, 1, 2, 2)], 9, known=[1]),
        Case("Upsample", [IMAGE], 7, {"scales": [1.0, 1.0, 2.0, 2.0], "mode": "linear"}),
        Case("Upsample", [IMAGE], 7, {"scales": [1.0, 1.0, 2.0, 2.0]}),
        Case("Resize", [IMAGE, None, floats(1, 1, 1.7, 0.6)], 13, {"mode": "linear"}, known=[2]),
        Case("Resize", [IMAGE, None, None, sizes(1, 2, 7, 9)], 13, known=[3]),
        Case("Resize", [IMAGE, floats(), floats(1, 1, 2, 2)], 11, {"mode": "cubic"}, known=[1, 2]),
    ],
    ids=str,
)
def test_resize(case: Case) -> None:
    check(replace(case, runtime=True))


@pytest.mark.parametrize(
    ("operands", "attributes"),
    [
        ([IMAGE, None, None, sizes(7, 9)], {"axes": [2, 3], "keep_aspect_ratio_policy": "not_larger"}),
        ([IMAGE, None, None, sizes(7, 9)], {"axes": [3, 2], "keep_aspect_ratio_policy": "not_smaller"}),
        ([IMAGE, None, floats(1, 1, 2, 0.5)], {"mode": "linear", "antialias": 1}),
        (
            [IMAGE, None, None, sizes(1, 2, 7, 9)],
            {COORDINATES: "align_corners", "mode": "linear"},
        ),
        ([IMAGE, None, None, sizes(1, 2, 7, 9)], {COORDINATES: "pytorch_half_pixel"}),
        ([IMAGE, None, None, sizes(1, 2, 7, 9)], {"nearest_mode": "ceil"}),
        (
            [IMAGE, None, None, sizes(1, 2, 3, 9)],
            {"mode": "cubic", "exclude_outside": 1, "cubic_coeff_a": -0.5},
        ),
        (
            [IMAGE, floats(0.2, 0.1, 0.9, 1.2), None, sizes(3, 6)],
            {"axes": [2, 3], COORDINATES: "tf_crop_and_resize", "mode": "linear"},
        ),
    ],
)
def test_resize_variants(operands: Sequence[Array | None], attributes: dict[str, Any]) -> None:
    check(Case("Resize", operands, 19, attributes, known=[1, 2, 3]))


BYTES = np.random.default_rng(0).integers(0, 256, (3, 4), np.uint8)
PLANE = BYTES[None, None]
SIGNED = np.random.default_rng(1).integers(-128, 128, (4, 5), np.int8)
ZERO = np.array(3, np.uint8)
FOUR = floats(0.02, 0.03, 0.01, 0.1)


def scale(value: float) -> Array:
    """A float32 of rank 0."""
    return np.array(value, np.float32)


@pytest.mark.parametrize(
    "case",
    [
        Case("QuantizeLinear", [random(3, 4), scale(0.02), ZERO], 13),
        Case(
            "QuantizeLinear",
            [random(3, 4), FOUR, sizes(1, 2, 0, 9).astype(np.int8)],
            13,
        ),
        Case("QuantizeLinear", [random(3, 4), scale(0.02)], 10),
        Case("QuantizeLinear", [random(3, 4), scale(0.02)], 21, {"output_dtype": 5}),
        Case("DequantizeLinear", [BYTES, scale(0.02), ZERO], 10, runtime=True),
        Case("DequantizeLinear", [SIGNED, FOUR], 13, {"axis": 0}, runtime=True),
        Case("DequantizeLinear", [SIGNED, random(2, 5)], 21, {"axis": 0, "block_size": 2}),
        Case("DynamicQuantizeLinear", [random(3, 4)], 11, results=3),
        Case("MatMulInteger", [BYTES, SIGNED, ZERO, np.array(-4, np.int8)], 10),
        Case("MatMulInteger", [BYTES, SIGNED], 10),
        Case("ConvInteger", [PLANE, SIGNED[None, None, :2, :2], ZERO], 10, {"pads": [1, 0, 0, 1]}),
        Case(
            "QLinearMatMul",
            [BYTES, scale(0.02), ZERO, SIGNED, scale(0.03), np.array(-4, np.int8), scale(0.2), ZERO],
            10,
        ),
        Case(
            "QLinearConv",
            [
                BYTES[None, None],
                scale(0.02),
                ZERO,
                BYTES[None, None, :2, :2],
                scale(0.03),
                ZERO,
                scale(0.2),
                ZERO,
            ],
            10,
        ),
    ],
    ids=str,
)
def test_quantization(case: Case) -> None:
    check(case)


def test_zeros_are_quantised_with_a_scale_of_1() -> None:
    """As ONNX Runtime does; by ONNX's definition they are divided by a scale of 0."""
    case = Case("DynamicQuantizeLinear", [np.zeros(3, np.float32)], 11, results=3)
    levels, scale, zero = computed(*one_node(case)).values()
    assert not levels.any()
    assert (scale, zero) == (1, 0)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Case("LSTM", recurrent(4, 1), 14), "hidden_size is missing"),
        (Case("LSTM", recurrent(4, 1), 14, {"hidden_size": 4}), r"a weight of shape \[1, 20, 3\] instead of"),
        (Case("Attention", FLAT, 23, {"q_num_heads": 5, "kv_num_heads": 2}), "can't be split into 5 heads"),
        (Case("RotaryEmbedding", [FLAT[0], *ANGLES], 23, {"num_heads": 5}), "can't be split into 5 heads"),
        (Case("RotaryEmbedding", [Q, *ANGLES], 23, {"rotary_embedding_dim": 8}), "8 of 6 elements"),
        (Case("RotaryEmbedding", [Q, random(9, 3), random(9, 3)], 23), "operand 1 gives angles of shape"),
        (Case("Resize", [IMAGE, None, floats(1, 1)], 13, known=[2]), "2 scales for 4 axes"),
        (Case("Resize", [IMAGE, None, None, sizes(1, 1)], 13, known=[3]), "2 sizes for 4 axes"),
        (Case("Resize", [IMAGE], 13), "neither scales nor sizes are given"),
        (Case("Upsample", [IMAGE], 7, {"scales": [2.0]}), "1 scales for an operand of rank 4"),
        (
            Case("DequantizeLinear", [SIGNED, random(3, 5)], 21, {"axis": 0, "block_size": 2}),
            "in blocks of 2",
        ),
        (
            Case(
                "Resize",
                [IMAGE, floats(0, 1), floats(1, 1, 2, 2)],
                13,
                {COORDINATES: "tf_crop_and_resize"},
                [1, 2],
            ),
            "roi has 2 entries, but needs two for each of 4 axes",
        ),
    ],
)
def test_invalid(case: Case, message: str) -> None:
    with pytest.raises(InvalidModelError, match=rf"^the_node \({case.op_type}\): .*{message}"):
        imported(one_node(case)[0])


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Case("QuantizeLinear", [IMAGE, scale(1)], 21, {"output_dtype": 10}), "quantisation to f16"),
    ],
)
def test_unsupported(case: Case, message: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"^the_node \({case.op_type}\): .*{message}"):
        imported(one_node(case)[0])
