"""NonMaxSuppression as a loop that selects one box for every batch and class in each iteration.

The box with the best score above the threshold is selected; it and the boxes that overlap it too much are removed. The
loop ends when no class has a box left. Finally, the collected boxes are sorted by batch, class, and iteration, which is
the order of scores.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from ....dialects.graph.ops.elementwise import (
    AddOp,
    AndOp,
    DivOp,
    EqualOp,
    GreaterOp,
    MaxOp,
    MinOp,
    MulOp,
    OrOp,
    SubOp,
    WhereOp,
)
from ....dialects.graph.ops.indexing import GatherNdOp, GatherOp
from ....dialects.graph.ops.movement import ConcatOp, TransposeOp
from ....dialects.graph.ops.reduction import ArgMaxOp, ReduceMaxOp
from ....dialects.graph.ops.unary import IsNanOp
from ....dialects.graph.values import shape_of
from ....dialects.sizes.sizes import equal
from ..node import Handler, Node
from .indexing import positions
from .loops import Iteration, ShapeChangesError, repeat
from .movement import slice_axis
from .selecting import coordinates, marked


class _Boxes:
    """The corners and areas of all boxes, (batch, 1, boxes) each."""

    def __init__(self, node: Node, boxes: SSAValue, *, centered: bool) -> None:
        self.node = node
        batch, count, _ = shape_of(boxes)
        parts = [node.reshape(slice_axis(node, boxes, 2, i, i + 1), (batch, 1, count)) for i in range(4)]
        if centered:
            x, y, width, height = parts
            half = node.scalar(0.5, boxes)
            sides = [node.emit(MulOp(side, half)) for side in (width, height)]
            ends = [
                (node.emit(SubOp(middle, side)), node.emit(AddOp(middle, side)))
                for middle, side in zip((x, y), sides, strict=True)
            ]
        else:
            ends = [
                (node.emit(MinOp(one, other)), node.emit(MaxOp(one, other)))
                for one, other in (parts[0::2], parts[1::2])
            ]
        self.ends = ends
        self.area = self.product(*(node.emit(SubOp(high, low)) for low, high in ends))

    def product(self, one: SSAValue, other: SSAValue) -> SSAValue:
        return self.node.emit(MulOp(one, other))

    def overlapped(self, chosen: SSAValue, threshold: SSAValue) -> SSAValue:
        """The boxes (batch, classes, boxes) that overlap the selected (batch, classes) by more than the threshold."""
        node = self.node
        zero = node.scalar(0, self.area)

        def of_chosen(value: SSAValue) -> SSAValue:
            batch, _, count = shape_of(value)
            places = node.reshape(chosen, (*shape_of(chosen), 1))
            found = node.emit(GatherNdOp(node.reshape(value, (batch, count)), places, 1))
            return node.reshape(found, (*shape_of(chosen), 1))

        common: list[SSAValue] = []
        for low, high in self.ends:
            end, begin = MinOp(high, of_chosen(high)), MaxOp(low, of_chosen(low))
            length = node.emit(SubOp(node.emit(end), node.emit(begin)))
            common.append(node.emit(MaxOp(length, zero)))
        shared = self.product(*common)
        both = node.emit(SubOp(node.emit(AddOp(self.area, of_chosen(self.area))), shared))
        too_much = node.emit(GreaterOp(node.emit(DivOp(shared, both)), threshold))
        return node.emit(AndOp(node.emit(GreaterOp(shared, zero)), too_much))


def _non_max_suppression(node: Node) -> SSAValue:
    boxes, scores = node.operand(0), node.operand(1)
    batch, count, corners = _three(node, boxes, "boxes")
    entries, classes, scored = _three(node, scores, "scores")
    if not all(map(equal, (batch, count, corners), (entries, scored, 4))):
        raise node.invalid(f"boxes of shape {list(shape_of(boxes))} don't fit scores of {list(shape_of(scores))}")
    center = node.integer("center_point_box", 0)
    if center not in (0, 1):
        raise node.invalid(f"center_point_box is 0 or 1, got {center}")
    wanted = node.reshape(node.operand(2), ()) if node.has_operand(2) else node.scalar(0, i64)
    if not batch * classes * count:
        return node.zeros(i64, (0, 3))
    threshold = node.reshape(node.operand(3), ()) if node.has_operand(3) else node.scalar(0, boxes)
    least = node.reshape(node.operand(4), ()) if node.has_operand(4) else None
    nothing = node.scalar(-np.inf, scores)
    corner = _Boxes(node, boxes, centered=bool(center))
    numbers = positions(node, count)

    def turn(number: SSAValue, carried: Sequence[SSAValue]) -> Iteration:
        (left,) = carried
        best = node.emit(ArgMaxOp(left, 2))
        score = node.emit(ReduceMaxOp(left, [2]))
        valid = node.emit(GreaterOp(score, nothing if least is None else least))
        is_best = node.emit(EqualOp(numbers, node.reshape(best, (batch, classes, 1))))
        gone = node.emit(OrOp(is_best, corner.overlapped(best, threshold)))
        after = node.emit(WhereOp(gone, nothing, left))
        taken = node.emit(WhereOp(valid, best, node.scalar(-1, i64)))
        one = node.emit(AddOp(taken, node.scalar(1, i64)))  # 0 means no box, as for iterations that did not run
        any_left = node.emit(ReduceMaxOp(node.cast(valid, i64), [0, 1]))
        return Iteration([after], [(one, number)], node.cast(any_left, i1))

    most = node.emit(MinOp(wanted, node.scalar(count, i64)))
    known = node.known(most)
    rows = count if known is None else max(0, int(known))
    if not rows:
        return node.zeros(i64, (0, 3))
    # A score of -inf is valid, unlike removed ones; NaN is above no threshold.
    begin = node.emit(MaxOp(scores, node.scalar(float(np.finfo(np.float32).min), scores)))
    begin = node.emit(WhereOp(node.emit(IsNanOp(scores)), nothing, begin))
    try:
        (chosen,) = repeat(node, most, None, [begin], turn, rows).collected
    except ShapeChangesError as error:
        raise node.invalid(str(error)) from None
    flat = node.reshape(node.emit(TransposeOp(chosen, [1, 2, 0])), (batch * classes * rows,))
    found, total = marked(node, node.emit(GreaterOp(flat, node.scalar(0, i64))))
    entry, kind, _ = coordinates(node, found, (batch, classes, rows))
    box = node.emit(SubOp(node.emit(GatherOp(flat, found, 0)), node.scalar(1, i64)))
    columns = [node.reshape(each, (batch * classes * rows, 1)) for each in (entry, kind, box)]
    return node.bound(node.emit(ConcatOp(columns, 1)), 0, total)


def _three(node: Node, value: SSAValue, what: str) -> tuple[int, ...]:
    if len(shape_of(value)) != 3:
        raise node.invalid(f"{what} must have three dimensions, got {list(shape_of(value))}")
    return shape_of(value)


HANDLERS: dict[str, Handler] = {"NonMaxSuppression": _non_max_suppression}
