"""Parts of a block that can be walked by rows."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from ....dialects.graph.base import GraphOp
from ....dialects.graph.ops.movement import ReshapeOp
from ....dialects.graph.values import shape_of
from ....dialects.sizes.sizes import is_fixed
from .row_reach import reaches, row_axis
from .row_schedule import Stream


def find_stream(block: Block, start: Operation | None = None) -> tuple[Stream, list[Operation]]:
    """The stream that begins with the first op from `start` on that computes rows, and the ops that must follow it.

    An op belongs to it if all operands that it reads by rows are of the stream, or come from before.
    """
    stream, later, after = Stream([], {}, {}), list[Operation](), set[SSAValue]()
    begun, made = start is None, set[SSAValue]()
    for op in block.ops:
        begun = begun or op is start
        if not begun or op is block.last_op:
            continue
        if after.isdisjoint(op.operands) and isinstance(op, GraphOp) and _join(stream, op):
            made.update(op.results)
        elif not after.isdisjoint(op.operands) or not made.isdisjoint(op.operands):
            later.append(op)
            after.update(op.results)
    return stream, later


def _join(stream: Stream, op: GraphOp) -> bool:
    """Adds an op to the stream, if it can be computed by rows of what the stream makes."""
    if len(op.results) != 1 or not is_fixed(*shape_of(op.results[0])):
        return False
    made = {each.results[0] for each in stream.ops}
    within = [place for place, value in enumerate(op.operands) if value in made]
    if stream.ops and not within:
        return False
    axis = _result_axis(stream, op, within)
    if axis is None or shape_of(op.results[0])[axis] < 2 or (found := reaches(op, axis)) is None or not any(found):
        return False
    if any(found[place] is None for place in within):
        return False  # read as a whole
    pairs = [(value, reach) for value, reach in zip(op.operands, found, strict=True) if reach is not None]
    if any(stream.axis.get(value, reach.axis) != reach.axis for value, reach in pairs):
        return False
    stream.axis.update((value, reach.axis) for value, reach in pairs)
    stream.ops.append(op)
    stream.reads[op] = found
    stream.axis[op.results[0]] = axis
    return True


def _result_axis(stream: Stream, op: GraphOp, within: list[int]) -> int | None:
    """The axis of an op's result along which it has the rows of operands that the stream makes."""
    if not isinstance(op, ReshapeOp):
        for place in within:
            return op.operand_axes()[place][stream.axis[op.operands[place]]].to
    return row_axis(op.results[0])


def until(stream: Stream, count: int) -> Stream:
    """The first ops of a stream."""
    ops = stream.ops[:count]
    values = {value for op in ops for value in (*op.results, *op.operands) if value in stream.axis}
    axis = {value: axis for value, axis in stream.axis.items() if value in values}
    return Stream(ops, {op: stream.reads[op] for op in ops}, axis)
