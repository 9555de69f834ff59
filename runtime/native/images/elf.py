"""A reader of 64-bit ELF object files: sections, symbols, relocations."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ....dialects.errors import CompileError

ELF = b"\x7fELF\2\1"  # 64-bit little-endian
NOBITS, INIT_ARRAY = 8, 14  # types of sections: of zeros, and of functions to call at first
_SYMBOLS, _RELOCATIONS = 2, 4
_FUNCTION = 2  # type of symbols
WRITE, ALLOC, EXEC, THREAD = 1, 2, 4, 0x400  # section flags


@dataclass(frozen=True)
class Section:
    """A section; `offset` is the position of its bytes in the file."""

    name: str
    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int


@dataclass(frozen=True)
class ElfSymbol:
    """A symbol; `section` is 0 if it is undefined."""

    name: str
    is_local: bool
    is_weak: bool
    is_function: bool
    section: int
    value: int
    size: int


@dataclass(frozen=True)
class Relocation:
    """A relocation at `offset` of section number `section`, to `symbol` plus `addend`."""

    section: int
    offset: int
    type: int
    symbol: int
    addend: int


class ElfObject:
    """An object file. Raises CompileError for any other content."""

    def __init__(self, data: bytes) -> None:
        if not data.startswith(ELF):
            raise CompileError(f"object code that starts with {data[:6].hex()} is no ELF of 64 bits")
        self.data = data
        (self.machine,) = struct.unpack_from("<H", data, 0x12)

    @cached_property
    def sections(self) -> list[Section]:
        """All sections, by number."""
        (table,) = struct.unpack_from("<Q", self.data, 0x28)
        size, count, names = struct.unpack_from("<HHH", self.data, 0x3A)
        heads = [struct.unpack_from("<IIQQQQIIQ", self.data, table + size * index) for index in range(count)]
        strings = heads[names][4]
        return [
            Section(string_at(self.data, strings + name), type, flags, offset, length, link, info, max(alignment, 1))
            for name, type, flags, _, offset, length, link, info, alignment in heads
        ]

    @cached_property
    def symbols(self) -> list[ElfSymbol]:
        """All symbols, by number."""
        for section in self.sections:
            if section.type == _SYMBOLS:
                strings = self.sections[section.link].offset
                entries = struct.iter_unpack("<IBBHQQ", self.bytes_of(section))
                return [
                    ElfSymbol(
                        string_at(self.data, strings + name),
                        is_local=info >> 4 == 0,
                        is_weak=info >> 4 == 2,
                        is_function=info & 15 == _FUNCTION,
                        section=place,
                        value=value,
                        size=size,
                    )
                    for name, info, _, place, value, size in entries
                ]
        return []

    def relocations(self) -> Iterator[Relocation]:
        """All relocations."""
        for section in self.sections:
            if section.type == _RELOCATIONS:
                for offset, info, addend in struct.iter_unpack("<QQq", self.bytes_of(section)):
                    yield Relocation(section.info, offset, info & 0xFFFFFFFF, info >> 32, addend)

    def bytes_of(self, section: Section) -> bytes:
        """The contents of a section."""
        if section.type == NOBITS:
            return bytes(section.size)
        return self.data[section.offset : section.offset + section.size]


def string_at(data: bytes, at: int) -> str:
    """The text from byte `at` on, which ends with a zero."""
    return data[at : data.index(b"\0", at)].decode()
