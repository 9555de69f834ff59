"""LLVM IR text of types, constants and names."""

import ctypes
import re
import struct
from typing import cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    FixedBitwidthType,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.dialects.llvm import (
    LLVMArrayType,
    LLVMPointerType,
    LLVMStructType,
    LLVMVoidType,
)
from xdsl.ir import Attribute

from ...dialects.errors import CompileError
from ...dialects.extensions.llvm import X86AmxType

_PLAIN_NAME = re.compile(r"[-a-zA-Z$._][-a-zA-Z$._0-9]*")


def symbol(name: str) -> str:
    """The name of a function or a global."""
    return f"@{name}" if _PLAIN_NAME.fullmatch(name) else f"@{quoted(name)}"


def quoted(text: str) -> str:
    """A string of LLVM IR."""
    escaped = "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\' else f"\\{byte:02X}" for byte in text.encode()
    )
    return f'"{escaped}"'


def type_text(llvm_type: Attribute) -> str:
    """The text of an llvm-dialect type. Raises CompileError for any other type."""
    match llvm_type:
        case IntegerType():
            return f"i{llvm_type.width.data}"
        case VectorType():
            (lanes,) = llvm_type.get_shape()
            return f"<{lanes} x {type_text(llvm_type.element_type)}>"
        case LLVMPointerType():
            return "ptr"
        case LLVMVoidType():
            return "void"
        case X86AmxType():
            return "x86_amx"
        case LLVMArrayType():
            return f"[{llvm_type.size.data} x {type_text(llvm_type.type)}]"
        case LLVMStructType() if not llvm_type.struct_name.data:
            return f"{{ {', '.join(map(type_text, llvm_type.types))} }}"
        case Float16Type():
            return "half"
        case BFloat16Type():
            return "bfloat"
        case Float32Type():
            return "float"
        case Float64Type():
            return "double"
        case _:
            raise CompileError(f"{llvm_type} is not supported in LLVM IR")


def float_literal(value: float, float_type: Attribute) -> str:
    """A float's exact bits in LLVM's hexadecimal notation for its type."""
    match float_type:
        case Float32Type():
            value = ctypes.c_float(value).value
        case Float16Type():
            return f"0xH{half_bits(value, float_type):04X}"
        case BFloat16Type():
            return f"0xR{half_bits(value, float_type):04X}"
        case _:
            pass
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def half_bits(value: float, float_type: Attribute) -> int:
    """The bits of `value` rounded to f16 or bf16, to nearest even."""
    bits: int
    if isinstance(float_type, Float16Type):
        (bits,) = struct.unpack("<H", struct.pack("<e", value))
        return bits
    (bits,) = struct.unpack("<I", struct.pack("<f", ctypes.c_float(value).value))
    if value != value:
        return bits >> 16 | 0x40
    return bits + 0x7FFF + (bits >> 16 & 1) >> 16


def constant_text(value: Attribute, llvm_type: Attribute) -> str:
    """A constant's value without its type."""
    match value:
        case IntegerAttr():
            return _integer_literal(value.value.data, llvm_type)
        case FloatAttr():
            return float_literal(value.value.data, llvm_type)
        case DenseIntOrFPElementsAttr():
            return _elements_text(value)
        case _:
            raise CompileError(f"{value} is no constant of LLVM IR")


def _integer_literal(value: int, llvm_type: Attribute) -> str:
    if cast(FixedBitwidthType, llvm_type).bitwidth == 1:
        return "true" if value else "false"
    return str(value)


def _elements_text(value: DenseIntOrFPElementsAttr) -> str:
    """The elements of a vector or an array, in row-major order."""
    element = cast(Attribute, value.get_element_type())
    name = type_text(element)
    is_vector = isinstance(cast(Attribute, value.type), VectorType)
    if not any(value.data.data):
        return "zeroinitializer"
    is_splat = is_vector and value.is_splat()
    numbers = cast("tuple[float | int, ...]", value.get_values())[: 1 if is_splat else None]
    texts = [
        _integer_literal(number, element) if isinstance(number, int) else float_literal(number, element)
        for number in numbers
    ]
    if is_splat:
        return f"splat ({name} {texts[0]})"
    joined = ", ".join(f"{name} {text}" for text in texts)
    return f"<{joined}>" if is_vector else f"[{joined}]"
