"""Elementwise graph ops mean what ONNX says."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from graph_cases import Build, check, random, run
from xdsl.dialects.builtin import f16, f32, f64, i1, i8, i64

from mini_infer.dialects.graph.dialect import Graph
from mini_infer.dialects.graph.ops.activation import ClipOp, EluOp, GeluOp, HardSigmoidOp, LeakyReluOp
from mini_infer.dialects.graph.ops.conversion import CastOp
from mini_infer.dialects.graph.ops.elementwise import (
    AddOp,
    AndOp,
    BinaryOp,
    BitwiseOp,
    ComparisonOp,
    DivOp,
    EqualOp,
    GreaterEqualOp,
    GreaterOp,
    LessEqualOp,
    LessOp,
    MaxOp,
    MinOp,
    ModOp,
    MulOp,
    OrOp,
    PowOp,
    PreluOp,
    ShiftOp,
    SubOp,
    WhereOp,
    XorOp,
)
from mini_infer.dialects.graph.ops.unary import (
    AbsOp,
    CeilOp,
    CosOp,
    ErfOp,
    ExpOp,
    FloatTestOp,
    FloatUnaryOp,
    FloorOp,
    IsInfOp,
    IsNanOp,
    LogOp,
    NegOp,
    NotOp,
    ReciprocalOp,
    ReluOp,
    RoundOp,
    RsqrtOp,
    SigmoidOp,
    SignOp,
    SiluOp,
    SinOp,
    SoftplusOp,
    SoftsignOp,
    SqrtOp,
    TanhOp,
    TanOp,
    erf,
)
from mini_infer.dialects.graph.values import Array, element_type_of, numpy_dtype

SPECIAL = np.array([-np.inf, -2.5, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 2.5, np.inf, np.nan], np.float32)
POSITIVE = np.array([0.25, 1.0, 4.0, 100.0], np.float32)
INTEGERS = np.array([-7, -2, -1, 0, 1, 2, 7], np.int64)
TRUTH = np.array([True, False])

UNARY: list[tuple[Build, str, Array]] = [
    (NegOp, "Neg", SPECIAL),
    (NegOp, "Neg", INTEGERS),
    (AbsOp, "Abs", SPECIAL),
    (AbsOp, "Abs", INTEGERS),
    (SignOp, "Sign", SPECIAL),
    (ReluOp, "Relu", SPECIAL),
    (NotOp, "Not", TRUTH),
    (NotOp, "BitwiseNot", INTEGERS),
    (ExpOp, "Exp", SPECIAL),
    (LogOp, "Log", POSITIVE),
    (SqrtOp, "Sqrt", POSITIVE),
    (ReciprocalOp, "Reciprocal", POSITIVE),
    (ErfOp, "Erf", SPECIAL),
    (TanhOp, "Tanh", SPECIAL),
    (SinOp, "Sin", SPECIAL[1:-2]),
    (CosOp, "Cos", SPECIAL[1:-2]),
    (TanOp, "Tan", SPECIAL[1:-2]),
    (FloorOp, "Floor", SPECIAL),
    (CeilOp, "Ceil", SPECIAL),
    (RoundOp, "Round", SPECIAL),
    (SigmoidOp, "Sigmoid", SPECIAL[1:-2]),
    (SiluOp, "Swish", SPECIAL[1:-2]),
    (SoftplusOp, "Softplus", SPECIAL[1:-2]),
    (SoftsignOp, "Softsign", SPECIAL[1:-2]),
    (IsNanOp, "IsNaN", SPECIAL),
    (IsInfOp, "IsInf", SPECIAL),
    (GeluOp, "Gelu", SPECIAL[1:-2]),
]


@pytest.mark.parametrize(("build", "op_type", "x"), UNARY, ids=lambda case: getattr(case, "__name__", ""))
def test_unary(build: Build, op_type: str, x: Array) -> None:
    check(build, [x], op_type)


@pytest.mark.parametrize(
    ("build", "op_type", "attributes"),
    [
        (partial(GeluOp, approximate="tanh"), "Gelu", {"approximate": "tanh"}),
        (partial(LeakyReluOp, alpha=0.2), "LeakyRelu", {"alpha": 0.2}),
        (partial(EluOp, alpha=1.5), "Elu", {"alpha": 1.5}),
        (partial(HardSigmoidOp, alpha=0.3, beta=0.6), "HardSigmoid", {"alpha": 0.3, "beta": 0.6}),
    ],
    ids=["gelu tanh", "leaky_relu", "elu", "hard_sigmoid"],
)
def test_unary_with_parameters(build: Build, op_type: str, attributes: dict[str, Any]) -> None:
    check(build, [random(3, 5, low=-4, high=4)], op_type, attributes)


def test_rsqrt() -> None:
    (result,) = run(RsqrtOp, POSITIVE)
    np.testing.assert_allclose(result, [2, 1, 0.5, 0.1], rtol=1e-6)


@pytest.mark.parametrize(("low", "high"), [(None, None), (-1.0, None), (None, 1.0), (-1.0, 1.0), (2.0, 1.0)])
def test_clip(low: float | None, high: float | None) -> None:
    limits = [None if limit is None else np.float32(limit) for limit in (low, high)]
    inputs = [SPECIAL, *(None if limit is None else np.asarray(limit) for limit in limits)]
    check(partial(ClipOp, min=low, max=high), [SPECIAL], "Clip", inputs=inputs)


def test_clip_of_integers_ignores_limits_beyond_the_type() -> None:
    x = np.array([-128, 0, 127], np.int8)
    (result,) = run(partial(ClipOp, min=-1000000000.0, max=100), x)
    assert result.tolist() == [-128, 0, 100]


BINARY: list[tuple[Build, str]] = [
    (AddOp, "Add"),
    (SubOp, "Sub"),
    (MulOp, "Mul"),
    (DivOp, "Div"),
    (MinOp, "Min"),
    (MaxOp, "Max"),
    (EqualOp, "Equal"),
    (LessOp, "Less"),
    (LessEqualOp, "LessOrEqual"),
    (GreaterOp, "Greater"),
    (GreaterEqualOp, "GreaterOrEqual"),
]


@pytest.mark.parametrize(("build", "op_type"), BINARY, ids=lambda case: getattr(case, "__name__", ""))
@pytest.mark.parametrize(
    ("a", "b"),
    [((2, 3, 4), (2, 3, 4)), ((2, 1, 4), (3, 1)), ((), (2, 2)), ((0, 3), (1, 3))],
    ids=["same", "both ways", "scalar", "empty"],
)
def test_binary_broadcasts(build: Build, op_type: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    check(build, [random(*a, seed=1), random(*b, seed=2)], op_type)


@pytest.mark.parametrize(("build", "op_type"), BINARY, ids=lambda case: getattr(case, "__name__", ""))
def test_binary_on_special_values(build: Build, op_type: str) -> None:
    if op_type in ("Min", "Max", "Div"):  # ONNX says nothing of NaN and of -0 here
        return
    check(build, [SPECIAL[:, None], SPECIAL[None]], op_type)


def test_min_and_max_keep_nan() -> None:
    a, b = np.array([np.nan, 1], np.float32), np.array([1, np.nan], np.float32)
    assert np.isnan(run(MinOp, a, b)).all()
    assert np.isnan(run(MaxOp, a, b)).all()


def test_integer_division_is_toward_zero() -> None:
    a, b = np.array([7, -7, 7, -7, 6], np.int32), np.array([2, 2, -2, -2, -3], np.int32)
    assert run(DivOp, a, b)[0].tolist() == [3, -3, -3, 3, -2]
    unsigned = run(DivOp, np.array([255, 7], np.uint8), np.array([2, 2], np.uint8))[0]
    assert unsigned.tolist() == [127, 3]


def test_mod_takes_the_divisors_sign_and_fmod_the_dividends() -> None:
    a, b = np.array([-4, 7, 5, 4, -7, 8], np.int64), np.array([2, -3, 8, -2, 3, 5], np.int64)
    check(ModOp, [a, b], "Mod")
    check(partial(ModOp, fmod=True), [a, b], "Mod", {"fmod": 1})
    floats = [random(6, seed=1), random(6, seed=2)]
    check(partial(ModOp, fmod=True), floats, "Mod", {"fmod": 1})


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.array([1, 2, 3], np.float32), np.array([4, 0.5, -1], np.float32)),
        (np.array([1, 2, 3], np.float32), np.array([4, 5, 6], np.int64)),
        (np.array([1, 2, 3], np.int64), np.array([4, 5, 6], np.int64)),
        (np.array([1, 2, 3], np.int32), np.array([2, 2, 2], np.float32)),
    ],
    ids=["floats", "float to integer", "integers", "integer to float"],
)
def test_pow_has_the_type_of_its_base(a: Array, b: Array) -> None:
    check(PowOp, [a, b], "Pow")


def test_logic_on_truth_values_and_bits() -> None:
    truth = [np.array([True, True, False, False]), np.array([True, False, True, False])]
    bits = [np.array([12, -1], np.int32), np.array([10, 5], np.int32)]
    cases: list[tuple[Build, str]] = [(AndOp, "And"), (OrOp, "Or"), (XorOp, "Xor")]
    for build, op_type in cases:
        check(build, truth, op_type)
        check(build, bits, f"Bitwise{op_type}")


def test_prelu_and_where() -> None:
    check(PreluOp, [random(2, 3, 4), random(3, 1, seed=1)], "PRelu")
    condition = np.array([[True], [False]])
    check(WhereOp, [condition, random(2, 3, seed=1), random(3, seed=2)], "Where")


@pytest.mark.parametrize(
    ("x", "to"),
    [
        (SPECIAL[1:-2], i64),
        (SPECIAL[1:-2], i1),
        (SPECIAL[1:-2], f16),
        (SPECIAL[1:-2], f64),
        (INTEGERS, f32),
        (INTEGERS, i8),
        (INTEGERS, i1),
        (TRUTH, f32),
        (TRUTH, i64),
    ],
    ids=str,
)
def test_cast(x: Array, to: Any) -> None:
    from onnx import helper

    dtype = numpy_dtype(to)
    check(partial(CastOp, to=to), [x], "Cast", {"to": helper.np_dtype_to_tensor_dtype(dtype)})


def test_results_have_the_precision_of_the_arrays() -> None:
    """A float32 op on float64 arrays is a float64 reference: nothing in it rounds to float32."""
    x = random(4, 4, low=0.1, high=3)
    wide = x.astype(np.float64) + 1e-9
    for operation in Graph.operations:
        if issubclass(operation, (FloatUnaryOp, BinaryOp)) and not issubclass(
            operation, (FloatTestOp, BitwiseOp, ComparisonOp, ShiftOp)
        ):
            count = len(operation.get_irdl_definition().operands)
            from graph_cases import values_of

            op = operation(*values_of([x] * count))  # pyright: ignore[reportCallIssue, reportArgumentType]
            assert op.evaluate(*[wide] * count)[0].dtype == np.float64, operation.name


def test_error_function_in_double_precision() -> None:
    import math

    x = np.concatenate([np.linspace(-7, 7, 20001), np.logspace(-300, 1, 1001), [0.0, -0.0, np.inf, -np.inf]])
    np.testing.assert_allclose(erf(x), [math.erf(value) for value in x], rtol=5e-16)


def test_bfloat16() -> None:
    import ml_dtypes

    x = np.array([0.5, -1.25, 3.0], ml_dtypes.bfloat16)
    builds: list[Build] = [
        ReluOp,
        SigmoidOp,
        ExpOp,
        ErfOp,
        SiluOp,
        GeluOp,
    ]
    for build in builds:
        (result,) = run(build, x)
        (wide,) = run(build, x.astype(np.float32))
        np.testing.assert_allclose(result.astype(np.float32), wide, rtol=0.02)
    assert element_type_of(run(AddOp, x, x)[0].dtype) == element_type_of(x.dtype)
