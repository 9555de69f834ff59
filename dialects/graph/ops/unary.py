"""Elementwise ops with one operand."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import (
    IntegerType,
    i1,
)
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition

from ..base import Code, require, require_computed
from ..values import (
    AnyTensor,
    Array,
    is_float,
    tensor,
)
from .elementwise import Unary, UnaryOp, rounded

ERF_STEP = 1 / 64  # distance of the expansion points of erf's Taylor series
ERF_END = 6.0  # from here on, erf is 1 in double precision
ERF_TERMS = 8  # the next term is below the rounding of double precision


@lru_cache(maxsize=1)
def _erf_series() -> Array:
    """The Taylor coefficients of erf at all multiples of ERF_STEP up to ERF_END: [ERF_TERMS, points]."""
    points = np.arange(0, ERF_END + ERF_STEP, ERF_STEP)
    # The derivative g = 2 / sqrt(pi) exp(-x^2) has g' = -2 x g: its next coefficient follows from two.
    derivative = [2 / np.sqrt(np.pi) * np.exp(-points * points)]
    derivative.append(-2 * points * derivative[0])
    for order in range(2, ERF_TERMS):
        derivative.append(-2 * (points * derivative[-1] + derivative[-2]) / order)
    values = np.array([math.erf(point) for point in points])
    return np.stack([values] + [term / order for order, term in enumerate(derivative[:-1], 1)])


def erf(x: Array) -> Array:
    """The error function: in double precision, by the Taylor series at the nearest point; typed as `x`."""
    size = np.minimum(np.abs(x.astype(np.float64)), ERF_END)
    at = np.rint(np.nan_to_num(size) / ERF_STEP).astype(np.int64)
    distance = size - at * ERF_STEP
    *lower, result = (coefficients[at] for coefficients in _erf_series())
    for term in reversed(lower):
        result = result * distance + term
    return np.copysign(result, x.astype(np.float64)).astype(x.dtype)


def erfc(x: Array) -> Array:
    """1 - erf(x) without cancellation, in double precision."""
    wide = x.astype(np.float64)
    result = np.array(1 - erf(wide))
    tail = wide > 0.5  # where the difference cancels
    result[tail] = [math.erfc(value) for value in wide[tail]]
    return result


class FloatUnaryOp(UnaryOp, ABC):
    """Defined for floats only."""

    @override
    def check(self, element_type: Attribute) -> None:
        require(is_float(element_type), f"needs a float type, got {element_type}")

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        """Computes f32 in f64: numpy's f32 functions vary by CPU, and folded constants must not."""
        (x,) = arrays
        (result,) = super().evaluate(x.astype(np.float64) if x.dtype == np.float32 else x)
        with np.errstate(all="ignore"):
            return (rounded(result, x),)


class FloatTestOp(FloatUnaryOp, ABC):
    """A predicate on floats; the result is boolean."""

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        (type,) = super().infer_types()
        return [tensor(i1, type.get_shape())]


@irdl_op_definition
class NegOp(UnaryOp):
    """-x"""

    name = "graph.neg"
    FUNCTION: ClassVar[Unary] = np.negative
    CODE: ClassVar[Code] = "short"


@irdl_op_definition
class AbsOp(UnaryOp):
    """The absolute value of x."""

    name = "graph.abs"
    FUNCTION: ClassVar[Unary] = np.abs
    CODE: ClassVar[Code] = "short"


@irdl_op_definition
class SignOp(UnaryOp):
    """The sign of x as -1, 0 or 1; NaN stays NaN."""

    name = "graph.sign"
    FUNCTION: ClassVar[Unary] = np.sign


@irdl_op_definition
class ReluOp(UnaryOp):
    """max(x, 0); NaN stays NaN."""

    name = "graph.relu"
    CODE: ClassVar[Code] = "short"

    @override
    def compute(self, x: Array) -> Array:
        return np.maximum(x, np.zeros((), x.dtype))


@irdl_op_definition
class NotOp(UnaryOp):
    """The negation of a boolean, or the complement of an integer's bits."""

    name = "graph.not"
    FUNCTION: ClassVar[Unary] = np.invert

    @override
    def check(self, element_type: Attribute) -> None:
        require_computed(element_type)
        require(isinstance(element_type, IntegerType), f"needs booleans or integers, got {element_type}")


@irdl_op_definition
class ExpOp(FloatUnaryOp):
    """e to the x"""

    name = "graph.exp"
    FUNCTION: ClassVar[Unary] = np.exp
    INSTRUCTIONS: ClassVar[int] = 16
    CODE: ClassVar[Code] = "long"


@irdl_op_definition
class Expm1Op(FloatUnaryOp):
    """e to the x, minus 1, accurate near 0."""

    name = "graph.expm1"
    FUNCTION: ClassVar[Unary] = np.expm1


@irdl_op_definition
class LogOp(FloatUnaryOp):
    """The natural logarithm of x."""

    name = "graph.log"
    FUNCTION: ClassVar[Unary] = np.log
    INSTRUCTIONS: ClassVar[int] = 16
    CODE: ClassVar[Code] = "long"


