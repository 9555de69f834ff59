"""The file of a compiled model, begun with its weights before the rest: they are never in memory as a whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import BinaryIO, cast

from ..device import Array
from ..file_cache import Draft, FileCache
from .container import HEAD, Blob, Mapped, start_behind


class BegunModel:
    """A file that becomes an entry of a cache with `keep`; otherwise it is deleted, and what is mapped of it stays."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self.weights: Blob | None = None
        """The weights in the file, mapped, once they are written."""

    @classmethod
    def within(cls, cache: FileCache) -> BegunModel | None:
        """A file in the cache's folder; None if that can't be written."""
        draft = cache.draft()
        return None if draft is None else cls(draft)

    def write_weights(self, nbytes: int, parts: Iterable[tuple[int, Array]]) -> Array | None:
        """Writes bytes at offsets of the segment of weights, and maps it; None if there is no room for it."""
        self.weights = weights_in(self._draft.file, nbytes, parts)
        return None if self.weights is None else self.weights.data

    def keep(self, key: str, fill: Callable[[BinaryIO], object]) -> bool:
        """Stores the file under a key, after `fill` has written the rest; returns whether that succeeded."""
        return self._draft.keep(key, fill)

    def drop(self) -> None:
        """Deletes the file."""
        self._draft.drop()


def weights_in(file: BinaryIO, nbytes: int, parts: Iterable[tuple[int, Array]]) -> Blob | None:
    """A mapped segment of weights, of which parts are written at their offsets to a file; None if there is no room."""
    start = start_behind(HEAD.size, nbytes)
    with suppress(OSError):
        for offset, data in parts:
            _write_at(file.fileno(), data, start + offset)
        os.truncate(file.fileno(), start + nbytes)
        return Mapped(file).blob(start, nbytes, large=True, written=True)
    return None


def _write_at(descriptor: int, data: Array, place: int) -> None:
    """Writes all bytes, of which the system may take fewer at once."""
    left = memoryview(cast("bytes", data))
    while left.nbytes:
        written = os.pwrite(descriptor, left, place)
        left, place = left[written:], place + written
