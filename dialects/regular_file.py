"""Safe opening of files named by users or written by other programs: regular files only.

Reading a pipe may block forever, a device may deliver bytes without end, and opening one may have effects. So the file
is checked first, then opened without blocking, and checked again. Errors are OSErrors with a descriptive `strerror`.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from io import BufferedReader
from pathlib import Path

_KINDS: Mapping[int, str] = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link",
}
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


class OutsideError(OSError):
    """A name leads out of the folder to which it is restricted."""


def open_regular(path: str | os.PathLike[str], *, links: bool = True) -> BufferedReader:
    """Opens a regular file for reading; unless `links`, it may not be a symbolic link. Raises OSError."""
    return _opened(os.fspath(path), links=links)


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """The contents of a regular file. Raises OSError."""
    with open_regular(path) as file:
        return file.read()


def place_inside(folder: Path, name: str) -> Path:
    """The path of a name relative to a folder, with links resolved. Raises OutsideError unless it is inside."""
    folder = Path(os.path.realpath(folder))
    try:
        path = Path(os.path.realpath(folder / name))
    except ValueError as error:  # a NUL byte
        raise OSError(errno.EINVAL, str(error)) from None
    if os.path.isabs(name) or not path.is_relative_to(folder):
        raise OutsideError(errno.EACCES, f"it lies outside of {folder}")
    return path


def open_inside(folder: Path, name: str) -> BufferedReader:
    """Opens the regular file of a name relative to a folder for reading. Raises as `place_inside`.

    No component of its path may have become a link since it was resolved.
    """
    folder = Path(os.path.realpath(folder))
    *folders, last = place_inside(folder, name).relative_to(folder).parts or (".",)
    flags = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
    inner = os.open(folder, flags)
    try:
        for each in folders:
            outer, inner = inner, os.open(each, flags, dir_fd=inner)
            os.close(outer)
        return _opened(last, links=False, folder=inner)
    finally:
        os.close(inner)


def _opened(path: str, *, links: bool, folder: int | None = None) -> BufferedReader:
    try:
        _check(os.stat(path, dir_fd=folder, follow_symlinks=links), path)
        descriptor = os.open(path, _OPEN | (0 if links else os.O_NOFOLLOW), dir_fd=folder)
    except ValueError as error:  # a NUL byte
        raise OSError(errno.EINVAL, str(error)) from None
    try:
        _check(os.fstat(descriptor), path)
        os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _check(status: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        number = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        raise OSError(number, f"it is {kind}, not a file", path)
