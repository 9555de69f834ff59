"""Calls of kernels: the buffer types that code is specialised for, and sharing between operands."""

from __future__ import annotations

from functools import lru_cache
from typing import cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import IntAttr, MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.kernel.calls import CallOp
from .loop_builder import MOST_KNOWN


@lru_cache(maxsize=MOST_KNOWN)
def anywhere(type: Attribute) -> Attribute:
    """A buffer's type with a dynamic offset, as code is the same at any offset.

    Memoised: equal types are one object, by which the builder's memos look them up.
    """
    if not isinstance(type, MemRefType):
        return type
    known = cast("MemRefType[Attribute]", type)
    layout = known.layout
    if not isinstance(layout, StridedLayoutAttr) or layout.offset == IntAttr(0):
        return known
    anywhere = StridedLayoutAttr(layout.strides, NoneAttr())
    return MemRefType(known.element_type, known.shape, anywhere, known.memory_space)


def cast_before(call: Operation, value: SSAValue, type: Attribute) -> SSAValue:
    """Inserts a cast of a buffer to that type before the call."""
    if type == value.type:
        return value
    moved = memref.CastOp.get(value, cast("MemRefType[Attribute]", type))
    Rewriter.insert_op(moved, InsertPoint.before(call))
    return moved.results[0]


def sharing_of(call: CallOp) -> tuple[int, ...]:
    """For each operand and result, the position of the first one that is the same buffer."""
    buffers = [*call.ins, *call.outs]
    outs = set(call.outs)
    first: dict[SSAValue, int] = {}
    sharing: list[int] = []
    for i, buffer in enumerate(buffers):
        # A repeated operand is read twice and needs no merging; only written buffers must be one argument.
        sharing.append(first.setdefault(buffer, i) if buffer in outs else i)
    return tuple(sharing)
