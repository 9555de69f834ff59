"""Where weights live: outside the IR, named by `#graph.blob<"file", offset, bytes, "digest">`.

A blob lies in a file (mapped when first read) or, with the file name "", only in the memory of a BlobStore.
Passes that make new weights add them to the store of their context; `BlobStore.write` then puts all blobs
that exist only in memory into one file.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ..errors import InvalidModelError, MiniInferError
from .values import AnyTensor, Array, nbytes_of, numpy_dtype

ALIGNMENT = 64  # bytes between the starts of blobs in a written file: a cache line


@irdl_attr_definition
class BlobAttr(ParametrizedAttribute):
    """`#graph.blob<"file", offset, bytes, "digest">`: bytes that lie outside of the IR."""

    name = "graph.blob"

    file: StringAttr
    offset: IntAttr
    nbytes: IntAttr
    digest: StringAttr

    @classmethod
    def of(cls, file: str, offset: int, nbytes: int, digest: str) -> BlobAttr:
        """A blob from plain values; `file` is relative to the store's `base_dir`, "" means in memory."""
        return cls(StringAttr(file), IntAttr(offset), IntAttr(nbytes), StringAttr(digest))

    @override
    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.file.data)
            printer.print_string(f", {self.offset.data}, {self.nbytes.data}, ")
            printer.print_string_literal(self.digest.data)

    @classmethod
    @override
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            file = parser.parse_str_literal()
            parser.parse_punctuation(",")
            offset = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_punctuation(",")
            nbytes = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_punctuation(",")
            digest = parser.parse_str_literal()
        return [StringAttr(file), IntAttr(offset), IntAttr(nbytes), StringAttr(digest)]


def digest_of(data: Array) -> str:
    """The name of some bytes by their content."""
    import xxhash

    return xxhash.xxh3_128_hexdigest(np.ascontiguousarray(data).reshape(-1).view(np.uint8).data)


