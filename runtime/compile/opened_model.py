"""OpenedModel: a model that stays what it was when it was opened, whatever becomes of its file."""

from __future__ import annotations

import os
from contextlib import suppress
from io import BufferedReader
from typing import TYPE_CHECKING

from ...dialects.errors import InvalidModelError
from ...dialects.regular_file import open_regular
from .source import source_of

if TYPE_CHECKING:
    from ...lowering.onnx_to_graph.model_file import ModelSource


class OpenedModel:
    """A model that may be compiled long after it was named: its file is held open."""

    def __init__(self, model: ModelSource) -> None:
        self.source = source_of(model)
        self._file: BufferedReader | None = None
        self._state = b""
        if self.source.path is not None:
            with suppress(OSError):  # reading it will say what is wrong
                self._file = open_regular(self.source.path)
                self._state = _state(os.fstat(self._file.fileno()))

    def now(self) -> ModelSource:
        """The model to compile: its path, or its bytes where another file is there by now, or none.

        Raises InvalidModelError if the file was written to.
        """
        path, file = self.source.path, self._file
        if path is None or file is None:
            return self.source.model
        if _state(os.fstat(file.fileno())) != self._state:
            raise InvalidModelError(f"{path}: was changed after it was opened")
        with suppress(OSError):
            if os.path.samestat(os.stat(path), os.fstat(file.fileno())):
                return self.source.model
        return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)


def _state(status: os.stat_result) -> bytes:
    """A file's size and time of the last write."""
    return b"%d %d" % (status.st_size, status.st_mtime_ns)
