"""Lowering of arith and math operations to LLVM instructions and intrinsics, by one table each."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from typing import cast

from xdsl.dialects import arith, llvm
from xdsl.dialects.arith import IntegerOverflowFlag
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.extensions import llvm as llvm_extensions
from ...dialects.extensions.arith import FLUSH, OPAQUE
from ..op_facts import fail
from . import half_floats
from .body import FunctionBody, Handler
from .c_functions import CALLED, LIBRARY
from .instructions import NO_FAST_MATH
from .types import bytes_of, element_of, is_half, lanes_of, truth_type, with_element

_INTEGER = {
    "arith.addi": llvm.AddOp,
    "arith.subi": llvm.SubOp,
    "arith.muli": llvm.MulOp,
    "arith.shli": llvm.ShlOp,
    "arith.divsi": llvm.SDivOp,
    "arith.divui": llvm.UDivOp,
    "arith.remsi": llvm.SRemOp,
    "arith.remui": llvm.URemOp,
    "arith.andi": llvm.AndOp,
    "arith.ori": llvm.OrOp,
    "arith.xori": llvm.XOrOp,
    "arith.shrsi": llvm.AShrOp,
    "arith.shrui": llvm.LShrOp,
}
_FLOAT = {
    "arith.addf": llvm.FAddOp,
    "arith.subf": llvm.FSubOp,
    "arith.mulf": llvm.FMulOp,
    "arith.divf": llvm.FDivOp,
    "arith.remf": llvm.FRemOp,
    "arith.negf": llvm.FNegOp,
}
_CASTS = {
    "arith.extsi": llvm.SExtOp,
    "arith.extui": llvm.ZExtOp,
    "arith.trunci": llvm.TruncOp,
    "arith.sitofp": llvm.SIToFPOp,
    "arith.uitofp": llvm_extensions.UIToFPOp,
    "arith.fptosi": llvm_extensions.FPToSIOp,
    "arith.fptoui": llvm_extensions.FPToUIOp,
    "arith.extf": llvm.FPExtOp,
    "arith.truncf": llvm.FPTruncOp,
}
_INTRINSICS = {
    "arith.minsi": "llvm.smin",
    "arith.maxsi": "llvm.smax",
    "arith.minui": "llvm.umin",
    "arith.maxui": "llvm.umax",
    "arith.maximumf": "llvm.maximum",
    "arith.minimumf": "llvm.minimum",
    "arith.maxnumf": "llvm.maxnum",
    "arith.minnumf": "llvm.minnum",
    "math.absf": "llvm.fabs",
    "math.ceil": "llvm.ceil",
    "math.copysign": "llvm.copysign",
    "math.ctpop": "llvm.ctpop",
    "math.floor": "llvm.floor",
    "math.fma": "llvm.fma",
    "math.round": "llvm.round",
    "math.roundeven": "llvm.roundeven",
    "math.sqrt": "llvm.sqrt",
    "math.trunc": "llvm.trunc",
}
_EXACT = {"math.absi": "llvm.abs", "math.ctlz": "llvm.ctlz", "math.cttz": "llvm.cttz"}
_OVERFLOW = {IntegerOverflowFlag.NSW: 1, IntegerOverflowFlag.NUW: 2}


def _integer(body: FunctionBody, op: Operation) -> None:
    properties: dict[str, Attribute] = {}
    flags = op.properties.get("overflowFlags")
    if isinstance(flags, arith.IntegerOverflowAttr):
        properties["overflowFlags"] = _overflow(flags.data)
    a, b = body.lowered(op.operands)
    body.values[op.results[0]] = body.emit(_INTEGER[op.name], (a, b), a.type, properties)


@cache
def _overflow(flags: AbstractSet[IntegerOverflowFlag]) -> IntegerAttr[IntegerType]:
    return IntegerAttr(sum(_OVERFLOW[flag] for flag in flags), i32)


def _float(body: FunctionBody, op: Operation) -> None:
    flags = {"fastmathFlags": body.fast_math(op)}

    def compute(operands: Sequence[SSAValue]) -> SSAValue:
        return body.emit(_FLOAT[op.name], operands, operands[0].type, flags)

    body.values[op.results[0]] = half_floats.computed(body, op, compute)


def _intrinsic(body: FunctionBody, op: Operation) -> None:
    flags = body.fast_math(op)

    def compute(operands: Sequence[SSAValue]) -> SSAValue:
        return body.overloaded(_INTRINSICS.get(op.name) or CALLED[op.name], operands, flags)

    body.values[op.results[0]] = half_floats.computed(body, op, compute)


def _sign(body: FunctionBody, op: Operation) -> None:
    if is_half(op.operands[0].type):
        body.values[op.results[0]] = half_floats.with_sign(body, op)
    elif op.name in _FLOAT:
        _float(body, op)
    else:
        _intrinsic(body, op)


def _cast(body: FunctionBody, op: Operation) -> None:
    """Conversion between a 16-bit float and any other type, by way of f32."""
    (value,) = body.lowered(op.operands)
    source, target = op.operands[0].type, op.results[0].type
    instruction = _CASTS[op.name]
    if is_half(source):
        value = half_floats.widened(body, value, source)
    if not is_half(target):
        wanted = body.types.convert(target)
        body.values[op.results[0]] = value if value.type == wanted else body.emit(instruction, (value,), wanted)
        return
    if element_of(value.type) != f32:
        value = body.emit(instruction, (value,), with_element(f32, value.type))
    body.values[op.results[0]] = half_floats.rounded(body, value, target, flush=FLUSH in op.attributes)


def _constant(body: FunctionBody, op: Operation) -> None:
    value, result = op.properties["value"], op.results[0]
    value_type = body.types.convert(result.type)
    if isinstance(value, IntegerAttr):
        body.values[result] = body.integer(value.value.data, value_type)
    elif is_half(result.type):
        body.values[result] = body.constant(half_floats.as_integers(value), value_type)
    elif isinstance(element_of(result.type), IndexType):
        # Index constants are stored as i64.
        data = cast("DenseIntOrFPElementsAttr", value).data
        value = DenseIntOrFPElementsAttr(cast("VectorType[IntegerType]", value_type), data)
        body.values[result] = body.constant(value, value_type)
    else:
        body.values[result] = body.constant(value, value_type)


def _cmpi(body: FunctionBody, op: Operation) -> None:
    operands = body.lowered(op.operands)
    predicate = {"predicate": op.properties["predicate"]}
    result_type = truth_type(operands[0].type)
    body.values[op.results[0]] = body.emit(llvm.ICmpOp, operands, result_type, predicate)


def _cmpf(body: FunctionBody, op: Operation) -> None:
    properties = {"predicate": op.properties["predicate"], "fastmathFlags": body.fast_math(op)}

    def compute(operands: Sequence[SSAValue]) -> SSAValue:
        return body.emit(llvm_extensions.FCmpOp, operands, truth_type(operands[0].type), properties)

    body.values[op.results[0]] = half_floats.computed(body, op, compute)


def _select(body: FunctionBody, op: Operation) -> None:
    operands = body.lowered(op.operands)
    flags = {"fastmathFlags": NO_FAST_MATH}
    body.values[op.results[0]] = body.emit(llvm_extensions.SelectOp, operands, operands[1].type, flags)


def _bitcast(body: FunctionBody, op: Operation) -> None:
    (value,) = body.lowered(op.operands)
    target = body.types.convert(op.results[0].type)
    same = value.type == target
    body.values[op.results[0]] = value if same else body.emit(llvm.BitcastOp, (value,), target)


def _index_cast(body: FunctionBody, op: Operation) -> None:
    (value,) = body.lowered(op.operands)
    target = body.types.convert(op.results[0].type)
    known = body.known.get(value)
    source_bytes, target_bytes = bytes_of(element_of(value.type)), bytes_of(element_of(target))
    if value.type == target:
        result = value
    elif known is not None:
        result = body.integer(known, target)
    else:
        widen = source_bytes < target_bytes or element_of(value.type) == i1
        result = body.emit(llvm.SExtOp if widen else llvm.TruncOp, (value,), target)
    body.values[op.results[0]] = body.hidden(result) if OPAQUE in op.attributes else result


def _floor_division(body: FunctionBody, op: Operation) -> None:
    """floordivsi and ceildivsi: the truncated quotient, corrected where the division isn't exact."""
    a, b = body.lowered(op.operands)
    down = op.name == "arith.floordivsi"
    zero = body.number(0, a.type)
    quotient = body.emit(llvm.SDivOp, (a, b), a.type)
    remainder = body.emit(llvm.SRemOp, (a, b), a.type)
    bit = truth_type(a.type)
    inexact = body.emit(llvm.ICmpOp, (remainder, zero), bit, {"predicate": IntegerAttr(1, i64)})
    signs = body.emit(llvm.XOrOp, (a, b), a.type)
    wanted = IntegerAttr(2 if down else 5, i64)  # slt: the signs differ; sge: they agree
    wrong_way = body.emit(llvm.ICmpOp, (signs, zero), bit, {"predicate": wanted})
    correct = body.emit(llvm.AndOp, (inexact, wrong_way), bit)
    step = body.emit(llvm.ZExtOp, (correct,), a.type)
    combine = llvm.SubOp if down else llvm.AddOp
    body.values[op.results[0]] = body.emit(combine, (quotient, step), a.type)


