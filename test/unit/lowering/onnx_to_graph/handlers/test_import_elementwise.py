"""Elementwise operators compute what ONNX says, in every opset that treats them differently."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph_cases import random
from import_cases import Case, check, computed, imported, one_node
from onnx import TensorProto

from mini_infer.dialects.errors import InvalidModelError, UnsupportedError
from mini_infer.dialects.graph.values import Array

X = random(2, 3, 4)
ROW = random(4, seed=1)
POSITIVE = random(2, 3, 4, low=0.1, high=3)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0, 1.5, -2.5], np.float32)
INTEGERS = np.array([-7, -1, 0, 3, 8, 100], np.int32)
FLAGS = np.array([True, False, True, False])


def ints(*values: Any, dtype: Any = np.int64) -> Array:
    """An integer array."""
    return np.array(values, dtype)


BYTES = ints(1, 5, 255, dtype=np.uint8)
LARGE = 2**60


def scalar(value: Any, dtype: Any = np.float32) -> Array:
    """An array of rank 0."""
    return np.array(value, dtype)


UNARY = """
    Abs Ceil Cos Erf Exp Floor Neg Relu Round Sigmoid Sign Sin Softplus Softsign Tan Tanh
    Gelu HardSwish Mish Selu Celu Elu HardSigmoid LeakyRelu ThresholdedRelu Shrink Sinh Cosh Asinh
