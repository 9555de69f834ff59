"""Results that are kept in files by their content: those of a compiler, which would give the same again.

The folder is this user's own. An entry that is damaged counts as none, and a folder that can't be used keeps nothing:
neither is an error, as what was kept can be made again. Files appear whole or not at all, and never change.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from ..dialects.plain_file import open_plain

MOST_BYTES = 2**29  # of a folder; then those go that were not used for longest
_SUFFIX, _UNFINISHED = ".entry", ".unfinished"
_ABANDONED = 3600  # seconds after which a file that isn't finished never will be
_DIGEST = hashlib.sha256().digest_size


def user_cache(part: str = "") -> Path:
    """The folder for `part` among this user's caches, where the XDG base directory specification puts them."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(home) if os.path.isabs(home) else Path.home() / ".cache"
    return base / "mini_infer" / part


def key_of(*parts: bytes) -> str:
    """The name of what was made from these parts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def make_private(folder: Path) -> None:
    """Makes a folder, and those that it lies in, for this user alone where there are none. Raises OSError."""
    if not folder.is_dir():
        make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


@dataclass(frozen=True)
class FileCache:
    """Bytes by name, in one folder."""

    folder: Path
    most_bytes: int | None = None  # None means MOST_BYTES

    def get(self, key: str) -> bytes | None:
        """What was kept under a name by `put`; None where there is nothing whole."""
        file = self.open(key)
        if file is None:
            return None
        with file, contextlib.suppress(OSError):
            kept = file.read()
            digest, data = kept[:_DIGEST], kept[_DIGEST:]
            return data if hashlib.sha256(data).digest() == digest else None
        return None

    def put(self, key: str, data: bytes) -> None:
        """Keeps bytes under a name: all of them, or none."""
        self.write(key, lambda file: file.write(hashlib.sha256(data).digest() + data))

    def open(self, key: str) -> BinaryIO | None:
        """The file that was kept under a name, which counts as used now; None where there is none of this user's."""
        with contextlib.suppress(OSError):
            if self._private():
                file = open_plain(self._file(key), links=False)
                status = os.fstat(file.fileno())
                if status.st_uid == os.geteuid() and not status.st_mode & 0o022:
                    os.utime(file.fileno())
                    return file
                file.close()
        return None

    def write(self, key: str, fill: Callable[[BinaryIO], object]) -> bool:
        """Keeps under a name what `fill` writes to a file; whether that could be done."""
        with contextlib.suppress(OSError):
            make_private(self.folder)
            if not self._private():
                return False
            with tempfile.NamedTemporaryFile(dir=self.folder, suffix=_UNFINISHED, delete=False) as file:
                try:
                    fill(cast("BinaryIO", file))
                    file.close()
                    os.replace(file.name, self._file(key))
                except BaseException:
                    os.unlink(file.name)
                    raise
            self.shrink()
            return True
        return False

    def obstacle(self) -> str:
        """Why nothing can be kept in the folder; empty where that can be done."""
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
        """Forgets what was kept under a name."""
        with contextlib.suppress(OSError):
            self._file(key).unlink(missing_ok=True)

    def entries(self) -> list[tuple[str, os.stat_result]]:
        """All names, those used last at first."""
        found: list[tuple[str, os.stat_result]] = []
        for file in self.folder.glob(f"*{_SUFFIX}"):
            with contextlib.suppress(OSError):  # another process may have forgotten it
                found.append((file.name.removesuffix(_SUFFIX), file.stat()))
        return sorted(found, key=lambda entry: -entry[1].st_mtime)

    def shrink(self) -> None:
        """Forgets what was not used for longest, until the rest is no more than may be, and what is abandoned."""
        most, total = MOST_BYTES if self.most_bytes is None else self.most_bytes, 0
        for key, status in self.entries():
            total += status.st_size
            if total > most:
                self.drop(key)
        for file in self.folder.glob(f"*{_UNFINISHED}"):
            with contextlib.suppress(OSError):
                if time.time() - file.stat().st_mtime > _ABANDONED:
                    file.unlink()

    def _file(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    def _private(self) -> bool:
        """Whether nobody else may write to the folder: what it holds will be run."""
        status = self.folder.stat()
        return status.st_uid == os.geteuid() and not status.st_mode & 0o022
