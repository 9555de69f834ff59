"""A file of sections: small ones for code and plans, large ones for weights, all aligned to the largest pages.

    magic, version, the number of further files, the header's place, length and SHA-256, the names of these files, then
    the sections, then the header (JSON)

All of it is checked before any of it is used. The header and the small sections have SHA-256. Weights, which are
memory-mapped, have the SHA-256 of sums of their words: at memory bandwidth (14 GB/s on Zen 3, where SHA-256 does 1.6),
it detects accidental corruption; it is no signature, and neither is the rest. Whoever can write such a file can have
code executed by its readers.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

import numpy as np

from ...dialects.json_text import read_json
from ...dialects.page_blocks import alignment_for
from ..device import Array
from ..memory.mapped_file import Advise, MappedPart, mapped_parts
from .records import KeptError

MAGIC, VERSION = b"mini_inf", 6
_ROW = 1021  # 64-bit words: the prime below two pages
_BLOCK = 256  # rows whose words are summed, 2 MB
PAGE = 2**16  # bytes: sections begin at multiples, in the file and in memory, where all of the file is mapped
HEAD = struct.Struct("<8sIIQQ32s")
NAME = struct.Struct("<16sQ")  # of a further file that belongs to this one: the digest and the number of its bytes
MOST_NAMES = 2000  # they lie in front of the first section
_MOST_HEADER = 2**30  # bytes
_POPULATE = 22  # Linux's MADV_POPULATE_READ: all pages at once, in an eighth of the time that asking for each takes


@dataclass(frozen=True)
class Blob:
    """A section to write; the digest of `large` ones is that of sums of their words."""

    data: Array  # uint8, contiguous
    large: bool = False
    written: bool = False
    """Whether the file begins with it."""
    advise: Advise | None = None
    """Gives advice about its pages, if it is mapped."""

    @classmethod
    def of(cls, data: bytes) -> Blob:
        """A small section."""
        return cls(np.frombuffer(data, np.uint8))

    @classmethod
    def within(
        cls, whole: Array, advise: Advise, at: int, size: int, *, large: bool = True, written: bool = False
    ) -> Blob:
        """A part of mapped bytes."""
        return cls(
            whole[at : at + size], large, written, lambda advice, start, nbytes: advise(advice, at + start, nbytes)
        )

    @property
    def digest(self) -> str:
        """The digest of the bytes, in hexadecimal."""
        if self.large:
            return summed_digest(self.data, self.advise)
        return hashlib.sha256(memoryview(cast("Any", self.data))).hexdigest()


def summed_digest(data: Array, advise: Advise | None = None) -> str:
    """The SHA-256 of sums of 64-bit words whose distance is a multiple of _ROW, by blocks of rows, and of the rest.

    Sums don't detect an exchange of two words of one sum, but no two words within 8 KB belong to one; and as _ROW is
    prime, an exchange of pages changes sums. Of mapped bytes, which `advise` is for, one block is resident at a time.
    """
    rows = data[: data.nbytes // (8 * _ROW) * 8 * _ROW].view(np.uint64).reshape(-1, _ROW)
    digest = hashlib.sha256()
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        if advise is not None:
            advise(_POPULATE, start * 8 * _ROW, block.nbytes)
        digest.update(block.sum(axis=0, dtype=np.uint64).tobytes())
        if advise is not None:
            advise(mmap.MADV_DONTNEED, start * 8 * _ROW, block.nbytes)
    digest.update(memoryview(cast("Any", data[rows.nbytes :])))
    return digest.hexdigest()


def write(file: BinaryIO, about: dict[str, Any], blobs: Sequence[Blob], names: Sequence[str] = ()) -> None:
    """Writes sections, numbered in order, and a header, and names of further files; equal sections are stored once.

    The one that the file begins with, if any, is left as it is.
    """
    begun = [number for number, blob in enumerate(blobs) if blob.written]
    digests = [(blob.digest, blob.data.nbytes) for blob in blobs]
    places: dict[tuple[str, int], int] = {}
    end = HEAD.size
    for number in dict.fromkeys([*begun, *range(len(blobs))]):
        if digests[number] in places:
            continue
        places[digests[number]] = end = start_behind(end, digests[number][1])
        if number not in begun:
            file.seek(end)
            file.write(memoryview(cast("Any", blobs[number].data)))
        end += digests[number][1]
    listed = [[places[each], each[1], each[0], blob.large] for each, blob in zip(digests, blobs, strict=True)]
    header = json.dumps({"about": about, "sections": listed}, separators=(",", ":")).encode()
    file.truncate(end)
    file.seek(end)
    file.write(header)
    file.seek(0)
    file.write(HEAD.pack(MAGIC, VERSION, len(names), end, len(header), hashlib.sha256(header).digest()))
    for name in names:
        digest, _, nbytes = name.partition("-")
        file.write(NAME.pack(bytes.fromhex(digest), int(nbytes)))


def names_in(file: BinaryIO) -> list[str]:
    """The names of the further files that belong to a file; [] for a broken one. Raises OSError."""
    data = os.pread(file.fileno(), HEAD.size + MOST_NAMES * NAME.size, 0)
    if len(data) < HEAD.size:
        return []
    magic, version, count, *_ = HEAD.unpack(data[: HEAD.size])
    listed = data[HEAD.size : HEAD.size + count * NAME.size]
    if (magic, version) != (MAGIC, VERSION) or len(listed) != count * NAME.size:
        return []
    return [f"{digest.hex()}-{nbytes}" for digest, nbytes in NAME.iter_unpack(listed)]


def start_behind(end: int, nbytes: int) -> int:
    """Where a section of so many bytes begins behind byte `end` of a file; a large one can have huge pages."""
    alignment = alignment_for(nbytes)
    return -(-end // alignment) * alignment


class Container:
    """A mapped file: `about` is its header, sections are accessed by number. Raises KeptError for a broken one."""

    def __init__(self, file: BinaryIO) -> None:
        size = os.fstat(file.fileno()).st_size
        if size < HEAD.size:
            raise KeptError("it is cut short")
        self._descriptor = file.fileno()
        whole, self._advise = mapped_parts([MappedPart(file.fileno(), 0, size)], size)
        self._bytes = whole
        magic, version, _, start, length, digest = HEAD.unpack(whole[: HEAD.size].tobytes())
        if magic != MAGIC:
            raise KeptError("it is no compiled model")
        if version != VERSION:
            raise KeptError(f"it is of version {version}; this is for version {VERSION}")
        if start + length > size:
            raise KeptError("it is cut short")
        if start + length < size:
            raise KeptError(f"it has {size} bytes instead of {start + length}")
        if length > _MOST_HEADER:
            raise KeptError("its header is damaged")
        text = whole[start : start + length].tobytes()
        if hashlib.sha256(text).digest() != digest:
            raise KeptError("its header is damaged")
        header = read_json(text)
        self.about: dict[str, Any] = header["about"]
        self._sections: list[tuple[int, int, str, bool]] = [tuple(each) for each in header["sections"]]

    def section(self, number: object) -> Array:
        """The bytes of a section, read-only and checked; of a large one, none is resident afterwards."""
        at, size, digest, large = self._listed(number)
        found = Blob.within(self._bytes, self._advise, at, size, large=large)
        if found.data.nbytes != size or found.digest != digest:
            raise KeptError(f"its section {number} is damaged")
        return found.data

    def part(self, number: object) -> tuple[MappedPart, str]:
        """A large section as a part of its file, to be mapped while that is open, and its digest."""
        at, size, digest, _ = self._listed(number)
        if at + size > self._bytes.nbytes:
            raise KeptError(f"its section {number} is damaged")
        return MappedPart(self._descriptor, at, size), digest

    def _listed(self, number: object) -> tuple[int, int, str, bool]:
        if type(number) is not int or not 0 <= number < len(self._sections):
            raise KeptError(f"it has no section {number!r}")
        return self._sections[number]
