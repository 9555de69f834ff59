"""The interpreter of GPU code computes what LLVM does: each op on all threads, and on numbers that they share."""

from __future__ import annotations

import numpy as np
import pytest
from gpu_runs import kernel_function, run
from llvm_jit import DTYPES, Code

from mini_infer.dialects.graph.values import Array

SIZE = 64
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-8, 3e4, -3e4, 7.75]


def numbers(element: str, seed: int) -> Array:
    """Random numbers of a type, and those where rules change."""
    random = np.random.default_rng(seed)
    dtype = DTYPES[element]
    if element == "i1":
        return random.random(SIZE) < 0.5
    if element.startswith("i"):
        info = np.iinfo(dtype)
        whole: Array = random.integers(int(info.min), int(info.max), SIZE, endpoint=True).astype(dtype)
        whole[:6] = [0, 1, -1, info.min, info.max, 7]
        return random.permutation(whole)
    made = random.standard_normal(SIZE) * 4
    made[: len(SPECIAL)] = SPECIAL
    return random.permutation(made).astype(dtype)


def text(body: str, inputs: list[str], result: str, lanes: int) -> tuple[str, str]:
    """Arguments, and the body that takes element %i of each input to that of the output."""

    def value(element: str) -> str:
        return f"vector<{lanes}x{element}>" if lanes else element

    def access(element: str) -> str:
        return f"memref<{SIZE}x{element}>" + (f", {value(element)}" if lanes else "")

    kind = "vector" if lanes else "memref"
    loads = "\n".join(f"%v{k} = {kind}.load %in{k}[%i] : {access(element)}" for k, element in enumerate(inputs))
    for k, element in enumerate(inputs):
        body = body.replace(f"$T{k}", value(element))
    body = body.replace("$R", value(result)).replace("$B", value("i1"))
    arguments = ", ".join(f"%in{k}: memref<{SIZE}x{element}>" for k, element in enumerate([*inputs, result]))
    return arguments, f"{loads}\n{body}\n{kind}.store %r, %in{len(inputs)}[%i] : {access(result)}"


def compiled(arguments: str, body: str, arrays: list[Array], lanes: int) -> None:
    """The same on a CPU, by LLVM."""
    Code(f"""
    func.func @f({arguments}) {{
      %zero = arith.constant 0 : index
      %step = arith.constant {lanes or 1} : index
      %size = arith.constant {SIZE} : index
      scf.for %i = %zero to %size step %step {{
        {body}
      }}
      func.return
    }}""")("f", *arrays)


def interpreted(arguments: str, body: str, arrays: list[Array], lanes: int, shared: bool) -> None:
    """By the interpreter: an element in each thread, or one thread that takes them one by one."""
    if not shared:
        function = kernel_function(
            arguments, f"%w = arith.constant {lanes or 1} : index\n%i = arith.muli %tid, %w : index\n{body}"
        )
        run(function, arrays, threads=SIZE // (lanes or 1))
        return
    function = kernel_function(
        arguments,
        f"""%zero = arith.constant 0 : index
        %step = arith.constant {lanes or 1} : index
        %size = arith.constant {SIZE} : index
        scf.for %i = %zero to %size step %step {{
        {body}
        }}""",
    )
    run(function, arrays, threads=1)


def check(body: str, inputs: list[str], result: str, lanes: int = 0, safe: bool = False, tolerance: float = 0) -> None:
    """Both agree to the last bit, or to a tolerance."""
    arrays = [numbers(element, seed) for seed, element in enumerate(inputs)]
    if safe:  # no division by zero, no overflow, no shift by more than there is
        arrays[1] = np.abs(arrays[1] % 7 + 1).astype(arrays[1].dtype)
    arguments, code = text(body, inputs, result, lanes)
    expected = np.zeros(SIZE, DTYPES[result])
    compiled(arguments, code, [*arrays, expected], lanes)
    for shared in (False, True):
        got = np.zeros(SIZE, DTYPES[result])
        interpreted(arguments, code, [*arrays, got], lanes, shared)
        if tolerance:
            np.testing.assert_allclose(got.astype(np.float64), expected.astype(np.float64), rtol=tolerance)
        else:
            where = got.tobytes() == expected.tobytes() or np.array_equal(got, expected, equal_nan=True)
            assert where, [(a, g, e) for *a, g, e in zip(*arrays, got, expected, strict=True) if g != e]
            if result.startswith("f"):
                np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(expected[got == 0]))


