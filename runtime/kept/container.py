"""A file of sections: small ones for code and plans, page-aligned large ones for weights.

    magic, version, the header's length and SHA-256, the header (JSON), then the sections

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
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

import numpy as np

from ...dialects.json_text import read_json
from ..device import Array
from .records import KeptError

MAGIC, VERSION = b"mini_inf", 3
_ROW = 1021  # 64-bit words: the prime below two pages
_BLOCK = 256  # rows whose words are summed, 2 MB
PAGE = 4096  # bytes: where sections begin; what is mapped begins where the file does
_HEAD = struct.Struct("<8sIIQ32s")
_MOST_HEADER = 2**30  # bytes
_POPULATE = 22  # Linux's MADV_POPULATE_READ: all pages at once, in an eighth of the time that asking for each takes


@dataclass(frozen=True)
class Blob:
    """A section to write; the digest of `large` ones is that of sums of their words."""

    data: Array  # uint8, contiguous
    large: bool = False

    @classmethod
    def of(cls, data: bytes) -> Blob:
        """A small section."""
        return cls(np.frombuffer(data, np.uint8))

    @property
    def digest(self) -> str:
        """The digest of the bytes, in hexadecimal."""
        return (
            summed_digest(self.data) if self.large else hashlib.sha256(memoryview(cast("Any", self.data))).hexdigest()
        )


def summed_digest(data: Array) -> str:
    """The SHA-256 of sums of 64-bit words whose distance is a multiple of _ROW, by blocks of rows, and of the rest.

    Sums don't detect an exchange of two words of one sum, but no two words within 8 KB belong to one; and as _ROW is
    prime, an exchange of pages changes sums.
    """
    rows = data[: data.nbytes // (8 * _ROW) * 8 * _ROW].view(np.uint64).reshape(-1, _ROW)
    digest = hashlib.sha256()
    for start in range(0, len(rows), _BLOCK):
        digest.update(rows[start : start + _BLOCK].sum(axis=0, dtype=np.uint64).tobytes())
    digest.update(memoryview(cast("Any", data[rows.nbytes :])))
    return digest.hexdigest()


def write(file: BinaryIO, about: dict[str, Any], blobs: Sequence[Blob]) -> None:
    """Writes a header and sections, numbered in order; equal sections are stored once."""
    digests = [(blob.digest, blob.data.nbytes) for blob in blobs]
    first = {each: number for number, each in reversed([*enumerate(digests)])}
    rooms: list[int] = []
    end = 0
    for number, each in enumerate(digests):
        start = end if first[each] == number else rooms[first[each]]
        rooms.append(start)
        end = max(end, -(-(start + each[1]) // PAGE) * PAGE)
    listed = [[at, size, digest, blob.large] for at, (digest, size), blob in zip(rooms, digests, blobs, strict=True)]
    header = json.dumps({"about": about, "sections": listed, "bytes": end}, separators=(",", ":")).encode()
    start = -(-(_HEAD.size + len(header)) // PAGE) * PAGE
    file.write(_HEAD.pack(MAGIC, VERSION, 0, len(header), hashlib.sha256(header).digest()))
    file.write(header)
    for number, each in enumerate(digests):
        if first[each] == number:
            file.seek(start + rooms[number])
            file.write(memoryview(cast("Any", blobs[number].data)))
    file.truncate(start + end)


class Container:
    """A mapped file: `about` is its header, sections are accessed by number. Raises KeptError for a broken one."""

    def __init__(self, file: BinaryIO) -> None:
        size = os.fstat(file.fileno()).st_size
        if size < _HEAD.size:
            raise KeptError("it is cut short")
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._bytes = np.frombuffer(self._map, np.uint8)
        magic, version, _, length, digest = _HEAD.unpack(self._bytes[: _HEAD.size].tobytes())
        if magic != MAGIC:
            raise KeptError("it is no compiled model")
        if version != VERSION:
            raise KeptError(f"it is of version {version}; this is for version {VERSION}")
        if length > min(size - _HEAD.size, _MOST_HEADER):
            raise KeptError("it is cut short")
        text = self._bytes[_HEAD.size : _HEAD.size + length].tobytes()
        if hashlib.sha256(text).digest() != digest:
            raise KeptError("its header is damaged")
        header = read_json(text)
        self._start = -(-(_HEAD.size + length) // PAGE) * PAGE
        self.about: dict[str, Any] = header["about"]
        self._sections: list[tuple[int, int, str, bool]] = [tuple(each) for each in header["sections"]]
        if size != self._start + header["bytes"]:
            raise KeptError(f"it has {size} bytes instead of {self._start + header['bytes']}")

    def section(self, number: object) -> Array:
        """The bytes of a section, read-only and checked."""
        if type(number) is not int or not 0 <= number < len(self._sections):
            raise KeptError(f"it has no section {number!r}")
        at, size, digest, large = self._sections[number]
        found = self._bytes[self._start + at : self._start + at + size]
        if large:
            self._advise(_POPULATE, at, found.nbytes)
        if found.nbytes != size or Blob(found, large).digest != digest:
            raise KeptError(f"its section {number} is damaged")
        if large:  # what is never read, as most of a table of words, is no memory of this process
            self._advise(mmap.MADV_DONTNEED, at, size)
        return found

    def _advise(self, advice: int, at: int, nbytes: int) -> None:
        """Gives advice to the system about pages, ignoring errors."""
        if nbytes:
            with suppress(OSError, ValueError):
                self._map.madvise(advice, self._start + at, nbytes)
