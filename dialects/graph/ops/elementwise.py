"""Elementwise ops with two and three operands, and the base classes of all elementwise ops.

Operands broadcast as in numpy. Floats follow IEEE 754, with 16-bit ones computed in float32 and rounded once per op;
integers wrap around.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import IntegerType, LocationAttr, UnitAttr, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..base import Code, ElementwiseOp, broadcast, require, require_computed, require_number, require_same_element_type
from ..values import (
    AnyTensor,
    Array,
    element_type_of_value,
    is_bool,
    is_float_dtype,
    shape_of,
    tensor,
    type_of,
    widened,
)


def is_integer_dtype(array: Array) -> bool:
    """Whether an array holds signed or unsigned integers (not booleans)."""
    return array.dtype.kind in "iu"


def rounded(result: Array, like: Array) -> Array:
    """A result computed on widened arrays, converted back to their type if it is a float."""
    return result.astype(like.dtype) if is_float_dtype(like.dtype) and is_float_dtype(result.dtype) else result


Unary: TypeAlias = "Callable[[Array], Array]"
Binary: TypeAlias = "Callable[[Array, Array], Array]"


class UnaryOp(ElementwiseOp, ABC):
    """One operand; the result has its shape and, unless a subclass overrides it, its type."""

    FUNCTION: ClassVar[Unary]
    """The function of an array, where a subclass doesn't state `compute` instead."""

    x = operand_def()
    result = result_def()

    def __init__(self, x: SSAValue | Operation, location: LocationAttr | None = None):
        self._build((x,), location)

    def compute(self, x: Array) -> Array:
        """The function on an array."""
        return type(self).FUNCTION(x)

    def check(self, element_type: Attribute) -> None:
        """Raises VerifyException for unsupported element types: by default, those without arithmetic."""
        require_number(element_type)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        type = type_of(self.x)
        self.check(type.element_type)
        return [type]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        (x,) = arrays
        with np.errstate(all="ignore"):
            return (rounded(self.compute(widened(x)), x),)


class BinaryOp(ElementwiseOp, ABC):
    """Two broadcasting operands of one element type, which is the result's unless overridden."""

    FUNCTION: ClassVar[Binary]
    """The function of two arrays, where a subclass doesn't state `compute` instead."""

    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation, location: LocationAttr | None = None):
        self._build((lhs, rhs), location)

    def compute(self, a: Array, b: Array) -> Array:
        """The function on broadcasting arrays."""
        return type(self).FUNCTION(a, b)

    def check(self, element_type: Attribute) -> None:
        """Raises VerifyException for unsupported element types: by default, those without arithmetic."""
        require_number(element_type)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_same_element_type(self.lhs, self.rhs)
        element_type = element_type_of_value(self.lhs)
        self.check(element_type)
        return [tensor(element_type, broadcast(shape_of(self.lhs), shape_of(self.rhs)))]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        a, b = arrays
        with np.errstate(all="ignore"):
            return (rounded(self.compute(widened(a), widened(b)), a),)


@irdl_op_definition
class AddOp(BinaryOp):
    """a + b"""

    name = "graph.add"
    FUNCTION: ClassVar[Binary] = np.add
    CODE: ClassVar[Code] = "short"


@irdl_op_definition
class SubOp(BinaryOp):
    """a - b"""

    name = "graph.sub"
    FUNCTION: ClassVar[Binary] = np.subtract
    CODE: ClassVar[Code] = "short"


@irdl_op_definition
class MulOp(BinaryOp):
    """a * b"""

    name = "graph.mul"
    FUNCTION: ClassVar[Binary] = np.multiply
    CODE: ClassVar[Code] = "short"


@irdl_op_definition
class DivOp(BinaryOp):
    """a / b; integer division truncates toward zero."""

    name = "graph.div"
    INSTRUCTIONS: ClassVar[int] = 4

    @override
    def compute(self, a: Array, b: Array) -> Array:
        if not is_integer_dtype(a):
            return a / b
        quotient = a // b
        inexact_below_zero = (np.remainder(a, b) != 0) & ((a < 0) != (b < 0))
        return (quotient + inexact_below_zero).astype(a.dtype)


def _power(a: Array, exponent: Array) -> Array:
    """Integer powers with wrap-around; the exponents may have a wider type."""
    result = np.ones(np.broadcast_shapes(a.shape, exponent.shape), a.dtype)
    while exponent.any():
        result = np.where(exponent % 2, result * a, result)
        a, exponent = a * a, exponent // 2
    return result


@irdl_op_definition
class PowOp(BinaryOp):
    """a to the b, in the type of a; the exponent may have another type. 0 to a negative integer is 0."""

    name = "graph.pow"
    INSTRUCTIONS: ClassVar[int] = 40
    CODE: ClassVar[Code] = "long"

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        element_type = element_type_of_value(self.lhs)
        self.check(element_type)
        self.check(element_type_of_value(self.rhs))
        return [tensor(element_type, broadcast(shape_of(self.lhs), shape_of(self.rhs)))]

    @override
    def compute(self, a: Array, b: Array) -> Array:
        if is_integer_dtype(a) and is_integer_dtype(b):
            inverses = np.where(np.abs(a.astype(np.float64)) == 1, np.where(b % 2, a, a * a), 0)
            return np.where(b < 0, inverses, _power(a, np.maximum(b, 0))).astype(a.dtype)
        if is_integer_dtype(a):
            return np.power(a.astype(np.float64), b).astype(a.dtype)
        return np.power(a, b.astype(a.dtype))