INTEGER = ["addi", "subi", "muli", "andi", "ori", "xori", "minsi", "maxsi", "minui", "maxui"]
SAFE = ["divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui", "shli", "shrsi", "shrui"]


@pytest.mark.thinned(7)
@pytest.mark.parametrize("op", INTEGER)
@pytest.mark.parametrize("element", ["i8", "i32", "i64"])
def test_integers_wrap_around(op: str, element: str) -> None:
    check(f"%r = arith.{op} %v0, %v1 : $R", [element, element], element, lanes=4 if element == "i32" else 0)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("op", SAFE)
@pytest.mark.parametrize("element", ["i8", "i32"])
def test_divisions_and_shifts(op: str, element: str) -> None:
    check(f"%r = arith.{op} %v0, %v1 : $R", [element, element], element, safe=True)


@pytest.mark.parametrize("op", SAFE)
def test_indices(op: str) -> None:
    check(
        f"""%a = arith.index_cast %v0 : i32 to index
        %b = arith.index_cast %v1 : i32 to index
        %c = arith.{op} %a, %b : index
        %r = arith.index_cast %c : index to i64""",
        ["i32", "i32"],
        "i64",
        safe=True,
    )


@pytest.mark.parametrize("op", ["addi", "subi", "muli", "andi", "ori", "xori"])
def test_truth_values(op: str) -> None:
    check(f"%r = arith.{op} %v0, %v1 : i1", ["i1", "i1"], "i1")


@pytest.mark.parametrize("op", ["addf", "subf", "mulf", "divf", "maximumf", "minimumf", "maxnumf", "minnumf", "remf"])
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_floats_are_rounded_once(op: str, element: str) -> None:
    check(f"%r = arith.{op} %v0, %v1 : $R", [element, element], element, lanes=4 if op != "remf" else 0)


