"""What operations mean in CUDA C++: the text, compiled for this machine's CPU, and LLVM's code for the same operations.

Every operation is a function of its own in one module for each of the two, on numbers and on vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from gpu_runs import NEEDS_COMPILER
from gpu_text import parse
from llvm_jit import DTYPES, Code

from mini_infer.lowering.gpu_to_cuda.cuda_text import HANDLERS, cuda_text
from mini_infer.lowering.gpu_to_cuda.device_program import Argument, Launch
from mini_infer.runtime.devices.emulated.compiled import Program, load

pytestmark = NEEDS_COMPILER

SIZE, LANES = 64, 4
FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("i8", "i16", "i32", "i64")


@dataclass(frozen=True)
class Case:
    """`body` computes %r of type $R from %v0, %v1, ... of types $0, $1, ...; on numbers that `kind` says."""

    name: str
    body: str
    inputs: tuple[str, ...]
    result: str
    kind: str = "any"


def _cases() -> Iterator[Case]:
    for type in INTEGERS:
        for op in ("addi", "subi", "muli", "andi", "ori", "xori", "minsi", "maxsi", "minui", "maxui"):
            yield Case(op, f"%r = arith.{op} %v0, %v1 : $R", (type, type), type)
        for op in ("divsi", "remsi", "divui", "remui", "floordivsi", "ceildivsi", "ceildivui"):
            yield Case(op, f"%r = arith.{op} %v0, %v1 : $R", (type, type), type, "divisor")
        for op in ("shli", "shrsi", "shrui"):
            yield Case(op, f"%r = arith.{op} %v0, %v1 : $R", (type, type), type, "shift")
        for predicate in ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"):
            yield Case(f"cmpi_{predicate}", f"%r = arith.cmpi {predicate}, %v0, %v1 : $0", (type, type), "i1", "close")
        yield Case("absi", "%r = math.absi %v0 : $R", (type,), type)
        yield Case("select", "%r = arith.select %v0, %v1, %v2 : $0, $R", ("i1", type, type), type)
        for other in ("i1", *INTEGERS):
            if DTYPES[other] != DTYPES[type]:
                wider = np.dtype(DTYPES[type]).itemsize > np.dtype(DTYPES[other]).itemsize or other == "i1"
                for op in ("extsi", "extui") if wider else ("trunci",):
                    yield Case(f"{op}_{other}", f"%r = arith.{op} %v0 : $0 to $R", (other,), type)
        yield Case(f"trunci_{type}", "%r = arith.trunci %v0 : $0 to $R", (type,), "i1")
    for op in ("andi", "ori", "xori", "addi", "muli", "subi"):
        yield Case(f"{op}_i1", f"%r = arith.{op} %v0, %v1 : $R", ("i1", "i1"), "i1")
    for predicate in ("eq", "slt", "ult"):
        yield Case(f"cmpi_{predicate}_i1", f"%r = arith.cmpi {predicate}, %v0, %v1 : $0", ("i1", "i1"), "i1")
    for type in FLOATS:
        for op in ("addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf"):
            yield Case(op, f"%r = arith.{op} %v0, %v1 : $R", (type, type), type, "zeros" if "num" in op else "special")
        for predicate in ("oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une"):
            yield Case(
                f"cmpf_{predicate}", f"%r = arith.cmpf {predicate}, %v0, %v1 : $0", (type, type), "i1", "special"
            )
        yield Case("cmpf_uno", "%r = arith.cmpf uno, %v0, %v1 : $0", (type, type), "i1", "special")
        yield Case("cmpf_nan", "%r = arith.cmpf uno, %v0, %v0 : $0", (type,), "i1", "special")
        yield Case("negf", "%r = arith.negf %v0 : $R", (type,), type, "special")
        for op in ("absf", "ceil", "floor", "round", "roundeven", "trunc", "sqrt"):
            yield Case(op, f"%r = math.{op} %v0 : $R", (type,), type, "special")
        yield Case("copysign", "%r = math.copysign %v0, %v1 : $R", (type, type), type)
        yield Case("fma", "%r = math.fma %v0, %v1, %v2 : $R", (type, type, type), type)
        for other in ("i1", *INTEGERS):
            for op in ("sitofp", "uitofp"):
                yield Case(f"{op}_{other}", f"%r = arith.{op} %v0 : $0 to $R", (other,), type)
            if other != "i1":
                yield Case(f"fptosi_{other}", "%r = arith.fptosi %v0 : $0 to $R", (type,), other)
                yield Case(f"fptoui_{other}", "%r = arith.fptoui %v0 : $0 to $R", (type,), other, "positive")
        for other in FLOATS:
            sizes = [np.dtype(DTYPES[each]).itemsize for each in (other, type)]
            if sizes[0] != sizes[1]:
                op = "extf" if sizes[1] > sizes[0] else "truncf"
                yield Case(f"{op}_{other}", f"%r = arith.{op} %v0 : $0 to $R", (other,), type, "special")
        same = f"i{8 * np.dtype(DTYPES[type]).itemsize}"
        yield Case("bitcast", "%r = arith.bitcast %v0 : $0 to $R", (type,), same)
        yield Case(f"bitcast_{type}", "%r = arith.bitcast %v0 : $0 to $R", (same,), type)


CASES = list(_cases())
MATHS = {
    f"math.{name}": kind
    for kind, names in {
        "unit": "acos asin atanh erf expm1 tan tanh sin cos sinh cosh exp exp2 atan asinh cbrt",
        "positive": "log log10 log1p log2 rsqrt acosh",
    }.items()
    for name in names.split()
}


def numbers(type: str, kind: str, seed: int) -> np.ndarray:
    """Numbers of a type: of the whole range, or such as an operation is made for."""
    random = np.random.default_rng(seed)
    dtype = DTYPES[type]
    if type == "i1":
        return random.integers(0, 2, SIZE).astype(np.bool_)
    if type in INTEGERS:
        info = np.iinfo(dtype)
        wide: np.ndarray = random.integers(info.min, info.max, SIZE, np.int64, endpoint=True).astype(dtype)
        if kind == "shift":
            return random.integers(0, info.bits, SIZE).astype(dtype) if seed else wide
        if kind == "divisor" and seed:
            wide[::2] = np.tile(np.array([1, 3, -3, 7, -7, 64, 100, -100], dtype), SIZE // 16)
            return np.where(np.isin(wide, (0, -1)), dtype(5), wide)
        if kind == "close":
            wide[::2] = random.integers(-2, 3, SIZE // 2).astype(dtype)
        wide[:4] = (info.min, info.max, 0, -1)
        return np.roll(wide, seed)
    values = random.uniform(-100, 100, SIZE)
    if kind == "unit":
        values = random.uniform(-0.99, 0.99, SIZE)
    if kind == "positive":
        values = random.uniform(1, 100, SIZE)
    if kind in ("special", "zeros"):
        values[::4] = np.tile([0.0, -0.0, np.inf, -np.inf], SIZE // 16)
        values[1::8] = np.nan
        values[2::8] = 2.5
        if kind == "zeros":
            values[values == 0] = 1.5  # of two zeros, maxnum may give either
        values = np.roll(values, 5 * seed)
    return values.astype(dtype)


def _types(case: Case, lanes: int) -> tuple[list[str], str]:
    spelled = [each if lanes == 1 else f"vector<{lanes}x{each}>" for each in (*case.inputs, case.result)]
    body = case.body.replace("$R", spelled[-1])
    for position, each in enumerate(spelled[:-1]):
        body = body.replace(f"${position}", each)
    return spelled, body


def _function(case: Case, number: int, lanes: int, gpu: bool) -> str:
    spelled, body = _types(case, lanes)
    kind = "memref" if lanes == 1 else "vector"
    memrefs = [f"memref<{SIZE}x{each}>" for each in (*case.inputs, case.result)]
    access = [memref if lanes == 1 else f"{memref}, {each}" for memref, each in zip(memrefs, spelled, strict=True)]
    loads = "\n".join(f"%v{k} = {kind}.load %in{k}[%i] : {access[k]}" for k in range(len(case.inputs)))
    inner = f"{loads}\n{body}\n{kind}.store %r, %out[%i] : {access[-1]}"
    arguments = ", ".join([*(f"%in{k}: {each}" for k, each in enumerate(memrefs[:-1])), f"%out: {memrefs[-1]}"])
    if gpu:
        return f"""gpu.func @case{number}({arguments}) kernel {{
          %lanes = arith.constant {lanes} : index
          %thread = gpu.thread_id x
          %i = arith.muli %thread, %lanes : index
          {inner}
          gpu.return
        }}"""
    return f"""func.func @case{number}({arguments}) {{
      %zero = arith.constant 0 : index
      %size = arith.constant {SIZE} : index
      %step = arith.constant {lanes} : index
      scf.for %i = %zero to %size step %step {{
        {inner}
      }}
      func.return
    }}"""


def gpu_module(cases: list[Case], lanes: int) -> str:
    """A kernel for each case."""
    return f"gpu.module @kernels {{ {''.join(_function(each, k, lanes, True) for k, each in enumerate(cases))} }}"


def programs(cases: list[Case], lanes: int) -> tuple[Program, Code]:
    """All cases, as CUDA C++ and as LLVM's code."""
    text = "\n".join(_function(case, number, lanes, False) for number, case in enumerate(cases))
    return load(cuda_text(parse(gpu_module(cases, lanes)))), Code(text, opt_level=0)


