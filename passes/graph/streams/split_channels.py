"""Convolutions of whose pictures only means are read, a group of channels at a time.

before:  %1 = graph.conv %x, %w : (tensor<1x7x7x320xf32>, ..) -> tensor<1x7x7x1280xf32>
         %2 = graph.relu %1
         %3 = graph.reduce_mean %2 {axes = array<i64: 1, 2>} : .. -> tensor<1x1280xf32>
after:   %1 = graph.conv %x, (filters 0..640 of %w) .. -> tensor<1x7x7x640xf32>      likewise of 640..1280
         %2 = graph.relu %1
         %3 = graph.reduce_mean %2 {axes = array<i64: 1, 2>} : .. -> tensor<1x640xf32>
         %4 = graph.concat %3, %.. {axis = 1 : i64}

All pixels are needed for a mean, but not all channels at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ....dialects.graph.base import ElementwiseOp, GraphOp
from ....dialects.graph.ops.contraction import ConvOp
from ....dialects.graph.ops.movement import ConcatOp, SliceOp
from ....dialects.graph.ops.reduction import ReduceMeanOp
from ....dialects.graph.ops.structure import ConstantOp, WeightOp
from ....dialects.graph.values import nbytes_of, shape_of, type_of
from ....dialects.sizes.sizes import is_fixed
from ..fold_constants import folded
from ..support.counted_loops import GraphWriter
from ..support.pattern_utils import Constants, with_operands
from .row_reach import part_properties, reaches

LEAST_CHANNELS = 32  # of a group, so that vectors are full


def split_channels(block: Block, nbytes: int, constants: Constants) -> set[Operation]:
    """Splits convolutions into groups of channels that make about `nbytes`; returns the ops of the groups."""
    made = set[Operation]()
    for mean in [op for op in block.ops if isinstance(op, ReduceMeanOp)]:
        channels, whole = shape_of(mean.x)[-1], nbytes_of(type_of(mean.x))
        if is_fixed(*shape_of(mean.x)) and whole > nbytes and channels > LEAST_CHANNELS and (chain := _chain(mean)):
            group = max(1, nbytes * channels // whole // LEAST_CHANNELS) * LEAST_CHANNELS
            made.update(_write(chain, group, constants))
    return made


def _chain(mean: ReduceMeanOp) -> list[GraphOp]:
    """A convolution, what is computed of it element by element, and the mean; empty if more than weights is read."""
    chain: list[GraphOp] = [mean]
    while not isinstance(first := chain[0], ConvOp):
        value = _inside(first)
        op = value.owner
        if not isinstance(op, ConvOp | ElementwiseOp) or op.parent is not mean.parent or not value.has_one_use():
            return []
        if isinstance(op, ConvOp) and (op.layout.data != "NHWC" or op.groups.value.data > 1):
            return []
        if shape_of(value) != shape_of(mean.x):
            return []
        chain.insert(0, op)
    for op in chain:
        reads = reaches(op, _channels(op))
        others = [value for value in op.operands if value is not _inside(op)]
        if reads is None or not all(isinstance(value.owner, ConstantOp | WeightOp) for value in others):
            return []
    return chain


def _inside(op: GraphOp) -> SSAValue:
    """The operand of an op that holds pictures."""
    return next((value for value in op.operands if shape_of(value) == shape_of(op.results[0])), op.operands[0])


def _channels(op: GraphOp) -> int:
    """The axis of channels of an op's result."""
    return len(shape_of(op.results[0])) - 1


def _write(chain: list[GraphOp], group: int, constants: Constants) -> Iterator[Operation]:
    """Replaces a chain by one for each group of channels; yields their ops."""
    mean = chain[-1]
    writer = GraphWriter(InsertPoint.before(mean), mean.location)
    size = shape_of(mean.results[0])[-1]
    parts: list[SSAValue] = []
    for start in range(0, size, group):
        stop = min(start + group, size)
        value = chain[0].operands[0]
        for op in chain:
            reads = reaches(op, _channels(op)) or []
            operands = [
                value
                if each is _inside(op)
                else writer.insert(cut(each, reach.axis, start, stop, constants))
                if reach
                else each
                for each, reach in zip(op.operands, reads, strict=True)
            ]
            new = with_operands(op, operands, **part_properties(op, _channels(op), reads[0], start, stop))
            value = writer.insert(new)
            yield new
        parts.append(value)
    whole = ConcatOp(parts, len(shape_of(parts[0])) - 1, location=mean.location)
    Rewriter.replace_op(mean, whole)
    for op in reversed(chain[:-1]):
        Rewriter.erase_op(op)


def cut(value: SSAValue, axis: int, start: int, stop: int, constants: Constants) -> Operation:
    """An op for elements start..stop of an axis; of a constant another constant."""
    shape = shape_of(value)
    starts, stops = [0] * len(shape), list(shape)
    starts[axis], stops[axis] = start, stop
    op = SliceOp(value, starts, stops)
    if not isinstance(value.owner, ConstantOp | WeightOp):
        return op
    op.location = value.owner.location
    (made,) = folded(op, constants)
    op.erase()
    return made
