"""TopK: indices of the largest or smallest elements; non-maximum suppression of boxes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr, IntegerType, LocationAttr, UnitAttr, f32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def

from ...sizes.sizes import equal_shapes
from ..axes import Axes, Whole
from ..base import GraphOp, require, require_axis, require_numbers
from ..values import AnyTensor, Array, element_type_of_value, is_float_dtype, shape_of, tensor


@irdl_op_definition
class TopKOp(GraphOp):
    """Along an axis, the indices (i64) of the `count` largest (or `smallest`) elements, sorted.

    Equal elements are in order of their index. NaN is larger than any number.
    """

    name = "graph.top_k"
    FORM: ClassVar[str] = "selection"
    INSTRUCTIONS: ClassVar[int] = 4

    x = operand_def()
    axis = prop_def(IntegerAttr[IntegerType])
    count = prop_def(IntegerAttr[IntegerType])
    smallest = opt_prop_def(UnitAttr)
    result = result_def()

    def __init__(
        self,
        x: SSAValue | Operation,
        axis: int,
        count: int,
        smallest: bool = False,
        location: LocationAttr | None = None,
    ):
        self._build((x,), location, axis=axis, count=count, smallest=smallest)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_numbers(self.x)
        shape, count = shape_of(self.x), self.count.value.data
        axis = require_axis(self.axis.value.data, len(shape))
        require(0 <= count <= shape[axis], f"there are no {count} elements along a dimension of {shape[axis]}")
        return [tensor(i64, (*shape[:axis], count, *shape[axis + 1 :]))]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        return self.rowwise_axes((self.axis.value.data,))

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x, axis, count = arrays[0], self.axis.value.data, self.count.value.data
        x = x.astype(np.float64) if is_float_dtype(x.dtype) else x
        # Sorting is stable and puts NaN last; on a reversed array read backwards, equal elements keep their order.
        if self.smallest is not None:
            places = np.argsort(x, axis, kind="stable")
        else:
            places = x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
        return (np.take(places, np.arange(count), axis).astype(np.int64),)


@irdl_op_definition
class NonMaxSuppressionOp(GraphOp):
    """In each batch and class, the indices of boxes in the order of their scores, without those that overlap earlier
    ones.

    boxes [batch, boxes, 4] are two opposite corners each (y, x, y, x), or with `centered` a centre and sizes (x, y,
    width, height); scores are [batch, classes, boxes]. Boxes take part whose score is above `least`, by default all
    whose score is not NaN; of equal scores the first comes first. A box is left out if the area that it shares with one
    that was chosen, divided by what both cover, is above `overlap`. At most `most` are chosen, and at most `rows`.

    `chosen` [batch, classes, rows] ends in zeros; `counts` [batch, classes] are the numbers of the chosen. (Greedy
    suppression, as in Felzenszwalb, Girshick, McAllester and Ramanan, "Object Detection with Discriminatively Trained
    Part Based Models", PAMI 2010.)
    """

    name = "graph.non_max_suppression"
    FORM: ClassVar[str] = "suppression"
    INSTRUCTIONS: ClassVar[int] = 4
    LINEAR: ClassVar[bool] = False

    boxes = operand_def()
    scores = operand_def()
    most = operand_def()
    overlap = operand_def()
    least = opt_operand_def()
    rows = prop_def(IntegerAttr[IntegerType])
    centered = opt_prop_def(UnitAttr)
    chosen = result_def()
    counts = result_def()

    def __init__(
        self,
        boxes: SSAValue | Operation,
        scores: SSAValue | Operation,
        most: SSAValue | Operation,
        overlap: SSAValue | Operation,
        least: SSAValue | Operation | None = None,
        *,
        rows: int,
        centered: bool = False,
        location: LocationAttr | None = None,
    ):
        self._build((boxes, scores, most, overlap, least), location, rows=rows, centered=centered)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        boxes, scores, rows = shape_of(self.boxes), shape_of(self.scores), self.rows.value.data
        good = len(boxes) == len(scores) == 3 and equal_shapes(boxes, (scores[0], scores[2], 4))
        require(good, f"boxes of shape {list(boxes)} don't fit scores of shape {list(scores)}")
        for value in (self.boxes, self.scores, self.overlap, *([] if self.least is None else [self.least])):
            element = element_type_of_value(value)
            require(element == f32, f"boxes, scores and limits must be f32, got {element}")
        require(element_type_of_value(self.most) == i64, "the largest number of boxes must be an i64")
        for value in (self.most, self.overlap, *([] if self.least is None else [self.least])):
            require(not shape_of(value), f"a limit must be a scalar, got shape {list(shape_of(value))}")
        require(0 <= rows <= scores[2], f"there are no {rows} of {scores[2]} boxes")
        return [tensor(i64, (*scores[:2], rows)), tensor(i64, scores[:2])]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        given = self.given_labels(boxes="bnk", scores="bcn", most="", overlap="", least="")
        return self.labelled_axes(given, "bc" if result else "bcr", dict.fromkeys("nk", Whole), result=result)

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        boxes, scores, most, overlap, *least = arrays
        limit = min(int(most), self.rows.value.data)
        chosen = np.zeros((*scores.shape[:2], self.rows.value.data), np.int64)
        counts = np.zeros(scores.shape[:2], np.int64)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            for entry, low, high in zip(range(len(boxes)), *self._corners(boxes), strict=True):
                area = np.prod(high - low, 1)
                for kind, score in enumerate(scores[entry]):
                    takes_part = score > least[0] if least else ~np.isnan(score)
                    taken: list[int] = []
                    for box in np.argsort(-score, kind="stable"):
                        if not takes_part[box] or len(taken) >= limit:
                            continue
                        sides = np.minimum(high[taken], high[box]) - np.maximum(low[taken], low[box])
                        shared = np.prod(np.maximum(sides, np.float32(0)), 1)
                        both = area[taken] + area[box] - shared
                        if not ((shared > 0) & (shared / both > overlap)).any():
                            taken.append(int(box))
                    chosen[entry, kind, : len(taken)] = taken
                    counts[entry, kind] = len(taken)
        return chosen, counts

    def _corners(self, boxes: Array) -> tuple[Array, Array]:
        """The lower and the upper corner of each box, [batch, boxes, 2] each."""
        one, other = boxes[..., :2], boxes[..., 2:]
        if self.centered is None:
            return np.minimum(one, other), np.maximum(one, other)
        half = other * np.float32(0.5)
        return one - half, one + half


@irdl_op_definition
class ChosenRowsOp(GraphOp):
    """Lists the first elements of each row: a row (i, j, chosen[i, j, n]) for each n < counts[i, j], and their number.

    chosen is [a, b, n], counts [a, b], all i64; the list is [a * b * n, 3] and ends in zeros.
    """

    name = "graph.chosen_rows"
    FORM: ClassVar[str] = "suppression"
    INSTRUCTIONS: ClassVar[int] = 2

    chosen = operand_def()
    counts = operand_def()
    result = result_def()
    total = result_def()

    def __init__(
        self, chosen: SSAValue | Operation, counts: SSAValue | Operation, location: LocationAttr | None = None
    ):
        self._build((chosen, counts), location)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        shape, counts = shape_of(self.chosen), shape_of(self.counts)
        good = len(shape) == 3 and equal_shapes(shape[:2], counts)
        require(good, f"counts of shape {list(counts)} don't fit rows of shape {list(shape)}")
        require(element_type_of_value(self.chosen) == element_type_of_value(self.counts) == i64, "operands must be i64")
        return [tensor(i64, (prod(shape), 3)), tensor(i64, ())]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        chosen, counts = arrays
        listed = [(i, j, chosen[i, j, n]) for i, j, n in np.ndindex(*chosen.shape) if n < counts[i, j]]
        rows = np.zeros((chosen.size, 3), np.int64)
        if listed:
            rows[: len(listed)] = listed
        return rows, np.array(len(listed), np.int64)
