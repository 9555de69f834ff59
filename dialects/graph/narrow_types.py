"""Storage-only element types: floats of 8, 6 and 4 bits, integers of 4 and 2 bits.

Tensors of them may be moved, cast and unpacked, but not computed with. An element of a tensor takes a byte, as in numpy
with ml_dtypes; weights of less than 8 bits are packed in their blobs and read through `graph.unpack_bits`.
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
    """Whether the type is storage-only."""
    return element_type in _NAMES


def is_narrow_float(element_type: Attribute) -> bool:
    """Whether the type is a storage-only float."""
    return isinstance(element_type, NARROW_FLOATS)


def packed_bits(element_type: Attribute) -> int:
    """Bits per element in packed form, as in files; types of 8 bits and more take whole bytes."""
    assert isinstance(element_type, FixedBitwidthType)
    return element_type.bitwidth if is_narrow(element_type) else 8 * element_type.size


@cache
def narrow_dtypes() -> dict[Attribute, np.dtype[Any]]:
    """The numpy type of each storage-only type."""
    import ml_dtypes

    return {element_type: np.dtype(getattr(ml_dtypes, name)) for element_type, name in _NAMES.items()}


@cache
def narrow_types() -> dict[np.dtype[Any], Attribute]:
    """The inverse of `narrow_dtypes`."""
    return {dtype: element_type for element_type, dtype in narrow_dtypes().items()}


@cache
def largest_of(element_type: Attribute) -> float:
    """The largest finite number of a storage-only float type."""
    every = np.arange(256, dtype=np.uint8).view(narrow_dtypes()[element_type]).astype(np.float32)
    return float(every[np.isfinite(every)].max())


def packed(array: _Array, bits: int) -> _Array:
    """Elements of `bits` bits packed without gaps, first element in the lowest bits; the last byte is zero-padded."""
    elements = array.reshape(-1).view(np.uint8)
    if 8 % bits:
        planes = np.unpackbits(elements[:, np.newaxis], axis=1, count=bits, bitorder="little")
        return np.packbits(planes, bitorder="little")
    places = np.arange(0, 8, bits, dtype=np.uint8)
    whole = np.pad(elements & np.uint8(2**bits - 1), (0, -len(elements) % len(places)))
    return np.bitwise_or.reduce(whole.reshape(-1, len(places)) << places, axis=1)


def unpacked(array: _Array, bits: int, size: int) -> _Array:
    """The inverse of `packed`: the first `size` elements, each in the low bits of a byte."""
    if 8 % bits:
        planes = np.unpackbits(array, count=size * bits, bitorder="little").reshape(size, bits)
        return np.packbits(planes, axis=1, bitorder="little").reshape(size)
    places = np.arange(0, 8, bits, dtype=np.uint8)
    return (array[:, np.newaxis] >> places & np.uint8(2**bits - 1)).reshape(-1)[:size]