def launched(program: Program, number: int, lanes: int, arrays: list[np.ndarray]) -> None:
    """Runs the kernel of a case."""
    arguments = tuple(Argument(root, 0) for root in range(len(arrays)))
    launch = Launch(f"case{number}", (1, 1, 1), (SIZE // lanes, 1, 1), 0, arguments)
    program.run(launch, [each.ctypes.data for each in arrays])


_USUAL = {"i1", "i32", "f32"}


@pytest.mark.parametrize("lanes", [1, LANES])
@pytest.mark.parametrize("part", ["usual", pytest.param("all", marks=pytest.mark.slow)])
def test_operations_give_what_llvm_gives(lanes: int, part: str) -> None:
    cases = CASES
    if part == "usual":
        # Of other types, and lane by lane, what is written is the same but for how it is wrapped.
        cases = [each for each in CASES if {*each.inputs, each.result} <= _USUAL] if lanes == 1 else CASES[::11]
    program, code = programs(cases, lanes)
    wrong: list[str] = []
    for number, case in enumerate(cases):
        arrays = [numbers(type, case.kind, seed) for seed, type in enumerate(case.inputs)]
        results = [np.zeros(SIZE, DTYPES[case.result]) for _ in range(2)]
        launched(program, number, lanes, [*arrays, results[0]])
        code(f"case{number}", *arrays, results[1])
        same = results[0].view(np.uint8) == results[1].view(np.uint8)
        if case.result in FLOATS:
            nan = np.isnan(results[0].astype(np.float64)) & np.isnan(results[1].astype(np.float64))
            same = same.reshape(SIZE, -1).all(1) | nan
        if not same.all():
            at = int(np.argmin(same.reshape(SIZE, -1).all(1)))
            given = [each[at] for each in arrays]
            wrong.append(f"{case.name} of {case.inputs}: {given} gives {results[0][at]}, not {results[1][at]}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("type", ["f32", pytest.param("f64", marks=pytest.mark.slow)])
def test_functions_of_the_maths_library(type: str) -> None:
    cases = [Case(op, f"%r = {op} %v0 : $R", (type,), type, kind) for op, kind in MATHS.items()]
    cases += [
        Case(op, f"%r = {op} %v0, %v1 : $R", (type, type), type, "positive") for op in ("math.powf", "math.atan2")
    ]
    program = load(cuda_text(parse(gpu_module(cases, 1))))
    for number, case in enumerate(cases):
        arrays = [numbers(each, case.kind, seed) for seed, each in enumerate(case.inputs)]
        if case.name == "math.powf":
            arrays[1] = (arrays[1] / 20).astype(arrays[1].dtype)
        got = np.zeros(SIZE, DTYPES[type])
        launched(program, number, 1, [*arrays, got])
        expected = REFERENCES[case.name](*(each.astype(np.float64) for each in arrays))
        np.testing.assert_allclose(got, expected, rtol=2e-6 if type == "f32" else 1e-13, err_msg=case.name)


def _rsqrt(x: np.ndarray) -> np.ndarray:
    return 1 / np.sqrt(x)


def _erf(x: np.ndarray) -> np.ndarray:
    from math import erf

    return np.array([erf(float(each)) for each in x])


REFERENCES: Mapping[str, Any] = {
    "math.acos": np.arccos,
    "math.acosh": np.arccosh,
    "math.asin": np.arcsin,
    "math.asinh": np.arcsinh,
    "math.atan": np.arctan,
    "math.atan2": np.arctan2,
    "math.atanh": np.arctanh,
    "math.cbrt": np.cbrt,
    "math.cos": np.cos,
    "math.cosh": np.cosh,
    "math.erf": _erf,
    "math.exp": np.exp,
    "math.exp2": np.exp2,
    "math.expm1": np.expm1,
    "math.log": np.log,
    "math.log10": np.log10,
    "math.log1p": np.log1p,
    "math.log2": np.log2,
    "math.powf": np.power,
    "math.rsqrt": _rsqrt,
    "math.sin": np.sin,
    "math.sinh": np.sinh,
    "math.tan": np.tan,
    "math.tanh": np.tanh,
}


def test_every_arithmetic_operation_is_tested() -> None:
    tested = {word for case in CASES for word in case.body.split()} | set(REFERENCES)
    expected = {name for name in HANDLERS if name.startswith(("arith.", "math."))}
    elsewhere = {"arith.constant", "arith.index_cast", "arith.index_castui"}
    assert expected - tested == elsewhere
