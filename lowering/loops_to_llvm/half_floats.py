"""16-bit floats (f16 and bf16): stored as integers in LLVM, computed in f32.

Where a CPU lacks operations on 16-bit floats (even some loads and stores), LLVM emits calls of a library that may be
missing. Integer types avoid that. LLVM turns f32 arithmetic between conversions into f16 instructions by itself where
the CPU has them and the result is the same.
"""

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    bf16,
    f16,
    f32,
    i16,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue

from .body import FunctionBody
from .instructions import NO_FAST_MATH
from .llvm_text import half_bits
from .types import element_of, is_half, with_element

_NO_FLAGS = {"fastmathFlags": NO_FAST_MATH}
_SIGN, _OTHERS = 0x8000, 0x7FFF  # of 16 bits
_INFINITY = 0x7F800000  # of f32


def as_integers(value: Attribute) -> Attribute:
    """A constant of 16-bit floats as integers with the same bits."""
    if isinstance(value, FloatAttr):
        return IntegerAttr(half_bits(value.value.data, cast("FloatAttr[AnyFloat]", value).type), i16)
    dense = cast("DenseIntOrFPElementsAttr", value)
    return DenseIntOrFPElementsAttr(type(dense.type)(i16, dense.get_shape()), dense.data)


def computed(body: FunctionBody, op: Operation, make: Callable[[Sequence[SSAValue]], SSAValue]) -> SSAValue:
    """`make` applied to the operands of `op`; 16-bit floats are widened to f32, and a float result is rounded."""
    operands = body.lowered(op.operands)
    source = op.operands[0].type
    if not is_half(source):
        return make(operands)
    result = make([widened(body, value, source) for value in operands])
    return rounded(body, result, op.results[0].type) if element_of(result.type) == f32 else result


def widened(body: FunctionBody, value: SSAValue, source: Attribute) -> SSAValue:
    """Values of type `source`, f16 or bf16, converted to f32."""
    wide, integers = with_element(f32, value.type), with_element(i32, value.type)
    if element_of(source) != f16:
        bits = body.emit(llvm.ZExtOp, (value,), integers)
        return body.bits(body.emit(llvm.ShlOp, (bits, body.number(16, integers)), integers), f32)
    if body.target.has("half"):
        return body.emit(llvm.FPExtOp, (body.bits(value, f16),), wide)
    return _widened_half(body, value)


def rounded(body: FunctionBody, value: SSAValue, target: Attribute, *, flush: bool = False) -> SSAValue:
    """f32 rounded to the type `target`, f16 or bf16, to nearest even.

    With `flush` subnormal numbers may become bf16's zeros, as they do by the instruction of AVX512-BF16.
    """
    if flush and body.target.multiplies_bf16:
        return body.bits(body.emit(llvm.FPTruncOp, (value,), with_element(bf16, value.type)), i16)
    if element_of(target) == f16 and body.target.has("half"):
        return body.bits(body.emit(llvm.FPTruncOp, (value,), with_element(f16, value.type)), i16)
    narrow = (_rounded_half if element_of(target) == f16 else _rounded_bfloat16)(body, value)
    return body.emit(llvm.TruncOp, (narrow,), with_element(i16, value.type))


def _widened_half(body: FunctionBody, value: SSAValue) -> SSAValue:
    """f16 to f32 by bits: a multiplication corrects the exponent and normalises subnormal numbers."""
    do = _integers(body)
    bits = body.emit(llvm.ZExtOp, (value,), with_element(i32, value.type))
    shifted = do(llvm.ShlOp, do(llvm.AndOp, bits, _OTHERS), 13)
    sign = do(llvm.ShlOp, do(llvm.AndOp, bits, _SIGN), 16)
    number = body.bits(shifted, f32)
    scale = body.number(2.0**112, number.type)
    scaled = body.emit(llvm.FMulOp, (number, scale), number.type, _NO_FLAGS)
    # Infinity and NaN have the largest exponent of either type.
    infinite = body.compare("oge", number, body.number(2.0**-96, number.type))
    magnitude = body.select(infinite, do(llvm.OrOp, shifted, _INFINITY), body.bits(scaled, i32))
    return body.bits(do(llvm.OrOp, magnitude, sign), f32)


def _rounded_half(body: FunctionBody, value: SSAValue) -> SSAValue:
    """f32 to f16 by bits; the result is in the low half of 32 bits."""
    do, bits = _integers(body), body.bits(value, i32)
    sign = do(llvm.AndOp, do(llvm.LShrOp, bits, 16), _SIGN)
    magnitude = do(llvm.AndOp, bits, 0x7FFFFFFF)
    number = body.bits(magnitude, f32)
    kept = do(llvm.LShrOp, magnitude, 13)
    # Half a unit of the last kept bit, minus one where that bit is 0; the exponent's bias changes from 127 to 15.
    normal = do(llvm.AddOp, magnitude, do(llvm.AddOp, do(llvm.AndOp, kept, 1), 0x0FFF - (112 << 23)))
    normal = do(llvm.LShrOp, normal, 13)
    # Near 0.5 the last bit is worth as much as that of a subnormal number: the addition rounds.
    half = body.number(0.5, number.type)
    beside = body.emit(llvm.FAddOp, (number, half), number.type, _NO_FLAGS)
    small = do(llvm.SubOp, body.bits(beside, i32), 0x3F000000)
    result = body.select(body.compare("olt", number, body.number(2.0**-14, number.type)), small, normal)
    large = body.compare("oge", number, body.number(65536.0, number.type))
    result = body.select(large, body.number(0x7C00, bits.type), result)
    quiet = do(llvm.OrOp, do(llvm.AndOp, kept, 0x3FF), 0x7E00)
    result = body.select(body.compare("uno", number, number), quiet, result)
    return do(llvm.OrOp, result, sign)


def _rounded_bfloat16(body: FunctionBody, value: SSAValue) -> SSAValue:
    """Adds just under half a unit of the last kept bit, and shifts."""
    do, bits = _integers(body), body.bits(value, i32)
    kept = do(llvm.LShrOp, bits, 16)
    half = do(llvm.AddOp, do(llvm.AndOp, kept, 1), 0x7FFF)
    nearest = do(llvm.LShrOp, do(llvm.AddOp, bits, half), 16)
    return body.select(body.compare("uno", value, value), do(llvm.OrOp, kept, 0x40), nearest)


def _integers(body: FunctionBody) -> Callable[[type[Operation], SSAValue, SSAValue | int], SSAValue]:
    """A builder of integer arithmetic on values and constants."""

    def do(op: type[Operation], a: SSAValue, b: SSAValue | int) -> SSAValue:
        return body.emit(op, (a, body.number(b, a.type) if isinstance(b, int) else b), a.type)

    return do


def with_sign(body: FunctionBody, op: Operation) -> SSAValue:
    """negf, absf and copysign, which change only the sign bit."""
    value, *other = body.lowered(op.operands)
    do = _integers(body)
    if op.name == "arith.negf":
        return do(llvm.XOrOp, value, _SIGN)
    without = do(llvm.AndOp, value, _OTHERS)
    return do(llvm.OrOp, without, do(llvm.AndOp, other[0], _SIGN)) if other else without
