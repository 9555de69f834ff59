"""Vector operations compiled and compared with numpy."""

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from llvm_jit import Code, target

from mini_infer.runtime.native.cpu_targets import machine_of
from mini_infer.runtime.native.llvmlite_calls import emit_assembly

REDUCTIONS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "add": ("f32 i32", lambda v, a: v.sum() + a),
    "mul": ("f32 i32", lambda v, a: v.prod(dtype=v.dtype) * a),
    "maximumf": ("f32", lambda v, a: max(v.max(), a)),
    "minimumf": ("f32", lambda v, a: min(v.min(), a)),
    "maxnumf": ("f32", lambda v, a: max(v.max(), a)),
    "minnumf": ("f32", lambda v, a: min(v.min(), a)),
    "maxsi": ("i32", lambda v, a: max(v.max(), a)),
    "minsi": ("i32", lambda v, a: min(v.min(), a)),
    "maxui": ("i32", lambda v, a: max(v.max(), a)),
    "minui": ("i32", lambda v, a: min(v.min(), a)),
    "and": ("i32", lambda v, a: np.bitwise_and.reduce(v) & a),
    "or": ("i32", lambda v, a: np.bitwise_or.reduce(v) | a),
    "xor": ("i32", lambda v, a: np.bitwise_xor.reduce(v) ^ a),
}
CASES = [(kind, element) for kind, (elements, _) in REDUCTIONS.items() for element in elements.split()]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("lanes", [1, 3, 16, 24, 64])
@pytest.mark.parametrize(("kind", "element"), CASES)
def test_reductions(kind: str, element: str, lanes: int) -> None:
    code = Code(f"""
    func.func @f(%x: memref<{lanes}x{element}>, %y: memref<3x{element}>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %v = vector.load %x[%c0] : memref<{lanes}x{element}>, vector<{lanes}x{element}>
      %a = memref.load %y[%c2] : memref<3x{element}>
      %r = vector.reduction <{kind}>, %v : vector<{lanes}x{element}> into {element}
      %s = vector.reduction <{kind}>, %v, %a : vector<{lanes}x{element}> into {element}
      memref.store %r, %y[%c0] : memref<3x{element}>
      memref.store %s, %y[%c1] : memref<3x{element}>
      func.return
    }}""")
    dtype: Any = np.float32 if element == "f32" else np.int32
    x = np.random.default_rng(lanes).integers(1, 4, lanes).astype(dtype)
    if element == "f32":
        x = (x / 2).astype(dtype)
    y = np.array([0, 0, 2], dtype)
    code("f", x, y)
    neutral = {"add": 0, "mul": 1, "or": 0, "xor": 0, "and": -1}.get(kind, x[0])
    function = REDUCTIONS[kind][1]
    np.testing.assert_allclose(y[:2], [function(x, neutral), function(x, y[2])], rtol=1e-5)


def test_maximum_of_a_vector_with_nan() -> None:
    code = Code("""
    func.func @f(%x: memref<16xf32>, %y: memref<2xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %v = vector.load %x[%c0] : memref<16xf32>, vector<16xf32>
      %r = vector.reduction <maximumf>, %v : vector<16xf32> into f32
      %s = vector.reduction <maxnumf>, %v : vector<16xf32> into f32
      memref.store %r, %y[%c0] : memref<2xf32>
      memref.store %s, %y[%c1] : memref<2xf32>
      func.return
    }""")
    x = np.arange(16, dtype=np.float32)
    x[3] = np.nan
    y = np.zeros(2, np.float32)
    code("f", x, y)
    np.testing.assert_array_equal(y, [np.nan, 15])


def test_lanes_one_by_one_and_in_new_order() -> None:
    code = Code("""
    func.func @f(%x: memref<8xf32>, %y: memref<4x8xf32>, %i: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %v = vector.load %x[%c0] : memref<8xf32>, vector<8xf32>
      %a = vector.extract %v[2] : f32 from vector<8xf32>
      %b = vector.extract %v[%i] : f32 from vector<8xf32>
      %sum = arith.addf %a, %b : f32
      %w = vector.insert %sum, %v [%i] : f32 into vector<8xf32>
      %z = vector.insert %sum, %w [0] : f32 into vector<8xf32>
      vector.store %z, %y[%c0, %c0] : memref<4x8xf32>, vector<8xf32>
      %s = vector.shuffle %v, %w [7, 6, 5, 4, 15, 14, 13, 12] : vector<8xf32>, vector<8xf32>
      vector.store %s, %y[%c1, %c0] : memref<4x8xf32>, vector<8xf32>
      %k = arith.constant 2.5 : f32
      %t = vector.broadcast %k : f32 to vector<8xf32>
      %u = vector.fma %t, %v, %v : vector<8xf32>
      vector.store %u, %y[%c2, %c0] : memref<4x8xf32>, vector<8xf32>
      %steps = vector.step : vector<8xindex>
      %more = arith.constant dense<[5, 5, 5, 5, -3, -3, -3, -3]> : vector<8xindex>
      %moved = arith.addi %steps, %more : vector<8xindex>
      %wide = arith.index_cast %moved : vector<8xindex> to vector<8xi32>
      %floats = arith.sitofp %wide : vector<8xi32> to vector<8xf32>
      vector.store %floats, %y[%c3, %c0] : memref<4x8xf32>, vector<8xf32>
      func.return
    }""")
    x = np.arange(8, dtype=np.float32) + 1
    y = np.zeros((4, 8), np.float32)
    code("f", x, y, 5)
    w = x.copy()
    w[5] = x[2] + x[5]
    expected = np.stack([w, np.concatenate([x[7:3:-1], w[7:3:-1]]), 3.5 * x, [5, 6, 7, 8, 1, 2, 3, 4]])
    expected[0, 0] = x[2] + x[5]
    np.testing.assert_array_equal(y, expected)