"""


@pytest.mark.parametrize("op_type", UNARY.split())
def test_unary(op_type: str) -> None:
    check(Case(op_type, [X], 22))


@pytest.mark.parametrize("op_type", ["Log", "Sqrt", "Reciprocal"])
def test_unary_of_positive_numbers(op_type: str) -> None:
    check(Case(op_type, [POSITIVE], 13))


@pytest.mark.parametrize(
    "case",
    [
        Case("Acosh", [POSITIVE + 1], 22),
        Case("Atanh", [X / 3], 22),
        Case("Elu", [X], 6, {"alpha": 0.3}),
        Case("Celu", [X], 12, {"alpha": 2.0}),
        Case("Selu", [X], 6, {"alpha": 1.5, "gamma": 1.2}),
        Case("Gelu", [X], 20, {"approximate": "tanh"}),
        Case("HardSigmoid", [X], 6, {"alpha": 0.4, "beta": 0.3}),
        Case("LeakyRelu", [X], 6, {"alpha": 0.3}),
        Case("Shrink", [X], 9, {"bias": 0.2, "lambd": 0.7}),
        Case("Shrink", [np.arange(-5, 6, dtype=np.int8)], 9, {"bias": 1.5, "lambd": 2.5}),
        Case("Shrink", [np.arange(9, dtype=np.uint8)], 9, {"bias": 1.5, "lambd": 1.0}),
        Case("ThresholdedRelu", [X], 10, {"alpha": 0.4}),
        Case("Swish", [X], 24, {"alpha": 1.0}),
        Case("Swish", [X], 24, {"alpha": 0.5}),
        Case("Not", [FLAGS], 1),
        Case("BitwiseNot", [INTEGERS], 18),
        Case("IsNaN", [SPECIAL], 13),
        Case("IsInf", [SPECIAL], 20),
        Case("IsInf", [SPECIAL], 10, {"detect_negative": 0}),
        Case("IsInf", [SPECIAL], 10, {"detect_positive": 0}),
        Case("IsInf", [SPECIAL], 10, {"detect_positive": 0, "detect_negative": 0}),
        Case("Cast", [X], 19, {"to": TensorProto.INT32}),
        Case("Cast", [INTEGERS], 9, {"to": TensorProto.BOOL}),
        Case("CastLike", [INTEGERS, X], 19),
    ],
    ids=str,
)
def test_unary_with_parameters(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("opset", [7, 14])
@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul", "Div", "Pow"])
def test_arithmetic(op_type: str, opset: int) -> None:
    check(Case(op_type, [POSITIVE, ROW + 3], opset))
    check(Case(op_type, [ROW + 3, POSITIVE], opset))


@pytest.mark.parametrize(
    "case",
    [
        Case("Div", [INTEGERS, ints(3, dtype=np.int32)], 14),
        Case("Pow", [POSITIVE, ints(2, 3, 0, 1)], 15),
        Case("Pow", [ints(2, 3, 4), np.array([2.0, 1.0, 0.5], np.float32)], 15),
        Case("Mod", [INTEGERS, ints(3, dtype=np.int32)], 13),
        Case("Mod", [INTEGERS, ints(-3, dtype=np.int32)], 13, {"fmod": 1}),
        Case("Mod", [X, ROW], 13, {"fmod": 1}),
        Case("PRelu", [X, random(3, 1, seed=2)], 16),
        Case("And", [FLAGS, FLAGS[::-1].copy()], 7),
        Case("Or", [FLAGS, FLAGS[::-1].copy()], 7),
        Case("Xor", [FLAGS, FLAGS[::-1].copy()], 7),
        Case("BitwiseAnd", [INTEGERS, ints(6, dtype=np.int32)], 18),
        Case("BitwiseOr", [INTEGERS, ints(6, dtype=np.int32)], 18),
        Case("BitwiseXor", [INTEGERS, ints(6, dtype=np.int32)], 18),
        Case(
            "BitShift",
            [BYTES, ints(1, 3, 7, dtype=np.uint8)],
            11,
            {"direction": "LEFT"},
        ),
        Case(
            "BitShift",
            [BYTES, ints(1, 3, 7, dtype=np.uint8)],
            11,
            {"direction": "RIGHT"},
        ),
        Case("Equal", [INTEGERS, ints(3, dtype=np.int32)], 7),
        Case("Equal", [FLAGS, FLAGS[::-1].copy()], 19),
        Case("Less", [X, ROW], 9),
        Case("LessOrEqual", [X, X], 16),
        Case("Greater", [X, ROW], 9),
        Case("GreaterOrEqual", [X, X], 12),
        Case("Where", [FLAGS, ROW, X], 16),
        Case("Max", [X, ROW, POSITIVE], 13),
        Case("Min", [X, ROW], 8),
        Case("Max", [X], 8),
        Case("Sum", [X, ROW, POSITIVE], 13),
        Case("Mean", [X, ROW, POSITIVE], 13),
    ],
    ids=str,
)
def test_several_operands(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    "case",
    [
        Case("Clip", [X], 6, {"min": -0.5, "max": 0.75}),
        Case("Clip", [X], 6, {"max": 0.75}),
        Case("Clip", [X, scalar(-0.5), scalar(0.75)], 13, known=[1, 2]),
        Case("Clip", [X, None, scalar(0.75)], 11, known=[2]),
        Case("Clip", [X, scalar(-0.5)], 12, known=[1]),
        Case("Clip", [X, scalar(-0.5), scalar(0.75)], 13),
        Case("Clip", [X], 13),
        Case("Clip", [INTEGERS, scalar(-3, np.int32), scalar(50, np.int32)], 12, known=[1, 2]),
        Case("Clip", [ints(LARGE + 5, -1), scalar(0, np.int64), scalar(LARGE + 1, np.int64)], 12, known=[1, 2]),
    ],
    ids=str,
)
def test_clip(case: Case) -> None:
    check(case)


def test_opset_6_matches_dimensions_from_an_axis_on() -> None:
    channels = random(3, seed=3)
    model, inputs = one_node(Case("Add", [X, channels], 6, {"axis": 1, "broadcast": 1}))
    np.testing.assert_array_equal(computed(model, inputs)["y0"], X + channels[:, None])
    model, inputs = one_node(Case("PRelu", [X, channels], 6))
    np.testing.assert_array_equal(computed(model, inputs)["y0"], np.where(X < 0, X * channels[:, None], X))


def test_float_mod_needs_fmod() -> None:
    with pytest.raises(InvalidModelError, match=r"the_node \(Mod\): fmod must be 1"):
        check(Case("Mod", [X, X], 13))


def test_unknown_element_type() -> None:
    with pytest.raises(UnsupportedError, match=r"the_node \(Cast\): .* element type string"):
        check(Case("Cast", [X], 21, {"to": TensorProto.STRING}))


def test_a_slope_of_more_dimensions() -> None:
    with pytest.raises(
        InvalidModelError, match=r"^the_node \(PRelu\): the slope has more dimensions than the operand$"
    ):
        imported(one_node(Case("PRelu", [random(3), random(2, 3)], 16))[0])
