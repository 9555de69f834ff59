"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..dialects.errors import MiniInferError


@contextmanager
def whole_file(path: str | Path) -> Generator[BinaryIO]:
    """A stream whose content becomes the file `path` once all is written; folders on the way are made.

    What is there and is no plain file (a device, a pipe) is written to as it is. Raises MiniInferError where the
    file can't be written; an error in the caller's block leaves no file either.
    """
    target = Path(path)
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as stream:
                yield stream
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
            staged = Path(folder, "file")
            with staged.open("wb") as stream:
                yield stream
            os.replace(staged, target)
    except OSError as error:
        raise MiniInferError(f"{path}: can't be written: {error.strerror}") from None
