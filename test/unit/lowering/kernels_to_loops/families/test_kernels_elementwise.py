"""Every elementwise op as compiled code: accuracy, special numbers, integers, all vector widths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest
from kernel_runs import Body, check, compiled, reference
from xdsl.ir import Operation

from mini_infer.dialects.graph.base import ElementwiseOp
from mini_infer.dialects.graph.ops.activation import ClipOp, EluOp, GeluOp, HardSigmoidOp, LeakyReluOp
from mini_infer.dialects.graph.ops.elementwise import (
    AddOp,
    AndOp,
    BinaryOp,
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
    SubOp,
    UnaryOp,
    XorOp,
)
from mini_infer.dialects.graph.ops.structure import ConstantOp
from mini_infer.dialects.graph.ops.unary import (
    AbsOp,
    CeilOp,
    CosOp,
    ErfOp,
    ExpOp,
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
)
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.kernel_code.elements.elementwise_ops import is_elementwise

Random = np.random.default_rng(0)
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 3e38, -3e38, 0.5, 1.5, 2.5, -0.5], np.float32)
EVERYWHERE: list[type[UnaryOp]] = [
    NegOp,
    AbsOp,
    SignOp,
    ReluOp,
    ExpOp,
    ErfOp,
    TanhOp,
    FloorOp,
    CeilOp,
    RoundOp,
    SigmoidOp,
    SoftplusOp,
    SoftsignOp,
    IsNanOp,
    IsInfOp,
    ReciprocalOp,
    SqrtOp,
    RsqrtOp,
    LogOp,
    LeakyReluOp,
    EluOp,
    HardSigmoidOp,
    SiluOp,
]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("op", EVERYWHERE)
def test_unary(op: type[UnaryOp]) -> None:
    numbers = Random.uniform(-8, 8, 203).astype(np.float32)
    check("map", lambda w: w(op(w[0])), numbers)
    check("map", lambda w: w(op(w[0])), numbers[:37], bits=128)


@pytest.mark.parametrize("op", EVERYWHERE)
def test_unary_of_special_numbers(op: type[UnaryOp]) -> None:
    left_out: dict[type[UnaryOp], Any] = {
        SoftsignOp: np.isinf(SPECIAL),
        SiluOp: np.isneginf(SPECIAL),
        LogOp: np.abs(SPECIAL) < 1e-38,
    }
    numbers = SPECIAL[~left_out[op]] if op in left_out else SPECIAL
    check("map", lambda w: w(op(w[0])), np.repeat(numbers, 3), tolerance=3e-6)


@pytest.mark.parametrize("op", [SinOp, CosOp, TanOp])
def test_angles(op: type[UnaryOp]) -> None:
    check("map", lambda w: w(op(w[0])), Random.uniform(-1.5, 1.5, 50).astype(np.float32))


@pytest.mark.parametrize("approximate", ["none", "tanh"])
@pytest.mark.parametrize("bits", [0, 128])
def test_gelu_is_exact_to_4e_7(approximate: str, bits: int) -> None:
    x = np.concatenate([np.linspace(-12, 12, 20001), [-100, 100, -1e30, 1e30]]).astype(np.float32)
    body: Body = lambda w: w(GeluOp(w[0], approximate))  # noqa: E731
    error = np.abs(compiled("map", body, [x], bits=bits)(x)[0] - reference(body, [x])[0])
    small = np.abs(x) < 12
    assert error[small].max() <= (4e-7 if approximate == "none" else 1e-6)
    assert error[np.abs(x) == 100].max() <= 1e-7
    assert np.isnan(compiled("map", body, [SPECIAL])(SPECIAL)[0][4])


BINARY: list[type[BinaryOp]] = [AddOp, SubOp, MulOp, DivOp, MinOp, MaxOp, PreluOp]
COMPARISONS: list[type[BinaryOp]] = [EqualOp, LessOp, LessEqualOp, GreaterOp, GreaterEqualOp]


@pytest.mark.parametrize("op", [*BINARY, *COMPARISONS])
def test_binary_of_special_numbers(op: type[BinaryOp]) -> None:
    x, y = (grid.reshape(-1).copy() for grid in np.meshgrid(SPECIAL, SPECIAL))
    got = compiled("map", lambda w: w(op(w[0], w[1])), [x, y])(x, y)[0]
    expected = reference(lambda w: w(op(w[0], w[1])), [x, y], wide=False)[0]
    np.testing.assert_array_equal(got, expected)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint32])
def test_integers(dtype: Any) -> None:
    low = 0 if np.dtype(dtype).kind == "u" else -100
    x, y = (Random.integers(low, 100, 90).astype(dtype) for _ in range(2))
    y[:5] = 0
    for op in (*BINARY, *COMPARISONS, ModOp, AndOp, OrOp, XorOp):
        if op is DivOp and low == 0:
            continue
        check("map", lambda w, op=op: w(op(w[0], w[1])), x, y)
    for op in (NegOp, AbsOp, SignOp, ReluOp, NotOp):
        check("map", lambda w, op=op: w(op(w[0])), x)
    check("map", lambda w: w(ModOp(w[0], w[1], True)), x, y)
    check("map", lambda w: w(ClipOp(w[0], -5, 1e9)), x)


def test_division_by_zero_and_the_smallest_integer() -> None:
    x = np.array([np.iinfo(np.int32).min, 7, -7, 5], np.int32)
    y = np.array([-1, 0, 0, -2], np.int32)
    for op in (DivOp, ModOp):
        got = compiled("map", lambda w, op=op: w(op(w[0], w[1])), [x, y])(x, y)[0]
        assert list(got) == ([np.iinfo(np.int32).min, 0, 0, -2] if op is DivOp else [0, 0, 0, -1])


def test_remainders_of_floats() -> None:
    x, y = Random.uniform(-500, 500, 300).astype(np.float32), Random.uniform(-9, 9, 300).astype(np.float32)
    x[:4], y[:4] = [6, -6, 5, np.inf], [3, 3, np.inf, 2]
    for fmod in (False, True):
        check("map", lambda w, fmod=fmod: w(ModOp(w[0], w[1], fmod)), x, y, tolerance=1e-5)


@pytest.mark.parametrize("exponent", [-1.0, -0.5, 0.0, 0.5, 0.75, 1.0, 2.0, 3.0, 2.5])
def test_powers_of_floats(exponent: float) -> None:
    x = Random.uniform(0.1, 4, 70).astype(np.float32)
    check("map", lambda w: w(PowOp(w[0], w(ConstantOp.from_numpy(np.full((), exponent, np.float32))))), x)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_powers_of_integers(dtype: Any) -> None:
    x, y = (grid.reshape(-1) for grid in np.meshgrid(np.arange(-3, 4), np.arange(-3, 8)))
    good = (x != 0) | (y >= 0)
    check("map", lambda w: w(PowOp(w[0], w[1])), x[good].astype(dtype), y[good].astype(dtype))
    check("map", lambda w: w(PowOp(w[0], w[1])), np.abs(x).astype(dtype), np.abs(y).astype(np.float32))


def test_clip() -> None:
    numbers: Array = np.concatenate([SPECIAL, Random.uniform(-9, 9, 50).astype(np.float32)])
    for low, high in ((0.0, 6.0), (None, 1.0), (-1.0, None), (2.0, -2.0)):
        check("map", lambda w, low=low, high=high: w(ClipOp(w[0], low, high)), numbers)


@pytest.mark.parametrize("op", [ExpOp, GeluOp, TanhOp, ReluOp])
@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_floats(op: type[UnaryOp], dtype: Any) -> None:
    x = Random.uniform(-5, 5, 50).astype(dtype)
    check("map", lambda w: w(op(w[0])), x, tolerance=1e-3 if dtype == np.float16 else 1e-14)


def test_every_elementwise_op_has_code() -> None:
    """Kernels take any of them in, so the code for one has no refusal of its own."""

    def kinds(base: type[ElementwiseOp]) -> Iterator[type[ElementwiseOp]]:
        for kind in base.__subclasses__():
            yield kind
            yield from kinds(kind)

    named = [kind for kind in kinds(ElementwiseOp) if hasattr(kind, "name")]
    assert len(named) > 40
    assert [kind.name for kind in named if not is_elementwise(cast("Operation", kind))] == []
