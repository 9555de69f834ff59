"""Reshapes, transposes and broadcasts: no-ops dropped, neighbours merged, pairs brought together so that they cancel."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from ...dialects.graph.base import ElementwiseOp, GraphOp
from ...dialects.graph.contraction import MatmulOp
from ...dialects.graph.movement import BroadcastToOp, ReshapeOp, TransposeOp
from ...dialects.graph.normalization import LayerNormOp, RmsNormOp
from ...dialects.graph.reduction import ReduceOp, SoftmaxLikeOp
from ...dialects.graph.values import ints, shape_of
from ..pattern_utils import Constants, GraphPattern, defining, only_use, with_operands
from ..shape_maps import compose, is_identity, moves_no_bytes, permuted, reshape_groups


class SimplifyReshape(GraphPattern):
    """reshape to the same shape -> x; reshape(reshape(x)) -> reshape(x)"""

    @op_type_rewrite_pattern
    @override
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        if shape_of(op.x) == shape_of(op.result):
            rewriter.replace(op, [], [op.x])
        elif (inner := defining(op.x, ReshapeOp)) is not None:
            rewriter.replace(op, ReshapeOp(inner.x, shape_of(op.result), location=op.location))


class SimplifyTranspose(GraphPattern):
    """transposes merge; one that changes nothing goes; one that moves only dims of size 1 is a reshape"""

    @op_type_rewrite_pattern
    @override
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /) -> None:
        permutation = ints(op.permutation)
        if is_identity(permutation):
            rewriter.replace(op, [], [op.x])
        elif moves_no_bytes(shape_of(op.x), permutation):
            rewriter.replace(op, ReshapeOp(op.x, shape_of(op.result), location=op.location))
        elif (inner := defining(op.x, TransposeOp)) is not None:
            merged = compose(ints(inner.permutation), permutation)
            rewriter.replace(op, TransposeOp(inner.x, merged, location=op.location))


class TransposeBeforeReshape(GraphPattern):
    """transpose(reshape(x)) -> reshape(transpose(x)), where the reshape only merges dims or moves ones

    So a reshape that hides a dim from one transpose and brings it back afterwards meets its opposite.
    """

    @op_type_rewrite_pattern
    @override
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /) -> None:
        reshape = defining(op.x, ReshapeOp)
        if reshape is None:
            return
        groups = reshape_groups(shape_of(reshape.x), shape_of(reshape.result))
        if groups is None or any(len(group.target) > 1 for group in groups):
            return
        source_of = {group.target[0]: group.source for group in groups if group.target}
        dropped = [dim for group in groups if not group.target for dim in group.source]
        permutation = [*dropped, *(dim for target in ints(op.permutation) for dim in source_of[target])]
        transpose = TransposeOp(reshape.x, permutation, location=op.location)
        rewriter.replace(op, [transpose, ReshapeOp(transpose, shape_of(op.result), location=op.location)])


class TransposeBeforeBroadcast(GraphPattern):
    """transpose(broadcast_to(x)) -> broadcast_to(transpose(x))"""

    @op_type_rewrite_pattern
    @override
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /) -> None:
        broadcast = defining(op.x, BroadcastToOp)
        if broadcast is None:
            return
        shape = shape_of(broadcast.x)
        full = (1,) * (len(shape_of(op.result)) - len(shape)) + shape
        reshape = ReshapeOp(broadcast.x, full, location=broadcast.location)
        transpose = TransposeOp(reshape, ints(op.permutation), location=op.location)
        last = BroadcastToOp(transpose, shape_of(op.result), location=broadcast.location)
        rewriter.replace(op, [reshape, transpose, last])


class SimplifyBroadcast(GraphPattern):
    """broadcast_to the same shape -> x; broadcasts merge; one that only adds ones is a reshape"""

    @op_type_rewrite_pattern
    @override
    def match_and_rewrite(self, op: BroadcastToOp, rewriter: PatternRewriter, /) -> None:
        old, new = shape_of(op.x), shape_of(op.result)
        if old == new:
            rewriter.replace(op, [], [op.x])
        elif (1,) * (len(new) - len(old)) + old == new:
            rewriter.replace(op, ReshapeOp(op.x, new, location=op.location))
        elif (inner := defining(op.x, BroadcastToOp)) is not None:
            rewriter.replace(op, BroadcastToOp(inner.x, new, location=op.location))


class KeepReducedDims(GraphPattern):
    """reshape(reduce(x)) that puts the reduced dims back as ones -> reduce(x) {keepdims}"""

    @op_type_rewrite_pattern
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


def _last_dim_only(shape: Sequence[int]) -> bool:
    """Whether a tensor of this shape has no dim but the last one."""
    return all(size == 1 for size in shape[:-1])


class HoistReshape(GraphPattern):
    """reshape(f(x)) -> f(reshape(x)), where f works on rows and the reshape keeps the last dim

    Exporters flatten [batch, tokens, features] around matrix products; these reshapes meet and cancel. f is an
    elementwise op, a product with a matrix, or a softmax or normalisation over the last dim.
    """

    @op_type_rewrite_pattern
    @override
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        shape, old = shape_of(op.result), shape_of(op.x)
        producer = only_use(op.x, GraphOp)
        if producer is None or len(shape) < 2 or len(old) < 2 or shape[-1] != old[-1]:
            return
        shapes = _operand_shapes(producer, old, shape, self.constants)
        if shapes is None:
            return
        operands: list[SSAValue] = []
        made: list[Operation] = []
        for operand, wanted in zip(producer.operands, shapes, strict=True):
            if wanted is not None and wanted != shape_of(operand):
                made.append(ReshapeOp(operand, wanted, location=op.location))
                operand = made[-1].results[0]
            operands.append(operand)
        new = _on_rows(producer, operands, len(shape) - 1)
        rewriter.replace(op, [*made, new])


def _on_rows(op: GraphOp, operands: Sequence[SSAValue], last: int) -> GraphOp:
    """The row-wise op on operands of another rank, whose last dim is `last`."""
    match op:
        case SoftmaxLikeOp():
            return type(op)(operands[0], last, location=op.location)
        case LayerNormOp():
            return LayerNormOp(*operands, axis=last, epsilon=op.epsilon.value.data, location=op.location)
        case RmsNormOp():
            return RmsNormOp(*operands, axis=last, epsilon=op.epsilon.value.data, location=op.location)
        case _:
            return with_operands(op, operands)


def _operand_shapes(
    op: GraphOp, old: tuple[int, ...], new: tuple[int, ...], constants: Constants
) -> list[tuple[int, ...] | None] | None:
    """Per operand its new shape (None: as it is) for the result to have shape `new`; None where op isn't row-wise."""
    match op:
        case ElementwiseOp():
            return _elementwise_shapes(op, old, new, constants)
        case MatmulOp() if op.transpose_a is None and len(shape_of(op.rhs)) == 2:
            return [(*new[:-1], shape_of(op.lhs)[-1]), None]
        case SoftmaxLikeOp() if op.axis.value.data == len(old) - 1:
            return [new]
        case LayerNormOp() | RmsNormOp() if op.axis.value.data == len(old) - 1:
            return [new, *[None] * (len(op.operands) - 1)]
        case _:
            return None


