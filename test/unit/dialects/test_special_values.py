"""Elementwise operators on special and random numbers of all sizes, folded and as compiled code, in every float type.

The reference is computed in numpy's longest float. Errors are stated in units in the last place of the exact result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from models.builder import ModelBuilder
from onnx import ModelProto, helper, numpy_helper

import mini_infer as mi
from mini_infer.dialects.graph.values import Array

Long = np.longdouble
DTYPES: dict[str, Any] = {
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
where: Any = np.where
_erf, _erfc = (np.vectorize(function, otypes=[np.float64]) for function in (math.erf, math.erfc))


@dataclass(frozen=True)
class Bound:
    """What a result may be off by: `ulps`, and `absolute` or `relative`, whichever is less.

    Exact results below `vanishing` may be 0. With `sign` zeros must have the right one.
    """

    ulps: float = 0.5
    absolute: float = 0.0
    relative: float = math.inf
    vanishing: float = 0.0
    sign: bool = False


# In f32 (and bf16, which is computed in it) what lies below the smallest normal number may be 0; for x * sigmoid(x) and
# its like from where the exponential overflows.
TINY = 2.0**-126
EXACT = Bound(sign=True)
UNARY: dict[str, tuple[Callable[[Any], Any], Bound]] = {
    "Abs": (np.abs, EXACT),
    "Ceil": (np.ceil, EXACT),
    "Floor": (np.floor, EXACT),
    "Neg": (np.negative, EXACT),
    "Round": (np.rint, EXACT),
    "Sign": (np.sign, Bound()),
    "Relu": (lambda x: np.maximum(x, 0), Bound()),
    "Sqrt": (np.sqrt, EXACT),
    "Reciprocal": (lambda x: 1 / x, EXACT),
    "LeakyRelu": (lambda x: where(x < 0, Long(np.float32(0.01)) * x, x), EXACT),
    "ThresholdedRelu": (lambda x: where(x > 1, x, 0), Bound()),
    "Exp": (np.exp, Bound(2, vanishing=TINY)),
    "Log": (np.log, Bound(1.5)),
    "Sin": (np.sin, Bound(1, sign=True)),
    "Cos": (np.cos, Bound(1)),
    "Tan": (np.tan, Bound(1, sign=True)),
    "Tanh": (np.tanh, Bound(2, sign=True)),
    "Erf": (lambda x: _erf(x.astype(np.float64)).astype(Long), Bound(2, sign=True)),
    "Sigmoid": (lambda x: _sigmoid(x), Bound(2.5, vanishing=TINY)),
    "Softplus": (lambda x: _softplus(x), Bound(2, vanishing=TINY)),
    "Softsign": (lambda x: x / (1 + np.abs(x)), Bound(1.5, sign=True)),
    "Sinh": (np.sinh, Bound(3, sign=True)),
    "Cosh": (np.cosh, Bound(3)),
    "Asinh": (np.arcsinh, Bound(2, sign=True)),
    "Acosh": (np.arccosh, Bound(2)),
    "Atanh": (np.arctanh, Bound(2, sign=True)),
    "Elu": (lambda x: _elu(x), Bound(2)),
    "Celu": (lambda x: _elu(x), Bound(2)),
    "Selu": (lambda x: _selu(x), Bound(2.5)),
    "Swish": (lambda x: x * _sigmoid(x), Bound(3, vanishing=2e-36)),
    "Mish": (lambda x: x * np.tanh(_softplus(x)), Bound(4, vanishing=2e-36)),
    "HardSigmoid": (lambda x: np.clip(x * Long(np.float32(0.2)) + Long(0.5), 0, 1), Bound(1, absolute=2.0**-23)),
    "HardSwish": (lambda x: x * np.clip(x / 6 + 0.5, 0, 1), Bound(3, absolute=2.0**-20)),
    "Gelu": (lambda x: _gelu(x), Bound(2, absolute=4e-7, relative=4e-3, vanishing=1e-37)),
}
BINARY: dict[str, tuple[Callable[[Any, Any], Any], Bound]] = {
    "Add": (np.add, EXACT),
    "Sub": (np.subtract, EXACT),
    "Mul": (np.multiply, EXACT),
    "Div": (np.divide, EXACT),
    "Mod": (np.fmod, EXACT),
    "PRelu": (lambda a, b: where(a < 0, a * b, a), EXACT),
    "Min": (np.minimum, Bound()),
    "Max": (np.maximum, Bound()),
    "Pow": (np.power, Bound(1, sign=True)),
}
# Where the result is float64: the polynomial of f32 is not used, what cancels does so in its own precision.
DOUBLE = {
    "Gelu": Bound(2, absolute=1e-15),
    "HardSigmoid": Bound(1, absolute=2.0**-52),
    "HardSwish": Bound(3, absolute=2.0**-49),
}


@dataclass(frozen=True)
class Limits:
    """Of a float type."""

    tiny: float  # the smallest normal number
    least: float  # the smallest number
    most: float
    eps: float

    @classmethod
    def of(cls, dtype: Any) -> Limits:
        info = cast(Any, ml_dtypes).finfo(dtype)
        return cls(*(float(number) for number in (info.tiny, info.smallest_subnormal, info.max, info.eps)))


def _sigmoid(x: Any) -> Any:
    small = np.exp(-np.abs(x))
    return where(x < 0, small, 1) / (1 + small)


def _softplus(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _elu(x: Any) -> Any:
    return where(x < 0, np.expm1(x), x)


def _selu(x: Any) -> Any:
    alpha: Any = Long(np.float32(1.67326319217681884765625))
    gamma: Any = Long(np.float32(1.05070102214813232421875))
    return gamma * where(x < 0, alpha * np.expm1(x), x)


def _gelu(x: Any) -> Any:
    root: Any = np.sqrt(Long(2))
    tail = _erfc((-x / root).astype(np.float64)).astype(Long)
    return where(np.isneginf(x), 0, x * tail / 2)


def sizes(dtype: Any) -> Array:
    """Zeros, ones, limits and infinities of a type, numbers of every magnitude, halves: all of both signs; NaN."""
    if dtype.itemsize == 2:
        return np.arange(1 << 16, dtype=np.uint16).view(dtype)
    info = Limits.of(dtype)
    random = np.random.default_rng(0)
    special: list[Any] = [
        0,
        info.tiny,
        info.least,
        info.tiny / 2,
        info.most,
        info.most / 2,
        info.eps,
        math.inf,
    ]
    special += [1 - info.eps / 2, 1, 1 + info.eps, *np.arange(0.5, 12, 0.5), 20, 40, 80, 88, 89, 104, 709, 711, math.pi]
    anywhere = 2.0 ** random.uniform(np.log2(info.tiny), np.log2(info.most), 200)
    middle = 2.0 ** random.uniform(-12, 7, 500)
    positive = np.concatenate([special, anywhere, middle]).clip(0, math.inf).astype(dtype)
    return np.concatenate([positive, -positive, np.array([math.nan], dtype)])


def pairs(dtype: Any) -> tuple[Array, Array]:
    """Every pair of some numbers, then random ones of all sizes."""
    info = Limits.of(dtype)
    few: list[Any] = [0, 0.5, 1, 1.5, 2, 3, 7, 1e4, info.tiny, info.least, info.most, math.inf, math.nan]
    some = np.array([*few, *(-number for number in few)], np.float64).astype(dtype)
    random = np.random.default_rng(1)
    rest = random.permutation(sizes(dtype))[:1500]
    a, b = np.meshgrid(some, some)
    return np.concatenate([a.ravel(), rest]), np.concatenate([b.ravel(), random.permutation(rest)])


@cache
def model(dtype: Any, folded: bool) -> tuple[ModelProto, dict[str, Array]]:
    """Every operator once, on inputs or on constants; and these."""
    x, (a, b) = sizes(dtype), pairs(dtype)
    given = {"x": x, "a": a, "b": b}
    nodes = [helper.make_node(name, ["x"], [name]) for name in UNARY if _takes(name, dtype)]
    options: dict[str, Any] = {"Mod": {"fmod": 1}}
    nodes += [helper.make_node(name, ["a", "b"], [name], **options.get(name, {})) for name in BINARY]
    tensors = [numpy_helper.from_array(array, name) for name, array in given.items()]
    type = tensors[0].data_type
    inputs = [helper.make_tensor_value_info(name, type, array.shape) for name, array in given.items()]
    outputs = [helper.make_tensor_value_info(n.output[0], type, given[n.input[0]].shape) for n in nodes]
    graph = helper.make_graph(nodes, "all", [] if folded else inputs, outputs, tensors if folded else [])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=10), given


def _takes(name: str, dtype: Any) -> bool:
    import onnx

    text = {"bfloat16": "bfloat16", "float16": "float16", "float32": "float", "float64": "double"}[dtype.name]
    return f"tensor({text})" in onnx.defs.get_schema(name, 24).type_constraints[0].allowed_type_strs


def _longer(array: Array) -> Any:
    return (array if array.itemsize == 8 else array.astype(np.float64)).astype(Long)


def worst(name: str, got: Array, given: dict[str, Array]) -> str:
    """What is wrong with the worst result of an operator; nothing where all are within bounds."""
    function, bound = UNARY.get(name) or BINARY[name]
    operands = [given["x"]] if name in UNARY else [given["a"], given["b"]]
    with np.errstate(all="ignore"):
        wide = [_longer(array) for array in operands]
        exact: Any = np.asarray(function(*wide), Long)
        rounded = exact.astype(np.float64 if got.itemsize == 8 else np.float32).astype(got.dtype)
        found, expected = _longer(got), _longer(rounded)
    info = Limits.of(got.dtype)
    if got.itemsize == 8:
        bound = DOUBLE.get(name, bound)
    elif got.itemsize == 2:  # computed in f32, rounded once
        bound = replace(bound, ulps=0.502)
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(np.maximum(np.abs(exact), Long(info.tiny)))
        unit = np.ldexp(Long(info.eps), exponent - 1)
        relative = math.inf if bound.relative == math.inf else bound.relative * np.abs(exact)
        allowed = bound.ulps * unit + np.minimum(bound.absolute, relative)
        allowed = allowed + where(np.abs(exact) < bound.vanishing, bound.vanishing, 0)
        error = where(found == expected, 0, np.abs(found - exact) / allowed)
    error = where(np.isnan(found) & np.isnan(expected), 0, where(np.isnan(error), np.inf, error))
    if bound.sign:
        zero = (expected == 0) & (found == 0)
        error = where(zero & (np.signbit(found) != np.signbit(expected)), np.inf, error)
    if error.max() <= 1.001:
        return ""
    at = int(np.argmax(error))
    inputs = ", ".join(f"{float(array[at])!r}" for array in operands)
    return f"{name}({inputs}) = {float(got[at])!r}, exactly {exact[at]!r}: {float(error[at]):.3g} times what it may"


def _check(dtype: str, folded: bool, optimize: bool) -> None:
    proto, given = model(DTYPES[dtype], folded)
    outputs = mi.compile(proto, threads=1, enable_graph_optimization=optimize)({} if folded else given)
    wrong = [text for name, got in outputs.items() if (text := worst(name, got, given))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("dtype", DTYPES)
def test_compiled(dtype: str) -> None:
    _check(dtype, folded=False, optimize=True)


@pytest.mark.parametrize(
    "dtype", [pytest.param(name, marks=() if name == "float32" else pytest.mark.slow) for name in DTYPES]
)
def test_compiled_one_by_one(dtype: str) -> None:
    _check(dtype, folded=False, optimize=False)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("dtype", DTYPES)
def test_folded(dtype: str) -> None:
    _check(dtype, folded=True, optimize=True)


def test_rounding_to_16_bits_keeps_nan() -> None:
    """Also one whose payload stands in bits that are lost; everything else is the nearest number."""
    low, high = np.arange(1, 1 << 23, 4093, dtype=np.uint32), np.arange(0, 0x7F800000, 70001, dtype=np.uint32)
    bits = np.concatenate([low | 0x7F800000, low | 0xFF800000, high, high | 0x80000000])
    x = bits.view(np.float32)
    names = {"float16": 10, "bfloat16": 16}
    nodes = [helper.make_node("Cast", ["x"], [name], to=to) for name, to in names.items()]
    outputs = [helper.make_tensor_value_info(name, to, x.shape) for name, to in names.items()]
    graph = helper.make_graph(nodes, "casts", [helper.make_tensor_value_info("x", 1, x.shape)], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    found = mi.compile(model, threads=1)({"x": x})
    with np.errstate(all="ignore"):
        for name, array in found.items():
            expected = x.astype(DTYPES[name])
            assert (np.isnan(array.astype(np.float32)) == np.isnan(x)).all(), name
            assert (np.signbit(array) == np.signbit(x)).all(), name
            same = array.view(np.uint16) == expected.view(np.uint16)
            assert (same | np.isnan(x)).all(), name


def test_softmax_has_the_digits_of_float32() -> None:
    """A row's exponentials beside each other: each within a few units of where it should be."""
    x = np.linspace(-20, 0, 20001, dtype=np.float32)[None]
    exact = np.exp(x.astype(np.float64))
    exact /= exact.sum()
    graph = helper.make_graph(
        [helper.make_node("Softmax", ["x"], ["y"])],
        "softmax",
        [helper.make_tensor_value_info("x", 1, x.shape)],
        [helper.make_tensor_value_info("y", 1, x.shape)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    error = np.abs(mi.compile(model, threads=1)(x) / exact - 1)[0]
    near = x[0] > -4
    assert error[near].max() <= 5.5 * 2.0**-24  # 3.1 with sums of 4 or 8 lanes, 4.8 with those of 16
    assert error.max() <= 7 * 2.0**-24


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("number", [(math.nan,), (math.inf,), (-0.0,), (0.0, -0.0), (math.nan, math.inf)], ids=str)
def test_constants_of_special_numbers(number: tuple[float, ...], optimize: bool) -> None:
    """One per channel, all alike or not, behind a kernel of rows and behind one of single elements."""
    channels = np.resize(np.array(number, np.float32), (8, 1, 1))
    x = np.linspace(-2, 2, 2 * 8 * 3 * 4, dtype=np.float32).reshape(2, 8, 3, 4)
    b = ModelBuilder("special")
    given, constant = b.input("x", x.shape), b.constant(channels)
    model = b.model([b.node("Mul", b.node("Softmax", given), constant), b.node("Mul", given, constant)])
    results = mi.compile(model, threads=1, enable_graph_optimization=optimize)({"x": x})
    with np.errstate(all="ignore"):
        rows = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
        for (name, found), expected in zip(results.items(), (rows * channels, x * channels), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-6)
            known = ~np.isnan(expected)
            assert (np.signbit(found) == np.signbit(expected))[known].all(), name
