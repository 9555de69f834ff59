"""Weights outside of the IR, identified by `#graph.blob<"file", offset, bytes, "digest">`.

A blob is a range of a file (memory-mapped at first use) or, with the file name "", exists only in a BlobStore. Passes
that create weights add them to the store of their context; `BlobStore.write` then writes all blobs that exist only in
memory to one file. A large weight computed from others is lazy: the store keeps its recipe, so that a model's weights
are never in memory twice. Its digest is that of the recipe.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator, Sequence
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

from ..atomic_file import atomic_file
from ..errors import InvalidModelError
from ..regular_file import open_inside, open_regular
from ..xdsl_repairs import kept_in
from .values import AnyTensor, Array, nbytes_of, numpy_dtype

ALIGNMENT = 64  # alignment in bytes of blobs in a written file: a cache line
EAGER_BYTES = 2**16  # weights up to this size are computed at once
PART_BYTES = 2**24  # of a weight that is computed in parts
MOST_REPEATED = 8  # limit of recomputation: intermediate bytes per byte of the weight


@irdl_attr_definition
class BlobAttr(ParametrizedAttribute):
    """`#graph.blob<"file", offset, bytes, "digest">`: bytes outside of the IR."""

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
    """The digest of some bytes."""
    import xxhash

    return xxhash.xxh3_128_hexdigest(np.ascontiguousarray(data).reshape(-1).view(np.uint8).data)


Source: TypeAlias = "tuple[BlobAttr, AnyTensor] | Array"
"""A source of a computed blob: another blob, or an array."""
Fill: TypeAlias = "Callable[[Sequence[Array], Array], None]"
"""Computes an array from others, writing to the last argument, which is row-major."""


@dataclass(frozen=True, eq=False)
class _Recipe:
    """How a blob is computed, and the number of bytes of all intermediate results, its own included.

    If each of its rows depends on only `rows` rows of its single source, it can be computed part by part.
    """

    sources: Sequence[Source]
    fill: Fill
    type: AnyTensor
    cost: int
    rows: int


@dataclass(eq=False)
class BlobStore:
    """The bytes behind the blobs of a module; reading is thread-safe."""

    base_dir: Path = field(default_factory=Path.cwd)
    """The folder to which file names are relative."""

    _memory: dict[str, Array] = field(default_factory=dict[str, Array])
    _recipes: dict[str, _Recipe] = field(default_factory=dict[str, _Recipe])
    _files: dict[Path, mmap.mmap | None] = field(default_factory=dict[Path, "mmap.mmap | None"])
    _checked: set[BlobAttr] = field(default_factory=set[BlobAttr])  # files whose bytes were found unchanged

    def add(self, array: Array) -> BlobAttr:
        """A blob in memory with the bytes of `array` (row-major), which must not change afterwards."""
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        digest = digest_of(data)
        self._memory.setdefault(digest, data)
        return BlobAttr.of("", 0, data.size, digest)

    def add_made(self, type: AnyTensor, sources: Sequence[Source], how: str, fill: Fill, rows: int = 0) -> BlobAttr:
        """A lazily computed blob: `fill` writes its array from those of the sources, at each use.

        `how` and the sources identify it: they must be unique. With `rows`, each of its rows depends on only that many
        rows of its single source. A small blob is computed at once; intermediate blobs that would be too expensive to
        recompute are kept.
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
        """A blob for a range of a file (relative to `base_dir`, or absolute), which is memory-mapped.

        The file must lie in the folder `inside` if given.
        """
        data = self._mapped(BlobAttr.of(str(path), offset, nbytes, ""), inside)
        blob = BlobAttr.of(str(path), offset, nbytes, self._digest_of_mapped(data))
        self._checked.add(blob)
        return blob

    def check_unchanged(self) -> None:
        """Raises InvalidModelError if a file's bytes have changed since they were first read."""
        for blob in self._checked:
            self._compare(blob, self._mapped(blob))

    def _compare(self, blob: BlobAttr, data: Array) -> None:
        if (found := self._digest_of_mapped(data)) != blob.digest.data:
            raise InvalidModelError(f"{blob.file.data} has changed: digest {found} instead of {blob.digest.data}")

    def _digest_of_mapped(self, data: Array) -> str:
        """As `digest_of`, for mapped bytes: little of them is resident at a time."""
        import xxhash

        digest = xxhash.xxh3_128()
        for first in range(0, len(data), PART_BYTES):
            digest.update(data[first : first + PART_BYTES].data)
            self.release()
        return digest.hexdigest()

    def release(self) -> None:
        """Releases the resident memory of mapped files; reading maps them again."""
        for mapped in self._files.values():
            if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
                mapped.madvise(mmap.MADV_DONTNEED)

    def bytes(self, blob: BlobAttr) -> Array:
        """The bytes of a blob as a read-only uint8 array.

        Raises InvalidModelError if there are none, or if a file has changed since the blob was created.
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
        """Writes the bytes of a blob to `out`, computing them there if it is lazy. Raises as `bytes`."""
        recipe = self._recipes.get(blob.digest.data)
        if recipe is None:
            out[...] = self.bytes(blob)
        else:
            self._fill(recipe, _typed(out, recipe.type))

    def parts(self, blob: BlobAttr) -> Iterator[Array]:
        """The bytes of a blob, in order, in parts that are valid until the next one is taken. Raises as `bytes`.

        A blob in a file, or one that can be computed in parts, is resident by parts.
        """
        recipe = self._recipes.get(blob.digest.data)
        if recipe is None:
            data = self.bytes(blob)
            for first in range(0, len(data), PART_BYTES):
                yield data[first : first + PART_BYTES]
                self.release()
        elif not recipe.rows:
            yield self._made(recipe)
            self.release()
        else:
            count, *rest = recipe.type.get_shape()
            step = min(count, max(1, PART_BYTES * count // blob.nbytes.data))
            room = _empty((step, *rest), recipe.type)
            for first in range(0, count, step):
                part = room[: count - first]
                self._fill_rows(recipe, first, part)
                yield part.reshape(-1).view(np.uint8)
                self.release()

    def _made(self, recipe: _Recipe) -> Array:
        array = _empty(recipe.type.get_shape(), recipe.type)
        self._fill(recipe, array)
        return array.reshape(-1).view(np.uint8)

    def _fill(self, recipe: _Recipe, out: Array) -> None:
        """Computes a recipe's array; in parts if possible, to limit peak memory."""
        if recipe.rows and out.nbytes > PART_BYTES:
            step = max(1, PART_BYTES * len(out) // out.nbytes)
            for first in range(0, len(out), step):
                self._fill_rows(recipe, first, out[first : first + step])
                self.release()
        else:
            sources = recipe.sources
            recipe.fill([each if isinstance(each, np.ndarray) else self.read(*each) for each in sources], out)

    def _fill_rows(self, recipe: _Recipe, first: int, out: Array) -> None:
        """Computes the rows of `out`, starting at row `first`."""
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
        """The mapped file range of a blob."""
        mapped = self._map(self.base_dir / blob.file.data, inside)
        data = mapped[blob.offset.data : blob.offset.data + blob.nbytes.data]
        if data.size != blob.nbytes.data:
            raise InvalidModelError(
                f"blob {blob.file.data} at {blob.offset.data} should have {blob.nbytes.data} bytes, "
                f"but {data.size} are there"
            )
        return data

    def read(self, blob: BlobAttr, type: AnyTensor) -> Array:
        """The blob as a read-only array of the given type, without a copy."""
        if blob.nbytes.data != nbytes_of(type):
            raise InvalidModelError(f"a blob of {blob.nbytes.data} bytes can't be a {type}")
        return _typed(self.bytes(blob), type)

    def write(self, module: ModuleOp, path: str | Path) -> None:
        """Writes the blobs that exist only in memory to the file `path` and makes the module refer to it.

        The file appears atomically. The module names it relative to its own folder. Blobs in other files are unchanged.
        Without blobs in memory, nothing is written.
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
        """Writes blobs at their assigned offsets; returns them with the digests of their bytes."""
        written: dict[str, BlobAttr] = {}
        with atomic_file(path) as file:
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
                opened = open_regular(path) if inside is None else open_inside(inside, os.path.relpath(path, inside))
                with opened as file:
                    empty = os.fstat(file.fileno()).st_size == 0
                    self._files[path] = None if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except OSError as error:
                raise InvalidModelError(f"can't read the weights in {path}: {error.strerror}") from error
        mapped = self._files[path]
        if mapped is not None and mapped.size() < len(mapped):  # reading truncated mapped files kills processes
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
    """An xDSL context with a store of weights."""

    blobs: BlobStore = field(default_factory=BlobStore)

    @override
    def clone(self) -> MiniContext:
        return MiniContext(**vars(super().clone()), blobs=self.blobs)


def blob_store(ctx: Context) -> BlobStore:
    """The store of a context's weights; a plain Context gets one at first use."""
    return kept_in(ctx, "blobs", BlobStore)
