"""Matrices that are taken out of a stack by their number and dequantised by blocks, in front of a product."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import LocationAttr, f32, i64
from xdsl.ir import SSAValue

from ....dialects.graph.ops.block_weight import SCALES, STACKED_ROWS, UI8, WIDTHS
from ....dialects.graph.ops.contraction import MatmulOp
from ....dialects.graph.ops.conversion import UnpackBitsOp
from ....dialects.graph.ops.indexing import GatherOp
from ....dialects.graph.ops.movement import ReshapeOp
from ....dialects.graph.ops.quantization import DequantizeOp, integer_range
from ....dialects.graph.ops.structure import WeightOp
from ....dialects.graph.values import Array, element_type_of_value, shape_of, tensor, type_of
from .dequantised_matrices import before_widening, bits_of
from .known_chains import known_chain
from .pattern_utils import Constants, defining


@dataclass(frozen=True)
class StackedMatrices:
    """A product's right operand [rows, depth]: matrix number `which` of weights [count, rows, bytes], dequantised.

    Scales are [count, rows, blocks]; zero points are one, or ui8 [count, rows, blocks].
    """

    which: SSAValue
    weight: WeightOp
    scale: WeightOp
    zeros: Array
    bits: int
    block: int
    location: LocationAttr


def stacked_matrices(op: MatmulOp, constants: Constants) -> StackedMatrices | None:
    """The right operand of a product of f32 as one of stacked matrices, if it is one."""
    reshape = defining(op.rhs, ReshapeOp)
    wide = None if reshape is None else defining(reshape.x, DequantizeOp)
    if wide is None or op.transpose_b is None or element_type_of_value(op.rhs) != f32 or len(shape_of(wide.x)) != 3:
        return None
    rows, depth = shape_of(op.rhs)
    _, blocks, block = shape_of(wide.x)
    bits = bits_of(wide.x)
    if bits not in WIDTHS or integer_range(element_type_of_value(wide.x))[0] or block * bits % 8 or rows % STACKED_ROWS:
        return None
    numbers, scales = _taken(wide.x), _taken(before_widening(wide.scale))
    if numbers is None or scales is None or numbers.indices is not scales.indices:
        return None
    weight, scale = defining(numbers.x, WeightOp), defining(scales.x, WeightOp)
    zeros = _zeros(wide.zero_point, numbers.indices, constants)
    if weight is None or scale is None or zeros is None or element_type_of_value(scales.x) not in SCALES:
        return None
    count = shape_of(numbers.x)[0]
    whole = type_of(numbers.x) == tensor(UI8, (count, rows, depth * bits // 8))
    if not whole or shape_of(scales.x) != (count, rows, blocks) or zeros.size not in (1, count * rows * blocks):
        return None
    return StackedMatrices(numbers.indices, weight, scale, zeros, bits, block, wide.location)


def _taken(value: SSAValue) -> GatherOp | None:
    """The gather of one matrix that the value is, in another shape or unpacked."""
    while isinstance(op := value.owner, ReshapeOp | UnpackBitsOp):
        value = op.operands[0]
    one = isinstance(op, GatherOp) and op.axis.value.data == 0 and type_of(op.indices) == tensor(i64, ())
    return op if isinstance(op, GatherOp) and one else None


def _zeros(zero: SSAValue | None, which: SSAValue, constants: Constants) -> Array | None:
    """The zero points of all matrices; None if they are not known."""
    if zero is None:
        return np.zeros(1, np.uint8)
    taken = _taken(zero)
    if taken is not None and taken.indices is not which:
        return None
    chain = known_chain(zero if taken is None else taken.x, constants)
    return None if chain is None else chain.compute([constants.known(leaf) for leaf in chain.leaves]).astype(np.uint8)
