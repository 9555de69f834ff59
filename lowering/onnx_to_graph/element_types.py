"""Conversion between ONNX element types and those of the graph dialect."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from onnx import TensorProto
from xdsl.dialects.builtin import (
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
    bf16,
    f16,
    f32,
    f64,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ...dialects.errors import InvalidModelError, UnsupportedError
from ...dialects.graph.narrow_types import packed_bits
from ...dialects.graph.values import AnyTensor, tensor

_ELEMENT_TYPES: dict[int, Attribute] = {
    TensorProto.FLOAT: f32,
    TensorProto.FLOAT16: f16,
    TensorProto.BFLOAT16: bf16,
    TensorProto.DOUBLE: f64,
    TensorProto.BOOL: IntegerType(1),
    TensorProto.INT8: IntegerType(8),
    TensorProto.INT16: IntegerType(16),
    TensorProto.INT32: IntegerType(32),
    TensorProto.INT64: IntegerType(64),
    TensorProto.UINT8: IntegerType(8, Signedness.UNSIGNED),
    TensorProto.UINT16: IntegerType(16, Signedness.UNSIGNED),
    TensorProto.UINT32: IntegerType(32, Signedness.UNSIGNED),
    TensorProto.UINT64: IntegerType(64, Signedness.UNSIGNED),
    TensorProto.INT4: IntegerType(4),
    TensorProto.UINT4: IntegerType(4, Signedness.UNSIGNED),
    TensorProto.INT2: IntegerType(2),
    TensorProto.UINT2: IntegerType(2, Signedness.UNSIGNED),
    TensorProto.FLOAT8E4M3FN: Float8E4M3FNType(),
    TensorProto.FLOAT8E4M3FNUZ: Float8E4M3FNUZType(),
    TensorProto.FLOAT8E5M2: Float8E5M2Type(),
    TensorProto.FLOAT8E5M2FNUZ: Float8E5M2FNUZType(),
    TensorProto.FLOAT8E8M0: Float8E8M0FNUType(),
    TensorProto.FLOAT6E2M3: Float6E2M3FNType(),
    TensorProto.FLOAT6E3M2: Float6E3M2FNType(),
    TensorProto.FLOAT4E2M1: Float4E2M1FNType(),
}


@cache
def element_name(onnx_type: int) -> str:
    """The name of an ONNX element type, for messages."""
    known = {number: name for name, number in TensorProto.DataType.items()}
    return known.get(onnx_type, f"element type {onnx_type}").lower()


def element_type(onnx_type: int, subject: str) -> Attribute:
    """The graph dialect's element type; errors name `subject`."""
    if onnx_type in _ELEMENT_TYPES:
        return _ELEMENT_TYPES[onnx_type]
    if onnx_type == TensorProto.UNDEFINED or onnx_type not in TensorProto.DataType.values():
        raise InvalidModelError(f"{subject} has {element_name(onnx_type)}")
    raise UnsupportedError(f"{subject} has element type {element_name(onnx_type)}, which is not supported")


def tensor_of(element: Attribute, shape: Sequence[int], subject: str) -> AnyTensor:
    """A tensor type; errors name `subject`."""
    try:
        return tensor(element, shape)
    except VerifyException as error:
        raise InvalidModelError(f"{subject}: {error}") from None


def tensor_bytes(onnx_type: int, count: int, subject: str) -> int:
    """Bytes of `count` elements in a file, where elements below 8 bits are packed; errors name `subject`."""
    return -(-count * packed_bits(element_type(onnx_type, subject)) // 8)


@cache
def onnx_type_of(type: Attribute) -> int:
    """The ONNX element type of an element type: the inverse of `element_type`."""
    return next(number for number, known in _ELEMENT_TYPES.items() if known == type)
