"""A linker: combines object files into one position-independent image with few load-time relocations.

Code and constants come first; then, on separate pages, writable data: variables, and a pointer for each C library
function that is called and each symbol whose address is loaded (a GOT). C library calls jump through a stub that loads
such a pointer. Distances inside the image are relocated here; the rest, which depends on the load address or on other
libraries, when it is loaded.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from ....dialects.errors import CompileError
from .elf import ALLOC, EXEC, INIT_ARRAY, THREAD, WRITE, ElfObject, Relocation
from .image import PAGE, Image, Links

_POINTER = 8
_X86_64, _AARCH64 = 62, 183
ARCHITECTURES = {_X86_64: "x86_64", _AARCH64: "aarch64"}

# Relocation types, by what they compute (S symbol, A addend, P place, G the symbol's pointer).
_ABSOLUTE = {(_X86_64, 1), (_AARCH64, 257)}  # 64 bits of S + A
_RELATIVE = {(_X86_64, 2), (_X86_64, 4), (_AARCH64, 261)}  # 32 bits of S + A - P
_RELATIVE_64 = {(_X86_64, 24), (_AARCH64, 260)}
_BY_POINTER = {(_X86_64, 9), (_X86_64, 41), (_X86_64, 42)}  # 32 bits of G + A - P
_CALL = {(_AARCH64, 282), (_AARCH64, 283)}  # 26 bits of words
_PAGE_OF = {(_AARCH64, 275), (_AARCH64, 276)}  # 21 bits of pages, in adrp
_IN_PAGE = {277: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4}  # 12 bits in units of 1 << these (aarch64)
_POINTERS_PAGE, _POINTER_IN_PAGE = (_AARCH64, 311), (_AARCH64, 312)
_KNOWN = (
    _ABSOLUTE
    | _RELATIVE
    | _RELATIVE_64
    | _BY_POINTER
    | _CALL
    | _PAGE_OF
    | {(_AARCH64, type) for type in _IN_PAGE}
    | {_POINTERS_PAGE, _POINTER_IN_PAGE}
)


@dataclass
class _Layout:
    """The image under construction."""

    data: bytearray = field(default_factory=bytearray)
    places: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    """(object, section) -> offset."""
    globals: dict[str, tuple[int, bool]] = field(default_factory=dict[str, tuple[int, bool]])
    """Name -> offset, and whether the definition is weak."""

    def align(self, to: int) -> int:
        self.data.extend(bytes(-len(self.data) % to))
        return len(self.data)


def link(objects: Sequence[bytes]) -> Image:
    """Links ELF objects for one architecture to an image.

    Raises CompileError for duplicate definitions, and for ELF features that our code never has.
    """
    parsed = [ElfObject(data) for data in objects]
    machines = {each.machine for each in parsed}
    if len(machines) != 1 or not machines <= set(ARCHITECTURES):
        raise CompileError(f"objects for the ELF machines {sorted(machines)} can't be linked")
    (machine,) = machines
    return _Linker(parsed, machine).link()


class _Linker:
    def __init__(self, objects: Sequence[ElfObject], machine: int) -> None:
        self.objects, self.machine = objects, machine
        self.layout = _Layout()
        self.stubs: dict[str, int] = {}
        self.pointers: dict[str | tuple[int, int], int] = {}  # a name, or (object, symbol) of a nameless one
        self.moved: list[int] = []
        self.defined = {symbol.name for each in objects for symbol in each.symbols if symbol.section}

    def link(self) -> Image:
        self._place(writable=False)
        self._define()
        wanted = [(number, each) for number, each in self._relocations() if not self._is_near(number, each)]
        self._make_stubs({self.objects[number].symbols[each.symbol].name for number, each in wanted})
        writable = self.layout.align(PAGE)
        self._place(writable=True)
        self._define()
        self.layout.align(_POINTER)
        self._make_pointers()
        for number, each in self._relocations():
            self._fill(number, each)
        imports = sorted((name, at) for name, at in self.pointers.items() if self._is_import(name))
        links = Links(
            ARCHITECTURES[self.machine],
            writable,
            tuple((str(name), at) for name, at in imports),
            tuple(sorted(self.moved)),
            tuple(sorted((name, at) for name, (at, _) in self.layout.globals.items())),
            tuple(self._functions()),
        )
        return Image(bytes(self.layout.data), links)

    def _functions(self) -> list[tuple[str, int, int]]:
        """All functions, by their offsets; one of several weak definitions is the one that is called."""
        found: list[tuple[int, str, int]] = []
        for number, each in enumerate(self.objects):
            for symbol in each.symbols:
                place = self.layout.places.get((number, symbol.section))
                if symbol.is_function and place is not None:
                    at = place + symbol.value
                    if symbol.is_local or self.layout.globals[symbol.name][0] == at:
                        found.append((at, symbol.name, symbol.size))
        return [(name, at, size) for at, name, size in sorted(found)]

    def _is_import(self, name: str | tuple[int, int]) -> bool:
        return isinstance(name, str) and name not in self.layout.globals

    def _place(self, *, writable: bool) -> None:
        """Lays out the writable sections, or the others, code first."""
        found = [
            (not section.flags & EXEC, number, index)
            for number, each in enumerate(self.objects)
            for index, section in enumerate(each.sections)
            if section.flags & ALLOC and bool(section.flags & WRITE) == writable and section.name != ".eh_frame"
        ]
        for _, number, index in sorted(found):
            section = self.objects[number].sections[index]
            if section.flags & THREAD or section.type == INIT_ARRAY:
                raise CompileError(f"object code has a section {section.name}, which can't be linked")
            self.layout.places[number, index] = self.layout.align(section.alignment)
            self.layout.data.extend(self.objects[number].bytes_of(section))

    def _define(self) -> None:
        """Records the addresses of symbols in the sections laid out."""
        for number, each in enumerate(self.objects):
            for symbol in each.symbols:
                place = self.layout.places.get((number, symbol.section))
                if symbol.is_local or place is None:
                    continue
                at, known = place + symbol.value, self.layout.globals.get(symbol.name)
                if known is not None and known[0] != at and not (known[1] or symbol.is_weak):
                    raise CompileError(f"two functions are called '{symbol.name}'")
                if known is None or (known[1] and not symbol.is_weak):
                    self.layout.globals[symbol.name] = at, symbol.is_weak

    def _relocations(self) -> list[tuple[int, Relocation]]:
        return [
            (number, each)
            for number, object in enumerate(self.objects)
            for each in object.relocations()
            if object.sections[each.section].flags & ALLOC and object.sections[each.section].name != ".eh_frame"
        ]

    def _is_near(self, number: int, each: Relocation) -> bool:
        """Whether the target is not an imported function, which would need a stub."""
        kind, symbol = (self.machine, each.type), self.objects[number].symbols[each.symbol]
        return kind not in _RELATIVE | _CALL or bool(symbol.section) or symbol.name in self.defined

    def _make_stubs(self, names: set[str]) -> None:
        size, alignment = (8, 8) if self.machine == _X86_64 else (12, 4)
        self.layout.align(16)
        for name in sorted(names):
            self.stubs[name] = self.layout.align(alignment)
            self.layout.data.extend(bytes(size))

    def _make_pointers(self) -> None:
        """Creates a pointer for each import, and for each symbol whose address is loaded."""
        for name in self.stubs:
            self._pointer(name)
        for number, each in self._relocations():
            kind = (self.machine, each.type)
            if kind in _BY_POINTER or kind in (_POINTERS_PAGE, _POINTER_IN_PAGE):
                self._pointer(self._pointed(number, each))
        for name, at in self.stubs.items():
            self._write_stub(at, self.pointers[name])

    def _pointed(self, number: int, each: Relocation) -> str | tuple[int, int]:
        symbol = self.objects[number].symbols[each.symbol]
        return (number, each.symbol) if symbol.is_local else symbol.name

    def _pointer(self, name: str | tuple[int, int]) -> None:
        if name in self.pointers:
            return
        at = self.pointers[name] = len(self.layout.data)
        target = 0
        if not self._is_import(name):
            target = self.layout.globals[name][0] if isinstance(name, str) else self._address(*name)
            self.moved.append(at)
        self.layout.data.extend(struct.pack("<Q", target))

    def _write_stub(self, at: int, pointer: int) -> None:
        """A jump through a pointer."""
        if self.machine == _X86_64:
            struct.pack_into("<Hi", self.layout.data, at, 0x25FF, pointer - at - 6)  # jmp [rip + ...]
            return
        pages, low = (pointer >> 12) - (at >> 12), pointer & 0xFFF
        words = (_adrp(0x90000010, pages), 0xF9400211 | (low >> 3) << 10, 0xD61F0220)  # adrp x16; ldr x17; br x17
        struct.pack_into("<III", self.layout.data, at, *words)

    def _address(self, number: int, symbol: int) -> int:
        """The address of a symbol, or of its stub if it is imported."""
        each = self.objects[number].symbols[symbol]
        place = self.layout.places.get((number, each.section))
        if each.is_local and place is not None:
            return place + each.value
        if each.name in self.layout.globals:
            return self.layout.globals[each.name][0]
        if each.name in self.stubs:
            return self.stubs[each.name]
        raise CompileError(f"object code refers to '{each.name}', which can't be linked")

    def _fill(self, number: int, each: Relocation) -> None:
        data, kind = self.layout.data, (self.machine, each.type)
        if kind not in _KNOWN:
            raise CompileError(f"object code has a relocation of type {each.type}, which can't be linked")
        at = self.layout.places[number, each.section] + each.offset
        if kind in _BY_POINTER:
            struct.pack_into("<i", data, at, self.pointers[self._pointed(number, each)] + each.addend - at)
            return
        if kind in (_POINTERS_PAGE, _POINTER_IN_PAGE):
            target = self.pointers[self._pointed(number, each)] + each.addend
        else:
            target = self._address(number, each.symbol) + each.addend
        if kind in _ABSOLUTE:
            struct.pack_into("<Q", data, at, target)
            self.moved.append(at)
        elif kind in _RELATIVE:
            struct.pack_into("<i", data, at, target - at)
        elif kind in _RELATIVE_64:
            struct.pack_into("<q", data, at, target - at)
        else:
            (word,) = struct.unpack_from("<I", data, at)
            struct.pack_into("<I", data, at, _aarch64_word(word, each.type, target, at))


def _aarch64_word(word: int, type: int, target: int, at: int) -> int:
    """An instruction with its relocated field."""
    kind = (_AARCH64, type)
    if kind in _CALL:
        if not -(1 << 27) <= target - at < 1 << 27:
            raise CompileError("object code is too large for a call in it")
        return (word & ~0x3FFFFFF) | ((target - at) >> 2) & 0x3FFFFFF
    if kind in _PAGE_OF or kind == _POINTERS_PAGE:
        return _adrp(word & ~0x60FFFFE0, (target >> 12) - (at >> 12))
    scale = 3 if kind == _POINTER_IN_PAGE else _IN_PAGE[type]
    return (word & ~(0xFFF << 10)) | (target & 0xFFF) >> scale << 10


def _adrp(word: int, pages: int) -> int:
    """adrp with a distance in pages of 4 KiB."""
    return word | (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5
