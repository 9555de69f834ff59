"""expand-math: accuracy of the polynomials over all of f32, and what is left to the library."""

import re
from collections.abc import Callable
from math import erf, inf, nan
from typing import Any

import numpy as np
import pytest
from llvm_jit import Code, assembly

COUNT = 1 << 20
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "tanh": np.tanh,
    "erf": np.frompyfunc(erf, 1, 1),
    "log": np.log,
    "log1p": np.log1p,
    "atan": np.arctan,
}
ULPS = {"exp": 1.0, "exp2": 1.0, "expm1": 1.6, "tanh": 2.5, "erf": 1.5, "log": 1.0, "log1p": 1.5, "atan": 2.0}


def elementwise(body: str, element: str = "f32", lanes: int = 1, inputs: int = 1) -> str:
    """A loop that applies `body`, from %a (and %b) to %r, to every element."""
    memref = f"memref<{COUNT}x{element}>"
    value = element if lanes == 1 else f"vector<{lanes}x{element}>"
    kind, types = ("memref", memref) if lanes == 1 else ("vector", f"{memref}, {value}")
    names = "ab"[:inputs]
    loads = "\n".join(f"%{each} = {kind}.load %{each}s[%i] : {types}" for each in names)
    arguments = ", ".join(f"%{each}s: {memref}" for each in names)
    return f"""
    func.func @f({arguments}, %rs: {memref}, %n: index) {{
      %zero = arith.constant 0 : index
      %step = arith.constant {lanes} : index
      scf.for %i = %zero to %n step %step {{
        {loads}
        {body.replace("$T", value)}
        {kind}.store %r, %rs[%i] : {types}
      }}
      func.return
    }}"""


def every_float(step: int) -> np.ndarray:
    """Floats of every sign and exponent, zeros, infinities and NaN among them."""
    bits = np.arange(0, 1 << 32, step, dtype=np.uint64).astype(np.uint32)
    special = np.array([0.0, -0.0, inf, -inf, nan, 1.0, -1.0, 2.0**-149, 88.72283, 88.73, -87.3365, -87.34])
    values = np.concatenate([special.astype(np.float32), bits.view(np.float32)])
    return np.resize(values, COUNT)


def error_in_ulps(got: np.ndarray, exact: np.ndarray) -> tuple[float, int]:
    """The largest error of a finite result, and how many infinities and NaN are wrong.

    Where the exact result is below the smallest normal number, 0 is as good.
    """
    with np.errstate(all="ignore"):
        rounded = exact.astype(np.float32)
        unit = np.spacing(np.maximum(np.abs(rounded), np.float32(2.0**-126))).astype(np.float64)
        error = np.abs(got.astype(np.float64) - exact) / unit
    finite = np.isfinite(rounded)
    error[finite & (np.abs(exact) < 2.0**-126) & (got == 0)] = 0
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    return float(np.max(np.nan_to_num(error[finite], nan=inf))), int(np.sum(~finite & ~same))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy(name: str, lanes: int) -> None:
    code = Code(elementwise(f"%r = math.{name} %a : $T", lanes=lanes))
    values = every_float(4099)
    results = np.empty_like(values)
    code("f", values, results, COUNT)
    with np.errstate(all="ignore"):
        exact = np.asarray(FUNCTIONS[name](values.astype(np.float64)), dtype=np.float64)
    worst, wrong = error_in_ulps(results, exact)
    assert worst <= ULPS[name]
    assert wrong == 0


@pytest.mark.thinned(3)
@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0, 3.0, 4.0, 0.5, -0.5, -1.0, -2.0, 1.7, -3.0])
def test_power_with_a_constant_exponent(exponent: float) -> None:
    body = f"%e = arith.constant {exponent} : f32\n%r = math.powf %a, %e : f32"
    values = every_float(4099)
    results = np.empty_like(values)
    Code(elementwise(body))("f", values, results, COUNT)
    with np.errstate(all="ignore"):
        exact = np.power(values.astype(np.float64), np.full(COUNT, np.float32(exponent), np.float64))
    normal = ~((np.abs(exact) < 2.0**-126) & (exact != 0))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(results[normal], exact[normal].astype(np.float32), rtol=3e-7)