@irdl_op_definition
class MinOp(BinaryOp):
    """The minimum of a and b; NaN if either is NaN."""

    name = "graph.min"
    FUNCTION: ClassVar[Binary] = np.minimum
    CODE: ClassVar[Code] = "short"


@irdl_op_definition
class MaxOp(BinaryOp):
    """The maximum of a and b; NaN if either is NaN."""

    name = "graph.max"
    FUNCTION: ClassVar[Binary] = np.maximum
    CODE: ClassVar[Code] = "short"


@irdl_op_definition
class ModOp(BinaryOp):
    """The remainder of a / b, with the sign of b; with `fmod`, with the sign of a."""

    name = "graph.mod"

    fmod = opt_prop_def(UnitAttr)

    def __init__(
        self,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        fmod: bool = False,
        location: LocationAttr | None = None,
    ):
        self._build((lhs, rhs), location, fmod=fmod)

    @override
    def compute(self, a: Array, b: Array) -> Array:
        return np.fmod(a, b) if self.fmod is not None else np.remainder(a, b)


@irdl_op_definition
class PreluOp(BinaryOp):
    """a where a is at least 0, otherwise a * b (b is the slope)."""

    name = "graph.prelu"

    @override
    def compute(self, a: Array, b: Array) -> Array:
        return np.where(a < 0, a * b, a)


class BitwiseOp(BinaryOp, ABC):
    """Acts on booleans, or bitwise on integers."""

    @override
    def check(self, element_type: Attribute) -> None:
        require_computed(element_type)
        require(isinstance(element_type, IntegerType), f"needs booleans or integers, got {element_type}")


@irdl_op_definition
class AndOp(BitwiseOp):
    """a and b"""

    name = "graph.and"
    FUNCTION: ClassVar[Binary] = np.bitwise_and


@irdl_op_definition
class OrOp(BitwiseOp):
    """a or b"""

    name = "graph.or"
    FUNCTION: ClassVar[Binary] = np.bitwise_or


@irdl_op_definition
class XorOp(BitwiseOp):
    """Exclusive or."""

    name = "graph.xor"
    FUNCTION: ClassVar[Binary] = np.bitwise_xor


class ShiftOp(BinaryOp, ABC):
    """Shifts the bits of integers by b places; a negative or too large b shifts all of them out."""

    @override
    def check(self, element_type: Attribute) -> None:
        require_number(element_type)
        require(isinstance(element_type, IntegerType), f"needs integers, got {element_type}")

    @override
    def compute(self, a: Array, b: Array) -> Array:
        inside = (b >= 0) & (b < 8 * a.dtype.itemsize)
        return np.where(inside, self.moved(a, np.where(inside, b, 0)), self.emptied(a)).astype(a.dtype)

    @abstractmethod
    def moved(self, a: Array, b: Array) -> Array:
        """The shift by an amount in range."""

    @abstractmethod
    def emptied(self, a: Array) -> Array:
        """The result when all bits are shifted out."""


@irdl_op_definition
class ShiftLeftOp(ShiftOp):
    """Left shift; zeros are shifted in."""

    name = "graph.shift_left"

    @override
    def moved(self, a: Array, b: Array) -> Array:
        return np.left_shift(a, b)

    @override
    def emptied(self, a: Array) -> Array:
        return np.zeros_like(a)


@irdl_op_definition
class ShiftRightOp(ShiftOp):
    """Right shift: arithmetic for signed integers, logical for unsigned ones."""

    name = "graph.shift_right"

    @override
    def moved(self, a: Array, b: Array) -> Array:
        return np.right_shift(a, b)

    @override
    def emptied(self, a: Array) -> Array:
        return np.where(a < 0, -1, 0) if a.dtype.kind == "i" else np.zeros_like(a)


class ComparisonOp(BinaryOp, ABC):
    """The result is boolean; comparisons with NaN are false."""

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        (type,) = super().infer_types()
        return [tensor(i1, type.get_shape())]


@irdl_op_definition
class EqualOp(ComparisonOp):
    """a == b; also defined on booleans."""

    name = "graph.equal"
    FUNCTION: ClassVar[Binary] = np.equal

    @override
    def check(self, element_type: Attribute) -> None:
        require_computed(element_type)


@irdl_op_definition
class LessOp(ComparisonOp):
    """a < b"""

    name = "graph.less"
    FUNCTION: ClassVar[Binary] = np.less


@irdl_op_definition
class LessEqualOp(ComparisonOp):
    """a <= b"""

    name = "graph.less_equal"
    FUNCTION: ClassVar[Binary] = np.less_equal


@irdl_op_definition
class GreaterOp(ComparisonOp):
    """a > b"""

    name = "graph.greater"
    FUNCTION: ClassVar[Binary] = np.greater


@irdl_op_definition
class GreaterEqualOp(ComparisonOp):
    """a >= b"""

    name = "graph.greater_equal"
    FUNCTION: ClassVar[Binary] = np.greater_equal


@irdl_op_definition
class WhereOp(ElementwiseOp):
    """a where the condition holds, b elsewhere."""

    name = "graph.where"

    condition = operand_def()
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    def __init__(
        self,
        condition: SSAValue | Operation,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        location: LocationAttr | None = None,
    ):
        self._build((condition, lhs, rhs), location)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        if not is_bool(element_type_of_value(self.condition)):
            raise VerifyException(f"the condition must be i1, got {element_type_of_value(self.condition)}")
        require_same_element_type(self.lhs, self.rhs)
        shape = broadcast(shape_of(self.condition), shape_of(self.lhs), shape_of(self.rhs))
        return [tensor(element_type_of_value(self.lhs), shape)]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        condition, a, b = arrays
        return (np.where(condition, a, b),)