@pytest.mark.parametrize("op", ["addf", "mulf", "divf"])
@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_halves(op: str, element: str) -> None:
    check(f"%r = arith.{op} %v0, %v1 : $R", [element, element], element)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("predicate", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
def test_integer_comparisons(predicate: str) -> None:
    check(f"%r = arith.cmpi {predicate}, %v0, %v1 : $T0", ["i8", "i8"], "i1")
    body = f"""%a = arith.index_cast %v0 : i32 to index
        %b = arith.index_cast %v1 : i32 to index
        %r = arith.cmpi {predicate}, %a, %b : index"""
    check(body, ["i32", "i32"], "i1")


PREDICATES = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true"


@pytest.mark.parametrize("predicate", PREDICATES.split())
def test_float_comparisons(predicate: str) -> None:
    body = f"%r = arith.cmpf {predicate}, %v0, %v1 : $T0"
    if predicate in ("false", "true"):
        body = f"%one = arith.constant true\n%c = arith.cmpf {predicate}, %v0, %v1 : $T0\n%r = arith.andi %c, %one : i1"
    check(body, ["f32", "f32"], "i1")


CONVERSIONS = [
    ("extsi", "i8", "i32"),
    ("extsi", "i1", "i32"),
    ("extui", "i8", "i32"),
    ("extui", "i1", "i32"),
    ("trunci", "i32", "i8"),
    ("trunci", "i32", "i1"),
    ("sitofp", "i32", "f32"),
    ("sitofp", "i1", "f32"),
    ("uitofp", "i32", "f32"),
    ("uitofp", "i1", "f32"),
    ("uitofp", "i8", "f64"),
    ("truncf", "f64", "f32"),
    ("truncf", "f32", "f16"),
    ("truncf", "f32", "bf16"),
    ("extf", "f16", "f32"),
    ("extf", "bf16", "f32"),
    ("bitcast", "f32", "i32"),
    ("bitcast", "i32", "f32"),
]


@pytest.mark.parametrize(("op", "source", "target"), CONVERSIONS)
def test_conversions(op: str, source: str, target: str) -> None:
    check(f"%r = arith.{op} %v0 : $T0 to $R", [source], target)


@pytest.mark.parametrize("target", ["i8", "i32"])
def test_floats_to_integers(target: str) -> None:
    small = "%s = arith.sitofp %v0 : i8 to f32\n%h = arith.constant 0.3 : f32\n%p = arith.mulf %s, %h : f32\n"
    check(small + "%r = arith.fptosi %p : f32 to $R", ["i8"], target)
    check(small + "%a = math.absf %p : f32\n%r = arith.fptoui %a : f32 to $R", ["i8"], target)


@pytest.mark.parametrize("name", ["absf", "ceil", "floor", "trunc", "round", "roundeven", "sqrt"])
def test_exact_functions(name: str) -> None:
    check(f"%r = math.{name} %v0 : $R", ["f32"], "f32", lanes=4)


NEAR = "exp exp2 expm1 log log2 log10 log1p sin cos tan tanh erf atan sinh cosh asin acos asinh acosh atanh cbrt rsqrt"


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", NEAR.split())
def test_functions(name: str) -> None:
    check(f"%r = math.{name} %v0 : $R", ["f64"], "f64", tolerance=1e-12)


def test_functions_of_two_and_three() -> None:
    check("%a = math.absf %v0 : f64\n%r = math.powf %a, %v1 : f64", ["f64", "f64"], "f64", tolerance=1e-12)
    check("%r = math.atan2 %v0, %v1 : f64", ["f64", "f64"], "f64", tolerance=1e-12)
    check("%r = math.copysign %v0, %v1 : f32", ["f32", "f32"], "f32")
    check("%r = math.fma %v0, %v1, %v2 : f32", ["f32", "f32", "f32"], "f32")
    check("%r = vector.fma %v0, %v1, %v2 : $R", ["f32", "f32", "f32"], "f32", lanes=4)


def test_selection() -> None:
    check("%r = arith.select %v0, %v1, %v2 : f32", ["i1", "f32", "f32"], "f32")
    condition = "%z = arith.constant 0.0 : f32\n%e = vector.extract %v0[1] : f32 from vector<4xf32>\n"
    condition += "%c = arith.cmpf olt, %e, %z : f32\n%m = arith.cmpf olt, %v0, %v1 : $R\n"
    check(condition + "%r = arith.select %c, %v0, %v1 : $R", ["f32", "f32"], "f32", lanes=4)
    check(condition + "%r = arith.select %m, %v0, %v1 : $B, $R", ["f32", "f32"], "f32", lanes=4)


def test_vectors() -> None:
    vector = "vector<4xf32>"
    check(
        f"%e = vector.extract %v0[2] : f32 from {vector}\n%r = vector.broadcast %e : f32 to {vector}", ["f32"], "f32", 4
    )
    body = f"%e = vector.extract %v0[3] : f32 from {vector}\n%r = vector.insert %e, %v1[1] : f32 into {vector}"
    check(body, ["f32", "f32"], "f32", lanes=4)
    check(f"%r = vector.shuffle %v0, %v1 [0, 4, 3, 7] : {vector}, {vector}", ["f32", "f32"], "f32", lanes=4)
    for kind in ("maximumf", "minnumf"):
        body = f"%e = vector.reduction <{kind}>, %v0 : {vector} into f32\n%r = vector.broadcast %e : f32 to {vector}"
        check(body, ["f32"], "f32", lanes=4)
    for kind in ("add", "mul", "and", "or", "xor", "maxsi", "minui"):
        body = f"%e = vector.reduction <{kind}>, %v0 : vector<4xi32> into i32\n"
        check(body + "%r = vector.broadcast %e : i32 to vector<4xi32>", ["i32"], "i32", lanes=4)
