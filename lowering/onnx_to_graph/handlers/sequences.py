"""Sequences of tensors and optionals, which exist at import only.

A sequence that is an input or an output, or that a run-time condition or loop produces, is refused where it is used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from ....dialects.graph.ops.movement import ConcatOp
from ....dialects.graph.values import shape_of
from ....dialects.sizes.sizes import equal, pinned
from ..node import Handler, Node
from ..non_tensors import Held, Nothing, TensorSequence
from .movement import slice_axis


def _construct(node: Node) -> TensorSequence:
    return TensorSequence(tuple(node.operands()))


def _empty(node: Node) -> TensorSequence:
    node.ignore("dtype")
    return TensorSequence(())


def _length(node: Node) -> SSAValue:
    return node.array(np.array(len(node.sequence(0).items), np.int64))


def _position(node: Node, index: int, count: int) -> int:
    """An operand that is a position among `count`; negative ones count from the end."""
    (position,) = node.ints_operand(index) or [0]
    if not -count <= position < count:
        raise node.invalid(f"position {position} is outside of a sequence of {count}")
    return position % count


def _at(node: Node) -> SSAValue:
    items = node.sequence(0).items
    return items[_position(node, 1, len(items))]


def _insert(node: Node) -> TensorSequence:
    items = list(node.sequence(0).items)
    place = len(items)
    if node.has_operand(2):
        (place,) = node.ints_operand(2)
        if not -len(items) <= place <= len(items):
            raise node.invalid(f"position {place} is outside of a sequence of {len(items)}")
    items.insert(place, node.operand(1))
    return TensorSequence(tuple(items))


def _erase(node: Node) -> TensorSequence:
    items = list(node.sequence(0).items)
    if not items:
        raise node.invalid("there is nothing to erase from an empty sequence")
    del items[_position(node, 1, len(items)) if node.has_operand(1) else -1]
    return TensorSequence(tuple(items))


def _concat(node: Node) -> SSAValue:
    items = list(node.sequence(0).items)
    if not items:
        raise node.invalid("there is nothing to join in an empty sequence")
    stacked = node.flag("new_axis")
    axis = node.axis(0, len(shape_of(items[0])) + stacked)
    if stacked:
        items = [node.reshape(x, (*shape_of(x)[:axis], 1, *shape_of(x)[axis:])) for x in items]
    return items[0] if len(items) == 1 else node.emit(ConcatOp(items, axis))


def _split(node: Node) -> TensorSequence:
    """Parts of equal or listed lengths; or single elements, without the axis unless `keepdims`."""
    x = node.operand(0)
    axis = node.axis(0, len(shape_of(x)))
    size, keeps = shape_of(x)[axis], node.flag("keepdims", True) or node.has_operand(1)
    size = pinned(size)  # the number of parts depends on it
    lengths = [1] * size
    if node.has_operand(1):
        lengths = node.ints_operand(1)
        if not shape_of(node.operand(1)):
            (length,) = lengths
            if length < 1:
                raise node.invalid(f"can't split {size} elements into parts of {length}")
            lengths = [min(length, size - start) for start in range(0, size, length)]
    if not equal(sum(lengths), size) or min(lengths, default=0) < 0:
        raise node.invalid(f"can't split {size} elements into {lengths}")
    starts = np.cumsum([0, *lengths]).tolist()
    parts = [slice_axis(node, x, axis, start, start + length) for start, length in zip(starts, lengths, strict=False)]
    if not keeps:
        parts = [node.reshape(part, (*shape_of(part)[:axis], *shape_of(part)[axis + 1 :])) for part in parts]
    return TensorSequence(tuple(parts))


def _map(node: Node) -> Sequence[TensorSequence]:
    """Imports the subgraph once for each position of the sequences; tensors are the same in all."""
    body, given = node.graph("body"), [node.held(index) for index in range(len(node.proto.input))]
    lengths = {len(each.items) for each in given if isinstance(each, TensorSequence)}
    if not isinstance(given[0], TensorSequence) or len(lengths) != 1:
        raise node.invalid("its first operand must be a sequence, and all sequences of one length")
    made: list[list[SSAValue]] = []
    for position in range(len(given[0].items)):
        operands = [each.items[position] if isinstance(each, TensorSequence) else each for each in given]
        made.append(node.branch(body, operands))
    if not made:
        return [TensorSequence(()) for _ in node.proto.output]
    return [TensorSequence(each) for each in zip(*made, strict=True)]


def _optional(node: Node) -> Held:
    node.ignore("type")
    return node.held(0) if node.has_operand(0) else Nothing()


def _has_element(node: Node) -> SSAValue:
    there = node.has_operand(0) and not isinstance(node.held(0), Nothing)
    return node.array(np.array(there))


def _get_element(node: Node) -> Held:
    held = node.held(0)
    if isinstance(held, Nothing):
        raise node.invalid("the optional has no value")
    return held


HANDLERS: dict[str, Handler] = {
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceLength": _length,
    "SequenceAt": _at,
    "SequenceInsert": _insert,
    "SequenceErase": _erase,
    "SequenceMap": _map,
    "ConcatFromSequence": _concat,
    "SplitToSequence": _split,
    "Optional": _optional,
    "OptionalHasElement": _has_element,
    "OptionalGetElement": _get_element,
}
