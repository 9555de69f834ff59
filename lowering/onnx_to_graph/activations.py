"""Elementwise operators that are taken apart: compositions of a few graph ops."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...dialects.graph.activation import EluOp, HardSigmoidOp
from ...dialects.graph.elementwise import AddOp, DivOp, GreaterOp, LessOp, MulOp, SubOp, WhereOp
from ...dialects.graph.unary import (
    AbsOp,
    ExpOp,
    LogOp,
    NegOp,
    SigmoidOp,
    SignOp,
    SiluOp,
    SoftplusOp,
    SqrtOp,
    TanhOp,
)
from .node import Handler, Node


def _times(node: Node, x: SSAValue, factor: float) -> SSAValue:
    return x if factor == 1.0 else node.emit(MulOp(x, node.scalar(factor, x)))


def _hard_swish(node: Node) -> SSAValue:
    x = node.operand()
    return node.emit(MulOp(x, node.emit(HardSigmoidOp(x, 1 / 6, 0.5))))


def _swish(node: Node) -> SSAValue:
    x = node.operand()
    alpha = node.number("alpha", 1.0)
    if alpha == 1.0:
        return node.emit(SiluOp(x))
    return node.emit(MulOp(x, node.emit(SigmoidOp(_times(node, x, alpha)))))


def _mish(node: Node) -> SSAValue:
    x = node.operand()
    return node.emit(MulOp(x, node.emit(TanhOp(node.emit(SoftplusOp(x))))))


def _selu(node: Node) -> SSAValue:
    alpha, gamma = (
        node.number("alpha", 1.67326319217681884765625),
        node.number("gamma", 1.05070102214813232421875),
    )
    return _times(node, node.emit(EluOp(node.operand(), alpha)), gamma)


def _celu(node: Node) -> SSAValue:
    """alpha * elu(x / alpha): x above zero, alpha * (exp(x / alpha) - 1) below."""
    x = node.operand()
    alpha = node.number("alpha", 1.0)
    inner = x if alpha == 1.0 else node.emit(DivOp(x, node.scalar(alpha, x)))
    return _times(node, node.emit(EluOp(inner, 1.0)), alpha)


def _thresholded_relu(node: Node) -> SSAValue:
    x = node.operand()
    above = node.emit(GreaterOp(x, node.scalar(node.number("alpha", 1.0), x)))
    return node.emit(WhereOp(above, x, node.scalar(0, x)))


def _shrink(node: Node) -> SSAValue:
    x = node.operand()
    bias, limit = node.scalar(node.number("bias", 0.0), x), node.number("lambd", 0.5)
    high = node.emit(GreaterOp(x, node.scalar(limit, x)))
    low = node.emit(LessOp(x, node.scalar(-limit, x)))
    middle = node.emit(WhereOp(high, node.emit(SubOp(x, bias)), node.scalar(0, x)))
    return node.emit(WhereOp(low, node.emit(AddOp(x, bias)), middle))


def _cosh(node: Node) -> SSAValue:
    x = node.operand()
    total = node.emit(AddOp(node.emit(ExpOp(x)), node.emit(ExpOp(node.emit(NegOp(x))))))
    return _times(node, total, 0.5)


def _sinh(node: Node) -> SSAValue:
    """tanh(x) * cosh(x), which stays exact near zero where exp(x) - exp(-x) cancels."""
    return node.emit(MulOp(node.emit(TanhOp(node.operand())), _cosh(node)))


def _asinh(node: Node) -> SSAValue:
    x = node.operand()
    root = node.emit(SqrtOp(node.emit(AddOp(node.emit(MulOp(x, x)), node.scalar(1, x)))))
    size = node.emit(LogOp(node.emit(AddOp(node.emit(AbsOp(x)), root))))
    return node.emit(MulOp(node.emit(SignOp(x)), size))


def _acosh(node: Node) -> SSAValue:
    x = node.operand()
    root = node.emit(SqrtOp(node.emit(SubOp(node.emit(MulOp(x, x)), node.scalar(1, x)))))
    return node.emit(LogOp(node.emit(AddOp(x, root))))


def _atanh(node: Node) -> SSAValue:
    x, one = node.operand(), node.scalar(1, node.operand())
    ratio = node.emit(DivOp(node.emit(AddOp(one, x)), node.emit(SubOp(one, x))))
    return _times(node, node.emit(LogOp(ratio)), 0.5)


HANDLERS: dict[str, Handler] = {
    "HardSwish": _hard_swish,
    "Swish": _swish,
    "Mish": _mish,
    "Selu": _selu,
    "Celu": _celu,
    "ThresholdedRelu": _thresholded_relu,
    "Shrink": _shrink,
    "Cosh": _cosh,
    "Sinh": _sinh,
    "Asinh": _asinh,
    "Acosh": _acosh,
    "Atanh": _atanh,
}
