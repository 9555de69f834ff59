"""Elementwise operators decomposed into several graph ops."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from ....dialects.graph.ops.activation import EluOp, HardSigmoidOp
from ....dialects.graph.ops.elementwise import AddOp, DivOp, EqualOp, GreaterOp, LessOp, MulOp, SubOp, WhereOp
from ....dialects.graph.ops.unary import (
    AbsOp,
    AtanOp,
    Expm1Op,
    ExpOp,
    Log1pOp,
    LogOp,
    NegOp,
    ReciprocalOp,
    SigmoidOp,
    SiluOp,
    SoftplusOp,
    SqrtOp,
    TanhOp,
)
from ....dialects.graph.values import element_type_of_value, is_float
from ..node import Handler, Node, in_single

_EXP_ALONE = 20.0  # beyond, e^-x is below the rounding of e^x in double precision
_SQUARE_ALONE = 2.0**28  # beyond, 1 is below the rounding of x^2 in double precision


def _times(node: Node, x: SSAValue, factor: float) -> SSAValue:
    return x if factor == 1.0 else node.emit(MulOp(x, node.scalar(factor, x)))


def _hard_swish(node: Node, x: SSAValue) -> SSAValue:
    return node.emit(MulOp(x, node.emit(HardSigmoidOp(x, 1 / 6, 0.5))))


def _swish(node: Node, x: SSAValue) -> SSAValue:
    alpha = node.number("alpha", 1.0)
    if alpha == 1.0:
        return node.emit(SiluOp(x))
    return node.emit(MulOp(x, node.emit(SigmoidOp(_times(node, x, alpha)))))


def _mish(node: Node, x: SSAValue) -> SSAValue:
    return node.emit(MulOp(x, node.emit(TanhOp(node.emit(SoftplusOp(x))))))


def _selu(node: Node, x: SSAValue) -> SSAValue:
    alpha, gamma = (
        node.number("alpha", 1.67326319217681884765625),
        node.number("gamma", 1.05070102214813232421875),
    )
    return _times(node, node.emit(EluOp(x, alpha)), gamma)


def _celu(node: Node, x: SSAValue) -> SSAValue:
    """alpha * elu(x / alpha): x above zero, alpha * (exp(x / alpha) - 1) below."""
    alpha = node.number("alpha", 1.0)
    inner = x if alpha == 1.0 else node.emit(DivOp(x, node.scalar(alpha, x)))
    return _times(node, node.emit(EluOp(inner, 1.0)), alpha)


def _thresholded_relu(node: Node) -> SSAValue:
    x = node.operand()
    above = node.emit(GreaterOp(x, node.scalar(node.number("alpha", 1.0), x)))
    return node.emit(WhereOp(above, x, node.scalar(0, x)))


def _shrink(node: Node) -> SSAValue:
    """x + bias below -lambd, x - bias above lambd, else 0; both attributes are floats for any type of x."""
    given = node.operand()
    x = given if is_float(element_type_of_value(given)) else node.cast(given, f64)
    bias, limit = node.scalar(node.number("bias", 0.0), x), node.number("lambd", 0.5)
    high = node.emit(GreaterOp(x, node.scalar(limit, x)))
    low = node.emit(LessOp(x, node.scalar(-limit, x)))
    middle = node.emit(WhereOp(high, node.emit(SubOp(x, bias)), node.scalar(0, x)))
    return node.cast(node.emit(WhereOp(low, node.emit(AddOp(x, bias)), middle)), element_type_of_value(given))


def _large_cosh(node: Node, size: SSAValue) -> SSAValue:
    """e^size / 2 as (e^(size / 2) / 2) * e^(size / 2), which overflows only if the result does."""
    root = node.emit(ExpOp(_times(node, size, 0.5)))
    return node.emit(MulOp(_times(node, root, 0.5), root))


def _cosh(node: Node, x: SSAValue) -> SSAValue:
    size = node.emit(AbsOp(x))
    power = node.emit(ExpOp(size))
    small = _times(node, node.emit(AddOp(power, node.emit(ReciprocalOp(power)))), 0.5)
    return _where_above(node, size, _EXP_ALONE, _large_cosh(node, size), small)


def _sinh(node: Node, x: SSAValue) -> SSAValue:
    """(m + m / (m + 1)) / 2 for m = e^|x| - 1, without cancellation near zero, with the sign of x."""
    size, one = node.emit(AbsOp(x)), node.scalar(1, x)
    m = node.emit(Expm1Op(size))
    small = _times(node, node.emit(AddOp(m, node.emit(DivOp(m, node.emit(AddOp(m, one)))))), 0.5)
    return _signed(node, x, _where_above(node, size, _EXP_ALONE, _large_cosh(node, size), small))


def _asinh(node: Node, x: SSAValue) -> SSAValue:
    """log(|x| + sqrt(x^2 + 1)) as log1p(|x| + x^2 / (1 + sqrt(x^2 + 1))), with the sign of x."""
    size, one = node.emit(AbsOp(x)), node.scalar(1, x)
    square = node.emit(MulOp(size, size))
    root = node.emit(AddOp(one, node.emit(SqrtOp(node.emit(AddOp(square, one))))))
    small = node.emit(Log1pOp(node.emit(AddOp(size, node.emit(DivOp(square, root))))))
    return _signed(node, x, _where_above(node, size, _SQUARE_ALONE, _log_of_double(node, size), small))


def _acosh(node: Node, x: SSAValue) -> SSAValue:
    """log(x + sqrt(x^2 - 1)) as log1p(t + sqrt(t (t + 2))) for t = x - 1."""
    t = node.emit(SubOp(x, node.scalar(1, x)))
    square = node.emit(MulOp(t, node.emit(AddOp(t, node.scalar(2, x)))))
    small = node.emit(Log1pOp(node.emit(AddOp(t, node.emit(SqrtOp(square))))))
    result = _where_above(node, x, _SQUARE_ALONE, _log_of_double(node, x), small)
    return node.emit(WhereOp(node.emit(LessOp(x, node.scalar(1, x))), node.scalar(math.nan, x), result))


def _atanh(node: Node, x: SSAValue) -> SSAValue:
    """log((1 + x) / (1 - x)) / 2 as log1p(2 |x| / (1 - |x|)) / 2, with the sign of x."""
    size = node.emit(AbsOp(x))
    ratio = node.emit(DivOp(node.emit(AddOp(size, size)), node.emit(SubOp(node.scalar(1, x), size))))
    return _signed(node, x, _times(node, node.emit(Log1pOp(ratio)), 0.5))


def _asin(node: Node, x: SSAValue) -> SSAValue:
    """atan(x / sqrt((1 - x) (1 + x)))"""
    one = node.scalar(1, x)
    square = node.emit(MulOp(node.emit(SubOp(one, x)), node.emit(AddOp(one, x))))
    return node.emit(AtanOp(node.emit(DivOp(x, node.emit(SqrtOp(square))))))


def _acos(node: Node, x: SSAValue) -> SSAValue:
    """2 atan(sqrt((1 - x) / (1 + x)))"""
    one = node.scalar(1, x)
    ratio = node.emit(DivOp(node.emit(SubOp(one, x)), node.emit(AddOp(one, x))))
    half = node.emit(AtanOp(node.emit(SqrtOp(ratio))))
    return node.emit(AddOp(half, half))


def _log_of_double(node: Node, x: SSAValue) -> SSAValue:
    return node.emit(AddOp(node.emit(LogOp(x)), node.scalar(math.log(2), x)))


def _where_above(node: Node, x: SSAValue, limit: float, above: SSAValue, below: SSAValue) -> SSAValue:
    return node.emit(WhereOp(node.emit(GreaterOp(x, node.scalar(limit, x))), above, below))


def _signed(node: Node, x: SSAValue, size: SSAValue) -> SSAValue:
    """`size` with the sign of x; `size` must be 0 where x is."""
    negative = node.emit(LessOp(x, node.scalar(0, x)))
    result = node.emit(WhereOp(negative, node.emit(NegOp(size)), size))
    return node.emit(WhereOp(node.emit(EqualOp(x, node.scalar(0, x))), x, result))


HANDLERS: dict[str, Handler] = {
    "HardSwish": in_single(_hard_swish),
    "Swish": in_single(_swish),
    "Mish": in_single(_mish),
    "Selu": in_single(_selu),
    "Celu": in_single(_celu),
    "ThresholdedRelu": _thresholded_relu,
    "Shrink": _shrink,
    "Acos": in_single(_acos),
    "Asin": in_single(_asin),
    "Cosh": in_single(_cosh),
    "Sinh": in_single(_sinh),
    "Asinh": in_single(_asinh),
    "Acosh": in_single(_acosh),
    "Atanh": in_single(_atanh),
}
