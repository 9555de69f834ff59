"""Files of weights in a cache's folder, named by the digest of their bytes: models with equal weights share them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import BinaryIO, cast

import xxhash

from ..device import Array
from ..file_cache import FileCache
from .keys import Digests

OWN_BYTES = 2**20
"""Bytes of a weight from which on it has a file of its own."""


class WeightFiles:
    """The files of weights in a folder; which of them are in use, entries of models say."""

    def __init__(self, files: FileCache, facts: FileCache) -> None:
        self._files = files
        self._seed = Digests(facts).seed

    def store(self, parts: Iterable[Array]) -> tuple[str, BinaryIO] | None:
        """Stores bytes, unless a file has them already; returns its name and the open file, None if that failed."""
        draft = self._files.draft()
        if draft is None:
            return None
        digest, nbytes = xxhash.xxh3_128(seed=self._seed), 0
        try:
            for part in parts:
                draft.file.write(memoryview(cast("bytes", part)))
                digest.update(cast("bytes", part))
                nbytes += part.nbytes
        except OSError:
            draft.drop()
            return None
        except BaseException:
            draft.drop()
            raise
        name = f"{digest.hexdigest()}-{nbytes}"
        known = self.open(name, nbytes)
        if known is None and draft.keep(name, lambda file: file.flush()):
            known = self.open(name, nbytes)
        draft.drop()
        return None if known is None else (name, known)

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
