"""C++ spelling of types and constants.

Integers of the IR are signless: they are stored in signed types, and functions of the prelude reinterpret them. 16-bit
floats are structs of their bits; storage-only types (dialects/graph/narrow_types.py) are i8.
"""

from __future__ import annotations

import math
from typing import cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    VectorType,
    i1,
)
from xdsl.ir import Attribute

from ...dialects.errors import CompileError
from ...dialects.graph.narrow_types import is_narrow, is_narrow_float, packed_bits
from .expressions import Expression, Lanes, Precedence, Value, call, depends_of, literal, unary

_LEAST_PLAIN, _MOST_PLAIN = 1e-4, 1e9  # numbers outside are written in scientific notation
_INTEGERS = {1: "bool", 8: "i8", 16: "i16", 32: "int", 64: "i64"}


def element_of(type: Attribute) -> Attribute:
    """The element type of a vector type; any other type unchanged."""
    return cast("VectorType[Attribute]", type).element_type if isinstance(type, VectorType) else type


def lanes_of(type: Attribute) -> int | None:
    """The number of lanes of a one-dimensional vector type; None for a scalar."""
    if not isinstance(type, VectorType):
        return None
    shape = cast("VectorType[Attribute]", type).get_shape()
    if len(shape) != 1:
        raise CompileError(f"{type}: only one-dimensional vectors are supported in CUDA C++")
    return shape[0]


def is_half(type: Attribute) -> bool:
    """Whether the type is a 16-bit float."""
    return isinstance(element_of(type), Float16Type | BFloat16Type)


def narrow_bits(type: Attribute) -> int | None:
    """The width of an integer type below 8 bits, stored in the low bits of an i8; None for other types."""
    element = element_of(type)
    return None if is_narrow_float(element) or not is_narrow(element) else packed_bits(element)


def is_truth(type: Attribute) -> bool:
    """Whether the type is a boolean."""
    return element_of(type) == i1


class Types:
    """The spelling of types; `wide`: index is a 64-bit type."""

    def __init__(self, wide: bool) -> None:
        self.index = "i64" if wide else "int"

    def spelled(self, type: Attribute) -> str:
        """The C++ type of a value. Raises CompileError for an unsupported type."""
        match type:
            case IndexType():
                return self.index
            case IntegerType() if type.width.data in _INTEGERS:
                return _INTEGERS[type.width.data]
            case Float16Type():
                return "f16"
            case BFloat16Type():
                return "bf16"
            case Float32Type():
                return "float"
            case Float64Type():
                return "double"
            case _ if is_narrow(type):
                return "i8"
            case VectorType():
                return f"vec<{self.spelled(element_of(type))}, {lanes_of(type)}>"
            case _:
                raise CompileError(f"{type} has no counterpart in CUDA C++")

    def stored(self, type: Attribute) -> str:
        """The type in memory, where booleans are bytes."""
        return "u8" if type == i1 else self.spelled(type)

    def constant(self, value: Attribute, type: Attribute) -> Value:
        """A scalar or vector constant."""
        element = element_of(type)
        if isinstance(value, IntegerAttr | FloatAttr):
            return self.number(cast("FloatAttr", value).value.data, element)
        assert isinstance(value, DenseIntOrFPElementsAttr)
        numbers = [self.number(cast("float", each), element) for each in value.get_values()]
        if value.is_splat():
            return Lanes(at=lambda _: numbers[0])
        return braces(self.spelled(type), numbers)

    def number(self, value: float, element: Attribute) -> Expression:
        """A constant of a scalar type."""
        match element:
            case Float64Type():
                number = _float(value, np.float64(value), "")
                return number if math.isfinite(value) else call("double", number)
            case Float32Type():
                return _float(value, np.float32(value), "f")
            case Float16Type() | BFloat16Type():
                kind = np.float16 if isinstance(element, Float16Type) else ml_dtypes.bfloat16
                bits = int(np.array(value, kind).view(np.uint16))
                return Expression(f"{self.spelled(element)}{{{bits:#06x}}}")
            case _ if is_truth(element):
                return Expression("true" if value else "false", number=int(value != 0))
            case _:
                return self._integer(int(value), self.spelled(element))

    def _integer(self, value: int, type: str) -> Expression:
        if type == "int":
            return literal(_signed(value, 32))
        if type == "i64":
            value = _signed(value, 64)
            text = f"{value}LL" if value != -(2**63) else "(-9223372036854775807LL - 1)"
            return Expression(text, Precedence.UNARY if value < 0 else Precedence.ATOM, number=value)
        value = _signed(value, int(type[1:]))
        return Expression(f"{type}({value})", Precedence.CALL, number=value)


def braces(type: str, lanes: list[Expression]) -> Lanes:
    """`vec<float, 2>{a, b}`"""
    text = f"{type}{{{', '.join(each.text for each in lanes)}}}"
    return Lanes(whole=Expression(text, Precedence.CALL, depends_of(lanes)))


def _signed(value: int, bits: int) -> int:
    """The low bits of `value` as a signed number."""
    return (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def _float(value: float, rounded: np.floating, suffix: str) -> Expression:
    """The shortest decimal text that rounds to the number."""
    if math.isnan(value):
        return call("not_a_number")
    if np.isinf(rounded):
        return call("infinity") if value > 0 else unary("-", call("infinity"))
    if rounded == 0 or _LEAST_PLAIN <= abs(rounded) < _MOST_PLAIN:
        text = np.format_float_positional(rounded, trim="0")
    else:
        text = np.format_float_scientific(rounded, trim="-", exp_digits=1)
    return Expression(text + suffix, Precedence.UNARY if text.startswith("-") else Precedence.ATOM)
