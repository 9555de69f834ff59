"""Reshapes and broadcasts: identities removed, adjacent ones merged, reshapes moved to where they cancel."""

from __future__ import annotations

from typing_extensions import override
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ....dialects.graph.axes import Axis, Kept, Repeated
from ....dialects.graph.base import ElementwiseOp, GraphOp
from ....dialects.graph.ops.contraction import MatmulOp
from ....dialects.graph.ops.movement import BroadcastToOp, ReshapeOp, SliceOp, TransposeOp
from ....dialects.graph.ops.normalization import LayerNormOp, RmsNormOp
from ....dialects.graph.ops.reduction import ReduceOp, SoftmaxLikeOp
from ....dialects.graph.values import int_attr, ints, shape_of
from ..support.pattern_utils import GraphPattern, defining, only_use, rewrites, with_operands


class SimplifyReshape(GraphPattern):
    """reshape to the same shape -> x; reshape(reshape(x)) -> reshape(x)"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        if shape_of(op.x) == shape_of(op.result):
            rewriter.replace(op, [], [op.x])
        elif (inner := defining(op.x, ReshapeOp)) is not None:
            rewriter.replace(op, ReshapeOp(inner.x, shape_of(op.result), location=op.location))


class SimplifyBroadcast(GraphPattern):
    """broadcast_to the same shape -> x; broadcasts merge; one that only adds dims of size 1 is a reshape"""

    @rewrites
    @override
    def match_and_rewrite(self, op: BroadcastToOp, rewriter: PatternRewriter, /) -> None:
        old, new = shape_of(op.x), shape_of(op.result)
        if old == new:
            rewriter.replace(op, [], [op.x])
        elif (1,) * (len(new) - len(old)) + old == new:
            rewriter.replace(op, ReshapeOp(op.x, new, location=op.location))
        elif (inner := defining(op.x, BroadcastToOp)) is not None:
            rewriter.replace(op, BroadcastToOp(inner.x, new, location=op.location))


class MovementOfSplat(GraphPattern):
    """reshape, transpose or slice of a broadcast scalar -> the scalar broadcast to the result's shape"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ReshapeOp | TransposeOp | SliceOp, rewriter: PatternRewriter, /) -> None:
        broadcast = defining(op.x, BroadcastToOp)
        if broadcast is None or any(size != 1 for size in shape_of(broadcast.x)):
            return
        number = ReshapeOp(broadcast.x, (), location=op.location)
        rewriter.replace(op, [number, BroadcastToOp(number, shape_of(op.result), location=op.location)])


class KeepReducedDims(GraphPattern):
    """reshape(reduce(x)) that restores the reduced dims with size 1 -> reduce(x) {keepdims}"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        reduce = only_use(op.x, ReduceOp)
        if reduce is None or reduce.keepdims is not None:
            return
        new = type(reduce)(reduce.x, ints(reduce.axes), True, location=reduce.location)
        if shape_of(new.result) == shape_of(op.result):
            rewriter.replace(op, new)
        else:
            new.erase()


class HoistReshape(GraphPattern):
    """reshape(f(reshape(x))) -> f(reshape(x)), where f works on rows and the outer reshape keeps the last dim

    Exporters flatten [batch, tokens, features] around matrix products; hoisted reshapes meet and cancel. f is an
    elementwise op, a product with a matrix, or a softmax or normalisation over the last dim.
    """

    @rewrites
    @override
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        shape, old = shape_of(op.result), shape_of(op.x)
        if len(shape) < 2 or len(old) < 2 or shape[-1] != old[-1] or not self._meets_reshape(op.x, depth=12):
            return
        producer = only_use(op.x, GraphOp)
        assert producer is not None  # op.x is no reshape itself: SimplifyReshape comes first
        shapes = _operand_shapes(producer, old, shape)
        if shapes is None:
            return
        operands: list[SSAValue] = []
        made: list[Operation] = []
        for operand, wanted in zip(producer.operands, shapes, strict=True):
            if wanted is not None and wanted != shape_of(operand):
                made.append(ReshapeOp(operand, wanted, location=op.location))
                operand = made[-1].results[0]
            operands.append(operand)
        changed = {"axis": int_attr(len(shape) - 1)} if "axis" in producer.properties else {}
        rewriter.replace(op, [*made, with_operands(producer, operands, **changed)])

    def _meets_reshape(self, value: SSAValue, depth: int) -> bool:
        """Whether every path up from `value` through row-wise ops leads to another reshape."""
        if isinstance(value.owner, ReshapeOp):
            return True
        producer, shape = only_use(value, GraphOp), shape_of(value)
        if producer is None or depth == 0:
            return False
        shapes = _operand_shapes(producer, shape, shape)
        if shapes is None:
            return False
        rows = [operand for operand, wanted in zip(producer.operands, shapes, strict=True) if wanted is not None]
        return all(self.constants.is_constant(operand) or self._meets_reshape(operand, depth - 1) for operand in rows)


def _operand_shapes(op: GraphOp, old: tuple[int, ...], new: tuple[int, ...]) -> list[tuple[int, ...] | None] | None:
    """Each operand's shape (None: unchanged) for a result of shape `new`; None if op isn't row-wise."""
    if not isinstance(op, ElementwiseOp | MatmulOp | SoftmaxLikeOp | LayerNormOp | RmsNormOp):
        return None
    last = len(old) - 1
    rows = (*map(Kept, range(last)),)
    shapes: list[tuple[int, ...] | None] = []
    has_rows = False
    for operand, axes in zip(op.operands, op.operand_axes(), strict=True):
        shape = shape_of(operand)
        if len(axes) > last and axes[:-1] == rows and axes[-1] != Repeated(last):
            shapes.append((*new[:-1], shape[-1]))
            has_rows = True
        elif all(axis.to in (None, last) or size == 1 for axis, size in zip(axes, shape, strict=True)):
            shapes.append(_without_leading_ones(shape, axes, last) if len(shape) > len(new) else None)
        else:
            return None
    return shapes if has_rows else None


def _without_leading_ones(shape: tuple[int, ...], axes: tuple[Axis, ...], last: int) -> tuple[int, ...]:
    """The shape from the first dim that isn't broadcast along the rows: of a matrix its rows and columns both."""
    return shape[next(dim for dim, axis in enumerate(axes) if axis.to in (None, last)) :]
