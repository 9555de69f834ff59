"""slice-rows-first: where only some rows of a product are read, the others are not computed.

before:  %n = graph.rms_norm %x, %g       tensor<1x64x512xf32>
         %y = graph.matmul %n, %w         tensor<1x64x32000xf32>
         %1 = graph.slice %y [0:1, 63:64, 0:32000]
after:   %0 = graph.slice %x [0:1, 63:64, 0:512]
         %n = graph.rms_norm %0, %g       tensor<1x1x512xf32>
         %1 = graph.matmul %n, %w         tensor<1x1x32000xf32>

Of a prompt, a language model's next token needs the logits of the last row: so does all of its last layer but for keys
and values. A slice moves in front of ops that keep its axis, up to those that somebody reads other rows of, if a
product or an attention is among them: elementwise ops alone would rather be done with what they follow.
"""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ....dialects.graph.axes import Kept, Repeated
from ....dialects.graph.base import ContractionOp, GraphOp, MovementOp
from ....dialects.graph.ops.attention import AttentionOp
from ....dialects.graph.ops.movement import ReshapeOp, SliceOp, TransposeOp
from ....dialects.graph.values import ints, shape_of
from ..canonical.slices import DropFullSlice, MergeSlices, SliceBeforeReshape, SliceBeforeTranspose
from ..support.pattern_utils import GraphPattern, PatternPass, rewrites, with_operands

LONGEST_CHAIN = 32  # ops between a slice and a product


def _rows_of(op: SliceOp) -> int | None:
    """The only axis along which a slice leaves something out, consecutive rows of it; not the last one."""
    shape = shape_of(op.x)
    cut = [axis for axis, count in enumerate(op.counts) if count != shape[axis]]
    return cut[0] if len(cut) == 1 and cut[0] < len(shape) - 1 and set(ints(op.steps)) == {1} else None


def _kept_axes(op: GraphOp, rows: int) -> list[int | None] | None:
    """For each operand the axis that is kept as axis `rows` of the result, if any; None if rows are not independent."""
    found: list[int | None] = []
    for axes in op.operand_axes():
        meeting = [(number, axis) for number, axis in enumerate(axes) if axis.to == rows]
        if len(meeting) > 1 or not all(isinstance(axis, Kept | Repeated) for _, axis in meeting):
            return None
        found.append(next((number for number, axis in meeting if isinstance(axis, Kept)), None))
    return found if any(axis is not None for axis in found) else None


def _moves(op: Operation | object) -> GraphOp | None:
    """The op, if it is one in front of which slices move."""
    return op if isinstance(op, GraphOp) and not isinstance(op, MovementOp) and len(op.results) == 1 else None


def _saves(value: SSAValue, rows: int, left: int = LONGEST_CHAIN) -> bool:
    """Whether a product is among the ops that make `value`, row by row, for nobody else."""
    owner = value.owner
    if isinstance(owner, ReshapeOp | TransposeOp):  # which of its axes are the rows, the slice's own patterns know
        return left > 0 and any(_saves(owner.x, axis, left - 1) for axis in range(len(shape_of(owner.x)) - 1))
    op = _moves(owner)
    kept = None if op is None else _kept_axes(op, rows)
    if op is None or kept is None or left == 0:
        return False
    if isinstance(op, ContractionOp | AttentionOp):
        return True
    pairs = zip(op.operands, kept, strict=True)
    return any(axis is not None and _saves(operand, axis, left - 1) for operand, axis in pairs)


class SliceRowsOfOperands(GraphPattern):
    """slice(op(x, y)), the only part of the result that is read -> op(slice(x), slice(y))"""

    @rewrites
    @override
    def match_and_rewrite(self, op: SliceOp, rewriter: PatternRewriter, /) -> None:
        made, rows = _moves(op.x.owner), _rows_of(op)
        kept = None if made is None or rows is None else _kept_axes(made, rows)
        if made is None or rows is None or kept is None or not _saves(op.x, rows):
            return
        alike = [use.operation for use in op.x.uses]
        if any(not isinstance(each, SliceOp) or each.properties != op.properties for each in alike):
            return
        if op is not min(alike, key=_position):
            return
        start, stop = ints(op.starts)[rows], ints(op.stops)[rows]
        parts = [
            operand if axis is None else _sliced(operand, axis, start, stop, op, rewriter)
            for operand, axis in zip(made.operands, kept, strict=True)
        ]
        new = with_operands(made, parts, **made.resized(rows, stop - start))
        for each in alike:
            if each is not op:
                rewriter.replace(each, [], [op.result])
        rewriter.replace(op, new)


def _position(op: Operation) -> int:
    block = op.parent
    assert block is not None
    return block.get_operation_index(op)


def _sliced(operand: SSAValue, axis: int, start: int, stop: int, op: SliceOp, rewriter: PatternRewriter) -> SSAValue:
    """The rows of an operand."""
    shape: Sequence[int] = shape_of(operand)
    starts, stops = [0] * len(shape), list(shape)
    starts[axis], stops[axis] = start, stop
    part = SliceOp(operand, starts, stops, location=op.location)
    rewriter.insert(part)
    return part.result


class SliceRowsFirst(PatternPass):
    """Where only some rows of a product are read, the others are not computed."""

    name = "slice-rows-first"
    kinds = (SliceOp,)
    patterns = (SliceRowsOfOperands, SliceBeforeReshape, SliceBeforeTranspose, MergeSlices, DropFullSlice)
