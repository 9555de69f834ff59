"""Activations of recurrent cells, for scalars or vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.ir import SSAValue

from ...dialects.graph.ops.cell_activations import Activation
from .arithmetic import Arithmetic


def activation(m: Arithmetic, function: Activation, x: SSAValue) -> SSAValue:
    """The function of x."""
    return _CODE[function.name](m, x, function.alpha, function.beta)


def _sigmoid(m: Arithmetic, x: SSAValue, _: float, __: float) -> SSAValue:
    """1 / (1 + exp(-x))"""
    one = m.constant(1.0)
    return m.div(one, m.add(one, m.unary("exp", m.neg(x))))


def _affine(m: Arithmetic, x: SSAValue, alpha: float, beta: float) -> SSAValue:
    return m.add(m.mul(x, m.constant(alpha)), m.constant(beta))


def _hard_sigmoid(m: Arithmetic, x: SSAValue, alpha: float, beta: float) -> SSAValue:
    return m.min(m.max(_affine(m, x, alpha, beta), m.constant(0.0)), m.constant(1.0))


def _elu(m: Arithmetic, x: SSAValue, alpha: float, _: float) -> SSAValue:
    """x, or alpha (exp(x) - 1) for negative x, clamped so that exp doesn't overflow."""
    below = m.mul(m.unary("expm1", m.min(x, m.constant(0.0))), m.constant(alpha))
    return m.select(m.compare("ge", x, m.constant(0.0)), x, below)


def _leaky_relu(m: Arithmetic, x: SSAValue, alpha: float, _: float) -> SSAValue:
    return m.select(m.compare("ge", x, m.constant(0.0)), x, m.mul(x, m.constant(alpha)))


def _thresholded_relu(m: Arithmetic, x: SSAValue, alpha: float, _: float) -> SSAValue:
    """x for x >= alpha, else 0; NaN stays NaN."""
    return m.select(m.compare("ge", x, m.constant(alpha)), x, m.mul(x, m.constant(0.0)))


def _softplus(m: Arithmetic, x: SSAValue, _: float, __: float) -> SSAValue:
    """log(1 + exp(x)) as max(x, 0) + log1p(exp(-|x|)), which overflows only if x is infinite."""
    rest = m.unary("log1p", m.unary("exp", m.neg(m.abs(x))))
    return m.add(m.max(x, m.constant(0.0)), rest)


_CODE: Mapping[str, Callable[[Arithmetic, SSAValue, float, float], SSAValue]] = {
    "affine": _affine,
    "elu": _elu,
    "hard_sigmoid": _hard_sigmoid,
    "leaky_relu": _leaky_relu,
    "relu": lambda m, x, _, __: m.max(x, m.constant(0.0)),
    "scaled_tanh": lambda m, x, alpha, beta: m.mul(m.unary("tanh", m.mul(x, m.constant(beta))), m.constant(alpha)),
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "softsign": lambda m, x, _, __: m.div(x, m.add(m.constant(1.0), m.abs(x))),
    "tanh": lambda m, x, _, __: m.unary("tanh", x),
    "thresholded_relu": _thresholded_relu,
}
