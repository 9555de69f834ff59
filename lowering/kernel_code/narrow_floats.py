"""Floats of 8 bits and less, stored as bytes: conversion from and to f32 by integer arithmetic.

The format of each (bits of exponent and mantissa, bias, encoding of NaN and infinity) is taken from xDSL's type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    Float8E8M0FNUType,
    FloatNanEncoding,
    FloatNonfiniteBehavior,
    FloatSemantics,
    ReducedPrecisionFloatType,
    f32,
    i8,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.extensions.arith import CmpfOp, CmpiOp, ExtUIOp, SelectOp, TruncIOp
from ...dialects.extensions.replace import shaped_like
from .loop_builder import LoopBuilder

_MANTISSA, _BIAS = 23, 127  # of f32
_MAGNITUDE, _INFINITY, _NAN = 0x7FFFFFFF, 0x7F800000, 0x7FC00000
_LEAST_POWER = 0x00400000  # 2^-127, the one power of two of f8E8M0FNU that is subnormal in f32

_Maker: TypeAlias = "Callable[[SSAValue, SSAValue], Operation]"


class _Bits:
    """Arithmetic on the bits of f32, scalar or vector."""

    def __init__(self, b: LoopBuilder, like: SSAValue) -> None:
        self.b = b
        self.integers = shaped_like(i32, like.type)
        self.floats = shaped_like(f32, like.type)

    def number(self, value: int) -> SSAValue:
        return self.b.constant(value, self.integers)

    def do(self, operation: _Maker, x: SSAValue, y: SSAValue | int) -> SSAValue:
        return self.b.make(operation, x, self.number(y) if isinstance(y, int) else y)

    def select(self, condition: SSAValue, x: SSAValue | int, y: SSAValue) -> SSAValue:
        return self.b.make(SelectOp, condition, self.number(x) if isinstance(x, int) else x, y)

    def compare(self, kind: str, x: SSAValue, y: int) -> SSAValue:
        return self.b.make(CmpiOp, x, self.number(y), extra=(kind,))

    def as_float(self, x: SSAValue) -> SSAValue:
        return self.b.insert(arith.BitcastOp(x, self.floats))

    def as_bits(self, x: SSAValue) -> SSAValue:
        return self.b.insert(arith.BitcastOp(x, self.integers))


def _layout(element: Attribute) -> FloatSemantics:
    return cast("ReducedPrecisionFloatType", element).SEMANTICS


def from_narrow(b: LoopBuilder, stored: SSAValue, element: Attribute) -> SSAValue:
    """A byte that encodes a narrow float, converted exactly to f32."""
    m = _Bits(b, stored)
    bits = b.insert(ExtUIOp(stored, m.integers))
    if isinstance(element, Float8E8M0FNUType):
        power = m.do(arith.ShLIOp, bits, _MANTISSA)
        power = m.select(m.compare("eq", bits, 0), _LEAST_POWER, power)
        return m.as_float(m.select(m.compare("eq", bits, 0xFF), _NAN, power))
    layout = _layout(element)
    width = layout.exponent_bits + layout.mantissa_bits
    magnitude = m.do(arith.AndIOp, bits, (1 << width) - 1)
    shifted = m.do(arith.ShLIOp, magnitude, _MANTISSA - layout.mantissa_bits)
    # The product corrects the exponent, and normalises subnormal numbers.
    scale = b.constant(2.0 ** (_BIAS - layout.exponent_bias), m.floats)
    result = m.as_bits(b.make(arith.MulfOp, m.as_float(shifted), scale))
    if layout.nan_encoding == FloatNanEncoding.NEGATIVE_ZERO:
        result = m.select(m.compare("eq", bits, 1 << width), _NAN, result)
    elif layout.nonfinite == FloatNonfiniteBehavior.IEEE:
        special = m.compare("uge", magnitude, _infinity(layout))
        result = m.select(special, m.do(arith.OrIOp, shifted, _INFINITY), result)
    elif layout.nonfinite == FloatNonfiniteBehavior.NAN_ONLY:
        result = m.select(m.compare("eq", magnitude, (1 << width) - 1), _NAN, result)
    sign = m.do(arith.ShLIOp, m.do(arith.AndIOp, bits, 1 << width), 31 - width)
    return m.as_float(m.do(arith.OrIOp, result, sign))


def _infinity(layout: FloatSemantics) -> int:
    return ((1 << layout.exponent_bits) - 1) << layout.mantissa_bits


def to_narrow(b: LoopBuilder, value: SSAValue, element: Attribute, *, saturate: bool, mode: str = "up") -> SSAValue:
    """f32 rounded to a byte that encodes a narrow float, with graph.cast's semantics."""
    m = _Bits(b, value)
    bits = m.as_bits(value)
    if isinstance(element, Float8E8M0FNUType):
        return b.insert(TruncIOp(_exponent(m, bits, mode, saturate=saturate), shaped_like(i8, value.type)))
    layout = _layout(element)
    width = layout.exponent_bits + layout.mantissa_bits
    sign_bit = 1 << width
    code = _rounded(m, m.do(arith.AndIOp, bits, _MAGNITUDE), layout)
    largest, beyond, nan = _codes(layout)
    code = m.select(m.compare("sgt", code, largest), largest if saturate else beyond, code)
    sign = m.do(arith.AndIOp, m.do(arith.ShRUIOp, bits, 31 - width), sign_bit)
    is_nan = b.make(CmpfOp, value, value, extra=("uno",))
    if nan is None:  # without a code for it: the result of ml_dtypes
        result = m.select(is_nan, m.do(arith.XOrIOp, sign, sign_bit), m.do(arith.OrIOp, code, sign))
    else:
        code = m.select(is_nan, nan, code)
        if layout.nan_encoding == FloatNanEncoding.NEGATIVE_ZERO:
            sign = m.select(m.compare("eq", code, 0), 0, sign)
        result = m.do(arith.OrIOp, code, sign)
    return b.insert(TruncIOp(result, shaped_like(i8, value.type)))


