"""Quantised operators of com.microsoft, as ONNX Runtime computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from microsoft_cases import Case, check

from mini_infer.dialects.graph.values import Array

RANDOM = np.random.default_rng(9)
U8, S8 = np.uint8, np.int8


def numbers(dtype: type[np.integer[Any]], *shape: int) -> Array:
    info = np.iinfo(dtype)
    return RANDOM.integers(info.min, info.max + 1, shape).astype(dtype)


def weights(*shape: int) -> Array:
    """Signed bytes of 7 bits: without VNNI, ONNX Runtime's sums of two products of bytes overflow with 8."""
    return RANDOM.integers(-63, 64, shape).astype(S8)


def floats(*shape: int) -> Array:
    return RANDOM.uniform(-2, 2, shape).astype(np.float32)


def scale(value: float = 0.02) -> Array:
    return np.array(value, np.float32)


def scales(count: int) -> Array:
    return RANDOM.uniform(0.01, 0.03, count).astype(np.float32)


def zero(value: int, dtype: type[np.integer[Any]] = U8) -> Array:
    return np.array(value, dtype)


A = [numbers(U8, 2, 3, 4), scale(), zero(100)]
B = [numbers(U8, 3, 4), scale(0.03), zero(90)]
PICTURE = [numbers(U8, 1, 3, 6, 5), scale(), zero(100)]
LAST = [numbers(U8, 1, 6, 5, 3), scale(), zero(100)]
TO = [scale(0.05), zero(120)]
WEIGHT = weights(4, 3, 3, 3)
BIAS = RANDOM.integers(-500, 500, 4).astype(np.int32)
CONV = {"pads": [1, 1, 1, 1], "strides": [2, 1]}
OFF = 1.0  # where a float lies between two numbers

CASES = [
    Case("QLinearAdd", [*A, *B, *TO], tolerance=OFF),
    Case(
        "QLinearAdd",
        [numbers(S8, 4), scale(), zero(3, S8), numbers(S8, 4), scale(), zero(-3, S8), scale(), zero(0, S8)],
        tolerance=OFF,
        note="signed",
    ),
    Case("QLinearMul", [*A, *B, *TO], tolerance=OFF),
    Case("QLinearSigmoid", [*A, scale(1 / 256), zero(0)], known=(1, 2, 3, 4), tolerance=OFF),
    Case("QLinearLeakyRelu", [*A, *TO], {"alpha": 0.1}, known=(1, 2, 3, 4), tolerance=OFF),
    Case("QLinearSoftmax", [*A, scale(1 / 256), zero(0)], {"axis": -1, "opset": 13}, tolerance=OFF),
    Case("QLinearSoftmax", [*A, scale(1 / 256), zero(0)], {"axis": 1, "opset": 12}, tolerance=OFF, note="flattened"),
    Case("QLinearGlobalAveragePool", [*PICTURE, *TO], {"channels_last": 0}, tolerance=OFF),
    Case("QLinearGlobalAveragePool", [*LAST, *TO], {"channels_last": 1}, tolerance=OFF, note="channels last"),
    Case("QLinearAveragePool", [*PICTURE, *TO], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, tolerance=OFF),
    Case(
        "QLinearAveragePool",
        [*LAST, *TO],
        {"kernel_shape": [3, 2], "channels_last": 1, "strides": [2, 2]},
        tolerance=OFF,
        note="channels last",
    ),
    Case(
        "QLinearConcat",
        [*TO, *A, numbers(U8, 2, 1, 4), scale(0.03), zero(90)],
        {"axis": 1},
        known=(0, 1, 3, 4, 6, 7),
        tolerance=OFF,
    ),
    Case("QLinearWhere", [RANDOM.random((2, 3, 4)) < 0.5, *A, *B, *TO], known=(2, 3, 5, 6, 7, 8), tolerance=OFF),
    Case(
        "QLinearConv",
        [*PICTURE, WEIGHT, scales(4), np.zeros(4, S8), scale(0.8), zero(120), BIAS],
        CONV,
        known=(1, 2, 3, 4, 5, 6, 7, 8),
        tolerance=OFF,
    ),
    Case(
        "QLinearConv",
        [*LAST, WEIGHT, scale(), zero(0, S8), scale(0.8), zero(120), BIAS],
        {**CONV, "channels_last": 1},
        known=(1, 2, 3, 4, 5, 6, 7, 8),
        tolerance=OFF,
        note="channels last",
    ),
    Case(
        "QGemm",
        [
            numbers(U8, 3, 8),
            scale(),
            zero(100),
            weights(8, 5),
            scales(5),
            np.zeros(5, S8),
            RANDOM.integers(-500, 500, 5).astype(np.int32),
            scale(0.4),
            zero(120),
        ],
        known=(1, 2, 3, 4, 5, 6, 7, 8),
        tolerance=OFF,
    ),
    Case(
        "QGemm",
        [numbers(U8, 3, 8), scale(), zero(100), weights(5, 8), scale(), zero(0, S8)],
        {"transB": 1, "alpha": 0.5},
        known=(1, 2, 3, 4, 5),
        note="to floats",
    ),
    Case(
        "QGemm",
        [numbers(U8, 3, 8), scale(), zero(100), weights(8, 5), scales(5), np.zeros(5, S8), np.array([[9]], np.int32)],
        known=(1, 2, 3, 4, 5, 6),
        note="one number added, a scale for each column",
    ),
    Case(
        "DynamicQuantizeMatMul",
        [floats(2, 3, 8), weights(8, 5), scales(5), np.zeros(5, S8), floats(5)],
        known=(1, 2, 3, 4),
    ),
    Case(
        "DynamicQuantizeMatMul", [floats(3, 8), numbers(U8, 8, 5), scale(), zero(128)], known=(1, 2, 3), note="unsigned"
    ),
    Case(
        "DynamicQuantizeMatMul",
        [np.zeros((3, 8), np.float32), numbers(U8, 8, 5), scale(), zero(128)],
        known=(1, 2, 3),
        note="of zeros",
    ),
    Case(
        "MatMulIntegerToFloat",
        [numbers(U8, 3, 8), weights(8, 5), scale(), scales(5), zero(99), np.zeros(5, S8), floats(5)],
        known=(1, 2, 3, 4, 5, 6),
    ),
    Case("QuantizeLinear", [floats(3, 4), scale(), zero(128)], tolerance=0),
    Case("QuantizeLinear", [floats(3, 4), scales(4), np.zeros(4, S8)], {"axis": 1}, tolerance=0, note="by columns"),
    Case("DequantizeLinear", [numbers(U8, 3, 4), scale(), zero(128)]),
    Case("DequantizeLinear", [numbers(S8, 3, 4), scales(3), numbers(S8, 3)], {"axis": 0}, note="by rows"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_meaning(case: Case) -> None:
    check(case)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_compiled(case: Case) -> None:
    check(case, compiled=True)