def _ceil_division_unsigned(body: FunctionBody, op: Operation) -> None:
    a, b = body.lowered(op.operands)
    quotient = body.emit(llvm.UDivOp, (a, b), a.type)
    remainder = body.emit(llvm.URemOp, (a, b), a.type)
    zero = body.number(0, a.type)
    inexact = body.emit(llvm.ICmpOp, (remainder, zero), truth_type(a.type), {"predicate": IntegerAttr(1, i64)})
    step = body.emit(llvm.ZExtOp, (inexact,), a.type)
    body.values[op.results[0]] = body.emit(llvm.AddOp, (quotient, step), a.type)


def _rsqrt(body: FunctionBody, op: Operation) -> None:
    flags = body.fast_math(op)

    def compute(operands: Sequence[SSAValue]) -> SSAValue:
        root = body.overloaded("llvm.sqrt", operands, flags)
        return body.emit(llvm.FDivOp, (body.number(1.0, root.type), root), root.type, {"fastmathFlags": flags})

    body.values[op.results[0]] = half_floats.computed(body, op, compute)


def _exact_intrinsic(body: FunctionBody, op: Operation) -> None:
    """An intrinsic whose second operand says that no integer gives poison."""
    (value,) = body.lowered(op.operands)
    name = f"{_EXACT[op.name]}.{body.types.suffix(value.type)}"
    result = body.intrinsic(name, (value, body.integer(0, i1)), value.type)
    assert result is not None
    body.values[op.results[0]] = result