def test_power_in_general() -> None:
    random = np.random.default_rng(0)
    inf, most = np.inf, 3.4e38
    special = [0, -0.0, 1, -1, inf, -inf, np.nan, 0.5, -2, 3, -3, 2.5, 1e-40, -1e-40, most, -most, 16777215, 8388607.5]
    beside = [1.0000001, 0.9999999, 1e9, -1e9]
    pairs = np.array([(x, y) for x in (*special, *beside) for y in (*special, *beside)]).T
    some = (
        random.uniform([[-20], [-9]], [[20], [9]], (2, 2000)),
        random.uniform([[0.9], [-700]], [[1.1], [700]], (2, 900)),
    )
    whole = random.uniform(-3, 3, 500), random.integers(-30, 30, 500)
    bases, exponents = np.concatenate([pairs, *some, whole], 1).astype(np.float32)
    results = np.empty_like(bases)
    Code(elementwise("%r = math.powf %a, %b : f32", inputs=2))("f", bases, exponents, results, bases.size)
    with np.errstate(all="ignore"):
        exact = np.power(bases.astype(np.float64), exponents.astype(np.float64))
        np.testing.assert_allclose(results, exact.astype(np.float32), rtol=1.3e-7, atol=1.5e-45)
    given = ~np.isnan(exact)
    np.testing.assert_array_equal(np.signbit(results[given]), np.signbit(exact[given]))


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("name", [*FUNCTIONS, "sin", "cos", "tan", "rsqrt", "cbrt", "asinh"])
def test_double_precision(name: str, lanes: int) -> None:
    reference: Any = {"rsqrt": lambda x: 1 / np.sqrt(x), "asinh": np.arcsinh}  # pyright: ignore
    function = FUNCTIONS.get(name) or reference.get(name) or getattr(np, name)
    values = np.resize(np.random.default_rng(1).uniform(0.1, 5, 1000), COUNT)
    results = np.empty_like(values)
    Code(elementwise(f"%r = math.{name} %a : $T", "f64", lanes))("f", values, results, 1000)
    exact = np.asarray(function(values[:1000]), dtype=np.float64)
    np.testing.assert_allclose(results[:1000], exact, rtol=1e-14)


@pytest.mark.parametrize("name", ["exp", "erf", "sin", "cbrt"])
def test_half_precision_is_computed_in_f32(name: str) -> None:
    function = FUNCTIONS.get(name) or getattr(np, name)
    values = np.resize(np.linspace(-4, 4, 1000, dtype=np.float16), COUNT)
    results = np.empty_like(values)
    Code(elementwise(f"%r = math.{name} %a : $T", "f16", 8))("f", values, results, 1000)
    exact = np.asarray(function(values[:1000].astype(np.float64)), dtype=np.float64).astype(np.float16)
    np.testing.assert_array_max_ulp(results[:1000], exact, 1)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("cpu", "register"), [("x86-64-v4", "zmm"), ("x86-64-v3", "ymm")])
def test_scalar_loops_are_vectorised(name: str, cpu: str, register: str) -> None:
    text = assembly(elementwise(f"%r = math.{name} %a : f32"), cpu, 512 if cpu.endswith("4") else 256)
    assert len(re.findall(rf"\tvfm?n?m?add\w+ps\t.*%{register}", text)) >= 5
    assert "\tcall" not in text


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ctlz", [32, 31, 0, 24]),
        ("cttz", [32, 0, 31, 6]),
        ("ctpop", [0, 1, 1, 2]),
    ],
)
def test_counts_of_bits(name: str, expected: list[int], lanes: int) -> None:
    """Those of 0 as well."""
    code = Code(elementwise(f"%r = math.{name} %a : $T", "i32", lanes))
    values = np.resize(np.array([0, 1, 1 << 31, 0b11000000], np.uint32), COUNT)
    results = np.empty_like(values)
    code("f", values, results, COUNT)
    np.testing.assert_array_equal(results, np.resize(np.array(expected, np.uint32), COUNT))
