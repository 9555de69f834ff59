"""Loops, branches and calls compiled and run; what can't be lowered is refused by name."""

import numpy as np
import pytest
from llvm_jit import Code, assembly, llvm_ir, lowered, parse

from mini_infer.dialects.errors import CompileError
from mini_infer.dialects.graph.base import named_location
from mini_infer.lowering.loops_to_llvm.emit_llvm_ir import emit_llvm_ir

LOOPS = """
func.func private @triangle(%n: index) -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (i64) {
    %v = arith.index_cast %i : index to i64
    %b = arith.addi %a, %v : i64
    scf.yield %b : i64
  }
  func.return %sum : i64
}
func.func @f(%y: memref<8xi64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %one = arith.constant 1 : i64
  %ten = arith.constant 10 : i64
  %t = func.call @triangle(%n) : (index) -> i64
  memref.store %t, %y[%c0] : memref<8xi64>
  // known to run no times, once, three times
  %none = scf.for %i = %c5 to %c3 step %c1 iter_args(%a = %one) -> (i64) {
    scf.yield %ten : i64
  }
  memref.store %none, %y[%c1] : memref<8xi64>
  %once = scf.for %i = %c3 to %c5 step %c5 iter_args(%a = %one) -> (i64) {
    %k = arith.index_cast %i : index to i64
    %b = arith.addi %a, %k : i64
    scf.yield %b : i64
  }
  memref.store %once, %y[%c2] : memref<8xi64>
  %p:2 = scf.for %i = %c0 to %c5 step %c2 iter_args(%a = %one, %b = %ten) -> (i64, i64) {
    %s = arith.addi %a, %b : i64
    scf.yield %b, %s : i64, i64
  }
  memref.store %p#1, %y[%c3] : memref<8xi64>
  // branches: with values, without an else, on a constant
  %big = arith.cmpi sgt, %n, %c5 : index
  %c4 = arith.constant 4 : index
  %v = scf.if %big -> (i64) {
    scf.yield %ten : i64
  } else {
    %w = arith.muli %t, %ten : i64
    scf.yield %w : i64
  }
  memref.store %v, %y[%c4] : memref<8xi64>
  scf.if %big {
    memref.store %one, %y[%c5] : memref<8xi64>
  }
  %true = arith.constant true
  %c6 = arith.constant 6 : index
  %u = scf.if %true -> (i64) {
    scf.yield %one : i64
  } else {
    scf.yield %ten : i64
  }
  memref.store %u, %y[%c6] : memref<8xi64>
  // doubles until it passes 100
  %c7 = arith.constant 7 : index
  %hundred = arith.constant 100 : i64
  %d = scf.while (%a = %t) : (i64) -> (i64) {
    %less = arith.cmpi slt, %a, %hundred : i64
    scf.condition(%less) %a : i64
  } do {
  ^bb0(%a: i64):
    %b = arith.addi %a, %a : i64
    scf.yield %b : i64
  }
  memref.store %d, %y[%c7] : memref<8xi64>
  func.return
}
"""


def test_loops_branches_and_calls() -> None:
    code = Code(LOOPS)
    for n in (4, 9):
        y = np.zeros(8, np.int64)
        code("f", y, n)
        triangle = n * (n - 1) // 2
        doubled = triangle
        while doubled < 100:
            doubled *= 2
        expected = [triangle, 1, 4, 32, 10 if n > 5 else 10 * triangle, int(n > 5), 1, doubled]
        np.testing.assert_array_equal(y, expected)


