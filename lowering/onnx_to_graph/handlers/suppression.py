"""NonMaxSuppression: boxes chosen for each batch and class, listed in the order of batches, classes and scores."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ....dialects.graph.ops.elementwise import MinOp
from ....dialects.graph.ops.selection import ChosenRowsOp, NonMaxSuppressionOp
from ....dialects.graph.values import shape_of
from ....dialects.sizes.sizes import equal
from ..node import Handler, Node


def _non_max_suppression(node: Node) -> SSAValue:
    boxes, scores = node.operand(0), node.operand(1)
    batch, count, corners = _three(node, boxes, "boxes")
    entries, classes, scored = _three(node, scores, "scores")
    if not all(map(equal, (batch, count, corners), (entries, scored, 4))):
        raise node.invalid(f"boxes of shape {list(shape_of(boxes))} don't fit scores of {list(shape_of(scores))}")
    center = node.integer("center_point_box", 0)
    if center not in (0, 1):
        raise node.invalid(f"center_point_box is 0 or 1, got {center}")
    if not node.has_operand(2) or not batch * classes * count:  # by default, none is chosen
        return node.zeros(i64, (0, 3))
    most = node.reshape(node.operand(2), ())
    overlap = node.reshape(node.operand(3), ()) if node.has_operand(3) else node.scalar(0.0, boxes)
    least = node.reshape(node.operand(4), ()) if node.has_operand(4) else None
    known = node.known(node.emit(MinOp(most, node.scalar(count, i64))))
    rows = count if known is None else max(0, int(known))
    if not rows:
        return node.zeros(i64, (0, 3))
    chosen, counts = node.emit_all(
        NonMaxSuppressionOp(boxes, scores, most, overlap, least, rows=rows, centered=bool(center))
    )
    rows, total = node.emit_all(ChosenRowsOp(chosen, counts))
    return node.bound(rows, 0, total)


def _three(node: Node, value: SSAValue, what: str) -> tuple[int, ...]:
    if len(shape_of(value)) != 3:
        raise node.invalid(f"{what} must have three dimensions, got {list(shape_of(value))}")
    return shape_of(value)


HANDLERS: dict[str, Handler] = {"NonMaxSuppression": _non_max_suppression}
