"""Files of weights in a cache's folder, named by the digest of their bytes: models with equal weights share them."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import BufferedReader
from typing import BinaryIO, cast

import xxhash

from ...dialects.page_blocks import HUGE_BLOCK
from ..device import Array
from ..file_cache import FileCache
from .keys import Digests

OWN_BYTES = 2**20
"""Bytes of a weight from which on it has a file of its own."""
_WRITTEN = 2 * HUGE_BLOCK  # bytes at once


class WeightFiles:
    """The files of weights in a folder; which of them are in use, entries of models say."""

    def __init__(self, files: FileCache, facts: FileCache) -> None:
        self._files = files
        self._digests = Digests(facts)

    def store(self, parts: Iterable[Array]) -> tuple[str, BinaryIO] | None:
        """Stores bytes, unless a file has them already; returns its name and the open file, None if that failed."""
        draft = self._files.draft()
        if draft is None:
            return None
        digest, nbytes = xxhash.xxh3_128(seed=self._digests.seed), 0
        try:
            for part in _blocks(parts):
                written = 0
                while written < len(part):
                    written += os.write(draft.file.fileno(), part[written:])
                digest.update(part)
                nbytes += len(part)
        except OSError:
            draft.drop()
            return None
        except BaseException:
            draft.drop()
            raise
        name = f"{digest.hexdigest()}-{nbytes}"
        known = self._intact(name, nbytes, digest.digest())
        if known is None and draft.keep(name, lambda file: None):
            known = self.open(name, nbytes)
        draft.drop()
        return None if known is None else (name, known)

    def _intact(self, name: str, nbytes: int, digest: bytes) -> BinaryIO | None:
        """A file whose bytes have that digest."""
        file = self.open(name, nbytes)
        with suppress(OSError):
            if file is not None and self._digests.of_file(cast("BufferedReader", file)) == digest:
                return file
        if file is not None:
            file.close()
        return None

    def open(self, name: str, nbytes: int) -> BinaryIO | None:
        """A file of so many bytes, marked as recently used; None if there is none."""
        file = self._files.open(name)
        if file is not None and os.fstat(file.fileno()).st_size == nbytes:
            return file
        if file is not None:
            file.close()
        return None

    def drop(self, name: str) -> None:
        """Deletes a file that is damaged; what is mapped of it stays."""
        with suppress(OSError):
            self._files.drop(name)


def _blocks(parts: Iterable[Array]) -> Iterator[memoryview]:
    """The same bytes in whole blocks: of what is written so, Linux keeps huge pages, which are quick to map."""
    room, filled = memoryview(mmap.mmap(-1, _WRITTEN)), 0  # which goes back to the system afterwards
    for part in parts:
        left = memoryview(cast("bytes", part)).cast("B")
        while left:
            taken = min(len(left), _WRITTEN - filled)
            room[filled : filled + taken] = left[:taken]
            left, filled = left[taken:], filled + taken
            if filled == _WRITTEN:
                yield room
                filled = 0
    if filled:
        yield room[:filled]