def test_nested_loops_use_addresses_of_the_outer_one() -> None:
    code = Code("""
    func.func @f(%x: memref<5x7xf32>, %y: memref<7x5xf32>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c7 = arith.constant 7 : index
      scf.for %i = %c0 to %n step %c1 {
        %some = arith.cmpi sgt, %i, %c0 : index
        scf.if %some {
          %p = memref.load %x[%i, %c0] : memref<5x7xf32>
          memref.store %p, %y[%c0, %i] : memref<7x5xf32>
        }
        scf.for %j = %c1 to %c7 step %c1 {
          %p = memref.load %x[%i, %j] : memref<5x7xf32>
          memref.store %p, %y[%j, %i] : memref<7x5xf32>
        }
        %p = memref.load %x[%i, %c0] : memref<5x7xf32>
        memref.store %p, %y[%c0, %i] : memref<7x5xf32>
      }
      func.return
    }""")
    x = np.random.default_rng(0).random((5, 7), np.float32)
    y = np.zeros((7, 5), np.float32)
    code("f", x, y, 5)
    np.testing.assert_array_equal(y, x.T)


def test_advice_for_loops_reaches_llvm() -> None:
    text = """
    func.func @f(%y: memref<64xf32>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %one = arith.constant 1.0 : f32
      scf.for %i = %c0 to %n step %c1 {
        memref.store %one, %y[%i] : memref<64xf32>
      } {loop_annotation = {unroll = 4 : i64, vectorize = 1 : i64}}
      func.return
    }"""
    ir = llvm_ir(text)
    assert '!"llvm.loop.unroll.count", i32 4' in ir
    assert '!"llvm.loop.vectorize.enable", i1 false' in ir
    assert "zmm" not in assembly(text)
    with pytest.raises(CompileError, match="no entry 'fly"):
        llvm_ir(text.replace("unroll", "fly"))


def test_linkage_and_attributes_of_functions() -> None:
    ir = llvm_ir(
        """
    func.func private @outside(memref<16xi32>, index)
    func.func private @kernel(%x: memref<4xf32> {llvm.align = 64 : i64}) attributes {llvm.noinline} {
      func.return
    }
    func.func @main(%x: memref<4xf32>, %sync: memref<16xi32>, %n: index) {
      func.call @kernel(%x) : (memref<4xf32>) -> ()
      func.call @outside(%sync, %n) : (memref<16xi32>, index) -> ()
      func.return
    }""",
        vector_bits=512,
    )
    lines = [line for line in ir.splitlines() if line.startswith(("de", "}"))]
    assert lines == [
        "define internal void @kernel(ptr noalias captures(none) align 64 %v0) nounwind noinline"
        ' "prefer-vector-width"="512" {',
        "}",
        'define void @main(ptr %v0, ptr %v1, i64 %v2) nounwind "prefer-vector-width"="512" {',
        "}",
        "declare void @outside(ptr, i64) nounwind",
    ]


BAD = {
    "this operation can't be lowered": "%a = memref.alloc() : memref<4xf32>",
    "dynamic strides are known for": """%a = memref.alloca() : memref<4xf32, strided<[?]>>
                       %i = arith.constant 1 : index
                       %b = memref.load %a[%i] : memref<4xf32, strided<[?]>>""",
    "one dimension": "%a = arith.constant dense<0.0> : vector<2x2xf32>",
    "only a scalar": """%a = arith.constant dense<0.0> : vector<1xf32>
                        %b = vector.broadcast %a : vector<1xf32> to vector<4xf32>""",
    "no reduction": """%a = arith.constant dense<0.0> : vector<4xf32>
                       %b = vector.reduction <xor>, %a : vector<4xf32> into f32""",
}


@pytest.mark.parametrize("fact", BAD)
def test_what_cannot_be_lowered_is_refused(fact: str) -> None:
    with pytest.raises(CompileError, match=fact):
        lowered(f"func.func @f() {{\n{BAD[fact]}\nfunc.return }}")


def test_errors_name_the_node() -> None:
    text = "llvm.func @f(%p: !llvm.ptr) {\n llvm.intr.stackrestore %p : !llvm.ptr\n llvm.return }"
    made = parse(text)
    op = next(op for op in made.walk() if op.name == "llvm.intr.stackrestore")
    op.location = named_location("/layer1/conv2")
    with pytest.raises(
        CompileError, match=r"/layer1/conv2 \(llvm.intr.stackrestore\) in @f: this operation is not supported"
    ):
        emit_llvm_ir(made)
