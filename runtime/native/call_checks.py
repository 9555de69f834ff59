"""Checks that object code calls listed functions only: its undefined symbols, in ELF or Mach-O."""

from __future__ import annotations

import struct
from collections.abc import Set as AbstractSet

from ...dialects.errors import CompileError
from .allowed_calls import ALLOWED, FOR_C
from .images.elf import ELF, ElfObject, string_at

_MACH_O = b"\xcf\xfa\xed\xfe"  # the 64-bit little-endian format
_OF_LINKER = {".TOC."}  # PowerPC's TOC pointer
_MACH_SYMBOLS = 2  # load command of Mach-O


def check_calls(data: bytes, cpu: str, others: AbstractSet[str] = frozenset()) -> None:
    """Raises CompileError if object code calls a function that is neither on the list nor in `others`."""
    if strange := sorted(undefined_symbols(data) - ALLOWED - others):
        raise CompileError(f"code for {cpu} calls {', '.join(strange)}, which a machine need not have")


def check_c_calls(data: bytes, cpu: str, others: AbstractSet[str] = frozenset()) -> None:
    """Raises CompileError if code for C programs calls anything but memory and math functions, and `others`."""
    if strange := sorted(undefined_symbols(data) - FOR_C - others):
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