def _library(body: FunctionBody, op: Operation) -> None:
    """A call of a C library function without an LLVM intrinsic, once per lane."""
    operands = body.lowered(op.operands)
    value_type = operands[0].type
    element = element_of(value_type)
    if is_half(op.operands[0].type):
        fail(op, f"not available for {element_of(op.operands[0].type)}; expand-math computes it in f32")
    name = LIBRARY[op.name] + ("f" if element == f32 else "")
    body.extern[name] = llvm.LLVMFunctionType([element] * len(operands), element)

    def call(values: list[SSAValue]) -> SSAValue:
        made = llvm.CallOp(name, *values, return_type=element)
        body.block.add_op(made)
        return made.results[0]

    lanes = lanes_of(value_type)
    if lanes is None:
        body.values[op.results[0]] = call(operands)
        return
    result = body.poison(value_type)
    for lane in range(lanes):
        position = body.integer(lane)
        arguments = [body.emit(llvm_extensions.ExtractElementOp, (operand, position), element) for operand in operands]
        result = body.emit(llvm.InsertElementOp, (result, call(arguments), position), value_type)
    body.values[op.results[0]] = result


def _same_value(body: FunctionBody, op: Operation) -> None:
    """A cast between types that are the same type in LLVM."""
    for source, result in zip(op.operands, op.results, strict=True):
        value = body.values[source]
        if value.type != body.types.convert(result.type):
            fail(op, f"{source.type} and {result.type} are different types in LLVM")
        body.values[result] = value


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(_INTEGER, _integer),
    **dict.fromkeys(_FLOAT, _float),
    **dict.fromkeys(_CASTS, _cast),
    **dict.fromkeys((*_INTRINSICS, *CALLED), _intrinsic),
    **dict.fromkeys(LIBRARY, _library),
    **dict.fromkeys(("arith.negf", "math.absf", "math.copysign"), _sign),
    "arith.constant": _constant,
    "arith.cmpi": _cmpi,
    "arith.cmpf": _cmpf,
    "arith.select": _select,
    "arith.bitcast": _bitcast,
    "arith.index_cast": _index_cast,
    "arith.floordivsi": _floor_division,
    "arith.ceildivsi": _floor_division,
    "arith.ceildivui": _ceil_division_unsigned,
    "math.rsqrt": _rsqrt,
    **dict.fromkeys(_EXACT, _exact_intrinsic),
    "builtin.unrealized_conversion_cast": _same_value,
}
