"""Helpers for patterns on quantised values: levels (numbers, scale, zero point), and facts about scales."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from xdsl.dialects.builtin import IntegerType, LocationAttr, Signedness, i8, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.graph.base import ContractionOp, GraphOp
from ....dialects.graph.ops.conversion import CastOp
from ....dialects.graph.ops.elementwise import SubOp
from ....dialects.graph.ops.movement import ReshapeOp
from ....dialects.graph.ops.quantization import MOST_BITS, DequantizeOp, integer_range
from ....dialects.graph.ops.reduction import ReduceSumOp
from ....dialects.graph.values import Array, element_type_of_value, numpy_dtype, shape_of
from ....dialects.sizes.sizes import is_fixed
from .pattern_utils import Constants, defining

ui8 = IntegerType(8, Signedness.UNSIGNED)
BYTES = (i8, ui8)


class Writer:
    """The ops with which a pattern replaces another, in order."""

    def __init__(self, constants: Constants, location: LocationAttr) -> None:
        self.constants = constants
        self.location = location
        self.ops: list[Operation] = []

    def emit(self, op: GraphOp) -> SSAValue:
        """The op's result, folded if all operands are known, so that patterns can continue with its value.

        Not if the result would be larger: a dequantised weight.
        """
        known = is_fixed(*shape_of(op.results[0])) and all(map(self.constants.is_constant, op.operands))
        if known and not isinstance(op, ContractionOp | DequantizeOp):
            (array,) = op.evaluate(*map(self.constants.known, op.operands))
            op.erase()
            return self.array(array)
        op.location = self.location
        self.ops.append(op)
        return op.results[0]

    def discard(self) -> None:
        """Removes all of its ops."""
        for op in reversed(self.ops):
            op.erase()

    def array(self, array: Array) -> SSAValue:
        """A constant."""
        made = self.constants.make(array, self.location)
        self.ops.append(made)
        return made.results[0]

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The value in another shape; itself if it has that shape already."""
        return value if shape_of(value) == tuple(shape) else self.emit(ReshapeOp(value, shape))

    def cast(self, value: SSAValue, to: Attribute) -> SSAValue:
        """The value converted to another element type; itself if it has that type already."""
        return value if element_type_of_value(value) == to else self.emit(CastOp(value, to))


@dataclass(frozen=True)
class Levels:
    """(numbers - zero) * scale of 8-bit numbers, or of i32 without a scale; `zero` None is 0."""

    numbers: SSAValue
    zero: SSAValue | None
    scale: SSAValue | None


def levels_of(value: SSAValue, depth: Sequence[int], writer: Writer) -> Levels | None:
    """The levels of a product's operand, contracted along the axes `depth`; None unless it has 8-bit numbers."""
    match value.owner:
        case DequantizeOp() as op if element_type_of_value(op.x) in BYTES:
            return settled(Levels(op.x, op.zero_point, op.scale), writer)
        case CastOp() as op if op.to == i32 and element_type_of_value(op.x) in BYTES:
            return Levels(op.x, None, None)
        case SubOp() as op if shape_of(op.lhs) == shape_of(op.result):
            inner = defining(op.lhs, CastOp)
            if inner is None or inner.to != i32 or element_type_of_value(inner.x) not in BYTES:
                return None
            return settled(Levels(inner.x, op.rhs, None), writer)
        case _ if element_type_of_value(value) == i32 and writer.constants.is_constant(value):
            return _narrowed(writer.constants.known(value), depth, writer)
        case _:
            return None


def _narrowed(numbers: Array, depth: Sequence[int], writer: Writer) -> Levels | None:
    """Levels of weights that were folded to i32: converted back to bytes, with zero points constant along `depth`."""
    low, high = integer_range(i8)
    zero = np.zeros((), np.int32)
    if numbers.size and (numbers.min() < low or numbers.max() > high):
        zero = low - numbers.min(axis=tuple(depth), keepdims=True)
    centred = numbers.astype(np.int64) + zero
    if centred.size and centred.max() > high:
        return None
    return Levels(writer.array(centred.astype(np.int8)), writer.array(zero) if zero.any() else None, None)


def integer(constants: Constants, value: SSAValue | None) -> int | None:
    """The single number of a zero point; None if it is unknown or varies."""
    found = 0 if value is None else constants.scalar(value)
    return None if found is None else int(found)


def is_single(*parameters: SSAValue | None) -> bool:
    """Whether each of these scales and zero points is per tensor."""
    return all(value is None or shape_of(value) == () for value in parameters)


def is_positive(constants: Constants, scale: SSAValue) -> bool:
    """Whether a scale is known to be positive, and so preserves order."""
    found = constants.scalar(scale)
    return found is not None and found > 0


def bits_of(value: SSAValue) -> int:
    """Bits per element of a value."""
    return numpy_dtype(element_type_of_value(value)).itemsize * 8


def settled(levels: Levels, writer: Writer) -> Levels:
    """Levels of constant numbers with the zero point subtracted, if the difference fits into 8 signed bits."""
    constants = writer.constants
    if levels.zero is None or not constants.is_constant(levels.numbers) or not constants.is_constant(levels.zero):
        return levels
    centred = constants.known(levels.numbers).astype(np.int32) - constants.known(levels.zero).astype(np.int32)
    low, high = integer_range(i8)
    if centred.size and (centred.min() < low or centred.max() > high):
        return levels
    if element_type_of_value(levels.numbers) == i8 and np.array_equal(centred, constants.known(levels.numbers)):
        return replace(levels, zero=None)
    return replace(levels, numbers=writer.array(centred.astype(np.int8)), zero=None)


def summed(numbers: SSAValue, axes: Sequence[int], writer: Writer) -> SSAValue:
    """Sums of 8-bit numbers in i32 along axes, which are kept with size 1; sums of weights are folded here.

    fold-constants would not: the intermediate cast to i32 has four times the weights' bytes.
    """
    constants = writer.constants
    if constants.is_constant(numbers):
        return writer.array(constants.known(numbers).sum(axis=tuple(axes), dtype=np.int32, keepdims=True))
    return writer.emit(ReduceSumOp(writer.cast(numbers, i32), axes, keepdims=True))


def same_parameter(constants: Constants, a: SSAValue | None, b: SSAValue | None) -> bool:
    """Whether two per-tensor scales or zero points are equal; an absent zero point is 0."""
    if a is b:
        return True
    first, second = (0.0 if value is None else constants.scalar(value) for value in (a, b))
    return first is not None and first == second


def dequantized(value: SSAValue) -> DequantizeOp | None:
    """The op that defines `value`, if it dequantises 8 or 16 bits with a per-tensor scale."""
    op = defining(value, DequantizeOp)
    return op if op is not None and is_single(op.scale, op.zero_point) and bits_of(op.x) <= MOST_BITS else None
