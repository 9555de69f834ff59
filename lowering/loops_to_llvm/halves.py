"""16-bit floats, f16 and bf16: integers in LLVM, computed on in f32.

LLVM takes operations on 16-bit floats that a CPU lacks, and even some of their loads and stores, for calls of a
library that need not be there. Of integers it knows nothing of the kind. What arithmetic is done in f32 it turns into
instructions on f16 by itself where the CPU has them and the result is the same.
"""

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    f16,
    f32,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.extensions.llvm import FCmpOp, SelectOp
from .body import FunctionBody
from .instructions import NO_FAST_MATH, Instructions
from .llvm_text import half_bits
from .types import element_of, is_half, truth_type, with_element

_UNORDERED = {"predicate": IntegerAttr(14, i64), "fastmathFlags": NO_FAST_MATH}
_NO_FLAGS = {"fastmathFlags": NO_FAST_MATH}
_SIGN, _OTHERS = 0x8000, 0x7FFF


def as_integers(value: Attribute) -> Attribute:
    """A constant whose elements are 16-bit floats as one of the integers with their bits."""
    if isinstance(value, FloatAttr):
        return IntegerAttr(half_bits(value.value.data, cast("FloatAttr[AnyFloat]", value).type), i16)
    dense = cast("DenseIntOrFPElementsAttr", value)
    return DenseIntOrFPElementsAttr(type(dense.type)(i16, dense.get_shape()), dense.data)


def computed(body: FunctionBody, op: Operation, make: Callable[[Sequence[SSAValue]], SSAValue]) -> SSAValue:
    """What `make` gives for the operands of `op`; for 16-bit floats computed in f32, and rounded if it's a float."""
    operands = body.lowered(op.operands)
    source = op.operands[0].type
    if not is_half(source):
        return make(operands)
    result = make([widened(body, value, source) for value in operands])
    return rounded(body, result, op.results[0].type) if element_of(result.type) == f32 else result


def widened(body: Instructions, value: SSAValue, source: Attribute) -> SSAValue:
    """Values of the type `source`, f16 or bf16, as f32."""
    wide = with_element(f32, value.type)
    if element_of(source) == f16:
        return body.emit(llvm.FPExtOp, (body.emit(llvm.BitcastOp, (value,), with_element(f16, value.type)),), wide)
    integers = with_element(i32, value.type)
    bits = body.emit(llvm.ZExtOp, (value,), integers)
    return body.emit(llvm.BitcastOp, (body.emit(llvm.ShlOp, (bits, body.number(16, integers)), integers),), wide)


def rounded(body: Instructions, value: SSAValue, target: Attribute) -> SSAValue:
    """f32 to the nearest of the type `target`, f16 or bf16, ties to even."""
    narrow = with_element(i16, value.type)
    if element_of(target) == f16:
        return body.emit(llvm.BitcastOp, (body.emit(llvm.FPTruncOp, (value,), with_element(f16, value.type)),), narrow)
    return body.emit(llvm.TruncOp, (_rounded_bfloat16(body, value),), narrow)


def _rounded_bfloat16(body: Instructions, value: SSAValue) -> SSAValue:
    """The bits plus just under half of the last kept one."""
    bits_type = with_element(i32, value.type)
    bits = body.emit(llvm.BitcastOp, (value,), bits_type)
    sixteen = body.number(16, bits_type)
    kept = body.emit(llvm.LShrOp, (bits, sixteen), bits_type)
    last = body.emit(llvm.AndOp, (kept, body.number(1, bits_type)), bits_type)
    half = body.emit(llvm.AddOp, (last, body.number(0x7FFF, bits_type)), bits_type)
    nearest = body.emit(llvm.LShrOp, (body.emit(llvm.AddOp, (bits, half), bits_type), sixteen), bits_type)
    quiet = body.emit(llvm.OrOp, (kept, body.number(0x40, bits_type)), bits_type)
    is_nan = body.emit(FCmpOp, (value, value), truth_type(value.type), _UNORDERED)
    return body.emit(SelectOp, (is_nan, quiet, nearest), bits_type, _NO_FLAGS)


def with_sign(body: FunctionBody, op: Operation) -> SSAValue:
    """negf, absf and copysign, which change one bit."""
    value, *other = body.lowered(op.operands)
    sign = body.number(_SIGN, value.type)
    if op.name == "arith.negf":
        return body.emit(llvm.XOrOp, (value, sign), value.type)
    without = body.emit(llvm.AndOp, (value, body.number(_OTHERS, value.type)), value.type)
    if not other:
        return without
    return body.emit(llvm.OrOp, (without, body.emit(llvm.AndOp, (other[0], sign), value.type)), value.type)
