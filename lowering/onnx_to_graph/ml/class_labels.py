"""Labels of classes: the one that a classifier decides for, numbers or texts, and scores by label (ZipMap)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ....dialects.graph.ops.elementwise import GreaterOp
from ....dialects.graph.ops.indexing import GatherOp
from ....dialects.graph.ops.reduction import ArgMaxOp
from ....dialects.graph.values import shape_of
from ....dialects.sizes.sizes import pinned
from ..node import Handler, Node
from ..non_tensors import Held, LabelledRows, Texts

Labels: TypeAlias = "tuple[int, ...] | tuple[str, ...]"


def class_labels(node: Node, integers: str = "classlabels_int64s", strings: str = "classlabels_strings") -> Labels:
    """The labels of a classifier."""
    numbers, texts = node.integers(integers), node.texts(strings)
    if not numbers and not texts:
        raise node.malformed(f"neither {integers} nor {strings} is given")
    if numbers and texts:
        raise node.malformed(f"{integers} and {strings} are given")
    return tuple(texts) if texts else tuple(numbers or ())


def decided(node: Node, scores: SSAValue, least: float | None, labels: Labels) -> Held:
    """The label [N] of the largest score; of a single one, the second label where it is above `least`, else the first.

    A single score with a single label decides between 1 and 0, as in ONNX Runtime, whatever the label is.
    """
    if least is None:
        place = node.emit(ArgMaxOp(scores, 1))
    else:
        above = node.emit(GreaterOp(scores, node.scalar(least, scores)))
        place = node.reshape(node.cast(above, i64), shape_of(scores)[:1])
        if len(labels) == 1:
            labels = ("0", "1") if isinstance(labels[0], str) else (0, 1)
    return labelled(node, place, labels)


def labelled(node: Node, place: SSAValue, labels: Labels) -> Held:
    """Labels by their places."""
    if isinstance(labels[0], str):
        return Texts(place, tuple(map(str, labels)))
    if list(labels) == list(range(len(labels))):
        return place
    return node.emit(GatherOp(node.array(np.array(labels, np.int64)), place, 0))


def _zip_map(node: Node) -> Held:
    """Scores [N, classes], or of one row [classes], by label."""
    labels = class_labels(node)
    scores = node.operand()
    shape: Sequence[int] = shape_of(scores)
    if len(shape) == 1:
        scores, shape = node.reshape(scores, (1, *shape)), (1, *shape)
    if len(shape) != 2 or pinned(shape[1]) != len(labels):
        raise node.invalid(f"scores of shape {list(shape)} for {len(labels)} labels")
    return LabelledRows(scores, labels)


HANDLERS: dict[str, Handler] = {"ai.onnx.ml.ZipMap": _zip_map}