def _codes(layout: FloatSemantics) -> tuple[int, int, int | None]:
    """Codes of magnitudes: the largest finite number, the result of overflow, and NaN."""
    ones = (1 << layout.exponent_bits + layout.mantissa_bits) - 1
    if layout.nan_encoding == FloatNanEncoding.NEGATIVE_ZERO:
        return ones, ones + 1, ones + 1
    match layout.nonfinite:
        case FloatNonfiniteBehavior.IEEE:
            infinity = _infinity(layout)
            return infinity - 1, infinity, infinity | 1 << layout.mantissa_bits - 1
        case FloatNonfiniteBehavior.NAN_ONLY:
            return ones - 1, ones, ones
        case _:
            return ones, ones, None


def _rounded(m: _Bits, magnitude: SSAValue, layout: FloatSemantics) -> SSAValue:
    """The bits of the number rounded to the format's mantissa, ties to even; without overflow handling."""
    dropped = _MANTISSA - layout.mantissa_bits
    last = m.do(arith.AndIOp, m.do(arith.ShRUIOp, magnitude, dropped), 1)
    rebias = (_BIAS - layout.exponent_bias) << _MANTISSA
    half = m.do(arith.AddiOp, last, (1 << dropped - 1) - 1 - rebias)
    normal = m.do(arith.ShRUIOp, m.do(arith.AddiOp, magnitude, half), dropped)
    # Near this power of two the last bit is worth as much as that of a subnormal number: the addition rounds.
    number = m.as_float(magnitude)
    beside = m.b.constant(2.0 ** (_MANTISSA + 1 - layout.exponent_bias - layout.mantissa_bits), m.floats)
    small = m.do(arith.SubiOp, m.as_bits(m.b.make(arith.AddfOp, number, beside)), m.as_bits(beside))
    least = m.b.constant(2.0 ** (1 - layout.exponent_bias), m.floats)
    return m.select(m.b.make(CmpfOp, number, least, extra=("olt",)), small, normal)


def _exponent(m: _Bits, bits: SSAValue, mode: str, *, saturate: bool) -> SSAValue:
    """127 plus the exponent of a neighbouring power of two, rounded by `mode`; 255 for infinity and NaN."""
    magnitude = m.do(arith.AndIOp, bits, _MAGNITUDE)
    rounded = magnitude
    if mode == "up":
        rounded = m.do(arith.AddiOp, magnitude, 0x7FFFFF)
    elif mode == "nearest":  # the subnormal number with the mantissa one half is the smallest power itself
        up = m.select(m.compare("sgt", magnitude, 0x7FFFFF), 0x400000, m.number(0x3FFFFF))
        rounded = m.do(arith.AddiOp, magnitude, up)
    exponent = m.do(arith.ShRUIOp, rounded, _MANTISSA)
    if saturate:
        exponent = m.select(m.compare("sgt", exponent, 0xFE), 0xFE, exponent)
    return m.select(m.compare("sge", magnitude, _INFINITY), 0xFF, exponent)


def to_odd(b: LoopBuilder, value: SSAValue) -> SSAValue:
    """f64 to f32 rounded to odd, so that rounding it again equals rounding once."""
    m = _Bits(b, value)
    nearest = b.insert(arith.TruncFOp(value, m.floats))
    back = b.insert(arith.ExtFOp(nearest, value.type))
    bits = m.as_bits(nearest)
    sizes = [b.make(math.AbsFOp, x) for x in (back, value)]
    too_large = b.make(CmpfOp, *sizes, extra=("ogt",))
    toward_zero = m.select(too_large, m.do(arith.SubiOp, bits, 1), bits)
    inexact = b.make(CmpfOp, back, value, extra=("une",))
    return m.as_float(m.select(inexact, m.do(arith.OrIOp, toward_zero, 1), bits))