@irdl_op_definition
class Log1pOp(FloatUnaryOp):
    """The natural logarithm of 1 + x, accurate near 0."""

    name = "graph.log1p"
    FUNCTION: ClassVar[Unary] = np.log1p


@irdl_op_definition
class SqrtOp(FloatUnaryOp):
    """The square root of x."""

    name = "graph.sqrt"
    FUNCTION: ClassVar[Unary] = np.sqrt
    INSTRUCTIONS: ClassVar[int] = 4


@irdl_op_definition
class RsqrtOp(FloatUnaryOp):
    """1 / sqrt(x)"""

    name = "graph.rsqrt"

    @override
    def compute(self, x: Array) -> Array:
        return np.ones((), x.dtype) / np.sqrt(x)


@irdl_op_definition
class ReciprocalOp(FloatUnaryOp):
    """1 / x"""

    name = "graph.reciprocal"

    @override
    def compute(self, x: Array) -> Array:
        return np.ones((), x.dtype) / x


@irdl_op_definition
class ErfOp(FloatUnaryOp):
    """The error function."""

    name = "graph.erf"
    FUNCTION: ClassVar[Unary] = erf
    INSTRUCTIONS: ClassVar[int] = 16
    CODE: ClassVar[Code] = "long"


@irdl_op_definition
class TanhOp(FloatUnaryOp):
    """The hyperbolic tangent of x."""

    name = "graph.tanh"
    FUNCTION: ClassVar[Unary] = np.tanh
    INSTRUCTIONS: ClassVar[int] = 16
    CODE: ClassVar[Code] = "long"


@irdl_op_definition
class SinOp(FloatUnaryOp):
    """The sine of x radians."""

    name = "graph.sin"
    FUNCTION: ClassVar[Unary] = np.sin
    INSTRUCTIONS: ClassVar[int] = 16
    CODE: ClassVar[Code] = "long"


@irdl_op_definition
class CosOp(FloatUnaryOp):
    """The cosine of x radians."""

    name = "graph.cos"
    FUNCTION: ClassVar[Unary] = np.cos
    INSTRUCTIONS: ClassVar[int] = 16
    CODE: ClassVar[Code] = "long"


@irdl_op_definition
class TanOp(FloatUnaryOp):
    """The tangent of x radians."""

    name = "graph.tan"
    FUNCTION: ClassVar[Unary] = np.tan
    INSTRUCTIONS: ClassVar[int] = 40


@irdl_op_definition
class FloorOp(FloatUnaryOp):
    """x rounded down."""

    name = "graph.floor"
    FUNCTION: ClassVar[Unary] = np.floor


@irdl_op_definition
class CeilOp(FloatUnaryOp):
    """x rounded up."""

    name = "graph.ceil"
    FUNCTION: ClassVar[Unary] = np.ceil


@irdl_op_definition
class RoundOp(FloatUnaryOp):
    """x rounded to the nearest integer, ties to even."""

    name = "graph.round"
    FUNCTION: ClassVar[Unary] = np.rint


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), without overflow on either side."""
    one = np.ones((), x.dtype)
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, one) / (one + small)


@irdl_op_definition
class SigmoidOp(FloatUnaryOp):
    """1 / (1 + exp(-x))"""

    name = "graph.sigmoid"
    FUNCTION: ClassVar[Unary] = sigmoid
    INSTRUCTIONS: ClassVar[int] = 16
    CODE: ClassVar[Code] = "long"


@irdl_op_definition
class SiluOp(FloatUnaryOp):
    """x * sigmoid(x), also called swish."""

    name = "graph.silu"
    CODE: ClassVar[Code] = "long"

    @override
    def compute(self, x: Array) -> Array:
        return x * sigmoid(x)


@irdl_op_definition
class AtanOp(FloatUnaryOp):
    """The arc tangent of x in radians, between -pi/2 and pi/2."""

    name = "graph.atan"
    FUNCTION: ClassVar[Unary] = np.arctan
    INSTRUCTIONS: ClassVar[int] = 20


@irdl_op_definition
class SoftplusOp(FloatUnaryOp):
    """log(1 + exp(x))"""

    name = "graph.softplus"
    INSTRUCTIONS: ClassVar[int] = 16

    @override
    def compute(self, x: Array) -> Array:
        return np.maximum(x, np.zeros((), x.dtype)) + np.log1p(np.exp(-np.abs(x)))


@irdl_op_definition
class SoftsignOp(FloatUnaryOp):
    """x / (1 + |x|)"""

    name = "graph.softsign"

    @override
    def compute(self, x: Array) -> Array:
        return x / (np.ones((), x.dtype) + np.abs(x))


@irdl_op_definition
class IsNanOp(FloatTestOp):
    """Whether x is NaN."""

    name = "graph.is_nan"
    FUNCTION: ClassVar[Unary] = np.isnan


@irdl_op_definition
class IsInfOp(FloatTestOp):
    """Whether x is infinite, of either sign."""

    name = "graph.is_inf"
    FUNCTION: ClassVar[Unary] = np.isinf
