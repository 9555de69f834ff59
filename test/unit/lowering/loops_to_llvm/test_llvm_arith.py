"""arith operations compiled and compared with numpy: scalars, vectors, and CPUs with other instructions."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from llvm_jit import DTYPES, Code

LANES = 8


def apply(body: str, result: str, *inputs: tuple[str, np.ndarray], cpu: str = "", lanes: int = 1) -> np.ndarray:
    """`body`, from %v0, %v1, ... to %r, on every element or every `lanes` of them."""
    size = inputs[0][1].size
    assert size % lanes == 0

    def value(element: str) -> str:
        return element if lanes == 1 else f"vector<{lanes}x{element}>"

    def access(element: str) -> str:
        memref = f"memref<{size}x{element}>"
        return memref if lanes == 1 else f"{memref}, {value(element)}"

    kind = "memref" if lanes == 1 else "vector"
    loads = "\n".join(f"%v{k} = {kind}.load %in{k}[%i] : {access(element)}" for k, (element, _) in enumerate(inputs))
    arguments = ", ".join(f"%in{k}: memref<{size}x{element}>" for k, (element, _) in enumerate(inputs))
    for k, (element, _) in enumerate(inputs):
        body = body.replace(f"$T{k}", value(element))
    text = f"""
    func.func @f({arguments}, %out: memref<{size}x{result}>) {{
      %zero = arith.constant 0 : index
      %step = arith.constant {lanes} : index
      %size = arith.constant {size} : index
      scf.for %i = %zero to %size step %step {{
        {loads}
        {body.replace("$R", value(result)).replace("$B", value("i1"))}
        {kind}.store %r, %out[%i] : {access(result)}
      }}
      func.return
    }}"""
    out = np.zeros(size, DTYPES[result])
    vector_bits = {"x86-64-v3": 256, "x86-64-v2": 128}.get(cpu, 0)
    Code(text, cpu, vector_bits)("f", *(array for _, array in inputs), out)
    return out


def integers(element: str, seed: int = 0) -> np.ndarray:
    """Random numbers of the whole range, and small ones."""
    random = np.random.default_rng(seed)
    info = np.iinfo(DTYPES[element])
    wide: np.ndarray = random.integers(info.min, info.max, 32, np.int64, endpoint=True)
    small: np.ndarray = random.integers(-5, 6, 32).astype(DTYPES[element])
    return np.concatenate([wide.astype(DTYPES[element]), small])


INTEGER_OPS: dict[str, Callable[[Any, Any], Any]] = {
    "addi": np.add,
    "subi": np.subtract,
    "muli": np.multiply,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "minsi": np.minimum,
    "maxsi": np.maximum,
}


@pytest.mark.thinned(5)
@pytest.mark.parametrize("lanes", [1, LANES])
@pytest.mark.parametrize("element", ["i8", "i32", "i64"])
@pytest.mark.parametrize("name", INTEGER_OPS)
def test_integers(name: str, element: str, lanes: int) -> None:
    a, b = integers(element, 1), integers(element, 2)
    got = apply(f"%r = arith.{name} %v0, %v1 : $R", element, (element, a), (element, b), lanes=lanes)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(got, INTEGER_OPS[name](a, b))


DIVISIONS: dict[str, Callable[[Any, Any], Any]] = {
    "divsi": lambda a, b: np.trunc(a / b).astype(np.int32),
    "remsi": np.fmod,
    "floordivsi": np.floor_divide,
    "ceildivsi": lambda a, b: -(-a // b),
}


@pytest.mark.parametrize("lanes", [1, LANES])
@pytest.mark.parametrize("name", DIVISIONS)
def test_signed_division(name: str, lanes: int) -> None:
    a = np.arange(-32, 32, dtype=np.int32)
    b = np.tile(np.array([1, -1, 3, -3, 7, -7, 64, -64], np.int32), 8)
    got = apply(f"%r = arith.{name} %v0, %v1 : $R", "i32", ("i32", a), ("i32", b), lanes=lanes)
    np.testing.assert_array_equal(got, DIVISIONS[name](a, b))


@pytest.mark.parametrize("lanes", [1, LANES])
def test_unsigned_division_and_shifts(lanes: int) -> None:
    a, b = integers("i32", 3), np.tile(np.array([1, 2, 3, 31], np.int32), 16)
    unsigned = a.view(np.uint32), b.view(np.uint32)
    expected: dict[str, np.ndarray] = {
        "divui": unsigned[0] // unsigned[1],
        "remui": unsigned[0] % unsigned[1],
        "ceildivui": -(-unsigned[0].astype(np.int64) // unsigned[1]),
        "shrui": unsigned[0] >> unsigned[1],
        "shrsi": a >> b,
        "shli": a << b,
        "minui": np.minimum(*unsigned),
        "maxui": np.maximum(*unsigned),
    }
    for name, values in expected.items():
        got = apply(f"%r = arith.{name} %v0, %v1 : $R", "i32", ("i32", a), ("i32", b), lanes=lanes)
        np.testing.assert_array_equal(got, values.astype(np.uint32).view(np.int32), err_msg=name)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("lanes", [1, LANES])
@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
def test_floats(element: str, lanes: int) -> None:
    random = np.random.default_rng(4)
    a, b = (random.uniform(-9, 9, 64).astype(DTYPES[element]) for _ in range(2))
    exact = {"addf": a + b, "subf": a - b, "mulf": a * b, "divf": a / b, "remf": np.fmod(a, b)}
    for name, values in exact.items():
        got = apply(f"%r = arith.{name} %v0, %v1 : $R", element, (element, a), (element, b), lanes=lanes)
        np.testing.assert_array_equal(got, values.astype(DTYPES[element]), err_msg=name)


@pytest.mark.parametrize("lanes", [1, LANES])
def test_extremes_and_nan(lanes: int) -> None:
    a = np.array([1, 2, np.nan, 4, np.nan, np.inf, -0.0, 3], np.float32)
    b = np.array([2, 1, 3, np.nan, np.nan, 1, 0.0, 3], np.float32)
    expected = {
        "maximumf": np.maximum(a, b),
        "minimumf": np.minimum(a, b),
        "maxnumf": np.fmax(a, b),
        "minnumf": np.fmin(a, b),
    }
    for name, values in expected.items():
        got = apply(f"%r = arith.{name} %v0, %v1 : $R", "f32", ("f32", a), ("f32", b), lanes=lanes)
        np.testing.assert_array_equal(got, values, err_msg=name)


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "oeq": np.equal,
    "ogt": np.greater,
    "oge": np.greater_equal,
    "olt": np.less,
    "ole": np.less_equal,
    "une": np.not_equal,
    "one": lambda a, b: (a < b) | (a > b),
    "ord": lambda a, b: (a == a) & (b == b),
    "uno": lambda a, b: (a != a) | (b != b),
    "ult": lambda a, b: ~(a >= b),
    "ugt": lambda a, b: ~(a <= b),
    "ueq": lambda a, b: ~((a < b) | (a > b)),
    "uge": lambda a, b: ~(a < b),
    "ule": lambda a, b: ~(a > b),
    "true": lambda a, b: np.ones_like(a, bool),
    "false": lambda a, b: np.zeros_like(a, bool),
}


@pytest.mark.parametrize("lanes", [1, LANES])
@pytest.mark.parametrize("predicate", COMPARISONS)
def test_float_comparison_to_a_truth_value_in_memory(predicate: str, lanes: int) -> None:
    a = np.array([1, 2, np.nan, 4, np.nan, np.inf, -0.0, 3], np.float32)
    b = np.array([2, 1, 3, np.nan, np.nan, 1, 0.0, 3], np.float32)
    got = apply(f"%r = arith.cmpf {predicate}, %v0, %v1 : $T0", "i1", ("f32", a), ("f32", b), lanes=lanes)
    np.testing.assert_array_equal(got, COMPARISONS[predicate](a, b))


@pytest.mark.parametrize("lanes", [1, LANES])
def test_integer_comparison_and_select(lanes: int) -> None:
    a, b = integers("i32", 5), integers("i32", 6)
    expected = {"slt": a < b, "sge": a >= b, "eq": a == b, "ult": a.view(np.uint32) < b.view(np.uint32)}
    for predicate, values in expected.items():
        got = apply(
            f"%c = arith.cmpi {predicate}, %v0, %v1 : $T0\n"
            f"%r = arith.select %c, %v0, %v1 : {'$B, ' if lanes > 1 else ''}$R",
            "i32",
            ("i32", a),
            ("i32", b),
            lanes=lanes,
        )
        np.testing.assert_array_equal(got, np.where(values, a, b), err_msg=predicate)


def test_any_byte_but_zero_is_true() -> None:
    flags = np.array([0, 1, 2, 128, 255, 0, 7, 0], np.uint8)
    for lanes in (1, LANES):
        got = apply("%r = arith.extui %v0 : $T0 to $R", "i32", ("i1", flags), lanes=lanes)
        np.testing.assert_array_equal(got, (flags != 0).astype(np.int32))


CASTS = [
    ("extsi", "i8", "i64"),
    ("extui", "i8", "i32"),
    ("trunci", "i64", "i8"),
    ("sitofp", "i32", "f32"),
    ("sitofp", "i64", "f64"),
    ("uitofp", "i8", "f32"),
    ("uitofp", "i1", "f32"),
    ("fptosi", "f32", "i32"),
    ("fptosi", "f64", "i8"),
    ("fptosi", "f16", "i64"),
    ("extf", "f16", "f32"),
    ("extf", "bf16", "f32"),
    ("extf", "f32", "f64"),
    ("truncf", "f32", "f16"),
    ("truncf", "f32", "bf16"),
    ("truncf", "f64", "f32"),
]


@pytest.mark.thinned(5)
@pytest.mark.parametrize("cpu", ["", "x86-64-v3", "x86-64-v2"])
@pytest.mark.parametrize("lanes", [1, LANES])
@pytest.mark.parametrize(("name", "source", "target"), CASTS)
def test_casts(name: str, source: str, target: str, lanes: int, cpu: str) -> None:
    random = np.random.default_rng(7)
    if source == "i1":
        values = random.integers(0, 2, 64).astype(np.bool_)
    elif source.startswith("i"):
        values = integers(source, 8)
    else:
        values = random.uniform(-100, 100, 64).astype(DTYPES[source])
    exact = values
    if name in ("extui", "uitofp") and source != "i1":
        exact = values.view(f"u{values.dtype.itemsize}")
    got = apply(f"%r = arith.{name} %v0 : $T0 to $R", target, (source, values), lanes=lanes, cpu=cpu)
    np.testing.assert_array_equal(got, exact.astype(DTYPES[target]))


def test_bits_of_a_float() -> None:
    values = np.linspace(-1, 1, 64, dtype=np.float32)
    for lanes in (1, LANES):
        got = apply("%r = arith.bitcast %v0 : $T0 to $R", "i32", ("f32", values), lanes=lanes)
        np.testing.assert_array_equal(got, values.view(np.int32))


def test_index_casts() -> None:
    values = integers("i32", 9)
    for lanes in (1, LANES):
        index = "index" if lanes == 1 else f"vector<{LANES}xindex>"
        body = f"%x = arith.index_cast %v0 : $T0 to {index}\n%r = arith.index_cast %x : {index} to $R"
        np.testing.assert_array_equal(apply(body, "i64", ("i32", values), lanes=lanes), values)


ROUNDINGS: dict[str, Callable[[Any], Any]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "roundeven": np.round,
    "absf": np.abs,
}


@pytest.mark.parametrize("cpu", ["", "x86-64-v3"])
@pytest.mark.parametrize("name", ROUNDINGS)
def test_rounding(name: str, cpu: str) -> None:
    values = np.linspace(-4, 4, 64, dtype=np.float32)
    for lanes in (1, LANES):
        got = apply(f"%r = math.{name} %v0 : $R", "f32", ("f32", values), lanes=lanes, cpu=cpu)
        np.testing.assert_array_equal(got, ROUNDINGS[name](values))
