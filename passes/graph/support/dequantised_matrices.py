"""Matrices that are dequantised by blocks, or by rows, in front of a product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import LocationAttr, bf16, f16, f32
from xdsl.ir import Attribute, SSAValue

from ....dialects.graph.base import MovementOp
from ....dialects.graph.narrow_types import packed_bits
from ....dialects.graph.ops.contraction import MatmulOp, is_byte
from ....dialects.graph.ops.conversion import CastOp, UnpackBitsOp
from ....dialects.graph.ops.elementwise import SubOp
from ....dialects.graph.ops.movement import ReshapeOp, SliceOp
from ....dialects.graph.ops.quantization import DequantizeOp
from ....dialects.graph.values import Array, element_type_of_value, ints, shape_of
from .known_chains import KnownChain, known_chain
from .pattern_utils import Constants, defining


@dataclass(frozen=True)
class Blocks:
    """How numbers lie in an array [rows, blocks, block]; one that is `turned` is [blocks, block, rows]."""

    rows: int
    blocks: int
    block: int
    turned: bool

    @classmethod
    def of(cls, shape: Sequence[int], turned: bool) -> Blocks | None:
        """The blocks of an array of that shape, of which a matrix has one for each row."""
        if len(shape) == 2:
            shape = (1, *shape) if turned else (shape[0], 1, shape[1])
        if len(shape) != 3:
            return None
        first, second, third = shape
        return cls(third, first, second, turned) if turned else cls(first, second, third, turned)

    def numbers(self, array: Array) -> Array:
        """An array of numbers as [rows, blocks, block]."""
        if self.turned:
            return array.reshape(self.blocks, self.block, self.rows).transpose(2, 0, 1)
        return array.reshape(self.rows, self.blocks, self.block)

    def entries(self, array: Array) -> Array:
        """An array with one entry for each block, or for all of them, as [rows, blocks]."""
        if array.size == 1:
            return np.full((self.rows, self.blocks), array.reshape(()))
        return array.reshape(self.blocks, self.rows).T if self.turned else array.reshape(self.rows, self.blocks)


@dataclass(frozen=True)
class DequantisedMatrix:
    """A product's right operand: (numbers - zero) * scale, or numbers * scale - offset, all computed from constants.

    A row is a column of the product; the last block may extend beyond the depth. `stored` are the bytes that numbers
    are unpacked from, if nothing moves them.
    """

    blocks: Blocks
    depth: int
    numbers: KnownChain
    type: Attribute
    bits: int
    stored: SSAValue | None
    scale: KnownChain
    scale_type: Attribute
    zero: KnownChain | None
    offset: KnownChain | None
    location: LocationAttr


def dequantised_matrix(op: MatmulOp, constants: Constants) -> DequantisedMatrix | None:
    """The right operand of a product of f32 as a dequantised matrix, if it is one."""
    if len(shape_of(op.rhs)) != 2 or element_type_of_value(op.rhs) != f32:
        return None
    turned = op.transpose_b is None
    depth, rows = shape_of(op.rhs) if turned else shape_of(op.rhs)[::-1]
    value = _uncut(before_widening(op.rhs))
    less = None if value is None else defining(value, SubOp)
    wide = None if value is None else defining(value if less is None else before_widening(less.lhs), DequantizeOp)
    if wide is None or (less is not None and wide.zero_point is not None):
        return None
    parameters = (before_widening(wide.scale), wide.zero_point, None if less is None else less.rhs)
    chains = [None if each is None else known_chain(each, constants) for each in (wide.x, *parameters)]
    numbers, scale, zero, offset = chains
    if numbers is None or scale is None or (zero is None, offset is None) != (wide.zero_point is None, less is None):
        return None
    blocks = Blocks.of(shape_of(wide.x), turned)
    if blocks is None or blocks.rows != rows or -(-depth // blocks.block) != blocks.blocks:
        return None
    entries = list(shape_of(wide.x))
    entries[-2 if turned else -1] = 1
    if any(each is not None and shape_of(each) not in ((), tuple(entries)) for each in parameters):
        return None
    return DequantisedMatrix(
        blocks=blocks,
        depth=depth,
        numbers=numbers,
        type=element_type_of_value(wide.x),
        bits=bits_of(wide.x),
        stored=_stored(wide.x, constants),
        scale=scale,
        scale_type=element_type_of_value(parameters[0]),
        zero=zero,
        offset=offset,
        location=wide.location,
    )


def before_widening(value: SSAValue) -> SSAValue:
    """The floats of 16 bits that the value is a cast of, or else itself."""
    cast = defining(value, CastOp)
    return cast.x if cast is not None and element_type_of_value(cast.x) in (f16, bf16) else value


def _uncut(value: SSAValue) -> SSAValue | None:
    """The array of blocks of a matrix that is cut to its depth; None if it is cut otherwise."""
    cut = defining(value, SliceOp)
    if cut is not None:
        if any(ints(cut.starts)) or set(ints(cut.steps)) != {1}:
            return None
        value = cut.x
    reshape = defining(value, ReshapeOp)
    return value if reshape is None else reshape.x


def bits_of(value: SSAValue) -> int:
    """Bits of numbers that were unpacked, and possibly moved since; or those of the value's type."""
    while isinstance(op := value.owner, MovementOp):
        if isinstance(op, UnpackBitsOp):
            return op.bits
        value = op.operands[0]
    return packed_bits(element_type_of_value(value))


def _stored(value: SSAValue, constants: Constants) -> SSAValue | None:
    while isinstance(op := value.owner, ReshapeOp | UnpackBitsOp):
        value = op.operands[0]
    return value if is_byte(element_type_of_value(value)) and constants.is_constant(value) else None
