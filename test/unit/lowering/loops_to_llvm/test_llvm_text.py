"""The text of LLVM IR: constants to the bit, names, types, and offsets of any size."""

import struct
from math import inf, nan

import numpy as np
import pytest
from llvm_jit import Code, lowered, parse
from xdsl.dialects.builtin import StringAttr, VectorType, bf16, f16, f32, f64, i8, i64
from xdsl.dialects.llvm import LLVMArrayType, LLVMPointerType, LLVMStructType, LLVMVoidType
from xdsl.ir import Attribute

from mini_infer.dialects.errors import CompileError
from mini_infer.lowering.loops_to_llvm.emit_llvm_ir import emit_llvm_ir
from mini_infer.lowering.loops_to_llvm.llvm_text import constant_text, float_literal, symbol, type_text
from mini_infer.runtime.native.llvmlite_calls import Machine, optimize_ir


@pytest.mark.parametrize(
    ("value", "float_type", "text"),
    [
        (1.0, f32, "0x3FF0000000000000"),
        (0.1, f32, "0x3FB99999A0000000"),
        (0.1, f64, "0x3FB999999999999A"),
        (-0.0, f32, "0x8000000000000000"),
        (inf, f32, "0x7FF0000000000000"),
        (nan, f32, "0x7FF8000000000000"),
        (1e300, f32, "0x7FF0000000000000"),
        (1.5, f16, "0xH3E00"),
        (1.5, bf16, "0xR3FC0"),
        (1.00390625, bf16, "0xR3F80"),
        (nan, bf16, "0xR7FC0"),
    ],
)
def test_float_literals(value: float, float_type: Attribute, text: str) -> None:
    assert float_literal(value, float_type) == text


def test_types_and_names() -> None:
    pair = LLVMStructType.from_type_list([f32, LLVMArrayType(3, i8)])
    assert type_text(pair) == "{ float, [3 x i8] }"
    assert type_text(VectorType(LLVMPointerType(), [4])) == "<4 x ptr>"
    assert type_text(LLVMVoidType()) == "void"
    assert symbol("main") == "@main"
    assert symbol('a "b"\\é') == '@"a \\22b\\22\\5C\\C3\\A9"'
    assert symbol("\x1f ~\x7f") == '@"\\1F ~\\7F"'
    with pytest.raises(CompileError, match="not supported in LLVM IR"):
        type_text(StringAttr("f32"))
    with pytest.raises(CompileError, match="no constant"):
        constant_text(i64, i64)


def test_names_of_any_kind_compile() -> None:
    Code('func.func @"/layer 1/conv:0"() {\n func.return }')("/layer 1/conv:0")


def test_constants_arrive_with_all_their_bits() -> None:
    values = [1.0, 0.1, -0.0, inf, -inf, 1e-40, 3.4e38, 16777217.0]
    listed = ", ".join(f"0x{struct.unpack('<I', struct.pack('<f', value))[0]:08X}" for value in values)
    code = Code(f"""
    func.func @f(%y: memref<8xf32>, %z: memref<8xi1>) {{
      %c0 = arith.constant 0 : index
      %v = arith.constant dense<[{listed}]> : vector<8xf32>
      vector.store %v, %y[%c0] : memref<8xf32>, vector<8xf32>
      %m = arith.constant dense<[true, false, true, true, false, false, true, false]> : vector<8xi1>
      vector.store %m, %z[%c0] : memref<8xi1>, vector<8xi1>
      func.return
    }}""")
    y, z = np.zeros(8, np.float32), np.zeros(8, bool)
    code("f", y, z)
    np.testing.assert_array_equal(y.view(np.uint32), np.array(values, np.float32).view(np.uint32))
    np.testing.assert_array_equal(z, [1, 0, 1, 1, 0, 0, 1, 0])


def test_offsets_beyond_two_gigabytes() -> None:
    module = lowered("""
    func.func @f(%arena: memref<8589934592xi8>) -> f32 {
      %c0 = arith.constant 0 : index
      %far = arith.constant 6442450944 : index
      %v = memref.view %arena[%far][] : memref<8589934592xi8> to memref<4xf32>
      %x = memref.load %v[%c0] : memref<4xf32>
      func.return %x : f32
    }""")
    assert "i64 6442450944" in optimize_ir(emit_llvm_ir(module), Machine())


BAD = {
    "is not supported in LLVM IR": "llvm.func @f() {\n %a = llvm.intr.stacksave : !llvm.ptr\n llvm.return }",
    "atomic": "llvm.func @f(%p: !llvm.ptr) {\n %a = llvm.load %p atomic acquire {alignment = 8 : i64}"
    " : !llvm.ptr -> i64\n llvm.return }",
    "the argument attribute llvm.nest": "llvm.func @f(%p: !llvm.ptr {llvm.nest}) {\n llvm.return }",
    "only initialised constants": "llvm.mlir.global internal @g() : i64",
    "different arguments": """llvm.func @f(%c: i1, %a: i64, %b: i64) {
      llvm.cond_br %c, ^bb1(%a : i64), ^bb1(%b : i64)
    ^bb1(%x: i64):
      llvm.return }""",
}


@pytest.mark.parametrize("fact", BAD)
def test_what_has_no_text_is_refused(fact: str) -> None:
    with pytest.raises(CompileError, match=fact):
        emit_llvm_ir(parse(BAD[fact]))
