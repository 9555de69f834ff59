"""Accesses to memrefs compiled and compared with numpy: strides, views, masks, unaligned pointers."""

from typing import Any

import numpy as np
import pytest
from llvm_jit import Code


def unaligned(values: np.ndarray) -> np.ndarray:
    """A copy that is aligned to its elements only."""
    room = np.zeros(values.size + 17, values.dtype)
    start = 1 if room.ctypes.data % 64 == 0 else 17
    view = room[start : start + values.size].reshape(values.shape)
    view[...] = values
    return view


def test_vectors_on_unaligned_pointers() -> None:
    code = Code("""
    func.func @f(%x: memref<4x32xf32>, %y: memref<4x32xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      scf.for %i = %c0 to %c4 step %c1 {
        %v = vector.load %x[%i, %c0] : memref<4x32xf32>, vector<32xf32>
        %w = arith.addf %v, %v : vector<32xf32>
        vector.store %w, %y[%i, %c0] : memref<4x32xf32>, vector<32xf32>
      }
      func.return
    }""")
    x = unaligned(np.arange(128, dtype=np.float32).reshape(4, 32))
    y = unaligned(np.zeros((4, 32), np.float32))
    code("f", x, y)
    np.testing.assert_array_equal(y, x + x)


def test_strided_layouts() -> None:
    code = Code("""
    func.func @f(%x: memref<3x4xi64, strided<[2, 7]>>, %y: memref<3x4xi64>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      scf.for %i = %c0 to %c3 step %c1 {
        scf.for %j = %c0 to %c4 step %c1 {
          %v = memref.load %x[%i, %j] : memref<3x4xi64, strided<[2, 7]>>
          memref.store %v, %y[%i, %j] : memref<3x4xi64>
        }
      }
      func.return
    }""")
    x = np.arange(40)
    y = np.zeros((3, 4), np.int64)
    code("f", x, y)
    np.testing.assert_array_equal(y, [[2 * i + 7 * j for j in range(4)] for i in range(3)])


def test_windows_with_offsets_that_are_known_and_not() -> None:
    code = Code("""
    func.func @f(%x: memref<8x8xf32>, %y: memref<4xf32>, %row: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %a = memref.subview %x[2, 1] [4, 4] [1, 2]
         : memref<8x8xf32> to memref<4x4xf32, strided<[8, 2], offset: 17>>
      %b = memref.subview %a[%row, 1] [1, 2] [1, 1]
         : memref<4x4xf32, strided<[8, 2], offset: 17>> to memref<1x2xf32, strided<[8, 2], offset: ?>>
      %p = memref.load %b[%c0, %c0] : memref<1x2xf32, strided<[8, 2], offset: ?>>
      %q = memref.load %b[%c0, %c1] : memref<1x2xf32, strided<[8, 2], offset: ?>>
      memref.store %p, %y[%c0] : memref<4xf32>
      memref.store %q, %y[%c1] : memref<4xf32>
      %flat = memref.reinterpret_cast %a to offset: [20], sizes: [3], strides: [1]
         : memref<4x4xf32, strided<[8, 2], offset: 17>> to memref<3xf32, strided<[1], offset: 20>>
      %r = memref.load %flat[%c1] : memref<3xf32, strided<[1], offset: 20>>
      %c2 = arith.constant 2 : index
      memref.store %r, %y[%c2] : memref<4xf32>
      %line = memref.collapse_shape %x [[0 : i64, 1 : i64]] : memref<8x8xf32> into memref<64xf32>
      %c63 = arith.constant 63 : index
      %s = memref.load %line[%c63] : memref<64xf32>
      %c3 = arith.constant 3 : index
      memref.store %s, %y[%c3] : memref<4xf32>
      func.return
    }""")
    x = np.arange(64, dtype=np.float32)
    y = np.zeros(4, np.float32)
    code("f", x, y, 1)
    np.testing.assert_array_equal(y, [17 + 8 + 2, 17 + 8 + 4, 21, 63])


def test_views_of_an_arena() -> None:
    code = Code("""
    func.func @f(%arena: memref<256xi8>, %shift: index) {
      %c64 = arith.constant 64 : index
      %c1 = arith.constant 1 : index
      %a = memref.view %arena[%c64][] : memref<256xi8> to memref<2x4xf32>
      %b = memref.view %arena[%shift][] : memref<256xi8> to memref<4xi64>
      %v = memref.load %a[%c1, %c1] : memref<2x4xf32>
      %w = arith.fptosi %v : f32 to i64
      memref.store %w, %b[%c1] : memref<4xi64>
      func.return
    }""")
    arena = np.zeros(256, np.int8)
    arena[64:96].view(np.float32)[5] = 42
    code("f", arena, 128)
    np.testing.assert_array_equal(arena[128:160].view(np.int64), [0, 42, 0, 0])


