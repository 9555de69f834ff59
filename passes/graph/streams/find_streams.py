"""Parts of a block that can be walked by rows."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.ir import Block, Operation, SSAValue

from ....dialects.graph.base import GraphOp
from ....dialects.graph.host import read_by
from ....dialects.graph.ops.movement import ReshapeOp
from ....dialects.graph.ops.structure import ConstantOp, WeightOp
from ....dialects.graph.ops.windows import PoolOp
from ....dialects.graph.values import shape_of
from ....dialects.sizes.sizes import is_fixed
from .row_reach import reaches, row_axis
from .row_schedule import Stream

MOST_OPS = 500
"""Of a stream: an op asks those before it for rows, each within the call of the next."""


def find_streams(block: Block, apart: Collection[Operation] = ()) -> list[Stream]:
    """The streams of a block, each of several ops; the ops of one do not read what is made from those of another.

    Ops `apart` belong to none.
    """
    left = [op for op in block.ops if op is not block.last_op]
    found: list[Stream] = []
    taken = set(apart)
    while left:
        stream, left = _first_stream(left, apart)
        extend(stream, block, taken)
        while stream.ops and isinstance(last := stream.ops[-1], ReshapeOp):  # of a whole value it is a view
            stream.ops.remove(last)
            del stream.reads[last], stream.axis[last.result]
        if len(stream.ops) > 1:
            found.append(stream)
            taken.update(stream.ops)
    return found


def _first_stream(ops: list[Operation], apart: Collection[Operation]) -> tuple[Stream, list[Operation]]:
    """The stream that begins with the first product or pool of rows, and the ops that need what it makes."""
    stream, later = Stream([], {}, {}), list[Operation]()
    made, after = set[SSAValue](), set[SSAValue]()
    for op in ops:
        read = read_by(op)
        if op not in apart and after.isdisjoint(read) and isinstance(op, GraphOp) and _join(stream, op, made):
            made.update(op.results)
        elif not after.isdisjoint(read) or not made.isdisjoint(read):
            later.append(op)
            after.update(op.results)
    return stream, later


def extend(stream: Stream, block: Block, taken: Collection[Operation]) -> None:
    """Adds ops before the stream of which it reads nothing but rows: where it does shows their axis."""
    waiting = list(stream.ops)
    while waiting:
        for value in waiting.pop().operands:
            op = value.owner
            if not isinstance(op, GraphOp) or op in taken or op in stream.reads or op.parent is not block:
                continue
            alone = len(op.results) == 1 and all(_reads_rows(stream, use.operation, value) for use in value.uses)
            if alone and add_rows(stream, op, stream.axis[value]):
                waiting.append(op)
    if len(stream.reads) > len(stream.ops):
        stream.ops[:] = [op for op in block.ops if isinstance(op, GraphOp) and op in stream.reads]


def _reads_rows(stream: Stream, op: Operation, value: SSAValue) -> bool:
    """Whether an op is one of the stream that reads rows of a value, and only those."""
    reads = stream.reads.get(op) if isinstance(op, GraphOp) else None
    return reads is not None and all(reach for each, reach in zip(op.operands, reads, strict=True) if each is value)


def moved_behind(stream: Stream) -> None:
    """Moves the ops of a stream to its last one, and those that read what it makes behind it."""
    last = stream.ops[-1]
    block = last.parent
    assert block is not None
    inside, made = set[Operation](stream.ops), {op.results[0] for op in stream.ops}
    behind = list[Operation]()
    op = stream.ops[0]
    while op is not last:
        following = op.next_op
        assert following is not None
        if op not in inside and not made.isdisjoint(read_by(op)):
            behind.append(op)
            made.update(op.results)
        op = following
    for each in reversed(behind):
        each.detach()
        block.insert_op_after(each, last)


def _join(stream: Stream, op: GraphOp, made: Collection[SSAValue]) -> bool:
    """Adds an op to the stream, if it can be computed by rows of what the stream has `made`."""
    within = [place for place, value in enumerate(op.operands) if value in made]
    begins = not stream.ops and (op.products > 0 or isinstance(op, PoolOp))
    if len(op.results) != 1 or not (within or begins):
        return False
    axis = _result_axis(stream, op, within)
    if axis is None or not (within or _reads_values(op, axis)) or not add_rows(stream, op, axis, within):
        return False
    stream.ops.append(op)
    return True


def _reads_values(op: GraphOp, axis: int) -> bool:
    """Whether an op reads more by rows than constants."""
    reads = zip(op.operands, reaches(op, axis) or [], strict=False)
    return any(reach and not isinstance(value.owner, ConstantOp | WeightOp) for value, reach in reads)


def add_rows(stream: Stream, op: GraphOp, axis: int, within: Collection[int] = ()) -> bool:
    """Whether rows along an axis of an op's result can be computed by themselves, from rows of operands `within`.

    If so, the stream knows what it reads.
    """
    shape = shape_of(op.results[0])
    if not is_fixed(*shape) or shape[axis] < 2 or len(stream.ops) == MOST_OPS:
        return False
    found = reaches(op, axis)
    if found is None or not any(found) or any(found[place] is None for place in within):
        return False
    pairs = [(value, reach) for value, reach in zip(op.operands, found, strict=True) if reach is not None]
    if any(stream.axis.get(value, reach.axis) != reach.axis for value, reach in pairs):
        return False
    stream.axis.update((value, reach.axis) for value, reach in pairs)
    stream.reads[op] = found
    stream.axis[op.results[0]] = axis
    return True


def _result_axis(stream: Stream, op: GraphOp, within: list[int]) -> int | None:
    """The axis of an op's result along which it has the rows of operands that the stream makes."""
    if not isinstance(op, ReshapeOp):
        for place in within:
            return op.operand_axes()[place][stream.axis[op.operands[place]]].to
    return row_axis(op.results[0])