def test_bits_of_vectors() -> None:
    code = Code("""
    func.func @f(%x: memref<4xf32>, %y: memref<2xi64>) {
      %c0 = arith.constant 0 : index
      %v = vector.load %x[%c0] : memref<4xf32>, vector<4xf32>
      %w = vector.bitcast %v : vector<4xf32> to vector<2xi64>
      vector.store %w, %y[%c0] : memref<2xi64>, vector<2xi64>
      func.return
    }""")
    x = np.linspace(0, 1, 4, dtype=np.float32)
    y = np.zeros(2, np.int64)
    code("f", x, y)
    np.testing.assert_array_equal(y, x.view(np.int64))


@pytest.mark.parametrize("element", ["i8", "i16", "bf16", "f32"])
@pytest.mark.parametrize("told", ["where it is stored", "by the caller"])
@pytest.mark.parametrize("lanes", [1, 2, 7])
def test_nothing_is_written_beside_the_first_lanes(element: str, told: str, lanes: int) -> None:
    """The values are computed in vectors of wider elements, which LLVM narrows as it stores them."""
    computed = "addf %wide, %wide" if element in ("bf16", "f32") else "shrui %wide, %ones"
    narrow = "arith.truncf" if element == "bf16" else "arith.trunci"
    wide = "f32" if element in ("bf16", "f32") else "i32"
    narrowed = f"{narrow} %sum : vector<16x{wide}> to vector<16x{element}>"
    if element == wide:
        narrowed = f"arith.addf %sum, %wide : vector<16x{wide}>"
    count = f"arith.constant {lanes} : index" if told == "where it is stored" else "arith.addi %n, %c0 : index"
    code = Code(f"""
    func.func private @stored(%x: memref<32x{wide}>, %y: memref<32x{element}>, %n: index) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %count = {count}
      %ones = arith.constant dense<1> : vector<16xi32>
      scf.for %i = %c0 to %c8 step %c1 {{
        %wide = vector.load %x[%i] : memref<32x{wide}>, vector<16x{wide}>
        %sum = arith.{computed} : vector<16x{wide}>
        %v = {narrowed}
        %mask = vector.create_mask %count : vector<16xi1>
        vector.maskedstore %y[%i], %mask, %v : memref<32x{element}>, vector<16xi1>, vector<16x{element}>
      }}
      func.return
    }}
    func.func @f(%x: memref<32x{wide}>, %y: memref<32x{element}>) {{
      %n = arith.constant {lanes} : index
      func.call @stored(%x, %y, %n) : (memref<32x{wide}>, memref<32x{element}>, index) -> ()
      func.return
    }}""")
    kinds: dict[str, Any] = {"i8": np.int8, "i16": np.int16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}
    x = np.arange(1, 33).astype(np.float32) if wide == "f32" else np.arange(4, 132, 4).astype(np.int32)
    y = np.full(32, -1).astype(kinds[element])
    code("f", x, y)
    factor = 3 if element == "f32" else 2
    np.testing.assert_array_equal(y[: 7 + lanes].astype(np.float32), factor * np.arange(1, 8 + lanes))
    np.testing.assert_array_equal(y[7 + lanes :].astype(np.float32), -1)


def test_llvm_still_widens_a_store_of_one_lane() -> None:
    """Why such stores are scalar here: once this fails, LLVM is mended, and _masked_store may be plain again."""
    mask = ", ".join(["i1 true", *["i1 false"] * 15])
    text = f"""
    define void @f(ptr %x, ptr %y) "prefer-vector-width"="512" {{
      %a = load <16 x i32>, ptr %x, align 4
      %b = lshr <16 x i32> %a, splat (i32 16)
      %c = trunc <16 x i32> %b to <16 x i16>
      call void @llvm.masked.store.v16i16.p0(<16 x i16> %c, ptr align 2 %y, <16 x i1> <{mask}>)
      ret void
    }}
    declare void @llvm.masked.store.v16i16.p0(<16 x i16>, ptr, <16 x i1>)"""
    assert re.search(r"movl\s+%eax, \(%rsi\)", emit_assembly(text, machine_of(target("x86-64-v4"))))