@pytest.mark.parametrize("cpu", ["", "x86-64-v3"])
@pytest.mark.parametrize(
    ("element", "dtype"), [("f32", np.float32), ("i8", np.int8), ("f64", np.float64), ("i1", bool)]
)
def test_tails_under_a_mask(element: str, dtype: Any, cpu: str) -> None:
    zero = "false" if element == "i1" else "0.0" if element.startswith("f") else "0"
    code = Code(
        f"""
    func.func @f(%x: memref<37x{element}>, %y: memref<37x{element}>, %n: index) {{
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %zeros = arith.constant dense<{zero}> : vector<16x{element}>
      scf.for %i = %c0 to %n step %c16 {{
        %left = arith.subi %n, %i : index
        %m = vector.create_mask %left : vector<16xi1>
        %v = vector.maskedload %x[%i], %m, %zeros
           : memref<37x{element}>, vector<16xi1>, vector<16x{element}> into vector<16x{element}>
        vector.maskedstore %y[%i], %m, %v : memref<37x{element}>, vector<16xi1>, vector<16x{element}>
      }}
      func.return
    }}""",
        cpu,
    )
    x = np.random.default_rng(0).integers(1, 100, 37).astype(dtype)
    for n in (0, 1, 15, 16, 17, 37):
        y = np.zeros(64, dtype)
        code("f", x, y, n)
        np.testing.assert_array_equal(y[:n], x[:n])
        assert not y[n:].any()


def test_masks_take_any_count() -> None:
    code = Code("""
    func.func @f(%y: memref<8xi1>, %n: index) {
      %c0 = arith.constant 0 : index
      %m = vector.create_mask %n : vector<8xi1>
      vector.store %m, %y[%c0] : memref<8xi1>, vector<8xi1>
      func.return
    }
    func.func @g(%y: memref<2x8xi1>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c5 = arith.constant 5 : index
      %m = vector.create_mask %c5 : vector<8xi1>
      %k = vector.constant_mask [3] : vector<8xi1>
      vector.store %m, %y[%c0, %c0] : memref<2x8xi1>, vector<8xi1>
      vector.store %k, %y[%c1, %c0] : memref<2x8xi1>, vector<8xi1>
      func.return
    }""")
    y = np.zeros((2, 8), bool)
    for n in (-(2**63), -1, 0, 3, 8, 9, 2**40):
        code("f", y, n)
        assert y[0].sum() == min(max(n, 0), 8)
        assert y[0, : y[0].sum()].all()
    code("g", y)
    np.testing.assert_array_equal(y.sum(axis=1), [5, 3])


def test_prefetch_beyond_the_end_does_nothing() -> None:
    code = Code("""
    func.func @f(%x: memref<8xf32>, %far: index) {
      %c0 = arith.constant 0 : index
      memref.prefetch %x[%far], read, locality<3>, data : memref<8xf32>
      memref.prefetch %x[%c0], write, locality<0>, data : memref<8xf32>
      func.return
    }""")
    code("f", np.zeros(8, np.float32), 1 << 40)


def test_tables_and_stack_buffers() -> None:
    code = Code("""
    "memref.global"() <{sym_name = "table", sym_visibility = "private", type = memref<2x3xi32>, constant,
                        initial_value = dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>}> : () -> ()
    func.func @f(%y: memref<3xi32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %t = memref.get_global @table : memref<2x3xi32>
      %s = memref.alloca() : memref<3xi32>
      scf.for %i = %c0 to %c3 step %c1 {
        %v = memref.load %t[%c1, %i] : memref<2x3xi32>
        memref.store %v, %s[%i] : memref<3xi32>
      }
      scf.for %i = %c0 to %c3 step %c1 {
        %v = memref.load %s[%i] : memref<3xi32>
        memref.store %v, %y[%i] : memref<3xi32>
      }
      func.return
    }""")
    y = np.zeros(3, np.int32)
    code("f", y)
    np.testing.assert_array_equal(y, [4, 5, 6])


def test_nontemporal_and_aligned_accesses() -> None:
    code = Code("""
    func.func @f(%x: memref<16xf32>, %y: memref<16xf32>) {
      %c0 = arith.constant 0 : index
      %v = vector.load %x[%c0] {alignment = 64 : i64} : memref<16xf32>, vector<16xf32>
      vector.store %v, %y[%c0] {nontemporal = true, alignment = 64 : i64} : memref<16xf32>, vector<16xf32>
      func.return
    }""")
    room = np.zeros(64, np.float32)
    start = -(room.ctypes.data // 4) % 16
    x, y = np.arange(16, dtype=np.float32), room[start : start + 16]
    aligned = room[start + 16 : start + 32]
    aligned[...] = x
    code("f", aligned, y)
    np.testing.assert_array_equal(y, x)
