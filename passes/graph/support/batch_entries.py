"""Ops that work on each entry of a batch by itself, and the same ops for one entry.

The batch is axis 0 of an op's result, and of those of its operands that have as many entries; the others are the same
for all entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Operation, SSAValue

from ....dialects.graph.base import ElementwiseOp, GraphOp
from ....dialects.graph.ops.attention import AttentionOp
from ....dialects.graph.ops.contraction import ConvOp, ConvTransposeOp, MatmulOp
from ....dialects.graph.ops.indexing import GatherOp
from ....dialects.graph.ops.movement import ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from ....dialects.graph.ops.normalization import InstanceNormOp, LayerNormOp, RmsNormOp
from ....dialects.graph.ops.reduction import ReduceOp, SoftmaxLikeOp
from ....dialects.graph.ops.resize import ResizeOp
from ....dialects.graph.ops.windows import LrnOp, MaxPoolIndexOp, PoolOp
from ....dialects.graph.values import ints, ints_attr, shape_of
from .pattern_utils import with_operands


def batched_operands(op: GraphOp, entries: int) -> list[SSAValue] | None:
    """The operands that have an entry for each of the batch's; None where the op doesn't work entry by entry.

    A result of rank 1 is no batch, and an op that reads a value by entries and as a whole needs all of them.
    """
    if len(op.results) != 1 or len(shape := shape_of(op.results[0])) < 2 or shape[0] != entries:
        return None
    own = _own_operands(op)
    if own is None:
        return None
    batched: list[SSAValue] = []
    for value in own:
        sizes = shape_of(value)
        if isinstance(op, ElementwiseOp | MatmulOp) and (len(sizes) < len(shape) or sizes[0] == 1):
            continue
        if not sizes or sizes[0] != entries:
            return None
        batched.append(value)
    read = sum(value in batched for value in op.operands)
    return batched if batched and read == len(batched) else None


def _own_operands(op: GraphOp) -> Sequence[SSAValue] | None:
    """The operands of which an entry of the result may need that entry, and needs no other."""
    match op:
        case ElementwiseOp():
            return list(op.operands)
        case ConvOp() | ConvTransposeOp():
            return [op.x]
        case MaxPoolIndexOp():
            return None  # its indices count through all entries
        case PoolOp() | LrnOp() | InstanceNormOp():
            return [op.x]
        case LayerNormOp() | RmsNormOp() | SoftmaxLikeOp():
            return [op.x] if op.axis.value.data > 0 else None
        case MatmulOp():
            ranks = [len(shape_of(each)) for each in op.operands]
            rank = len(shape_of(op.results[0]))
            if ranks[0] != rank or rank < 3:
                return None
            return list(op.operands[: 2 if ranks[1] == rank else 1])
        case AttentionOp():
            own = [op.query, op.key, op.value]
            if op.mask is not None and len(shape_of(op.mask)) == 4 and shape_of(op.mask)[0] != 1:
                own.append(op.mask)
            return own
        case ReduceOp():
            return [op.x] if 0 not in ints(op.axes) else None
        case TransposeOp():
            return [op.x] if ints(op.permutation)[0] == 0 else None
        case ReshapeOp():
            return [op.x] if prod(shape_of(op.x)[1:]) == prod(ints(op.shape)[1:]) else None
        case ResizeOp():
            return [op.x] if op.is_identity(0) else None
        case SliceOp():
            whole = shape_of(op.x)[0] == shape_of(op.result)[0] and ints(op.steps)[0] == 1
            return [op.x] if whole else None
        case PadOp():
            return [op.x] if not ints(op.low)[0] and not ints(op.high)[0] else None
        case ConcatOp():
            return list(op.inputs) if op.axis.value.data > 0 else None
        case GatherOp():
            return [op.x] if op.axis.value.data > 0 else [op.indices]
        case _:
            return None


def for_one_entry(op: GraphOp, operands: Sequence[SSAValue]) -> Operation:
    """The op, not yet in a block, on operands of one entry."""
    match op:
        case ReshapeOp() | ResizeOp():
            return with_operands(op, operands, shape=ints_attr([1, *ints(op.shape)[1:]]))
        case SliceOp():
            return with_operands(op, operands, stops=ints_attr([1, *ints(op.stops)[1:]]))
        case _:
            return with_operands(op, operands)
