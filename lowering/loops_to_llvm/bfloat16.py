"""bf16 by way of f32: few CPUs have instructions for it, and LLVM calls a library where there are none."""

from collections.abc import Callable, Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import BFloat16Type, IntegerAttr, bf16, f32, i16, i32, i64
from xdsl.ir import Attribute, SSAValue

from ...dialects.extensions.llvm import FCmpOp, SelectOp
from .instructions import NO_FAST_MATH, Instructions
from .types import element_of, lanes_of, truth_type, vector_type

_UNORDERED = {"predicate": IntegerAttr(14, i64), "fastmathFlags": NO_FAST_MATH}
_NO_FLAGS = {"fastmathFlags": NO_FAST_MATH}


def is_bfloat16(value_type: Attribute) -> bool:
    """Whether values of the type, or their elements, are bf16."""
    return isinstance(element_of(value_type), BFloat16Type)


def with_element(element: Attribute, like: Attribute) -> Attribute:
    """`element`, or a vector of it with as many lanes as `like`."""
    lanes = lanes_of(like)
    return element if lanes is None else vector_type(element, lanes)


def computed(
    body: Instructions, operands: Sequence[SSAValue], make: Callable[[Sequence[SSAValue]], SSAValue]
) -> SSAValue:
    """What `make` gives for the operands; for bf16 computed in f32 and rounded."""
    if not is_bfloat16(operands[0].type):
        return make(operands)
    wide = [body.emit(llvm.FPExtOp, (each,), with_element(f32, each.type)) for each in operands]
    return rounded(body, make(wide))


def rounded(body: Instructions, value: SSAValue) -> SSAValue:
    """f32 to the nearest bf16, ties to even: the bits plus just under half of the last kept one."""
    bits_type = with_element(i32, value.type)
    bits = body.emit(llvm.BitcastOp, (value,), bits_type)
    sixteen = body.number(16, bits_type)
    kept = body.emit(llvm.LShrOp, (bits, sixteen), bits_type)
    last = body.emit(llvm.AndOp, (kept, body.number(1, bits_type)), bits_type)
    half = body.emit(llvm.AddOp, (last, body.number(0x7FFF, bits_type)), bits_type)
    nearest = body.emit(llvm.LShrOp, (body.emit(llvm.AddOp, (bits, half), bits_type), sixteen), bits_type)
    quiet = body.emit(llvm.OrOp, (kept, body.number(0x40, bits_type)), bits_type)
    is_nan = body.emit(FCmpOp, (value, value), truth_type(value.type), _UNORDERED)
    chosen = body.emit(SelectOp, (is_nan, quiet, nearest), bits_type, _NO_FLAGS)
    narrow = body.emit(llvm.TruncOp, (chosen,), with_element(i16, value.type))
    return body.emit(llvm.BitcastOp, (narrow,), with_element(bf16, value.type))
