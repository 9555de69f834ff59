"""Vectors cut into parts and put together again, for instructions on one register."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm
from xdsl.ir import SSAValue

from ..body import FunctionBody
from ..instructions import integer_list
from ..types import element_of, lanes_of, vector_type


def lanes_in(vector: SSAValue) -> int:
    """The number of lanes of a vector."""
    lanes = lanes_of(vector.type)
    assert lanes is not None
    return lanes


def part(body: FunctionBody, vector: SSAValue, start: int, count: int) -> SSAValue:
    """Lanes [start, start + count) of a vector."""
    if count == lanes_in(vector):
        return vector
    mask = {"mask": integer_list(tuple(range(start, start + count)))}
    type = vector_type(element_of(vector.type), count)
    return body.emit(llvm.ShuffleVectorOp, (vector, body.poison(vector.type)), type, mask)


def joined(body: FunctionBody, parts: list[SSAValue]) -> SSAValue:
    """Concatenates vectors."""
    whole, *others = parts
    lanes = lanes_in(whole)
    for each in others:
        # Both operands of a shuffle have one type, so the part is padded to the length of what precedes it.
        held = lanes_in(whole)
        longer = each
        if held != lanes:
            mask = {"mask": integer_list(tuple(lane if lane < lanes else -1 for lane in range(held)))}
            longer = body.emit(llvm.ShuffleVectorOp, (each, body.poison(each.type)), whole.type, mask)
        mask = {"mask": integer_list(tuple(range(held + lanes)))}
        type = vector_type(element_of(whole.type), held + lanes)
        whole = body.emit(llvm.ShuffleVectorOp, (whole, longer), type, mask)
    return whole


def called(body: FunctionBody, name: str, operands: Sequence[SSAValue], like: SSAValue) -> SSAValue:
    """The result of an intrinsic, of the type of `like`."""
    result = body.intrinsic(name, operands, like.type)
    assert result is not None
    return result
