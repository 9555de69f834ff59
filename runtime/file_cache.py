"""Results that are kept in files by their content: those of a compiler, which would give the same again.

The folder is this user's own. An entry that is damaged counts as none, and a folder that can't be used keeps nothing:
neither is an error, as what was kept can be made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 2**29  # of a folder; then those go that were not used for longest
_SUFFIX = ".entry"
_DIGEST = hashlib.sha256().digest_size


def user_cache(part: str) -> Path:
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


@dataclass(frozen=True)
class FileCache:
    """Bytes by name, in one folder."""

    folder: Path

    def get(self, key: str) -> bytes | None:
        """What was kept under a name; None where there is nothing whole."""
        file = self.folder / f"{key}{_SUFFIX}"
        try:
            if not self._private():
                return None
            kept = file.read_bytes()
            os.utime(file)
        except OSError:
            return None
        digest, data = kept[:_DIGEST], kept[_DIGEST:]
        return data if hashlib.sha256(data).digest() == digest else None

    def put(self, key: str, data: bytes) -> None:
        """Keeps bytes under a name: all of them, or none."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._private():
                return
            with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as file:
                try:
                    file.write(hashlib.sha256(data).digest() + data)
                    file.close()
                    os.replace(file.name, self.folder / f"{key}{_SUFFIX}")
                except BaseException:
                    os.unlink(file.name)
                    raise
            self._shrink()

    def _private(self) -> bool:
        """Whether nobody else may write to the folder: what it holds will be run."""
        status = self.folder.stat()
        return status.st_uid == os.geteuid() and not status.st_mode & 0o022

    def _shrink(self) -> None:
        entries = [(file.stat(), file) for file in self.folder.glob(f"*{_SUFFIX}")]
        total = sum(status.st_size for status, _ in entries)
        for status, file in sorted(entries, key=lambda entry: entry[0].st_mtime):
            if total <= MOST_BYTES:
                return
            file.unlink(missing_ok=True)
            total -= status.st_size
