"""Elementwise ops with one operand and parameters: activations and clip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import Float64Type, FloatAttr, LocationAttr, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def

from ..base import Code, require
from ..values import AnyTensor, Array, is_float_dtype
from .elementwise import UnaryOp
from .unary import FloatUnaryOp, erfc, sigmoid


@irdl_op_definition
class GeluOp(FloatUnaryOp):
    """x * P(X <= x) of a standard normal X; `approximate = "tanh"` takes the usual approximation by tanh."""

    name = "graph.gelu"
    INSTRUCTIONS: ClassVar[int] = 16
    CODE: ClassVar[Code] = "long"

    approximate = prop_def(StringAttr)

    def __init__(self, x: SSAValue | Operation, approximate: str = "none", location: LocationAttr | None = None):
        self._build((x,), location, approximate=approximate)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        method = self.approximate.data
        require(method in ("none", "tanh"), f'approximate is "none" or "tanh", got "{method}"')
        return super().infer_types()

    @override
    def compute(self, x: Array) -> Array:
        x = np.maximum(x, np.finfo(x.dtype).min)  # for the limit at -infinity, which is 0
        wide = x.astype(np.float64)
        if self.approximate.data == "none":
            return (x * (erfc(wide * -np.sqrt(0.5)) / 2)).astype(x.dtype)
        # (1 + tanh(u)) / 2 = sigmoid(2 u), which does not cancel
        return (x * sigmoid(np.sqrt(8 / np.pi) * (wide + 0.044715 * wide**3))).astype(x.dtype)


@irdl_op_definition
class ClipOp(UnaryOp):
    """x clamped to [min, max]; an absent limit is infinite. NaN stays NaN, and max wins where min > max."""

    name = "graph.clip"
    CODE: ClassVar[Code] = "short"

    min = opt_prop_def(FloatAttr[Float64Type])
    max = opt_prop_def(FloatAttr[Float64Type])

    def __init__(
        self,
        x: SSAValue | Operation,
        min: float | None = None,
        max: float | None = None,
        location: LocationAttr | None = None,
    ):
        self._build((x,), location, min=None if min is None else float(min), max=None if max is None else float(max))

    @override
    def compute(self, x: Array) -> Array:
        if self.min is not None:
            x = np.maximum(x, _limit(self.min.value.data, x.dtype))
        if self.max is not None:
            x = np.minimum(x, _limit(self.max.value.data, x.dtype))
        return x


def _limit(value: float, dtype: np.dtype[Any]) -> Array:
    """A limit in the element type, saturated to an integer type's range."""
    if is_float_dtype(dtype):
        return np.asarray(value, dtype)
    info = np.iinfo(dtype)
    if not info.min <= value <= info.max:
        value = info.min if value < info.min else info.max
    return np.asarray(int(value), dtype)


@irdl_op_definition
class LeakyReluOp(FloatUnaryOp):
    """x where x is at least 0, otherwise alpha * x."""

    name = "graph.leaky_relu"
    CODE: ClassVar[Code] = "short"

    alpha = prop_def(FloatAttr[Float64Type])

    def __init__(self, x: SSAValue | Operation, alpha: float = 0.01, location: LocationAttr | None = None):
        self._build((x,), location, alpha=float(alpha))

    @override
    def compute(self, x: Array) -> Array:
        return np.where(x < 0, x.dtype.type(self.alpha.value.data) * x, x)


@irdl_op_definition
class EluOp(FloatUnaryOp):
    """x where x is at least 0, otherwise alpha * (exp(x) - 1)."""

    name = "graph.elu"
    INSTRUCTIONS: ClassVar[int] = 16
    CODE: ClassVar[Code] = "long"

    alpha = prop_def(FloatAttr[Float64Type])

    def __init__(self, x: SSAValue | Operation, alpha: float = 1.0, location: LocationAttr | None = None):
        self._build((x,), location, alpha=float(alpha))

    @override
    def compute(self, x: Array) -> Array:
        return np.where(x < 0, x.dtype.type(self.alpha.value.data) * np.expm1(x), x)


@irdl_op_definition
class HardSigmoidOp(FloatUnaryOp):
    """alpha * x + beta, limited to [0, 1]."""

    name = "graph.hard_sigmoid"
    CODE: ClassVar[Code] = "short"

    alpha = prop_def(FloatAttr[Float64Type])
    beta = prop_def(FloatAttr[Float64Type])

    def __init__(
        self,
        x: SSAValue | Operation,
        alpha: float = 0.2,
        beta: float = 0.5,
        location: LocationAttr | None = None,
    ):
        self._build((x,), location, alpha=float(alpha), beta=float(beta))

    @override
    def compute(self, x: Array) -> Array:
        line = x.dtype.type(self.alpha.value.data) * x + x.dtype.type(self.beta.value.data)
        return np.minimum(np.maximum(line, x.dtype.type(0)), x.dtype.type(1))
