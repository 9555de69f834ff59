"""Quantisation of floats to small integers with scale and zero point, and dequantisation.

Scale and zero point broadcast as in numpy, so one op covers per-tensor, per-axis and per-block quantisation. Quotients
and products are rounded to the scale's type, which the import selects by ONNX's rules (`precision`, `output_dtype`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import IntegerType, LocationAttr, Signedness, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from ...sizes.sizes import equal_shapes
from ..base import Code, ElementwiseOp, broadcast, require, require_float, require_same_element_type
from ..values import AnyTensor, Array, element_type_of_value, numpy_dtype, shape_of, tensor, widened

MOST_BITS = 16  # of a quantised number: quotient, zero point and limits are exact in float32


def is_quantized(element_type: Attribute) -> bool:
    """Whether an element type may hold quantised numbers."""
    return isinstance(element_type, IntegerType) and element_type != i1


def integer_range(element_type: Attribute) -> tuple[int, int]:
    """The least and the largest number of an integer type."""
    integer = cast("IntegerType[int]", element_type)
    bits, unsigned = integer.width.data, integer.signedness.data == Signedness.UNSIGNED
    return (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


class _QuantizationOp(ElementwiseOp):
    """The common part: x, a scale, and an optional zero point of the integer type."""

    CODE: ClassVar[Code] = "short"

    x = operand_def()
    scale = operand_def()
    zero_point = opt_operand_def()
    result = result_def()

    def check(self, element_type: Attribute) -> None:
        """Raises VerifyException unless it is a quantised integer type."""
        require(is_quantized(element_type), f"quantised numbers are integers, got {element_type}")
        if self.zero_point is not None:
            given = element_type_of_value(self.zero_point)
            require(given == element_type, f"a zero point of type {given} for numbers of type {element_type}")

    def broadcast_shape(self) -> tuple[int, ...]:
        """The shape of x, to which scale and zero point must broadcast."""
        shape = broadcast(*map(shape_of, self.operands))
        require(
            equal_shapes(shape, shape_of(self.x)),
            f"a scale or zero point makes {list(shape)} of {list(shape_of(self.x))}",
        )
        return shape


@irdl_op_definition
class QuantizeOp(_QuantizationOp):
    """x / scale, rounded to nearest even, plus the zero point, saturated to the type `to`; NaN gives its minimum."""

    name = "graph.quantize"

    to = prop_def(Attribute)

    def __init__(
        self,
        x: SSAValue | Operation,
        scale: SSAValue | Operation,
        zero_point: SSAValue | Operation | None,
        to: Attribute,
        location: LocationAttr | None = None,
    ):
        self._build((x, scale, zero_point), location, to=to)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_float(self.x)
        require_same_element_type(self.x, self.scale)
        self.check(self.to)
        bits = numpy_dtype(self.to).itemsize * 8
        require(bits <= MOST_BITS, f"numbers are quantised to at most {MOST_BITS} bits, not {bits}")
        return [tensor(self.to, self.broadcast_shape())]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x, scale = arrays[:2]
        low, high = integer_range(self.to)
        with np.errstate(all="ignore"):
            steps = np.rint(widened((widened(x) / widened(scale)).astype(x.dtype)))
            if len(arrays) == 3:
                steps = steps + arrays[2].astype(steps.dtype)
            limited = np.clip(np.nan_to_num(steps, nan=low), low, high)
        return (limited.astype(numpy_dtype(self.to)),)


@irdl_op_definition
class DequantizeOp(_QuantizationOp):
    """(x - zero point) * scale, in the type of the scale."""

    name = "graph.dequantize"

    def __init__(
        self,
        x: SSAValue | Operation,
        scale: SSAValue | Operation,
        zero_point: SSAValue | Operation | None = None,
        location: LocationAttr | None = None,
    ):
        self._build((x, scale, zero_point), location)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_float(self.scale, "scale")
        self.check(element_type_of_value(self.x))
        return [tensor(element_type_of_value(self.scale), self.broadcast_shape())]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x, scale = arrays[0], widened(arrays[1])
        steps = x.astype(scale.dtype)
        with np.errstate(all="ignore"):
            if len(arrays) == 3:
                steps = steps - arrays[2].astype(scale.dtype)
            return ((steps * scale).astype(arrays[1].dtype),)
