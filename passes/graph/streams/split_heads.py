"""Attention with the products that make its queries, keys and values, a group of heads at a time.

before:  %1 = graph.matmul %x, %w : (tensor<1x128x768xf32>, tensor<768x768xf32>) -> tensor<1x128x768xf32>
         %2 = graph.transpose (graph.reshape %1) : .. -> tensor<1x12x128x64xf32>           keys and values likewise
         %3 = graph.attention %2, %k, %v
         %4 = graph.reshape (graph.transpose %3) : .. -> tensor<1x128x768xf32>
after:   %1 = graph.matmul %x, (columns 0..384 of %w) .. -> tensor<1x128x384xf32>           of 384..768 likewise
         %2 = graph.transpose (graph.reshape %1) : .. -> tensor<1x6x128x64xf32>
         %3 = graph.attention %2, %k, %v
         %4 = graph.concat (graph.reshape (graph.transpose %3)), %.. {axis = 2 : i64}

All keys are needed for a row of attention, but of one head: queries, keys and values of the others needn't be there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ....dialects.graph.base import ContractionOp, GraphOp
from ....dialects.graph.ops.attention import AttentionOp
from ....dialects.graph.ops.movement import ConcatOp, ReshapeOp, SliceOp, TransposeOp
from ....dialects.graph.values import nbytes_of, shape_of, type_of
from ....dialects.sizes.sizes import now
from ..support.counted_loops import GraphWriter
from ..support.pattern_utils import Constants, with_operands
from .find_streams import add_rows, extend
from .row_reach import part_properties, reaches
from .row_schedule import Stream
from .split_channels import cut

HEADS = 1
"""The axis of heads in attention's operands and result."""


def split_heads(block: Block, nbytes: int, constants: Constants) -> set[Operation]:
    """Splits attention into groups of heads whose queries, keys and values have about `nbytes`.

    Returns the ops of the groups, and those of attention that stays whole.
    """
    apart = set[Operation]()
    for attention in [op for op in block.ops if isinstance(op, AttentionOp)]:
        if stream := _stream(attention, block, apart):
            made = dict.fromkeys((attention.query, attention.key, attention.value))
            size = sum(now(nbytes_of(type_of(value))) for value in made)
            heads, shared = shape_of(attention.key)[HEADS], shape_of(attention.query)[HEADS]
            groups = -(-heads // max(1, nbytes * heads // size))
            ends = [place * heads // groups * (shared // heads) for place in range(groups + 1)]
            apart.update(_HeadWriter(stream, constants).write(ends) if groups > 1 else stream.ops)
    return apart


def _stream(attention: AttentionOp, block: Block, apart: Collection[Operation]) -> Stream | None:
    """Attention by heads, with what makes its operands, and moves its result; None if no product is among these."""
    stream = Stream([], {}, {})
    op, axis = attention, HEADS
    while axis is not None and add_rows(stream, op, axis):
        stream.ops.append(op)
        value = op.results[0]
        following = next(iter(value.uses)).operation if value.has_one_use() else None
        if not isinstance(following, TransposeOp | ReshapeOp):
            break
        op, axis = following, _axis_after(following, axis)
    extend(stream, block, apart)
    return stream if any(isinstance(op, ContractionOp) for op in stream.ops) else None


def _axis_after(op: TransposeOp | ReshapeOp, axis: int) -> int | None:
    """The axis of the result along which are the rows of an axis of the operand."""
    for place in range(len(shape_of(op.result))):
        reads = reaches(op, place)
        if reads and reads[0] is not None and reads[0].axis == axis:
            return place
    return None


class _HeadWriter(GraphWriter):
    """Writes the ops of a stream in front of its last one."""

    def __init__(self, stream: Stream, constants: Constants) -> None:
        super().__init__(InsertPoint.before(stream.ops[-1]), stream.ops[-1].location)
        self.stream, self.constants = stream, constants
        self.made = set[Operation]()
        self.known: dict[tuple[SSAValue, int, int], SSAValue] = {}

    def write(self, heads: Sequence[int]) -> set[Operation]:
        """Replaces the stream by one for each group of heads, which begin at `heads`; returns their ops."""
        last = self.stream.ops[-1]
        value = last.results[0]
        rows = self.stream.rows(value) // heads[-1]
        parts = [self.part(value, start * rows, stop * rows) for start, stop in pairwise(heads)]
        whole = ConcatOp(parts, self.stream.axis[value], location=last.location)
        Rewriter.replace_op(last, whole)
        for op in reversed(self.stream.ops[:-1]):
            Rewriter.erase_op(op)
        return {*self.made, whole}

    def part(self, value: SSAValue, start: int, stop: int) -> SSAValue:
        """Rows start..stop of a value."""
        if (known := self.known.get((value, start, stop))) is not None:
            return known
        op = value.owner
        if isinstance(op, GraphOp) and op in self.stream.reads:
            new = self.computed(op, start, stop)
        else:
            new = self.insert(cut(value, self.stream.axis[value], start, stop, self.constants))
        self.known[value, start, stop] = new
        return new

    def computed(self, op: GraphOp, start: int, stop: int) -> SSAValue:
        """Rows start..stop of an op's result, from the rows that it reads."""
        reads = self.stream.reads[op]
        operands = [
            self.part(value, reach.first(start), reach.end(stop)) if reach else value
            for value, reach in zip(op.operands, reads, strict=True)
        ]
        changed = part_properties(op, self.stream.axis[op.results[0]], reads[0], start, stop)
        new = with_operands(op, operands, **changed)
        if isinstance(new, SliceOp) and new.x.type == new.result.type:
            new.erase()
            return operands[0]
        self.made.add(new)
        return self.insert(new)
