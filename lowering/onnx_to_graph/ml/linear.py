"""LinearRegressor and LinearClassifier."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from ....dialects.graph.ops.contraction import MatmulOp
from ....dialects.graph.ops.elementwise import AddOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ....dialects.sizes.sizes import pinned
from ..node import Handler, Node
from ..non_tensors import Held
from .class_labels import class_labels, decided
from .post_transforms import both_classes, transformed


def rows_of(node: Node, keep_f64: bool = False) -> SSAValue:
    """The operand [N, F] in f32, or in f64 if it may be kept; one row may be given without its axis."""
    x = node.operand()
    shape = shape_of(x)
    if len(shape) == 1:
        x = node.reshape(x, (1, *shape))
    elif len(shape) != 2:
        raise node.invalid(f"features of shape {list(shape)} are no rows")
    return x if keep_f64 and element_type_of_value(x) == f64 else node.cast(x, f32)


def _linear(node: Node, x: SSAValue, coefficients: Sequence[float], intercepts: Sequence[float]) -> SSAValue:
    """x [N, F] times coefficients [targets, F], plus intercepts [targets]; none are zeros."""
    width = pinned(shape_of(x)[1])
    if not width or not coefficients or len(coefficients) % width:
        raise node.invalid(f"{len(coefficients)} coefficients for {width} features")
    targets = len(coefficients) // width
    if len(intercepts) not in (0, targets):
        raise node.malformed(f"{len(intercepts)} intercepts for {targets} targets")
    weight = np.array(coefficients, np.float32).reshape(targets, width).T.copy()
    scores = node.emit(MatmulOp(x, node.array(weight)))
    return node.emit(AddOp(scores, node.array(np.array(intercepts, np.float32)))) if intercepts else scores


def _regressor(node: Node) -> SSAValue:
    coefficients, intercepts = node.numbers("coefficients") or [], node.numbers("intercepts") or []
    scores = _linear(node, rows_of(node), coefficients, intercepts)
    if shape_of(scores)[1] != node.integer("targets", 1):
        raise node.malformed(f"coefficients for {shape_of(scores)[1]} targets of {node.integer('targets', 1)}")
    return transformed(node, scores)


def _classifier(node: Node) -> Sequence[Held | None]:
    labels = class_labels(node, "classlabels_ints")
    node.ignore("multi_class")
    coefficients, intercepts = node.numbers("coefficients") or [], node.numbers("intercepts") or []
    scores = _linear(node, rows_of(node), coefficients, intercepts)
    count = shape_of(scores)[1]
    if count == 1 and len(labels) == 2:
        return [decided(node, scores, 0.0, labels), both_classes(node, scores, positive=True)]
    if count != len(labels):
        raise node.malformed(f"coefficients for {count} classes, but {len(labels)} labels")
    return [decided(node, scores, 0.0 if count == 1 else None, labels), transformed(node, scores)]


HANDLERS: dict[str, Handler] = {
    "ai.onnx.ml.LinearRegressor": _regressor,
    "ai.onnx.ml.LinearClassifier": _classifier,
}
