"""Unsigned numbers of few bits packed in bytes, as operators of com.microsoft have them."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness
from xdsl.ir import Attribute, SSAValue

from ....dialects.graph.ops.conversion import UnpackBitsOp
from ....dialects.graph.ops.movement import PadOp
from ....dialects.graph.values import shape_of
from ....dialects.sizes.sizes import equal
from ..handlers.movement import slice_axis
from ..node import Node

UI8 = IntegerType(8, Signedness.UNSIGNED)


def type_of_numbers(bits: int) -> Attribute:
    """The type of unpacked numbers: their own, if there is one."""
    return IntegerType(bits, Signedness.UNSIGNED) if bits in (2, 4) else UI8


def unpacked(node: Node, value: SSAValue, bits: int, shape: tuple[int, ...]) -> SSAValue:
    """Bytes unpacked to numbers that lie in them without gaps, the first one lowest."""
    if not equal(prod(shape_of(value)) * 8, prod(shape) * bits):
        raise node.invalid(f"{list(shape_of(value))} bytes don't hold {list(shape)} numbers of {bits} bits")
    if bits == 8:
        return node.reshape(value, shape)
    to, flat = type_of_numbers(bits), node.reshape(value, (prod(shape_of(value)),))
    return node.emit(UnpackBitsOp(flat, to, shape, width=bits if to == UI8 else None))


def unpacked_rows(node: Node, value: SSAValue, bits: int, rows: tuple[int, ...], count: int) -> SSAValue:
    """Numbers [*rows, count] of bytes in which every row begins with a new byte."""
    held = -(-count * bits // 8)
    if not equal(prod(shape_of(value)), prod(rows) * held):
        raise node.invalid(f"{list(shape_of(value))} bytes don't hold {[*rows, count]} numbers of {bits} bits")
    stored = node.reshape(value, (prod(rows), held))
    if 8 % bits and (more := -held % bits):  # `bits` bytes hold eight numbers
        stored, held = node.emit(PadOp(stored, (0, 0), (0, more))), held + more
    numbers = unpacked(node, stored, bits, (prod(rows), held * 8 // bits))
    return node.reshape(slice_axis(node, numbers, 1, 0, count), (*rows, count))


def middle(node: Node, bits: int) -> SSAValue:
    """The zero point where none is given: the middle of the range."""
    return node.cast(node.array(np.array(2 ** (bits - 1), np.uint8)), type_of_numbers(bits))
