"""Conversions of the element type: casts, bitcasts, unpacking of packed bytes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    FixedBitwidthType,
    Float8E8M0FNUType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    Signedness,
    StringAttr,
    UnitAttr,
    bf16,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from ...sizes.sizes import equal_shapes
from ..base import ElementwiseOp, MovementOp, require
from ..narrow_types import is_narrow, is_narrow_float, largest_of, narrow_types, packed_bits, unpacked
from ..values import AnyTensor, Array, element_type_of_value, ints, is_float, numpy_dtype, shape_of, tensor, type_of
from .elementwise import UnaryOp

_UI8 = IntegerType(8, Signedness.UNSIGNED)
ROUND_MODES = ("up", "down", "nearest")
_EXPONENTS = 0xFE  # the largest exponent of f8E8M0FNU; the next number is its NaN


@irdl_op_definition
class CastOp(UnaryOp):
    """x converted to another element type: floats to integers toward zero, numbers to booleans by x != 0.

    Floats round to nearest even. Overflow of a narrow float type gives infinity, or NaN if the type has none; with
    `saturate`, its largest number. `round_mode` is for f8E8M0FNU, powers of two: the next one "up" (the default) or
    "down", or the "nearest", ties up. Integers keep their low bits. With `loose` the result is rounded only for
    storage: readers may use x instead. With `flush`, for bf16, subnormal numbers may become zeros.
    """

    name = "graph.cast"

    to = prop_def(Attribute)
    saturate = opt_prop_def(UnitAttr)
    loose = opt_prop_def(UnitAttr)
    flush = opt_prop_def(UnitAttr)
    round_mode = opt_prop_def(StringAttr)

    def __init__(
        self,
        x: SSAValue | Operation,
        to: Attribute,
        location: LocationAttr | None = None,
        *,
        saturate: bool = False,
        loose: bool = False,
        flush: bool = False,
        round_mode: str | None = None,
    ):
        self._build((x,), location, to=to, saturate=saturate, loose=loose, flush=flush, round_mode=round_mode)

    def with_operand(self, x: SSAValue) -> CastOp:
        """The same cast of another value."""
        mode = None if self.round_mode is None else self.round_mode.data
        flags = {name: getattr(self, name) is not None for name in ("saturate", "loose", "flush")}
        return CastOp(x, self.to, self.location, **flags, round_mode=mode)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        numpy_dtype(self.to)
        require(self.saturate is None or is_narrow_float(self.to), f"a cast to {self.to} can't saturate")
        require(self.loose is None or is_float(self.to), f"a cast to {self.to} can't be loose")
        require(self.flush is None or self.to == bf16, f"a cast to {self.to} can't flush")
        mode = self.round_mode
        require(mode is None or self.to == Float8E8M0FNUType(), f"a cast to {self.to} has no round_mode")
        require(mode is None or mode.data in ROUND_MODES, f"round_mode is one of {', '.join(ROUND_MODES)}, got {mode}")
        return [tensor(self.to, type_of(self.x).get_shape())]

    @override
    def compute(self, x: Array) -> Array:
        dtype = numpy_dtype(self.to)
        source = narrow_types().get(x.dtype)
        if source is not None:  # ml_dtypes has no casts between some of its types
            x = x.astype(np.float32 if is_narrow_float(source) else np.int8)
        if isinstance(self.to, Float8E8M0FNUType):
            mode = "up" if self.round_mode is None else self.round_mode.data
            return _exponents(x, mode, saturate=self.saturate is not None).view(dtype)
        if self.saturate is not None:
            largest = largest_of(self.to)
            x = np.clip(x.astype(np.float64), -largest, largest)
        if x.dtype == np.float64 and (is_narrow_float(self.to) or isinstance(self.to, BFloat16Type)):
            x = _to_odd(x)
        return x.astype(dtype)

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            return (self.compute(arrays[0]),)


def _to_odd(x: Array) -> Array:
    """f64 to f32 rounded to odd, since ml_dtypes rounds by way of f32."""
    nearest = x.astype(np.float32)
    bits = nearest.view(np.int32) - (np.abs(nearest.astype(np.float64)) > np.abs(x))
    return np.where(nearest == x, nearest.view(np.int32), bits | 1).astype(np.int32).view(np.float32)


def _exponents(x: Array, mode: str, *, saturate: bool) -> Array:
    """The nearest powers of two as codes of f8E8M0FNU: 127 plus the exponent, 255 for NaN; signs are dropped."""
    bits = x.astype(np.float32).view(np.uint32) & 0x7FFFFFFF
    # Added to a fraction so that it carries into the exponent; half of the smallest power is no tie.
    carry = {"up": 0x7FFFFF, "down": 0, "nearest": 0x3FFFFF}[mode] + ((bits > 0x7FFFFF) if mode == "nearest" else 0)
    rounded = (bits + np.uint32(1) * carry) >> 23
    if saturate:
        rounded = np.minimum(rounded, _EXPONENTS)
    return np.where(bits >= 0x7F800000, 0xFF, rounded).astype(np.uint8)


@irdl_op_definition
class BitcastOp(ElementwiseOp):
    """The bits of each element, reinterpreted in another type of equal width."""

    name = "graph.bitcast"

    x = operand_def()
    to = prop_def(Attribute)
    result = result_def()

    def __init__(self, x: SSAValue | Operation, to: Attribute, location: LocationAttr | None = None):
        self._build((x,), location, to=to)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        numpy_dtype(self.to)
        source = element_type_of_value(self.x)
        require(_width(source) == _width(self.to), f"{source} has other bits than {self.to}")
        return [tensor(self.to, shape_of(self.x))]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x = np.ascontiguousarray(arrays[0])
        if x.dtype == np.bool_:
            x = (x.view(np.uint8) != 0).astype(np.uint8)
        if self.to == IntegerType(1):
            return ((x.view(np.uint8) != 0).reshape(arrays[0].shape),)
        return (x.view(numpy_dtype(self.to)).reshape(arrays[0].shape),)


def _width(element_type: Attribute) -> int:
    """Bits of an element in memory, where booleans take a byte."""
    assert isinstance(element_type, FixedBitwidthType)
    return max(element_type.bitwidth, 8) if element_type == IntegerType(1) else element_type.bitwidth


@irdl_op_definition
class UnpackBitsOp(MovementOp):
    """Elements of few bits unpacked from bytes, the first in the lowest bits; `shape` is the result's.

    Elements of `to` have 4 or 2 bits; with `width`, they are unsigned numbers of so many bits, in ui8. One whose bits
    do not divide 8 may lie across two bytes.
    """

    name = "graph.unpack_bits"

    x = operand_def()
    to = prop_def(Attribute)
    shape = prop_def(DenseArrayBase[IntegerType])
    width = opt_prop_def(IntegerAttr[IntegerType])
    result = result_def()

    def __init__(
        self,
        x: SSAValue | Operation,
        to: Attribute,
        shape: Sequence[int],
        location: LocationAttr | None = None,
        *,
        width: int | None = None,
    ):
        self._build((x,), location, to=to, shape=shape, width=width)

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return packed_bits(self.to) if self.width is None else self.width.value.data

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        numpy_dtype(self.to)
        if self.width is None:
            require(is_narrow(self.to) and self.bits in (4, 2), f"{self.to} is not a type of 4 or 2 bits")
        else:
            require(
                self.to == _UI8 and 1 <= self.bits < 8, f"numbers of {self.bits} bits can't be unpacked to {self.to}"
            )
        given, type = type_of(self.x), tensor(self.to, ints(self.shape))
        is_bytes = given.element_type == _UI8 and len(given.get_shape()) == 1
        require(is_bytes, f"takes a row of ui8, got {given}")
        wanted = -(-prod(ints(self.shape)) * self.bits // 8)
        require(equal_shapes(given.get_shape(), (wanted,)), f"{type} is packed in {wanted} bytes, got {given}")
        return [type]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        shape = ints(self.shape)
        return (unpacked(arrays[0], self.bits, int(np.prod(shape))).view(numpy_dtype(self.to)).reshape(shape),)
