"""The file of a compiled model, begun with its weights before the rest: they are never in memory as a whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import BinaryIO, cast

from ...dialects.page_blocks import BLOCK
from ..device import Array
from ..file_cache import Draft
from ..memory.mapped_file import MappedPart, mapped_parts
from .cache_folders import CacheFolder
from .container import HEAD, MOST_NAMES, Blob, start_behind
from .weight_files import OWN_BYTES, WeightFiles


@dataclass(frozen=True)
class PlacedWeight:
    """A weight of a segment: its first byte there, its number of bytes, and these, part by part."""

    offset: int
    nbytes: int
    parts: Iterable[Array]


@dataclass(frozen=True)
class WrittenWeights:
    """A segment of weights in files, mapped: the model's own, and one for each large weight."""

    data: Array
    own: Blob
    """What begins the model's file, and the segment."""
    files: Sequence[tuple[int, str, Blob]]
    """Offset in the segment, name and bytes of the others."""


class BegunModel:
    """A file that becomes an entry of a cache with `keep`; otherwise it is deleted, and what is mapped of it stays."""

    def __init__(self, draft: Draft, files: WeightFiles) -> None:
        self._draft, self._files = draft, files
        self.weights: WrittenWeights | None = None
        """The weights in files, mapped, once they are written."""

    @classmethod
    def within(cls, folder: CacheFolder) -> BegunModel | None:
        """A file in the cache's folder; None if that can't be written."""
        draft = folder.models.draft()
        return None if draft is None else cls(draft, WeightFiles(folder.weights, folder.facts))

    def write_weights(self, nbytes: int, weights: Sequence[PlacedWeight]) -> Array | None:
        """Writes the weights of a segment, and maps it; None if there is no room for it."""
        self.weights = weights_in(self._draft.file, nbytes, weights, self._files)
        return None if self.weights is None else self.weights.data

    def keep(self, key: str, fill: Callable[[BinaryIO], object]) -> bool:
        """Stores the file under a key, after `fill` has written the rest; returns whether that succeeded."""
        return self._draft.keep(key, fill)

    def drop(self) -> None:
        """Deletes the file."""
        self._draft.drop()


def weights_in(
    file: BinaryIO, nbytes: int, weights: Sequence[PlacedWeight], files: WeightFiles | None = None
) -> WrittenWeights | None:
    """A mapped segment of weights, written to a file, large ones to `files` if given; None if there is no room."""
    apart = _apart(nbytes, weights) if files is not None else set[int]()
    own = max((each.offset + each.nbytes for each in weights if each.offset not in apart), default=0)
    start = start_behind(HEAD.size, own)
    with suppress(OSError), ExitStack() as opened:
        parts = [MappedPart(file.fileno(), start, own)]
        names: list[str] = []
        for each in weights:
            if files is not None and each.offset in apart:
                stored = files.store(each.parts)
                if stored is None:
                    return None
                name, stream = stored
                opened.enter_context(stream)
                names.append(name)
                parts.append(MappedPart(stream.fileno(), 0, each.nbytes, each.offset))
                continue
            place = start + each.offset
            for data in each.parts:
                _write_at(file.fileno(), data, place)
                place += data.nbytes
        os.truncate(file.fileno(), start + own)
        whole, advise = mapped_parts(parts, nbytes)
        return WrittenWeights(
            whole,
            Blob.within(whole, advise, 0, own, written=True),
            [
                (part.place, name, Blob.within(whole, advise, part.place, part.nbytes))
                for name, part in zip(names, parts[1:], strict=True)
            ],
        )
    return None


def _apart(nbytes: int, weights: Sequence[PlacedWeight]) -> set[int]:
    """The offsets of large weights that have pages of their own."""
    ends = [*(each.offset for each in weights[1:]), nbytes]
    found = [
        each.offset
        for each, end in zip(weights, ends, strict=True)
        if each.nbytes >= OWN_BYTES and each.offset % BLOCK == 0 and (end % BLOCK == 0 or end == nbytes)
    ]
    return set(found[:MOST_NAMES])


def _write_at(descriptor: int, data: Array, place: int) -> None:
    """Writes all bytes, of which the system may take fewer at once."""
    left = memoryview(cast("bytes", data))
    while left.nbytes:
        written = os.pwrite(descriptor, left, place)
        left, place = left[written:], place + written
