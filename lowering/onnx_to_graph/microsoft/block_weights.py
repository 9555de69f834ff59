"""Block-quantised weights of 8, 4 or 2 bits, packed in bytes: matrix products and gathers."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, i8
from xdsl.ir import Attribute, SSAValue

from ....dialects.graph.ops.contraction import MatmulOp
from ....dialects.graph.ops.conversion import UnpackBitsOp
from ....dialects.graph.ops.elementwise import MulOp, SubOp
from ....dialects.graph.ops.indexing import GatherOp
from ....dialects.graph.ops.quantization import DequantizeOp
from ....dialects.graph.values import element_type_of_value, is_float, shape_of
from ....dialects.sizes.sizes import equal
from ..handlers.movement import slice_axis
from ..node import Handler, Node
from .fused import biased

_WIDTHS = (2, 4, 8)


def _unpacked(node: Node, value: SSAValue, bits: int, shape: tuple[int, ...]) -> SSAValue:
    """Bytes unpacked to unsigned integers of `bits` bits."""
    if not equal(prod(shape_of(value)) * 8, prod(shape) * bits):
        raise node.invalid(f"{list(shape_of(value))} bytes don't hold {list(shape)} numbers of {bits} bits")
    if bits == 8:
        return node.reshape(value, shape)
    flat = node.reshape(value, (prod(shape_of(value)),))
    return node.emit(UnpackBitsOp(flat, _unsigned(bits), shape))


def _unsigned(bits: int) -> Attribute:
    return IntegerType(bits, Signedness.UNSIGNED)


def _zero_points(node: Node, value: SSAValue | None, bits: int, rows: int, blocks: int) -> SSAValue:
    """A zero point for each block [rows, blocks, 1], by default the middle of the range."""
    type = _unsigned(bits)
    if value is None:
        return node.cast(node.array(np.array(2 ** (bits - 1), np.uint8)), type)
    packed = -(-blocks * bits // 8)
    unpacked = _unpacked(node, value, bits, (rows, packed * 8 // bits))
    return node.reshape(slice_axis(node, unpacked, 1, 0, blocks), (rows, blocks, 1))


def _matmul(node: Node) -> SSAValue:
    """x times the transpose of weights [N, K] with blocks along K; zero points may be floats.

    accuracy_level 4 permits rounding x to 8 bits; at every other one sums are as accurate as those of x's type.
    """
    x, scales, zero = node.operand(0), node.operand(2), node.optional(3)
    bits, block = node.integer("bits", 4), node.integer("block_size", 0)
    rows, depth = node.integer("N", 0), node.integer("K", 0)
    lhs_as = i8 if node.integer("accuracy_level", 0) == 4 else None
    if node.has_operand(4) or node.integer("weight_prepacked", 0):
        raise node.unsupported("g_idx, or weights that are packed for another machine")
    if bits not in _WIDTHS or min(block, rows, depth) < 1:
        raise node.invalid(f"{rows} x {depth} weights of {bits} bits in blocks of {block}")
    blocks = -(-depth // block)
    weight = _unpacked(node, node.operand(1), bits, (rows, blocks, block))
    scale = node.reshape(scales, (rows, blocks, 1))
    if zero is not None and is_float(element_type_of_value(zero)):
        # (w - z) s, where z need not be an integer
        plain = node.emit(DequantizeOp(weight, scale))
        offset = node.emit(MulOp(node.reshape(zero, (rows, blocks, 1)), scale))
        wide = node.emit(SubOp(plain, offset))
    else:
        wide = node.emit(DequantizeOp(weight, scale, _zero_points(node, zero, bits, rows, blocks)))
    matrix = slice_axis(node, node.reshape(wide, (rows, blocks * block)), 1, 0, depth)
    flat = node.reshape(x, (prod(shape_of(x)[:-1]), depth))
    product = node.emit(MatmulOp(flat, matrix, transpose_b=True, lhs_as=lhs_as))
    return biased(node, node.reshape(product, (*shape_of(x)[:-1], rows)), 5)


def _gather(node: Node) -> SSAValue:
    """Rows of a table with blocks along its last axis: gathered in packed form, then dequantised.

    Elements below 8 bits are packed in bytes, or have a type of their own, whose default zero point is 0.
    """
    table, places, scales, zero = node.operand(0), node.operand(1), node.operand(2), node.optional(3)
    rank = len(shape_of(table))
    axes = node.axis(0, rank, "gather_axis"), node.axis(1, rank, "quantize_axis")
    if rank != 2 or axes != (0, 1):
        raise node.unsupported(f"a table of {rank} axes, gathered along {axes[0]} and in blocks along {axes[1]}")
    packed = element_type_of_value(table) == _unsigned(8)
    bits, block = node.integer("bits", 4), node.integer("block_size", 128)
    if packed and bits not in _WIDTHS:
        raise node.invalid(f"numbers of {bits} bits")
    blocks, outer = shape_of(scales)[1], shape_of(places)
    rows = node.emit(GatherOp(table, places, 0))
    if packed:
        rows = _unpacked(node, rows, bits, (*outer, shape_of(table)[1] * 8 // bits))
    size = shape_of(rows)[-1]
    if not equal(size, blocks * block):
        raise node.unsupported(f"rows of {size} numbers in {blocks} blocks of {block}")
    if zero is not None:
        zero = node.emit(GatherOp(zero, places, 0))
        if packed:
            zero = _unpacked(node, zero, bits, (*outer, shape_of(zero)[-1] * 8 // bits))
        zero = node.reshape(slice_axis(node, zero, len(outer), 0, blocks), (*outer, blocks, 1))
    elif packed:
        zero = _zero_points(node, None, bits, 1, 1)
    scale = node.reshape(node.emit(GatherOp(scales, places, 0)), (*outer, blocks, 1))
    wide = node.emit(DequantizeOp(node.reshape(rows, (*outer, blocks, block)), scale, zero))
    return node.reshape(wide, (*outer, size))


HANDLERS: dict[str, Handler] = {
    "com.microsoft.MatMulNBits": _matmul,
    "com.microsoft.GatherBlockQuantized": _gather,
}
