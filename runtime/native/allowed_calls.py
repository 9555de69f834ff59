"""The list of functions that generated code may call, checked against each object's undefined symbols.

LLVM calls a helper of its own library where a CPU lacks an instruction (`fmaf`, `__truncsfbf2`). Such a helper may be
missing, or very slow, on CPUs that were never tested. So code for any CPU must do without.
"""

from __future__ import annotations

import struct
from collections.abc import Set as AbstractSet

from ...dialects.errors import CompileError
from ...lowering.loops_to_llvm.c_functions import C_FUNCTIONS
from .images.elf import ELF, ElfObject, string_at

_WAITING = {"pthread_cond_signal", "pthread_cond_wait", "pthread_mutex_lock", "pthread_mutex_unlock", "sched_yield"}
_RUNTIME = {"clock_gettime", *_WAITING}
_MEMORY = {"memcpy", "memmove", "memset"}
_MATH = {name + suffix for name in C_FUNCTIONS for suffix in ("", "f")}
_JOINED = {"sincos", "sincosf"}  # LLVM combines calls of both with the same argument
_DARWIN = {"bzero", "memset_pattern16", "__sincos_stret", "__sincosf_stret"}  # their names on Apple's systems
ALLOWED = frozenset(_RUNTIME | _MEMORY | _MATH | _JOINED | _DARWIN)
"""Names of C functions: of the operating system, its C library and its math library."""

_C_MATH = (
    *(
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "cbrt",
        "ceil",
        "copysign",
        "cos",
        "cosh",
        "erf",
        "erfc",
    ),
    *(
        "exp",
        "exp2",
        "expm1",
        "fabs",
        "fdim",
        "floor",
        "fma",
        "fmax",
        "fmin",
        "fmod",
        "frexp",
        "hypot",
        "ilogb",
        "ldexp",
    ),
    *("lgamma", "llrint", "llround", "log", "log10", "log1p", "log2", "logb", "lrint", "lround", "modf", "nearbyint"),
    *("nextafter", "pow", "remainder", "remquo", "rint", "round", "scalbln", "scalbn", "sin", "sinh", "sqrt", "tan"),
    *("tanh", "tgamma", "trunc"),
)
KERNELS_MAY_CALL = frozenset(
    {"memcmp", *_MEMORY, *_JOINED, *_DARWIN, *(name + end for name in _C_MATH for end in ("", "f"))}
)
"""What users' kernels may call: C's functions on memory, and all of its math library for float and double."""

_FOR_C = frozenset(_MEMORY | _MATH | _JOINED | _DARWIN)

_MACH_O = b"\xcf\xfa\xed\xfe"  # the 64-bit little-endian format
_OF_LINKER = {".TOC."}  # PowerPC's TOC pointer
_MACH_SYMBOLS = 2  # load command of Mach-O


def check_calls(data: bytes, cpu: str, others: AbstractSet[str] = frozenset()) -> None:
    """Raises CompileError if object code calls a function that is neither on the list nor in `others`."""
    if strange := sorted(undefined_symbols(data) - ALLOWED - others):
        raise CompileError(f"code for {cpu} calls {', '.join(strange)}, which a machine need not have")


def check_c_calls(data: bytes, cpu: str, others: AbstractSet[str] = frozenset()) -> None:
    """Raises CompileError if code for C programs calls anything but memory and math functions, and `others`."""
    if strange := sorted(undefined_symbols(data) - _FOR_C - others):
        raise CompileError(f"C code for {cpu} calls {', '.join(strange)}, which a program need not have")


def undefined_symbols(data: bytes) -> set[str]:
    """The undefined symbols of object code, as spelled in C. Raises CompileError for an unknown format."""
    if data.startswith(ELF):
        return {each.name for each in ElfObject(data).symbols if each.name and not each.section} - _OF_LINKER
    if data.startswith(_MACH_O):
        return {name.removeprefix("_") for name in _symbols_in_mach_o(data)}
    raise CompileError("code is made for CPUs with 64 bits and little-endian numbers, in ELF or Mach-O")


def defined_symbols(data: bytes) -> set[str]:
    """The functions and variables that object code defines for others, as spelled in C."""
    if data.startswith(ELF):
        return {each.name for each in ElfObject(data).symbols if each.name and each.section and not each.is_local}
    return {name.removeprefix("_") for name in _symbols_in_mach_o(data, defined=True)}


def _symbols_in_mach_o(data: bytes, *, defined: bool = False) -> set[str]:
    """The undefined symbols; with `defined`, the external ones that are not."""
    (commands,) = struct.unpack_from("<I", data, 16)
    names: set[str] = set()
    at = 32
    for _ in range(commands):
        command, size = struct.unpack_from("<II", data, at)
        if command == _MACH_SYMBOLS:
            symbols, count, strings, _ = struct.unpack_from("<IIII", data, at + 8)
            for name, kind, _, _, _ in struct.iter_unpack("<IBBHQ", data[symbols : symbols + 16 * count]):
                if (kind & 0x0E == 0) != defined and (kind & 0x01 or not defined):
                    names.add(string_at(data, strings + name))
        at += size
    return names
