"""Gathers of rows of quantised tables: only what is gathered is unpacked and dequantised."""

from __future__ import annotations

from math import prod

from typing_extensions import override
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ....dialects.graph.base import GraphOp
from ....dialects.graph.ops.conversion import UnpackBitsOp
from ....dialects.graph.ops.indexing import GatherOp
from ....dialects.graph.ops.movement import ReshapeOp
from ....dialects.graph.ops.quantization import DequantizeOp
from ....dialects.graph.values import shape_of
from ....dialects.sizes.sizes import bounds_of
from ..support.pattern_utils import GraphPattern, rewrites

Made = DequantizeOp | UnpackBitsOp


class GatherOfQuantisedRows(GraphPattern):
    """gather(dequantize(x), i) of rows -> dequantize(gather(x, i)); likewise behind unpack_bits and reshapes of both"""

    @rewrites
    @override
    def match_and_rewrite(self, op: GatherOp, rewriter: PatternRewriter, /) -> None:
        table, rows, outer = op.x.owner, shape_of(op.x)[:1], shape_of(op.indices)
        if op.axis.value.data or bounds_of(prod(outer))[1] > bounds_of(rows[0])[0]:
            return
        new: list[Operation] = []

        def write(made: GraphOp) -> SSAValue:
            made.location = op.location
            new.append(made)
            return made.results[0]

        def taken(value: SSAValue) -> SSAValue:
            return write(GatherOp(value, op.indices, 0))

        def parameter(value: SSAValue, rank: int) -> SSAValue:
            """The scales or zero points of the gathered rows."""
            shape = shape_of(value)
            if len(shape) < rank:
                return value
            one = shape[0] == 1 != rows[0]
            return write(ReshapeOp(value, (*[1] * len(outer), *shape[1:]))) if one else taken(value)

        shape = (*outer, *shape_of(op.x)[1:])
        match table:
            case ReshapeOp() if isinstance(table.x.owner, Made) and shape_of(table.x)[:1] == rows:
                write(ReshapeOp(taken(table.x), shape))
            case DequantizeOp():
                rank, zero = len(shape_of(table.x)), table.zero_point
                scale, zero = parameter(table.scale, rank), None if zero is None else parameter(zero, rank)
                write(DequantizeOp(taken(table.x), scale, zero))
            case UnpackBitsOp() if prod(shape_of(op.x)[1:]) * table.bits % 8 == 0:
                held = prod(shape_of(op.x)[1:]) * table.bits // 8
                bytes = taken(write(ReshapeOp(table.x, (*rows, held))))
                flat = write(ReshapeOp(bytes, (prod(outer) * held,)))
                write(UnpackBitsOp(flat, table.to, shape, width=None if table.width is None else table.bits))
            case _:
                return
        rewriter.replace(op, new)
