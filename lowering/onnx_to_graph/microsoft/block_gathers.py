"""Gathers from tables of block-quantised numbers, and dequantisation of what is gathered."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ....dialects.graph.narrow_types import is_narrow_float
from ....dialects.graph.ops.elementwise import AddOp, AndOp, DivOp, GreaterEqualOp, LessOp, WhereOp
from ....dialects.graph.ops.indexing import GatherOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ....dialects.sizes.sizes import is_fixed
from ..handlers.quantization import Grain, blocks_along, dequantized
from ..node import Handler, Node
from .packed_numbers import UI8, middle, unpacked, unpacked_rows


def _gather(node: Node) -> SSAValue:
    """Slices along `gather_axis` of a table with blocks along `quantize_axis`; indices out of range give zeros.

    Numbers in bytes are packed along the last axis; those of a type of their own have the zero point 0 by default.
    """
    table, scales, zero = node.operand(0), node.operand(2), node.optional(3)
    stored, shape = element_type_of_value(table), [*shape_of(table)]
    axis, along = (
        node.axis(default, len(shape), f"{name}_axis") for default, name in enumerate(("gather", "quantize"))
    )
    bits, is_packed, is_float = node.integer("bits", 4), stored == UI8, is_narrow_float(stored)
    if is_packed:
        if bits not in (2, 4, 8):
            raise node.invalid(f"numbers of {bits} bits")
        if bits < 8 and axis in (along, len(shape) - 1):
            raise node.invalid(f"numbers that are packed along the last axis, gathered along axis {axis}")
        shape[-1] = shape[-1] * 8 // bits
    if is_float and zero is not None:
        raise node.invalid("zero points of floats")
    if zero is not None and is_packed:
        zero = unpacked_rows(node, zero, bits, shape_of(scales)[:-1], shape_of(scales)[-1])
    block = node.integer("block_size", 128) or shape[along]
    expected = [-(-size // block) if at == along else size for at, size in enumerate(shape)]
    if is_float:  # one scale for all places of other axes is one for each of them
        scales = node.broadcast(scales, expected)
    places, valid = _in_range(node, node.operand(1), shape[axis])
    outer = shape_of(places)

    def taken(value: SSAValue, indices: SSAValue = places) -> SSAValue:
        return node.emit(GatherOp(value, indices, axis))

    whole = (*shape[:axis], *outer, *shape[axis + 1 :])
    numbers = unpacked(node, taken(table), bits, whole) if is_packed else taken(table)
    if axis == along:
        index = node.emit(DivOp(places, node.scalar(block, places)))
        scale, zero = taken(scales, index), None if zero is None else taken(zero, index)
        grain = Grain(whole, whole, whole)
    else:
        scale, zero = taken(scales), None if zero is None else taken(zero)
        grain = blocks_along(node, whole, along if along < axis else along + len(outer) - 1, block, shape_of(scale))
    if zero is None and is_packed:
        zero = middle(node, bits)
    result = dequantized(node, grain, numbers, scale, zero, element_type_of_value(scales))
    if valid is None:
        return result
    mask = node.reshape(valid, (*[1] * axis, *outer, *[1] * (len(shape) - axis - 1)))
    return node.emit(WhereOp(mask, result, node.scalar(0.0, result)))


def _in_range(node: Node, places: SSAValue, size: int) -> tuple[SSAValue, SSAValue | None]:
    """Indices in [0, size), 0 for those out of range, and which ones are not; None if all of them are known to be."""
    known = node.known(places)
    if known is not None and is_fixed(size):
        valid = (known >= -size) & (known < size)
        return node.array(np.where(valid, known % size, 0).astype(known.dtype)), None if valid.all() else node.array(
            valid
        )
    nought, end = node.scalar(0, places), node.scalar(size, places)
    from_start = node.emit(WhereOp(node.emit(LessOp(places, nought)), node.emit(AddOp(places, end)), places))
    valid = node.emit(AndOp(node.emit(GreaterEqualOp(from_start, nought)), node.emit(LessOp(from_start, end))))
    return node.emit(WhereOp(valid, from_start, nought)), valid


HANDLERS: dict[str, Handler] = {"com.microsoft.GatherBlockQuantized": _gather}
