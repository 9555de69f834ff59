"""Lowering of 1-D vector operations of any length, which LLVM splits or widens to registers."""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.dialects.vector import CombiningKindAttr
from xdsl.ir import Operation, SSAValue

from ...dialects.extensions.llvm import ExtractElementOp
from ...dialects.sizes.sizes import is_fixed
from ..op_facts import fail, integers_of
from . import half_floats
from .body import FunctionBody, Handler
from .instructions import fast_math_attr, integer_list
from .memref_ops import access_alignment, access_properties, from_memory, to_memory
from .types import element_of, in_memory, lanes_of, vector_type

_UNSIGNED_LESS = IntegerAttr(6, i64)


def _masked_load(body: FunctionBody, op: Operation) -> None:
    base, *indices, mask, passthrough = op.operands
    value_type = body.types.convert(op.results[0].type)
    stored_type = in_memory(value_type)
    address = body.address(base, indices, inbounds=False)
    otherwise = to_memory(body, body.values[passthrough])
    alignment = access_alignment(op, body.types.layout(base.type).element_bytes)
    stored = body.intrinsic(
        f"llvm.masked.load.{body.types.suffix(stored_type)}.p0",
        (address, body.values[mask], otherwise),
        stored_type,
        alignments=(alignment, 0, 0),
    )
    assert stored is not None
    body.values[op.results[0]] = from_memory(body, stored, value_type)


def _masked_store(body: FunctionBody, op: Operation) -> None:
    """A store with one lane becomes scalar; for lanes below four bytes the count is hidden from LLVM.

    LLVM 22 turns a truncation and a masked store of one lane, known at compile time, into a store of the wide element
    (with AVX-512), which overwrites adjacent memory. test_llvm_vectors.py tells when it no longer does.
    """
    base, *indices, mask, value = op.operands
    stored = to_memory(body, body.values[value])
    element = element_of(stored.type)
    address = body.address(base, indices, inbounds=False)
    bytes_of_element = body.types.layout(base.type).element_bytes
    count, written = _lanes_of_mask(body, mask), body.values[mask]
    if count == 1:
        lane = body.emit(ExtractElementOp, (stored, body.integer(0)), element)
        body.append(llvm.StoreOp, (lane, address), access_properties(op, bytes_of_element))
        return
    if isinstance(count, SSAValue) and bytes_of_element < 4:
        lanes = lanes_of(stored.type)
        assert lanes is not None
        written = _mask(body, body.hidden(count), lanes)
    body.intrinsic(
        f"llvm.masked.store.{body.types.suffix(stored.type)}.p0",
        (stored, address, written),
        None,
        alignments=(0, access_alignment(op, bytes_of_element), 0),
    )


def _broadcast(body: FunctionBody, op: Operation) -> None:
    (value,) = body.lowered(op.operands)
    target = body.types.convert(op.results[0].type)
    if value.type == target:
        body.values[op.results[0]] = value
        return
    if isinstance(value.type, VectorType):
        fail(op, "only a scalar can be broadcast")
    constant = value.owner
    if isinstance(constant, llvm.ConstantOp) and isinstance(constant.value, IntegerAttr | FloatAttr):
        body.values[op.results[0]] = body.number(constant.value.value.data, target)
    else:
        body.values[op.results[0]] = body.splat(value, target)


def _fma(body: FunctionBody, op: Operation) -> None:
    body.values[op.results[0]] = half_floats.computed(body, op, lambda values: body.overloaded("llvm.fma", values))


_REDUCTIONS = {
    # kind: (for floats, for integers), each an intrinsic and the op that combines its result with the accumulator
    "add": (("fadd", llvm.FAddOp), ("add", llvm.AddOp)),
    "mul": (("fmul", llvm.FMulOp), ("mul", llvm.MulOp)),
    "maximumf": (("fmaximum", "llvm.maximum"), None),
    "minimumf": (("fminimum", "llvm.minimum"), None),
    "maxnumf": (("fmax", "llvm.maxnum"), None),
    "minnumf": (("fmin", "llvm.minnum"), None),
    "maxsi": (None, ("smax", "llvm.smax")),
    "minsi": (None, ("smin", "llvm.smin")),
    "maxui": (None, ("umax", "llvm.umax")),
    "minui": (None, ("umin", "llvm.umin")),
    "and": (None, ("and", llvm.AndOp)),
    "or": (None, ("or", llvm.OrOp)),
    "xor": (None, ("xor", llvm.XOrOp)),
}


def _reduction(body: FunctionBody, op: Operation) -> None:
    """Float elements are combined in the fastest order, which the operation leaves unspecified."""
    body.values[op.results[0]] = half_floats.computed(body, op, lambda operands: _reduced(body, op, operands))


def _reduced(body: FunctionBody, op: Operation, values: Sequence[SSAValue]) -> SSAValue:
    vector, *accumulator = values
    element = element_of(vector.type)
    is_integer = isinstance(element, IntegerType)
    kind = cast(CombiningKindAttr, op.properties["kind"]).data
    choice = _REDUCTIONS[kind][is_integer]
    if choice is None:
        fail(op, f"there is no reduction '{kind}' of {element}")
    intrinsic, combine = choice
    flags = body.fast_math(op)
    operands: list[SSAValue] = [vector]
    if intrinsic in ("fadd", "fmul"):
        flags = fast_math_attr(tuple(dict.fromkeys((*flags.data, FastMathFlag.REASSOC))))
        neutral = -0.0 if intrinsic == "fadd" else 1.0
        operands.insert(0, accumulator.pop() if accumulator else body.number(neutral, element))
    name = f"llvm.vector.reduce.{intrinsic}.{body.types.suffix(vector.type)}"
    result = body.intrinsic(name, operands, element, flags)
    assert result is not None
    if accumulator:
        pair = (accumulator[0], result)
        if isinstance(combine, str):
            result = body.overloaded(combine, pair, flags)
        else:
            result = body.emit(combine, pair, element)
    return result


