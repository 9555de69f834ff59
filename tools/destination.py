"""Where a tool's output goes: to standard output, or to files that appear whole or not at all.

A module's new weights can't stand in its text. They go to a file beside it, X.weights for X.mlir, and the
text names that; weights that lie in other files are named relative to the folder that the text goes to.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Attribute

from ..dialects.errors import ConfigError, MiniInferError
from ..dialects.graph.blobs import BlobAttr, BlobStore, blobs_of

STANDARD_STREAM = "-"


class Destination:
    """Standard output for "-", or else a file; used as a context that cleans up what was not committed."""

    def __init__(self, output: str) -> None:
        self._file = None if output == STANDARD_STREAM else Path(output).resolve()
        self._staging: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Destination:
        if self._file is not None and (self._file.is_file() or not self._file.exists()):
            try:
                self._staging = tempfile.TemporaryDirectory(prefix=f".{self._file.name}.", dir=self._file.parent)
            except OSError as error:
                raise MiniInferError(f"can't write {self._file}: {error.strerror}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._staging is not None:
            self._staging.cleanup()

    def settle_weights(self, module: ModuleOp, store: BlobStore, inherited: set[BlobAttr]) -> None:
        """Makes the module name its blobs as seen from here, after writing those that are only in memory.

        `inherited` blobs came with the module's own text, so no file is owed for them. Raises ConfigError
        where there is no file beside which new weights could lie.
        """
        weights = None if self._staging is None else _weights_beside(self._file)
        _name_blobs_from(weights.parent if weights else Path.cwd(), module, store, replaced=weights)
        new = {blob for blob in blobs_of(module) if not blob.file.data} - inherited
        if not new:
            return
        if weights is None or self._staging is None:
            size = sum(blob.nbytes.data for blob in new)
            raise ConfigError(
                f"the module has {size} bytes of new weights, which can't stand in its text; "
                "write it with -o FILE.mlir, and they go to FILE.weights"
            )
        staged = Path(self._staging.name, weights.name)
        if staged.exists():
            raise ConfigError("several modules with new weights can't go to one file")
        store.write(module, staged)

    def commit(self, text: str) -> None:
        """Puts the text, and the weights written for it, in their places."""
        if self._file is None:
            _write_to_standard_output(text)
            return
        try:
            if self._staging is None:  # a device or a pipe, which must not be replaced
                self._file.write_text(text, encoding="utf-8")
                return
            staged = Path(self._staging.name)
            (staged / self._file.name).write_text(text, encoding="utf-8")
            weights = _weights_beside(self._file)
            if (staged / weights.name).exists():
                (staged / weights.name).chmod((staged / self._file.name).stat().st_mode)
                os.replace(staged / weights.name, weights)
            os.replace(staged / self._file.name, self._file)
        except OSError as error:
            raise MiniInferError(f"can't write {self._file}: {error.strerror}") from error


def _weights_beside(file: Path | None) -> Path:
    assert file is not None
    return file.with_name(f"{file.stem}.weights")


def _write_to_standard_output(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        # What is left in the buffer would fail a second time when the interpreter exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        raise MiniInferError(f"can't write to standard output: {error.strerror}") from error


def _name_blobs_from(folder: Path, module: ModuleOp, store: BlobStore, replaced: Path | None) -> None:
    """Names blobs in files relative to `folder`; those in a file about to be `replaced` move into memory."""

    def renamed(blob: BlobAttr) -> BlobAttr:
        if not blob.file.data:
            return blob
        place = (store.base_dir / blob.file.data).resolve()
        if place == replaced:
            return store.add(store.bytes(blob))
        if Path(blob.file.data).is_absolute():
            return blob
        name = os.path.relpath(place, folder)
        return BlobAttr.of(name, blob.offset.data, blob.nbytes.data, blob.digest.data)

    for op in module.walk():
        for attributes in (op.properties, op.attributes):
            for name, attribute in attributes.items():
                attributes[name] = _map_blobs(attribute, renamed)


def _map_blobs(attribute: Attribute, change: Callable[[BlobAttr], BlobAttr]) -> Attribute:
    match attribute:
        case BlobAttr():
            return change(attribute)
        case ArrayAttr():
            return ArrayAttr([_map_blobs(element, change) for element in attribute.data])
        case DictionaryAttr():
            return DictionaryAttr({key: _map_blobs(value, change) for key, value in attribute.data.items()})
        case _:
            return attribute
