"""Conversion of types to LLVM: index is i64, a memref is a bare pointer, types below 8 bits take a byte in memory.

16-bit floats are i16 (see half_floats.py); narrower, storage-only floats are integers, too. A memref's pointer is the
address of its first element: the layout's offset is already applied. Strides are static, or operands of the cast that
created the memref (body.py records them).
"""

from dataclasses import dataclass
from functools import cache
from typing import cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    FixedBitwidthType,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    VectorType,
    i1,
    i8,
    i16,
    i64,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute

from ...dialects.amx import TileType
from ...dialects.errors import CompileError
from ...dialects.extensions.llvm import X86AmxType
from ...dialects.graph.narrow_types import is_narrow_float

POINTER = LLVMPointerType()
X86_AMX = X86AmxType()


@dataclass(frozen=True)
class Layout:
    """The memory layout of a memref: strides in elements (None: dynamic), the element's type there, and its bytes."""

    strides: tuple[int | None, ...]
    element: Attribute
    element_bytes: int


@cache
def vector_type(element: Attribute, lanes: int) -> Attribute:
    """The 1-D vector type."""
    return VectorType(element, [lanes])


def lanes_of(value_type: Attribute) -> int | None:
    """The number of lanes of a 1-D vector type; None for a scalar."""
    if not isinstance(value_type, VectorType):
        return None
    shape = cast("VectorType[Attribute]", value_type).get_shape()
    if len(shape) != 1:
        raise CompileError(f"{value_type}: only vectors of one dimension can be lowered")
    return shape[0]


def element_of(value_type: Attribute) -> Attribute:
    """The element type of a vector type; any other type unchanged."""
    return cast("VectorType[Attribute]", value_type).element_type if isinstance(value_type, VectorType) else value_type


def with_element(element: Attribute, like: Attribute) -> Attribute:
    """`element`, or a vector of it with as many lanes as `like`."""
    lanes = lanes_of(like)
    return element if lanes is None else vector_type(element, lanes)


def truth_type(like: Attribute) -> Attribute:
    """i1, or a vector of it with as many lanes as `like`."""
    return with_element(i1, like)


def is_half(value_type: Attribute) -> bool:
    """Whether a type of the loops level, or its element type, is f16 or bf16."""
    return isinstance(element_of(value_type), Float16Type | BFloat16Type)


class Types:
    """Converts types, memoised by identity first, which is fast, then by equality."""

    def __init__(self) -> None:
        self._equal: dict[Attribute, Attribute] = {}
        self._converted: dict[int, tuple[Attribute, Attribute]] = {}
        self._layouts: dict[int, tuple[Attribute, Layout]] = {}
        self._suffixes: dict[int, tuple[Attribute, str]] = {}

    def convert(self, source: Attribute) -> Attribute:
        """The LLVM type of a value. Raises CompileError for an unsupported type."""
        known = self._converted.get(id(source))
        if known is None:
            converted = self._equal.get(source)
            if converted is None:
                converted = self._equal[source] = _convert(source)
            known = self._converted[id(source)] = (source, converted)
        return known[1]

    def layout(self, memref: Attribute) -> Layout:
        """The memory layout of a memref type. Raises CompileError unless it is strided."""
        known = self._layouts.get(id(memref))
        if known is None:
            known = self._layouts[id(memref)] = (memref, self._layout(cast("MemRefType[Attribute]", memref)))
        return known[1]

    def suffix(self, llvm_type: Attribute) -> str:
        """The spelling of a type in names of intrinsics: f32, v16i1, p0."""
        known = self._suffixes.get(id(llvm_type))
        if known is None:
            known = self._suffixes[id(llvm_type)] = (llvm_type, _suffix(llvm_type))
        return known[1]

    def _layout(self, memref: MemRefType[Attribute]) -> Layout:
        strides = memref.get_strides()
        if strides is None:
            raise CompileError(f"{memref}: only strided layouts can be lowered")
        element = in_memory(self.convert(memref.element_type))
        return Layout(tuple(strides), element, bytes_of(element))


def in_memory(llvm_type: Attribute) -> Attribute:
    """The in-memory type of `llvm_type`: a byte if it has less than 8 bits."""
    return with_element(i8, llvm_type) if _is_less(element_of(llvm_type)) else llvm_type


def _is_less(element: Attribute) -> bool:
    return isinstance(element, FixedBitwidthType) and element.bitwidth < 8


def bytes_of(element: Attribute) -> int:
    """Bytes of one element in memory."""
    return max(1, cast(FixedBitwidthType, element).bitwidth // 8)


def _convert(source: Attribute) -> Attribute:
    match source:
        case IndexType():
            return i64
        case IntegerType():
            return IntegerType(source.width.data)
        case MemRefType():
            return POINTER
        case TileType():
            return X86_AMX
        case VectorType():
            lanes = lanes_of(source)
            assert lanes is not None
            return vector_type(_convert(element_of(source)), lanes)
        case _ if is_half(source):
            return i16
        case _ if is_narrow_float(source):
            return IntegerType(cast(FixedBitwidthType, source).bitwidth)
        case Float32Type() | Float64Type():
            return source
        case _:
            raise CompileError(f"{source} has no counterpart in LLVM")


def _suffix(llvm_type: Attribute) -> str:
    match llvm_type:
        case VectorType():
            return f"v{lanes_of(llvm_type)}{_suffix(element_of(llvm_type))}"
        case LLVMPointerType():
            return "p0"
        case IntegerType():
            return f"i{llvm_type.width.data}"
        case _:
            return f"f{cast(FixedBitwidthType, llvm_type).bitwidth}"
