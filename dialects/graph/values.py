"""Conversions between element types, tensor types and attributes, and Python and numpy values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from math import prod
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    TensorType,
    UnitAttr,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..sizes.sizes import SizesData, now
from .narrow_types import is_narrow, narrow_dtypes, narrow_types

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
AnyTensor: TypeAlias = TensorType[Attribute]


# numpy's limit of dimensions; and every element's offset in bytes must fit 64 signed bits.
MAX_RANK = 32
MAX_ELEMENTS = 2**59


@lru_cache(maxsize=4096)
def _tensor(element_type: Attribute, shape: tuple[int, ...]) -> AnyTensor:
    if len(shape) > MAX_RANK:
        raise VerifyException(f"a rank of {len(shape)} is too large: it is at most {MAX_RANK}")
    # Without sizes of 0: strides are computed from the other sizes all the same.
    if prod(now(size) for size in shape if size != 0) > MAX_ELEMENTS:
        raise VerifyException(f"a tensor of shape {'x'.join(map(str, shape))} is too large for 64-bit addresses")
    return TensorType(element_type, shape)


def tensor(element_type: Attribute, shape: Sequence[int]) -> AnyTensor:
    """A tensor type, memoised since construction is slow.

    Raises VerifyException for too high a rank or too many elements.
    """
    return _tensor(element_type, tuple(shape))


def type_of(value: SSAValue) -> AnyTensor:
    """The type of a tensor value."""
    type = value.type
    if not isinstance(type, TensorType):
        raise VerifyException(f"expected a tensor, got {type}")
    return cast(AnyTensor, type)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The dimensions of a tensor value."""
    return type_of(value).get_shape()


def element_type_of_value(value: SSAValue) -> Attribute:
    """The element type of a tensor value."""
    return type_of(value).element_type


def is_float(element_type: Attribute) -> bool:
    """Whether it is one of the four computed float types."""
    return isinstance(element_type, (Float16Type, BFloat16Type, Float32Type, Float64Type))


def is_bool(element_type: Attribute) -> bool:
    """Whether it is i1, a boolean (one byte in memory)."""
    return element_type == i1


@cache
def _bfloat16() -> np.dtype[Any]:
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)


@cache
def numpy_dtype(element_type: Attribute) -> np.dtype[Any]:
    """The numpy type of an element type; signless integers are signed, i1 is bool."""
    match element_type:
        case Float16Type():
            return np.dtype(np.float16)
        case BFloat16Type():
            return _bfloat16()
        case Float32Type():
            return np.dtype(np.float32)
        case Float64Type():
            return np.dtype(np.float64)
        case IntegerType() if element_type.width.data == 1:
            return np.dtype(np.bool_)
        case IntegerType() if element_type.width.data in (8, 16, 32, 64):
            kind = "u" if element_type.signedness.data == Signedness.UNSIGNED else "i"
            return np.dtype(f"{kind}{element_type.width.data // 8}")
        case _ if is_narrow(element_type):
            return narrow_dtypes()[element_type]
        case _:
            raise VerifyException(f"{element_type} is not an element type of the graph dialect")


@cache
def element_type_of(dtype: np.dtype[Any]) -> Attribute:
    """The element type of a numpy type: the inverse of `numpy_dtype`."""
    dtype = np.dtype(dtype)
    if dtype == _bfloat16():
        return bf16
    if dtype in narrow_types():
        return narrow_types()[dtype]
    match dtype.kind, dtype.itemsize:
        case "f", 2:
            return f16
        case "f", 4:
            return f32
        case "f", 8:
            return f64
        case "b", 1:
            return IntegerType(1)
        case "i", (1 | 2 | 4 | 8) as size:
            return IntegerType(8 * size)
        case "u", (1 | 2 | 4 | 8) as size:
            return IntegerType(8 * size, Signedness.UNSIGNED)
        case _:
            raise VerifyException(f"numpy type {dtype} has no element type")


def is_float_dtype(dtype: np.dtype[Any]) -> bool:
    """Whether a numpy type is a computed float, including bfloat16, which numpy doesn't count as one."""
    return (dtype.kind == "f" and dtype.itemsize > 1) or dtype == _bfloat16()


def widened(x: Array) -> Array:
    """`x` in its accumulation type: at least float32 for floats, unchanged for others."""
    return x.astype(np.float32) if is_float_dtype(x.dtype) and x.dtype.itemsize < 4 else x


def nbytes_of(type: AnyTensor) -> int:
    """Bytes of a dense row-major tensor of this type."""
    count = numpy_dtype(type.element_type).itemsize
    for size in type.get_shape():
        count *= size
    return count


@lru_cache(maxsize=4096)
def _ints_attr(values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i64, values)


def ints_attr(values: Sequence[int]) -> DenseArrayBase[IntegerType]:
    """`array<i64: ...>`"""
    return _ints_attr(tuple(values))


def is_fixed_attr(attribute: Attribute) -> bool:
    """Whether an attribute contains no symbolic size."""
    return not (isinstance(attribute, DenseArrayBase) and isinstance(attribute.data.data, SizesData))


def floats_attr(values: Sequence[float]) -> DenseArrayBase[Float64Type]:
    """`array<f64: ...>`"""
    return DenseArrayBase.from_list(f64, tuple(float(value) for value in values))


@lru_cache(maxsize=1024)
def int_attr(value: int) -> IntegerAttr[IntegerType]:
    """An i64 attribute."""
    return IntegerAttr(value, i64)


def float_attr(value: float) -> FloatAttr[Float64Type]:
    """An f64 attribute."""
    return FloatAttr(float(value), f64)


@lru_cache(maxsize=1024)
def string_attr(value: str) -> StringAttr:
    """A string attribute."""
    return StringAttr(value)


def flag_attr(value: bool) -> UnitAttr | None:
    """A unit attribute if true, else None."""
    return UnitAttr() if value else None


@lru_cache(maxsize=4096)
def ints(attribute: DenseArrayBase[IntegerType]) -> tuple[int, ...]:
    """The values of an `array<i64: ...>` attribute."""
    return tuple(attribute.get_values())
