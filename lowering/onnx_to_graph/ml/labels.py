"""Labels of classes, and the one that a classifier decides for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from ....dialects.graph.ops.elementwise import GreaterOp, WhereOp
from ....dialects.graph.ops.indexing import GatherOp
from ....dialects.graph.ops.reduction import ArgMaxOp
from ....dialects.graph.values import shape_of
from ..node import Node


def class_labels(node: Node, integers: str = "classlabels_int64s", strings: str = "classlabels_strings") -> list[int]:
    """The labels of a classifier. Raises UnsupportedError for texts."""
    if node.texts(strings):
        raise node.unsupported(f"{strings}: labels that are texts")
    labels = node.integers(integers)
    if not labels:
        raise node.malformed(f"neither {integers} nor {strings} is given")
    return labels


def decided(node: Node, scores: SSAValue, least: float | None, labels: Sequence[int]) -> SSAValue:
    """The label [N] of the largest score; of a single one, the second label where it is above `least`, else the first."""
    if least is None:
        place = node.emit(ArgMaxOp(scores, 1))
        if list(labels) == list(range(len(labels))):
            return place
        return node.emit(GatherOp(node.array(np.array(labels, np.int64)), place, 0))
    above = node.emit(GreaterOp(scores, node.scalar(least, scores)))
    second = labels[1] if len(labels) > 1 else labels[0]
    of = [node.array(np.array(label, np.int64)) for label in (second, labels[0])]
    return node.reshape(node.emit(WhereOp(above, *of)), shape_of(scores)[:1])
