"""What follows the scores of a model: the attribute post_transform, and the two classes of one score."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import pi, sqrt

from xdsl.ir import SSAValue

from ....dialects.graph.ops.elementwise import AddOp, BinaryOp, DivOp, GreaterOp, MulOp, SubOp, WhereOp
from ....dialects.graph.ops.movement import ConcatOp
from ....dialects.graph.ops.reduction import ReduceMaxOp, ReduceSumOp, SoftmaxOp
from ....dialects.graph.ops.unary import AbsOp, ExpOp, LogOp, NegOp, SigmoidOp, SignOp, SqrtOp
from ....dialects.graph.values import shape_of
from ..node import Node

NEARLY_ZERO = 1e-7
"""Scores below it are zeros to SOFTMAX_ZERO."""
_WINITZKI = 0.147
"""The constant of Winitzki's approximation of the inverse error function, as ONNX Runtime has it."""


def transformed(node: Node, scores: SSAValue, kind: str = "") -> SSAValue:
    """Scores [N, classes] after a post_transform, by default the node's. A single score is only changed by PROBIT."""
    kind = kind or transform_of(node)
    if kind == "NONE" or (shape_of(scores)[1] == 1 and kind != "PROBIT"):
        return scores
    return _TRANSFORMS[kind](node, scores)


def transform_of(node: Node) -> str:
    """The node's post_transform. Raises InvalidModelError for an unknown one."""
    kind = node.text("post_transform", "NONE")
    if kind != "NONE" and kind not in _TRANSFORMS:
        raise node.malformed(f"post_transform {kind} is unknown")
    return kind


def both_classes(node: Node, score: SSAValue, positive: bool) -> SSAValue:
    """The scores of two classes [N, 2] from that of the second one [N, 1].

    A probability p (`positive`: no weight is negative) gives 1 - p and p, another score s gives -s and s, and with
    LOGISTIC every score the sigmoids of -s and s.
    """
    kind = transform_of(node)
    if kind == "PROBIT":
        raise node.unsupported("post_transform PROBIT of one score for two classes")
    is_probability = positive and kind != "LOGISTIC"
    other = node.emit(SubOp(node.scalar(1.0, score), score) if is_probability else NegOp(score))
    both = node.emit(ConcatOp([other, score], 1))
    return node.emit(SigmoidOp(both)) if kind == "LOGISTIC" else both


def _with(node: Node, op: type[BinaryOp], x: SSAValue, number: float) -> SSAValue:
    return node.emit(op(x, node.scalar(number, x)))


def _softmax(node: Node, x: SSAValue) -> SSAValue:
    return node.emit(SoftmaxOp(x, 1))


def _softmax_zero(node: Node, x: SSAValue) -> SSAValue:
    """Softmax of which scores that are nearly zero have no part: they are made smaller by the largest's exponential."""
    largest = node.emit(ReduceMaxOp(x, [1], keepdims=True))
    powers = node.emit(ExpOp(node.emit(SubOp(x, largest))))
    counted = node.emit(GreaterOp(node.emit(AbsOp(x)), node.scalar(NEARLY_ZERO, x)))
    total = node.emit(ReduceSumOp(node.emit(WhereOp(counted, powers, node.scalar(0.0, x))), [1], keepdims=True))
    small = node.emit(MulOp(x, node.emit(ExpOp(node.emit(NegOp(largest))))))
    return node.emit(DivOp(node.emit(WhereOp(counted, powers, small)), total))


def _probit(node: Node, x: SSAValue) -> SSAValue:
    """sqrt(2) erfinv(2 x - 1) by Winitzki's approximation."""
    y = _with(node, SubOp, _with(node, MulOp, x, 2.0), 1.0)
    product = node.emit(MulOp(node.emit(SubOp(node.scalar(1.0, y), y)), _with(node, AddOp, y, 1.0)))
    logarithm = node.emit(LogOp(product))
    v = _with(node, AddOp, _with(node, MulOp, logarithm, 0.5), 2 / (pi * _WINITZKI))
    rest = node.emit(SubOp(node.emit(MulOp(v, v)), _with(node, MulOp, logarithm, 1 / _WINITZKI)))
    root = node.emit(SqrtOp(node.emit(SubOp(node.emit(SqrtOp(rest)), v))))
    return _with(node, MulOp, node.emit(MulOp(node.emit(SignOp(y)), root)), sqrt(2))


_TRANSFORMS: Mapping[str, Callable[[Node, SSAValue], SSAValue]] = {
    "SOFTMAX": _softmax,
    "LOGISTIC": lambda node, x: node.emit(SigmoidOp(x)),
    "SOFTMAX_ZERO": _softmax_zero,
    "PROBIT": _probit,
}
