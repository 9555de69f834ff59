"""Where weights live: outside the IR, named by `#graph.blob<"file", offset, bytes, "digest">`.

A blob lies in a file (mapped when first read) or, with the file name "", only in the memory of a BlobStore.
Passes that make new weights add them to the store of their context; `BlobStore.write` then puts all blobs
that exist only in memory into one file. A large weight that is made of others is not made before somebody reads it:
the store keeps how, so that a model's weights are never in memory twice. Its digest names what it is made of.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np
from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ..errors import InvalidModelError
from ..plain_file import open_inside, open_plain
from ..whole_file import whole_file
from ..xdsl_repairs import kept_in
from .values import AnyTensor, Array, nbytes_of, numpy_dtype

ALIGNMENT = 64  # bytes between the starts of blobs in a written file: a cache line
EAGER_BYTES = 2**16  # weights up to this size are made at once
PART_BYTES = 2**24  # of a weight that is made part by part
MOST_REPEATED = 8  # what making a weight again may cost: bytes made on the way, for each of its own


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


Source: TypeAlias = "tuple[BlobAttr, AnyTensor] | Array"
"""What a blob is made of: another, or an array."""
Fill: TypeAlias = "Callable[[Sequence[Array], Array], None]"
"""Writes what is made of some arrays to another, which is row-major."""


@dataclass(frozen=True, eq=False)
class _Recipe:
    """How a blob is made, and the bytes that are made on the way, its own included.

    Where each of its rows is made of just so many `rows` of its one source, it can be made part by part.
    """

    sources: Sequence[Source]
    fill: Fill
    type: AnyTensor
    cost: int
    rows: int


@dataclass(eq=False)
class BlobStore:
    """The bytes behind the blobs of a module; reading is safe from many threads."""

    base_dir: Path = field(default_factory=Path.cwd)
    """What relative file names are relative to."""

    _memory: dict[str, Array] = field(default_factory=dict[str, Array])
    _recipes: dict[str, _Recipe] = field(default_factory=dict[str, _Recipe])
    _files: dict[Path, mmap.mmap | None] = field(default_factory=dict[Path, "mmap.mmap | None"])
    _checked: set[BlobAttr] = field(default_factory=set[BlobAttr])  # those in files whose bytes are what they were

    def add(self, array: Array) -> BlobAttr:
        """A blob in memory with the bytes of `array` (row-major), which must not change afterwards."""
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        digest = digest_of(data)
        self._memory.setdefault(digest, data)
        return BlobAttr.of("", 0, data.size, digest)

    def add_made(self, type: AnyTensor, sources: Sequence[Source], how: str, fill: Fill, rows: int = 0) -> BlobAttr:
        """A blob whose array `fill` writes, given those of the sources; whenever its bytes are asked for.

        `how` and the sources name it: they must tell it from all others. With `rows`, each of its rows hangs on just
        so many of its one source. A small blob is made at once; and of sources that are made themselves, and would
        cost too much to be made again, the store keeps the bytes.
        """
        nbytes = nbytes_of(type)
        made = {each[0].digest.data for each in sources if not isinstance(each, np.ndarray)} & self._recipes.keys()
        cost = nbytes + sum(self._recipes[digest].cost for digest in made)
        if cost > MOST_REPEATED * nbytes:
            for digest in made:
                self._memory[digest] = self._made(self._recipes[digest])
                del self._recipes[digest]
            cost = nbytes
        recipe = _Recipe(sources, fill, type, cost, rows)
        if nbytes <= EAGER_BYTES:
            return self.add(self._made(recipe))
        names = [_name_of(source) for source in sources]
        digest = digest_of(np.frombuffer(" ".join([how, str(type), *names]).encode(), np.uint8))
        self._recipes.setdefault(digest, recipe)
        return BlobAttr.of("", 0, nbytes, digest)

    def add_file(self, path: str | Path, offset: int, nbytes: int, inside: Path | None = None) -> BlobAttr:
        """A blob for part of a file (relative to `base_dir`, or absolute), which is mapped and not copied.

        The file must lie in the folder `inside`, where there is one.
        """
        data = self._mapped(BlobAttr.of(str(path), offset, nbytes, ""), inside)
        blob = BlobAttr.of(str(path), offset, nbytes, self._digest_of_mapped(data))
        self._checked.add(blob)
        return blob

    def check_unchanged(self) -> None:
        """Raises InvalidModelError where bytes of a file are others than when they were first read."""
        for blob in self._checked:
            self._compare(blob, self._mapped(blob))

    def _compare(self, blob: BlobAttr, data: Array) -> None:
        if (found := self._digest_of_mapped(data)) != blob.digest.data:
            raise InvalidModelError(f"{blob.file.data} has changed: digest {found} instead of {blob.digest.data}")

    def _digest_of_mapped(self, data: Array) -> str:
        """As `digest_of`, of what is mapped: little of it is in memory at a time."""
        import xxhash

        digest = xxhash.xxh3_128()
        for first in range(0, len(data), PART_BYTES):
            digest.update(data[first : first + PART_BYTES].data)
            self.release()
        return digest.hexdigest()

    def release(self) -> None:
        """Lets the system have the memory that files take which are mapped; read again, they are mapped again."""
        for mapped in self._files.values():
            if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
                mapped.madvise(mmap.MADV_DONTNEED)

    def bytes(self, blob: BlobAttr) -> Array:
        """The bytes of a blob as a read-only uint8 array.

        Raises InvalidModelError where there are none, or where a file has others than when the blob was made.
        """
        digest, nbytes = blob.digest.data, blob.nbytes.data
        if digest in self._recipes:
            data = self._made(self._recipes[digest])
        elif digest not in self._memory and blob.file.data:
            data = self._mapped(blob)
            if blob not in self._checked:
                self._compare(blob, data)
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

    def copy(self, blob: BlobAttr, out: Array) -> None:
        """Writes the bytes of a blob to `out`, where they are made if that is still to be done. Raises as `bytes`."""
        recipe = self._recipes.get(blob.digest.data)
        if recipe is None:
            out[...] = self.bytes(blob)
        else:
            self._fill(recipe, _typed(out, recipe.type))

    def _made(self, recipe: _Recipe) -> Array:
        array = _empty(recipe.type.get_shape(), recipe.type)
        self._fill(recipe, array)
        return array.reshape(-1).view(np.uint8)

    def _fill(self, recipe: _Recipe, out: Array) -> None:
        """Writes all of what a recipe makes; in parts, where it can be, so that little is in memory twice."""
        if recipe.rows and out.nbytes > PART_BYTES:
            step = max(1, PART_BYTES * len(out) // out.nbytes)
            for first in range(0, len(out), step):
                self._fill_rows(recipe, first, out[first : first + step])
                self.release()
        else:
            sources = recipe.sources
            recipe.fill([each if isinstance(each, np.ndarray) else self.read(*each) for each in sources], out)

    def _fill_rows(self, recipe: _Recipe, first: int, out: Array) -> None:
        """Writes as many rows as there are in `out`, from the first that is asked for."""
        start, end = first * recipe.rows, (first + len(out)) * recipe.rows
        (source,) = recipe.sources
        inner = None if isinstance(source, np.ndarray) else self._recipes.get(source[0].digest.data)
        if inner is not None and inner.rows:
            end = min(end, inner.type.get_shape()[0])
            rows = _empty((end - start, *inner.type.get_shape()[1:]), inner.type)
            self._fill_rows(inner, start, rows)
        else:
            rows = (source if isinstance(source, np.ndarray) else self.read(*source))[start:end]
        recipe.fill([rows], out)

    def _mapped(self, blob: BlobAttr, inside: Path | None = None) -> Array:
        """The part of a file that a blob names."""
        mapped = self._map(self.base_dir / blob.file.data, inside)
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
        return _typed(self.bytes(blob), type)

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
        placed = self._write_file(path, placed)
        for op in module.walk():
            for attributes in (op.properties, op.attributes):
                for name, attribute in attributes.items():
                    attributes[name] = _replace_blobs(attribute, placed)

    def _write_file(self, path: Path, placed: dict[str, BlobAttr]) -> dict[str, BlobAttr]:
        """Writes blobs where they are placed; the same with the digests of their bytes."""
        written: dict[str, BlobAttr] = {}
        with whole_file(path) as file:
            for digest, blob in placed.items():
                nbytes, offset = blob.nbytes.data, blob.offset.data
                data = self.bytes(BlobAttr.of("", 0, nbytes, digest))
                file.write(bytes(offset - file.tell()))
                file.write(data.data)
                written[digest] = BlobAttr.of(path.name, offset, nbytes, digest_of(data))
        return written

    def _map(self, path: Path, inside: Path | None) -> Array:
        if path not in self._files:
            try:
                with open_plain(path) if inside is None else open_inside(inside, os.path.relpath(path, inside)) as file:
                    empty = os.fstat(file.fileno()).st_size == 0
                    self._files[path] = None if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except OSError as error:
                raise InvalidModelError(f"can't read the weights in {path}: {error.strerror}") from error
        mapped = self._files[path]
        if mapped is not None and mapped.size() < len(mapped):  # to read what is gone would end the process
            raise InvalidModelError(f"{path} was cut short while it was read")
        return np.frombuffer(b"" if mapped is None else mapped, np.uint8)


def _empty(shape: Sequence[int], type: AnyTensor) -> Array:
    return np.empty(shape, numpy_dtype(type.element_type))


def _name_of(source: Source) -> str:
    return digest_of(source) if isinstance(source, np.ndarray) else f"{source[0].digest.data} {source[1]}"


def _typed(data: Array, type: AnyTensor) -> Array:
    return data.view(numpy_dtype(type.element_type)).reshape(type.get_shape())


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
        return MiniContext(**vars(super().clone()), blobs=self.blobs)


def blob_store(ctx: Context) -> BlobStore:
    """The weights of a context; a plain Context gets a store of its own on first use."""
    return kept_in(ctx, "blobs", BlobStore)
