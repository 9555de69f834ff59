"""Transposes: identities removed, adjacent ones merged, pairs brought together so that they cancel."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from ....dialects.graph.base import ElementwiseOp
from ....dialects.graph.ops.attention import AttentionOp
from ....dialects.graph.ops.contraction import MatmulOp
from ....dialects.graph.ops.movement import BroadcastToOp, ReshapeOp, TransposeOp
from ....dialects.graph.values import ints, shape_of
from ...geometry.shape_maps import compose, is_identity, moves_no_bytes, permuted, reshape_groups
from ..support.pattern_utils import GraphPattern, defining, only_use, rewrites, with_operands


class SimplifyTranspose(GraphPattern):
    """transposes merge; an identity is removed; one that moves only dims of size 1 is a reshape"""

    @rewrites
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
    """transpose(reshape(y)) -> reshape(transpose(y)) if y is itself a transpose or broadcast

    The reshape must only merge dims or move dims of size 1. So a transpose and its inverse around a pair of reshapes
    meet.
    """

    @rewrites
    @override
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /) -> None:
        reshape = defining(op.x, ReshapeOp)
        if reshape is None or not isinstance(reshape.x.owner, (TransposeOp, BroadcastToOp)):
            return
        groups = reshape_groups(shape_of(reshape.x), shape_of(reshape.result))
        if groups is None or any(len(group.target) > 1 for group in groups):
            return
        source_of = {group.target[0]: group.source for group in groups if group.target}
        dropped = [dim for group in groups if not group.target for dim in group.source]
        permutation = [*dropped, *(dim for target in ints(op.permutation) for dim in source_of[target])]
        transpose = TransposeOp(reshape.x, permutation, location=op.location)
        rewriter.replace(op, [transpose, ReshapeOp(transpose, shape_of(op.result), location=op.location)])


class SplitBeforeTranspose(GraphPattern):
    """reshape(transpose(reshape(x))) -> transpose(reshape(x)) where the outer reshape only splits dims

    Attention whose heads were merged with its batch, transposed, and split again has views of one tensor then.
    """

    @rewrites
    @override
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        transpose = only_use(op.x, TransposeOp)
        reshape = None if transpose is None else defining(transpose.x, ReshapeOp)
        groups = reshape_groups(shape_of(op.x), shape_of(op.result))
        if transpose is None or reshape is None or groups is None:
            return
        if any(len(group.source) != 1 or not group.target for group in groups):
            return
        permutation = ints(transpose.permutation)
        parts = {permutation[group.source[0]]: group.target for group in groups}  # of the transpose's operand
        order = [target for dim in sorted(parts) for target in parts[dim]]
        split = ReshapeOp(reshape.x, permuted(shape_of(op.result), order), location=op.location)
        back = [order.index(target) for target in range(len(order))]
        rewriter.replace(op, [split, TransposeOp(split, back, location=transpose.location)])


class TransposeBeforeProduct(GraphPattern):
    """transpose(x @ w) -> transpose(x) @ w for a matrix w, where x is transposed already and its columns stay

    The transposes of rows meet before the product.
    """

    @rewrites
    @override
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /) -> None:
        permutation = ints(op.permutation)
        product = only_use(op.x, MatmulOp)
        if product is None or product.transpose_a is not None or len(shape_of(product.rhs)) != 2:
            return
        reshape = defining(product.lhs, ReshapeOp)
        inner = product.lhs if reshape is None else reshape.x
        if permutation[-1] != len(permutation) - 1 or not isinstance(inner.owner, TransposeOp):
            return
        transpose = TransposeOp(product.lhs, permutation, location=op.location)
        rewriter.replace(op, [transpose, with_operands(product, [transpose.result, product.rhs])])


class TransposeBeforeBroadcast(GraphPattern):
    """transpose(broadcast_to(x)) -> broadcast_to(transpose(x))"""

    @rewrites
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


class LeaveOnesInPlace(GraphPattern):
    """reshape(transpose(x)) -> the same with dims of size 1 left in place"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        transpose = defining(op.x, TransposeOp)
        if transpose is None:
            return
        shape, permutation = shape_of(transpose.x), ints(transpose.permutation)
        larger = iter([dim for dim in permutation if shape[dim] != 1])
        wanted = tuple(dim if size == 1 else next(larger) for dim, size in enumerate(shape))
        if wanted != permutation:
            new = TransposeOp(transpose.x, wanted, location=transpose.location)
            rewriter.replace(op, [new, ReshapeOp(new, shape_of(op.result), location=op.location)])


class AttentionOperands(GraphPattern):
    """attention(reshape(transpose(x)), ..) whose reshape only adds dims of size 1 -> the transpose comes last

    This exposes the memory layout of attention's operands. A mask needs no broadcast.
    """

    @rewrites
    @override
    def match_and_rewrite(self, op: AttentionOp, rewriter: PatternRewriter, /) -> None:
        for index, operand in enumerate(op.operands):
            made = _transposed_last(operand)
            broadcast = defining(operand, BroadcastToOp)
            if made:
                rewriter.insert(made, InsertPoint.before(op))
                op.operands[index] = made[-1].results[0]
            elif broadcast is not None and index == 3:
                op.operands[index] = broadcast.x
            else:
                continue
            rewriter.notify_op_modified(op)
            return


def _transposed_last(value: SSAValue) -> list[Operation]:
    """reshape(transpose(x)) as transpose(reshape(x)) if the reshape only adds dims of size 1; otherwise []."""
    reshape = defining(value, ReshapeOp)
    transpose = None if reshape is None else defining(reshape.x, TransposeOp)
    if reshape is None or transpose is None:
        return []
    groups = reshape_groups(shape_of(transpose.result), shape_of(reshape.result))
    if groups is None or any(len(group.source) > 1 or len(group.target) != 1 for group in groups):
        return []
    # Each dim of the result as a dim of the transposed x; the added ones come first in the reshaped x.
    added = sum(not group.source for group in groups)
    ones = iter(range(added))
    permutation = ints(transpose.permutation)
    order = [added + permutation[group.source[0]] if group.source else next(ones) for group in groups]
    inner = ReshapeOp(transpose.x, (1,) * added + shape_of(transpose.x), location=reshape.location)
    return [inner, TransposeOp(inner, order, location=transpose.location)]


class CancelTransposeAcrossElementwise(GraphPattern):
    """transpose(f(transpose(x), c)) -> f(x, transposed c) for elementwise f, where the transposes cancel"""

    @rewrites
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
        """Whether transposing `value` is free: every path up must meet a transpose."""
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
            operands = [self._transposed(operand, permutation, made, location) for operand in producer.operands]
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
