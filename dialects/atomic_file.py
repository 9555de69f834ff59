"""Atomic file output: files are staged beside their destination, flushed to disk, and then renamed."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from typing_extensions import Buffer

from .errors import MiniInferError


class AtomicFiles:
    """Files for one folder, staged in a temporary folder there; those not committed are deleted on exit.

    Raises MiniInferError, naming `target`, if a file can't be written.
    """

    def __init__(self, target: Path) -> None:
        self._target = target

    def __enter__(self) -> AtomicFiles:
        import tempfile

        with _told(self._target):
            folder = self._target.parent
            self._staging = tempfile.TemporaryDirectory(prefix=f".{self._target.name}.", dir=folder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._staging.cleanup()

    def staged(self, name: str) -> Path:
        """The path at which to write a file of that name."""
        return Path(self._staging.name, name)

    @contextmanager
    def open(self, name: str) -> Generator[BinaryIO]:
        """A stream to a staged file, which is flushed to disk at the end."""
        with _told(self._target), self.staged(name).open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())

    def commit(self, *names: str) -> None:
        """Moves those of the named staged files that exist into the folder, in this order."""
        with _told(self._target):
            for name in names:
                if self.staged(name).exists():
                    os.replace(self.staged(name), self._target.with_name(name))

    def become_target(self) -> None:
        """Renames the folder of staged files to the target, which must not exist yet."""
        with _told(self._target):
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(self._staging.name, 0o777 & ~mask)
            os.rename(self._staging.name, self._target)
            os.mkdir(self._staging.name)  # the temporary folder is deleted as usual


@contextmanager
def atomic_file(path: str | Path) -> Generator[BinaryIO]:
    """A stream whose contents become the file `path` once all is written; missing folders are created.

    A symbolic link's target is replaced. A device or a pipe is written to directly. Raises MiniInferError if the file
    can't be written; after an error in the caller's block there is no file either.
    """
    target = Path(path)
    with _told(target):
        if is_special(target):
            with target.open("wb") as stream:
                yield stream
            return
        target = target.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
    with AtomicFiles(target) as files:
        with files.open(target.name) as stream:
            yield stream
        files.commit(target.name)


def write_folder(folder: Path, files: Mapping[str, Sequence[Buffer]], *, replace: bool = False) -> None:
    """Writes files, given as pieces by name, into a folder: a new one appears with all of them in it.

    In an existing folder each file appears atomically, once all are on disk; missing folders are created. Raises
    MiniInferError if something can't be written, and, unless `replace`, if a file of these names exists.
    """
    folder = Path(os.path.abspath(folder))
    with _told(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        if folder.exists() and not folder.is_dir():
            raise MiniInferError(f"{folder}: is no folder")
        if not replace and (there := [name for name in files if os.path.lexists(folder / name)]):
            raise MiniInferError(f"{folder}: {', '.join(there)} would be overwritten")
    inside = folder.is_dir()
    with AtomicFiles(folder / "files" if inside else folder) as staged:
        for name, pieces in files.items():
            with staged.open(name) as stream:
                for piece in pieces:
                    stream.write(piece)
        if inside:
            staged.commit(*files)
        else:
            staged.become_target()


def is_special(path: Path) -> bool:
    """Whether it exists and is a device, a pipe or a folder, which can't be replaced by a file."""
    return path.exists() and not path.is_file()


@contextmanager
def _told(target: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise MiniInferError(f"{target}: can't be written: {error.strerror}") from error