def _position(body: FunctionBody, op: Operation, dynamic: list[SSAValue]) -> SSAValue:
    (static,) = integers_of(op, "static_position")
    return body.values[dynamic[0]] if static == DYNAMIC_INDEX else body.integer(static)


def _extract(body: FunctionBody, op: Operation) -> None:
    vector, *dynamic = op.operands
    position = _position(body, op, dynamic)
    result_type = body.types.convert(op.results[0].type)
    body.values[op.results[0]] = body.emit(ExtractElementOp, (body.values[vector], position), result_type)


def _insert(body: FunctionBody, op: Operation) -> None:
    source, target, *dynamic = op.operands
    position = _position(body, op, dynamic)
    value, vector = body.lowered((source, target))
    body.values[op.results[0]] = body.emit(llvm.InsertElementOp, (vector, value, position), vector.type)


def _shuffle(body: FunctionBody, op: Operation) -> None:
    a, b = body.lowered(op.operands)
    if a.type != b.type:
        fail(op, "its operands must have the same length")
    mask = integer_list(integers_of(op, "mask"))
    result_type = body.types.convert(op.results[0].type)
    body.values[op.results[0]] = body.emit(llvm.ShuffleVectorOp, (a, b), result_type, {"mask": mask})


def _steps(body: FunctionBody, lanes: int, element: IntegerType) -> SSAValue:
    """0, 1, 2, ..."""
    steps = cast("VectorType[IntegerType]", vector_type(element, lanes))
    return body.constant(DenseIntOrFPElementsAttr.from_list(steps, list(range(lanes))), steps)


def _first_lanes(body: FunctionBody, lanes: int, count: int) -> SSAValue:
    mask_type = cast("VectorType[IntegerType]", vector_type(i1, lanes))
    bits = [int(lane < count) for lane in range(lanes)]
    return body.constant(DenseIntOrFPElementsAttr.from_list(mask_type, bits), mask_type)


def _lanes_of_mask(body: FunctionBody, mask: SSAValue) -> int | SSAValue | None:
    """The number of leading lanes that a mask enables: a constant or a value; None for any other mask."""
    made = mask.owner
    if not isinstance(made, Operation):
        return None
    if made.name == "vector.constant_mask":
        return integers_of(made, "mask_dim_sizes")[0]
    if made.name != "vector.create_mask":
        return None
    (count,) = body.lowered(made.operands)
    known = body.known.get(count)
    return known if known is not None and is_fixed(known) else count


def _create_mask(body: FunctionBody, op: Operation) -> None:
    """The lanes below a count, which may be negative or exceed the number of lanes."""
    lanes, count = lanes_of(op.results[0].type), _lanes_of_mask(body, op.results[0])
    assert lanes is not None
    if isinstance(count, SSAValue):
        body.values[op.results[0]] = _mask(body, count, lanes)
    else:
        assert count is not None
        body.values[op.results[0]] = _first_lanes(body, lanes, count)


def _mask(body: FunctionBody, count: SSAValue, lanes: int) -> SSAValue:
    bounded = body.overloaded("llvm.smax", (count, body.integer(0)))
    bounded = body.overloaded("llvm.smin", (bounded, body.integer(lanes)))
    narrow = body.emit(llvm.TruncOp, (bounded,), i32)
    counts = body.splat(narrow, vector_type(i32, lanes))
    steps = _steps(body, lanes, i32)
    return body.emit(llvm.ICmpOp, (steps, counts), vector_type(i1, lanes), {"predicate": _UNSIGNED_LESS})


def _constant_mask(body: FunctionBody, op: Operation) -> None:
    lanes = lanes_of(op.results[0].type)
    (count,) = integers_of(op, "mask_dim_sizes")
    assert lanes is not None
    body.values[op.results[0]] = _first_lanes(body, lanes, count)


def _step(body: FunctionBody, op: Operation) -> None:
    lanes = lanes_of(op.results[0].type)
    assert lanes is not None
    body.values[op.results[0]] = _steps(body, lanes, i64)


def _bitcast(body: FunctionBody, op: Operation) -> None:
    (value,) = body.lowered(op.operands)
    target = body.types.convert(op.results[0].type)
    body.values[op.results[0]] = value if value.type == target else body.emit(llvm.BitcastOp, (value,), target)


HANDLERS: dict[str, Handler] = {
    "vector.maskedload": _masked_load,
    "vector.maskedstore": _masked_store,
    "vector.broadcast": _broadcast,
    "vector.fma": _fma,
    "vector.reduction": _reduction,
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.shuffle": _shuffle,
    "vector.create_mask": _create_mask,
    "vector.constant_mask": _constant_mask,
    "vector.step": _step,
    "vector.bitcast": _bitcast,
}