@dataclass(eq=False)
class BlobStore:
    """The bytes behind the blobs of a module; reading is safe from many threads."""

    base_dir: Path = field(default_factory=Path.cwd)
    """What relative file names are relative to."""

    _memory: dict[str, Array] = field(default_factory=dict[str, Array])
    _files: dict[Path, Array] = field(default_factory=dict[Path, Array])
    _checked: set[BlobAttr] = field(default_factory=set[BlobAttr])  # those in files whose bytes are what they were

    def add(self, array: Array) -> BlobAttr:
        """A blob in memory with the bytes of `array` (row-major), which must not change afterwards."""
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        digest = digest_of(data)
        self._memory.setdefault(digest, data)
        return BlobAttr.of("", 0, data.size, digest)

    def add_file(self, path: str | Path, offset: int, nbytes: int) -> BlobAttr:
        """A blob for part of a file (relative to `base_dir`, or absolute), which is mapped and not copied."""
        data = self._mapped(BlobAttr.of(str(path), offset, nbytes, ""))
        blob = BlobAttr.of(str(path), offset, nbytes, digest_of(data))
        self._checked.add(blob)
        return blob

    def bytes(self, blob: BlobAttr) -> Array:
        """The bytes of a blob as a read-only uint8 array.

        Raises InvalidModelError where there are none, or where a file has others than when the blob was made.
        """
        digest, nbytes = blob.digest.data, blob.nbytes.data
        if digest not in self._memory and blob.file.data:
            data = self._mapped(blob)
            if blob not in self._checked and (found := digest_of(data)) != digest:
                raise InvalidModelError(f"{blob.file.data} has changed: digest {found} instead of {digest}")
            self._checked.add(blob)
        elif digest not in self._memory:
            raise InvalidModelError(f"blob {digest} was only in memory and is gone; write it beside the module")
        else:
            data = self._memory[digest]
            if data.size != nbytes:
                raise InvalidModelError(f"blob {digest} should have {nbytes} bytes, but {data.size} are there")
        data = data.view()
        data.flags.writeable = False
        return data

    def _mapped(self, blob: BlobAttr) -> Array:
        """The part of a file that a blob names."""
        mapped = self._map(self.base_dir / blob.file.data)
        data = mapped[blob.offset.data : blob.offset.data + blob.nbytes.data]
        if data.size != blob.nbytes.data:
            raise InvalidModelError(
                f"blob {blob.file.data} at {blob.offset.data} should have {blob.nbytes.data} bytes, "
                f"but {data.size} are there"
            )
        return data

    def read(self, blob: BlobAttr, type: AnyTensor) -> Array:
        """The blob as a read-only array of the given type; the bytes are not copied."""
        if blob.nbytes.data != nbytes_of(type):
            raise InvalidModelError(f"a blob of {blob.nbytes.data} bytes can't be a {type}")
        return self.bytes(blob).view(numpy_dtype(type.element_type)).reshape(type.get_shape())

    def write(self, module: ModuleOp, path: str | Path) -> None:
        """Writes the blobs that exist only in memory to the file `path` and makes the module refer to it.

        The file appears whole or not at all. The module names it relative to its own folder. Blobs that lie
        in other files are left alone. Nothing is written where there is nothing to write.
        """
        path = Path(path)
        placed: dict[str, BlobAttr] = {}
        end = 0
        for blob in blobs_of(module):
            if not blob.file.data and blob.digest.data not in placed:
                offset = -(-end // ALIGNMENT) * ALIGNMENT
                end = offset + blob.nbytes.data
                placed[blob.digest.data] = BlobAttr.of(path.name, offset, blob.nbytes.data, blob.digest.data)
        if not placed:
            return
        self._write_file(path, list(placed.values()))
        for op in module.walk():
            for attributes in (op.properties, op.attributes):
                for name, attribute in attributes.items():
                    attributes[name] = _replace_blobs(attribute, placed)

    def _write_file(self, path: Path, blobs: list[BlobAttr]) -> None:
        temporary = ""
        try:
            descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
            with os.fdopen(descriptor, "wb") as file:
                for blob in blobs:
                    file.write(bytes(blob.offset.data - file.tell()))
                    file.write(self.bytes(BlobAttr.of("", 0, blob.nbytes.data, blob.digest.data)).data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError as error:
            if temporary and os.path.exists(temporary):
                os.unlink(temporary)
            raise MiniInferError(f"can't write the weights to {path}: {error.strerror}") from error

    def _map(self, path: Path) -> Array:
        if path not in self._files:
            try:
                empty = path.stat().st_size == 0
                self._files[path] = np.zeros(0, np.uint8) if empty else np.memmap(path, np.uint8, mode="r")
            except OSError as error:
                raise InvalidModelError(f"can't read the weights in {path}: {error.strerror}") from error
        return self._files[path]


def blobs_of(module: ModuleOp) -> list[BlobAttr]:
    """All blobs that the module's ops name, in order of appearance."""
    return [blob for op in module.walk() for blob in blobs_in(op)]


def blobs_in(op: Operation) -> list[BlobAttr]:
    """The blobs that one op names."""
    found: list[BlobAttr] = []
    for attribute in (*op.properties.values(), *op.attributes.values()):
        _collect(attribute, found)
    return found


def _collect(attribute: Attribute, found: list[BlobAttr]) -> None:
    match attribute:
        case BlobAttr():
            found.append(attribute)
        case ArrayAttr():
            for element in attribute.data:
                _collect(element, found)
        case DictionaryAttr():
            for element in attribute.data.values():
                _collect(element, found)
        case _:
            pass


def _replace_blobs(attribute: Attribute, placed: dict[str, BlobAttr]) -> Attribute:
    match attribute:
        case BlobAttr() if not attribute.file.data:
            return placed[attribute.digest.data]
        case ArrayAttr():
            return ArrayAttr([_replace_blobs(element, placed) for element in attribute.data])
        case DictionaryAttr():
            return DictionaryAttr({name: _replace_blobs(value, placed) for name, value in attribute.data.items()})
        case _:
            return attribute


@dataclass
class MiniContext(Context):
    """An xDSL context that also holds the weights."""

    blobs: BlobStore = field(default_factory=BlobStore)

    @override
    def clone(self) -> MiniContext:
        return MiniContext(
            self.allow_unregistered,
            self._loaded_dialects.copy(),
            self._loaded_ops.copy(),
            self._loaded_attrs.copy(),
            self._loaded_types.copy(),
            self._registered_dialects.copy(),
            self.blobs,
        )


def blob_store(ctx: Context) -> BlobStore:
    """The weights of a context; a plain Context gets a store of its own on first use."""
    store = ctx.__dict__.setdefault("blobs", None) or BlobStore()
    ctx.__dict__["blobs"] = store
    return store
