"""Output of a tool: to standard output, or to files that are replaced atomically.

A module's new weights can't be part of its text. They go to a file beside it, X.weights for X.mlir, which the text
refers to; weights in other files are named relative to the text's folder. Only a name that ends in .mlir has such a
file, and nothing else ends in .weights, so that no two outputs share one. Without a file, new weights are elided from
the text, which is then for reading only.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Attribute

from ...dialects.atomic_file import AtomicFiles, atomic_file, is_special
from ...dialects.errors import ConfigError
from ...dialects.graph.blobs import BlobAttr, BlobStore, blobs_of
from ...dialects.regular_file import read_regular
from .opt_options import STANDARD_STREAM

MODULE, WEIGHTS = ".mlir", ".weights"  # suffixes of modules and of the weights beside them


class Destination:
    """Standard output for "-", or else a file; a context manager that removes what was not committed."""

    def __init__(self, output: str, source: str) -> None:
        self._file = None if output == STANDARD_STREAM else _resolved(Path(output))
        self._replaces_source = source != STANDARD_STREAM and self._file == Path(source).resolve()
        if self._file is not None and self._file.suffix == WEIGHTS:
            raise ConfigError(f"-o {output}: {WEIGHTS} is for the weights beside a module; write it to FILE{MODULE}")
        self._files = None if self._file is None or is_special(self._file) else AtomicFiles(self._file)

    def __enter__(self) -> Destination:
        if self._files is not None:
            self._files.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._files is not None:
            self._files.__exit__(kind, error, trace)

    def keep_off(self, blobs: Iterable[BlobAttr], store: BlobStore) -> None:
        """Raises ConfigError if the output would replace a file that contains some of these blobs."""
        if any(blob.file.data and _place(blob, store) == self._file for blob in blobs):
            raise ConfigError(f"-o {self._file}: weights of the module lie in that file; write it to another")

    def settle_weights(
        self, module: ModuleOp, store: BlobStore, inherited: set[BlobAttr], *, elide: bool = False
    ) -> int:
        """Rewrites the module's blob names relative to the destination, and writes blobs that are only in memory.

        `inherited` blobs came with the input; those of them without a file are not written. Returns the number of bytes
        of new weights that are elided: with `elide`, or if there is no file beside which they could lie. Raises
        ConfigError if the destination's kind has no weights file, or if another module's weights would be lost.
        """
        weights = None if self._files is None or self._file is None else self._file.with_suffix(WEIGHTS)
        new = {blob for blob in blobs_of(module) if not blob.file.data} - inherited
        folder = weights.parent if weights else Path.cwd()
        if elide:
            weights = None
        _name_blobs_from(folder, module, store, replaced=weights if new else None)
        size = sum(blob.nbytes.data for blob in new)
        if not new or weights is None or self._files is None:
            return size
        self._check_weights_are_its_own(weights, size, store, inherited)
        staged = self._files.staged(weights.name)
        if staged.exists():
            raise ConfigError("several modules with new weights can't go to one file")
        store.write(module, staged)
        return 0

    def _check_weights_are_its_own(self, weights: Path, size: int, store: BlobStore, inherited: set[BlobAttr]) -> None:
        """Checks that `weights` doesn't exist, or belongs only to the module about to be replaced."""
        assert self._file is not None
        if self._file.suffix != MODULE:
            raise ConfigError(
                f"the module has {size} bytes of new weights, which lie beside a {MODULE} file; "
                f"write it with -o FILE{MODULE}, and they go to FILE{WEIGHTS}"
            )
        if not weights.exists():
            return
        its_own = self._file.exists() and f'"{weights.name}"'.encode() in read_regular(self._file)
        others = not self._replaces_source and any(_place(blob, store) == weights for blob in inherited)
        if others or not its_own:
            raise ConfigError(
                f"the new weights would replace {weights}, which is not (or not only) {self._file.name}'s; "
                "choose another name with -o"
            )

    def commit(self, text: str) -> None:
        """Moves the text, and the weights written for it, to their final names."""
        if self._file is None:
            sys.stdout.write(text)
            return
        if self._files is None:  # a device or a pipe, which must not be replaced
            with atomic_file(self._file) as stream:
                stream.write(text.encode())
            return
        with self._files.open(self._file.name) as stream:
            stream.write(text.encode())
        self._files.commit(self._file.with_suffix(WEIGHTS).name, self._file.name)


def _resolved(path: Path) -> Path:
    return path if is_special(path) else path.resolve()  # what /dev/stdout leads to may have no path of its own


def _place(blob: BlobAttr, store: BlobStore) -> Path:
    """The file that contains a blob."""
    return (store.base_dir / blob.file.data).resolve()


def _name_blobs_from(folder: Path, module: ModuleOp, store: BlobStore, replaced: Path | None) -> None:
    """Renames blobs in files relative to `folder`; those in a file about to be `replaced` are loaded into memory."""

    def renamed(blob: BlobAttr) -> BlobAttr:
        if not blob.file.data:
            return blob
        place = _place(blob, store)
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
