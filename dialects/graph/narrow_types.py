"""Element types that numbers are only stored in: floats of 8, 6 and 4 bits, integers of 4 and 2.

A tensor of them may be moved, cast and unpacked; there is no arithmetic on them. An element of a tensor takes a byte,
as in numpy with ml_dtypes; weights of less than 8 bits stand packed in their blobs and are read through
`graph.unpack_bits`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import (
    FixedBitwidthType,
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    IntegerType,
    Signedness,
)
from xdsl.ir import Attribute

_Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

NARROW_FLOATS = (
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2Type,
    Float8E5M2FNUZType,
    Float8E8M0FNUType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float4E2M1FNType,
)
_NAMES: dict[Attribute, str] = {
    Float8E4M3FNType(): "float8_e4m3fn",
    Float8E4M3FNUZType(): "float8_e4m3fnuz",
    Float8E5M2Type(): "float8_e5m2",
    Float8E5M2FNUZType(): "float8_e5m2fnuz",
    Float8E8M0FNUType(): "float8_e8m0fnu",
    Float6E2M3FNType(): "float6_e2m3fn",
    Float6E3M2FNType(): "float6_e3m2fn",
    Float4E2M1FNType(): "float4_e2m1fn",
    IntegerType(4): "int4",
    IntegerType(4, Signedness.UNSIGNED): "uint4",
    IntegerType(2): "int2",
    IntegerType(2, Signedness.UNSIGNED): "uint2",
}


def is_narrow(element_type: Attribute) -> bool:
    """Whether it is a type that numbers are only stored in."""
    return element_type in _NAMES


def is_narrow_float(element_type: Attribute) -> bool:
    """Whether it is such a type of floats."""
    return isinstance(element_type, NARROW_FLOATS)


def packed_bits(element_type: Attribute) -> int:
    """Bits of one element where elements are packed, as in files; 8 bits and more are never."""
    assert isinstance(element_type, FixedBitwidthType)
    return element_type.bitwidth if is_narrow(element_type) else 8 * element_type.size


@cache
def narrow_dtypes() -> dict[Attribute, np.dtype[Any]]:
    """The numpy type of each."""
    import ml_dtypes

    return {element_type: np.dtype(getattr(ml_dtypes, name)) for element_type, name in _NAMES.items()}


@cache
def narrow_types() -> dict[np.dtype[Any], Attribute]:
    """The inverse of `narrow_dtypes`."""
    return {dtype: element_type for element_type, dtype in narrow_dtypes().items()}


@cache
def largest_of(element_type: Attribute) -> float:
    """The largest number of a narrow type of floats."""
    every = np.arange(256, dtype=np.uint8).view(narrow_dtypes()[element_type]).astype(np.float32)
    return float(every[np.isfinite(every)].max())


def packed(array: _Array, bits: int) -> _Array:
    """Elements of `bits` bits without gaps, the first in the lowest bits; the last byte is filled with zeros."""
    planes = np.unpackbits(array.reshape(-1, 1).view(np.uint8), axis=1, count=bits, bitorder="little")
    return np.packbits(planes, bitorder="little")


def unpacked(array: _Array, bits: int, size: int) -> _Array:
    """The first `size` elements of what `packed` made, each in the low bits of a byte."""
    planes = np.unpackbits(array, count=size * bits, bitorder="little").reshape(size, bits)
    return np.packbits(planes, axis=1, bitorder="little").reshape(size)