def _elementwise_shapes(
    op: ElementwiseOp, old: tuple[int, ...], new: tuple[int, ...], constants: Constants
) -> list[tuple[int, ...] | None] | None:
    shapes: list[tuple[int, ...] | None] = []
    added = 0
    for operand in op.operands:
        shape = shape_of(operand)
        if shape == old:
            shapes.append(new)
            added += not (constants.is_constant(operand) or isinstance(operand.owner, ReshapeOp))
        elif _last_dim_only(shape):
            shapes.append(shape[-1:] if len(shape) > len(new) else None)
        else:
            return None
    return shapes if added <= 1 and new in shapes else None


class CancelTransposeAcrossElementwise(GraphPattern):
    """transpose(f(transpose(x), c)) -> f(x, transposed c) for elementwise f, where the two transposes cancel"""

    @op_type_rewrite_pattern
    @override
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /) -> None:
        permutation = ints(op.permutation)
        producer = only_use(op.x, ElementwiseOp)
        if producer is None or not self._absorbs(op.x, permutation, depth=8):
            return
        made: list[Operation] = []
        value = self._transposed(op.x, permutation, made, op.location)
        rewriter.replace(op, made, [value])

    def _absorbs(self, value: SSAValue, permutation: Sequence[int], depth: int) -> bool:
        """Whether the transposition costs nothing at `value`; it must meet a transpose on each path."""
        transpose = defining(value, TransposeOp)
        if transpose is not None:
            merged = compose(ints(transpose.permutation), permutation)
            return moves_no_bytes(shape_of(transpose.x), merged)
        producer = only_use(value, ElementwiseOp)
        if producer is None or depth == 0:
            return False
        moving = [operand for operand in producer.operands if not self._is_free(operand)]
        return bool(moving) and all(
            len(shape_of(operand)) == len(permutation) and self._absorbs(operand, permutation, depth - 1)
            for operand in moving
        )

    def _is_free(self, operand: SSAValue) -> bool:
        shape = shape_of(operand)
        return self.constants.is_constant(operand) or all(size == 1 for size in shape)

    def _transposed(
        self, value: SSAValue, permutation: Sequence[int], made: list[Operation], location: LocationAttr
    ) -> SSAValue:
        """`value` transposed, for values that `_absorbs` or `_is_free` accepts."""
        if all(size == 1 for size in shape_of(value)):
            return value
        producer = value.owner
        if isinstance(producer, ElementwiseOp) and not self._is_free(value):
            operands = [
                self._transposed(operand, permutation, made, location) for operand in producer.operands
            ]
            made.append(with_operands(producer, operands))
        else:
            shape = shape_of(value)
            full = (1,) * (len(permutation) - len(shape)) + shape
            made.append(ReshapeOp(value, full, location=location))
            if moves_no_bytes(full, permutation):
                made.append(ReshapeOp(made[-1], permuted(full, permutation), location=location))
            else:
                made.append(TransposeOp(made[-1], permutation, location=location))
        return made[-1].results[0]


RESHAPES: tuple[type[GraphPattern], ...] = (
    SimplifyReshape,
    SimplifyTranspose,
    SimplifyBroadcast,
    TransposeBeforeReshape,
    TransposeBeforeBroadcast,
    KeepReducedDims,
    HoistReshape,
    CancelTransposeAcrossElementwise,
)
