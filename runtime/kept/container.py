"""A file of sections: small ones for code and plans, large ones for weights, all aligned to the largest pages.

    magic, version, the header's place, length and SHA-256, then the sections, then the header (JSON)

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
from functools import partial
from typing import Any, BinaryIO, cast

import numpy as np

from ...dialects.json_text import read_json
from ...dialects.page_blocks import HUGE_BLOCK, block_for
from ..device import Array
from ..memory.mapped_file import Advise, mapped_file
from .records import KeptError

MAGIC, VERSION = b"mini_inf", 5
_ROW = 1021  # 64-bit words: the prime below two pages
_BLOCK = 256  # rows whose words are summed, 2 MB
PAGE = 2**16  # bytes: sections begin at multiples, in the file and in memory, where all of the file is mapped
HEAD = struct.Struct("<8sIIQQ32s")
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


def write(file: BinaryIO, about: dict[str, Any], blobs: Sequence[Blob]) -> None:
    """Writes sections, numbered in order, and a header; equal sections are stored once.

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
    file.write(HEAD.pack(MAGIC, VERSION, 0, end, len(header), hashlib.sha256(header).digest()))


def start_behind(end: int, nbytes: int) -> int:
    """Where a section of so many bytes begins behind byte `end` of a file; a large one can have huge pages."""
    alignment = max(PAGE, block_for(nbytes))
    return -(-end // alignment) * alignment


class Mapped:
    """The bytes of a whole file, mapped at a multiple of HUGE_BLOCK."""

    def __init__(self, file: BinaryIO) -> None:
        self.bytes, self._advise_all = mapped_file(file.fileno(), os.fstat(file.fileno()).st_size, HUGE_BLOCK)

    def blob(self, at: int, size: int, *, large: bool, written: bool = False) -> Blob:
        """A section of it."""
        return Blob(self.bytes[at : at + size], large, written, partial(self._advise, at))

    def _advise(self, at: int, advice: int, start: int, nbytes: int) -> None:
        """Gives advice about pages, ignoring errors."""
        first = (at + start) // mmap.PAGESIZE * mmap.PAGESIZE
        self._advise_all(advice, first, at + start + nbytes - first)


class Container:
    """A mapped file: `about` is its header, sections are accessed by number. Raises KeptError for a broken one."""

    def __init__(self, file: BinaryIO) -> None:
        size = os.fstat(file.fileno()).st_size
        if size < HEAD.size:
            raise KeptError("it is cut short")
        self._mapped = Mapped(file)
        whole = self._mapped.bytes
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
        if type(number) is not int or not 0 <= number < len(self._sections):
            raise KeptError(f"it has no section {number!r}")
        at, size, digest, large = self._sections[number]
        found = self._mapped.blob(at, size, large=large)
        if found.data.nbytes != size or found.digest != digest:
            raise KeptError(f"its section {number} is damaged")
        return found.data
