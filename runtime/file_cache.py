"""A content-addressed file cache for compiler results, which could be reproduced at any time.

The folder is private to the user. A damaged entry counts as missing, and an unusable folder as empty: neither is an
error. Files appear atomically, and never change.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
import weakref
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ..dialects.regular_file import open_regular

MOST_BYTES = 2**29  # of a folder; then those go that were not used for longest
_SUFFIX, _UNFINISHED = ".entry", ".unfinished"
_ABANDONED = 3600  # seconds after which a file that isn't finished never will be
_DIGEST = hashlib.sha256().digest_size


def user_cache(part: str = "") -> Path:
    """The folder `part` in this user's cache directory, by the XDG base directory specification."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(home) if os.path.isabs(home) else Path.home() / ".cache"
    return base / "mini_infer" / part


def key_of(*parts: bytes) -> str:
    """The cache key of these parts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def make_private(folder: Path) -> None:
    """Creates a folder and its parents with access for this user only. Raises OSError."""
    if not folder.is_dir():
        make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


@dataclass(frozen=True)
class FileCache:
    """Bytes by key, in one folder."""

    folder: Path
    most_bytes: int | None = None  # None means MOST_BYTES
    parts: FileCache | None = None
    """The cache of further files of entries, which several entries may have in common."""
    parts_of: Callable[[BinaryIO], Sequence[str]] | None = None
    """Reads their keys from an entry."""

    def get(self, key: str) -> bytes | None:
        """The bytes stored by `put` under a key; None if there are none intact."""
        file = self.open(key)
        if file is None:
            return None
        with file, contextlib.suppress(OSError):
            kept = file.read()
            digest, data = kept[:_DIGEST], kept[_DIGEST:]
            return data if hashlib.sha256(data).digest() == digest else None
        return None

    def put(self, key: str, data: bytes) -> None:
        """Stores bytes under a key, atomically."""
        self.write(key, lambda file: file.write(hashlib.sha256(data).digest() + data))

    def open(self, key: str) -> BinaryIO | None:
        """The file stored under a key, marked as recently used; None if there is none of this user's."""
        with contextlib.suppress(OSError):
            if self._private():
                file = open_regular(self.file_of(key), links=False)
                status = os.fstat(file.fileno())
                if status.st_uid == os.geteuid() and not status.st_mode & 0o022:
                    os.utime(file.fileno())
                    return file
                file.close()
        return None

    def write(self, key: str, fill: Callable[[BinaryIO], object]) -> bool:
        """Stores what `fill` writes to a file under a key; returns whether that succeeded."""
        draft = self.draft()
        return draft is not None and draft.keep(key, fill)

    def draft(self) -> Draft | None:
        """A file to be stored when it is whole; None if the folder can't be written."""
        import tempfile  # with the modules that it needs, which finding something doesn't

        with contextlib.suppress(OSError):
            make_private(self.folder)
            if self._private():
                descriptor, name = tempfile.mkstemp(_UNFINISHED, dir=self.folder)
                return Draft(self, os.fdopen(descriptor, "w+b"), Path(name))
        return None

    def obstacle(self) -> str:
        """The reason why the folder can't store anything; "" if it can."""
        import tempfile

        try:
            make_private(self.folder)
            if not self._private():
                return "others may write to it, or it is another user's"
            with tempfile.TemporaryFile(dir=self.folder):
                return ""
        except FileExistsError:
            return "a file lies there"
        except OSError as error:
            return error.strerror or str(error)

    def drop(self, key: str) -> None:
        """Deletes an entry."""
        with contextlib.suppress(OSError):
            self.file_of(key).unlink(missing_ok=True)

    def entries(self) -> list[tuple[str, os.stat_result]]:
        """All keys, most recently used first."""
        found: list[tuple[str, os.stat_result]] = []
        for file in self.folder.glob(f"*{_SUFFIX}"):
            with contextlib.suppress(OSError):  # another process may have forgotten it
                found.append((file.name.removesuffix(_SUFFIX), file.stat()))
        return sorted(found, key=lambda entry: -entry[1].st_mtime)

    def parts_in(self, key: str) -> Sequence[str]:
        """The keys of an entry's further files, in `parts`; they don't count as used."""
        if self.parts_of is not None:
            with contextlib.suppress(OSError), open_regular(self.file_of(key), links=False) as file:
                return self.parts_of(file)
        return ()

    def shrink(self) -> None:
        """Deletes the least recently used entries beyond the size limit, and abandoned temporary files.

        Of further files those are deleted that no entry has, unless they were used a short time ago: an entry that is
        being made may have them.
        """
        most, total = MOST_BYTES if self.most_bytes is None else self.most_bytes, 0
        sizes = {} if self.parts is None else {key: status.st_size for key, status in self.parts.entries()}
        used = set[str]()
        for key, status in self.entries():
            parts = self.parts_in(key)
            total += status.st_size + sum(sizes.get(each, 0) for each in {*parts} - used)
            if total > most:
                self.drop(key)
            else:
                used.update(parts)
        if self.parts is not None:
            self.parts.drop_old({key for key in sizes if key not in used})
            self.parts.shrink()
        for file in self.folder.glob(f"*{_UNFINISHED}"):
            with contextlib.suppress(OSError):
                if time.time() - file.stat().st_mtime > _ABANDONED:
                    file.unlink()

    def drop_old(self, keys: Collection[str]) -> None:
        """Deletes those of some entries that were not used for a while."""
        for key, status in self.entries():
            if key in keys and time.time() - status.st_mtime > _ABANDONED:
                self.drop(key)

    def file_of(self, key: str) -> Path:
        """The file of an entry."""
        return self.folder / f"{key}{_SUFFIX}"

    def _private(self) -> bool:
        """Whether only this user may write to the folder: its contents will be executed."""
        status = self.folder.stat()
        return status.st_uid == os.geteuid() and not status.st_mode & 0o022


class Draft:
    """A file in a cache's folder that isn't an entry yet; it is deleted with this object unless it becomes one."""

    def __init__(self, cache: FileCache, file: BinaryIO, path: Path) -> None:
        self.file = file
        self._cache, self._path = cache, path
        self._delete = weakref.finalize(self, _delete, path)
        self._delete.atexit = False  # it isn't for a forked child to delete

    def keep(self, key: str, fill: Callable[[BinaryIO], object]) -> bool:
        """Stores the file under a key, after `fill` has written to it; returns whether that succeeded."""
        try:
            with self.file:
                fill(self.file)
            os.replace(self._path, self._cache.file_of(key))
        except OSError:
            self.drop()
            return False
        except BaseException:
            self.drop()
            raise
        self._delete.detach()
        with contextlib.suppress(OSError):
            self._cache.shrink()
        return True

    def drop(self) -> None:
        """Deletes the file; what is mapped of it stays."""
        with contextlib.suppress(OSError):
            self.file.close()
        self._delete()


def _delete(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
