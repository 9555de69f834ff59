"""Loads a model from a path, bytes, an open file or a ModelProto, without reading its weights.

The raw data of initialisers in the `.onnx` file, and external data beside it, are returned as (file, range) and mapped
by their readers. External data must lie in the model's own folder: a model must not be able to read any other file of
the machine.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

import numpy as np
from google.protobuf.message import DecodeError
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from ...dialects.arguments import read_once
from ...dialects.errors import InvalidModelError, UnsupportedError
from ...dialects.regular_file import OutsideError, open_inside, open_regular, place_inside
from .check import check_nesting, check_text, subgraphs
from .element_types import element_name, tensor_bytes
from .protobuf_wire import ByteRange, split_model

ModelSource: TypeAlias = "str | os.PathLike[str] | bytes | BinaryIO | ModelProto"
"""A path, a model's bytes, a file object or a parsed model."""

# Raw data up to this many bytes is parsed with the model: enough for every constant that is printed in the IR.
KEEP_BYTES = 1024


@dataclass(frozen=True)
class FileRange:
    """A tensor's range of bytes in a file."""

    path: Path
    range: ByteRange
    inside: Path | None = None  # the folder in which the file must lie


@dataclass
class ModelFile:
    """A model without the weights that stay in files."""

    proto: ModelProto
    label: str  # the model's name in errors
    path: Path | None = None
    raw: dict[str, ByteRange] = field(default_factory=dict[str, ByteRange])  # initialiser -> its byte range in `path`

    def where(self, tensor: TensorProto, *, initializer: bool) -> FileRange | None:
        """The file range of the tensor's data, or None if the message itself holds it."""
        expected = _byte_count(tensor)
        if tensor.data_location == TensorProto.EXTERNAL:
            found = self._external(tensor, expected)
        elif initializer and tensor.name in self.raw and self.path is not None:
            found = FileRange(self.path, self.raw[tensor.name])
        else:
            return None
        if found.range.nbytes != expected:
            raise InvalidModelError(
                f"initialiser {tensor.name}: {found.range.nbytes} bytes of data, "
                f"but {_describe(tensor)} needs {expected}"
            )
        return found

    def array(self, tensor: TensorProto) -> np.ndarray:
        """The array of a tensor whose data the message holds."""
        _byte_count(tensor)
        try:
            return numpy_helper.to_array(tensor)
        except (ValueError, TypeError) as error:
            raise InvalidModelError(
                f"tensor {tensor.name or '(unnamed)'}: its data does not fit {_describe(tensor)}: {error}"
            ) from error

    def _external(self, tensor: TensorProto, expected: int) -> FileRange:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = entries.get("location", "")
        subject = f"initialiser {tensor.name}: external data {location!r}"
        try:
            offset, nbytes = int(entries.get("offset", 0)), int(entries.get("length", expected))
        except ValueError:
            raise InvalidModelError(f"{subject} has an offset or length that is no number") from None
        if not location:
            raise InvalidModelError(f"initialiser {tensor.name}: external data without a location")
        if self.path is None:
            raise InvalidModelError(f"{subject} lies beside the model file; import the model from its path")
        folder = self.path.parent.resolve()
        try:
            path = place_inside(folder, location)
            with open_inside(folder, location) as file:
                size = os.fstat(file.fileno()).st_size
        except OutsideError:
            raise InvalidModelError(f"{subject} lies outside the model's folder") from None
        except FileNotFoundError:
            raise InvalidModelError(f"{subject} is missing: no such file in {folder}") from None
        except OSError as error:
            raise InvalidModelError(f"{_shortened(subject)} can't be read: {error.strerror}") from None
        if offset < 0 or nbytes < 0:
            raise InvalidModelError(f"{subject} has a negative offset or length: {offset}, {nbytes}")
        if offset + nbytes > size:
            raise InvalidModelError(f"{subject} is too short: it has {size} bytes, the data ends at {offset + nbytes}")
        return FileRange(path, ByteRange(offset, nbytes), folder)


def load_model(model: str | os.PathLike[str] | bytes | BinaryIO | ModelProto) -> ModelFile:
    """Reads a model. Raises InvalidModelError if it is missing or broken, UnsupportedError for too deep nesting."""
    if isinstance(model, ModelProto):
        check_nesting(model)
        loaded = ModelFile(model, "the model")
    elif isinstance(model, (str, os.PathLike)):
        if not os.fspath(model):
            raise InvalidModelError("the model's path is empty")
        loaded = _from_path(Path(model))
    else:
        loaded = ModelFile(_parse(_content(model), "the model"), "the model")
    if not loaded.proto.HasField("graph"):
        raise InvalidModelError(f"{loaded.label}: not an ONNX model: it has no graph")
    check_text(loaded.proto)
    return loaded


def parts_of(
    model: str | os.PathLike[str] | bytes | BinaryIO | ModelProto,
) -> tuple[dict[str, list[ByteRange]], list[str], list[tuple[str, str, int]]]:
    """The ranges of a model's external data by file name, the inputs without an initialiser, and its operators.

    Operators are (domain, name, imported version of the domain). The ranges of a file are sorted and disjoint. Raises
    MiniInferError if there is no model, or for external data that import would refuse.
    """
    loaded = load_model(model)
    proto = loaded.proto
    initialized = {each.name for each in proto.graph.initializer}
    nodes = (node for function in proto.functions for node in function.node)
    tensors = (*tensors_of_graph(proto.graph), *tensors_of_nodes(nodes))
    found: dict[str, set[ByteRange]] = {}
    for each in tensors:
        place = loaded.where(each, initializer=False) if each.data_location == TensorProto.EXTERNAL else None
        if place is not None and place.inside is not None:
            found.setdefault(str(place.path.relative_to(place.inside)), set()).add(place.range)
    ranges = {name: _united(found[name]) for name in sorted(found)}
    inputs = [each.name for each in proto.graph.input if each.name not in initialized]
    return ranges, inputs, sorted(_operators(proto))


def _operators(proto: ModelProto) -> set[tuple[str, str, int]]:
    """The operators of a model, without its own functions."""
    own = {(each.domain, each.name) for each in proto.functions}
    found: set[tuple[str, str, int]] = set()
    for nodes, imports in [
        (proto.graph.node, proto.opset_import),
        *((each.node, each.opset_import) for each in proto.functions),
    ]:
        versions = {"" if each.domain == "ai.onnx" else each.domain: each.version for each in imports}
        for node in _all_nodes(nodes):
            domain = "" if node.domain == "ai.onnx" else node.domain
            if (domain, node.op_type) not in own:
                found.add((domain, node.op_type, versions.get(domain, 0)))
    return found


def _all_nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """Nodes, and those of graphs in their attributes."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in subgraphs(attribute):
                yield from _all_nodes(graph.node)


def _united(ranges: Iterable[ByteRange]) -> list[ByteRange]:
    """The union of ranges as sorted ranges that don't touch."""
    united: list[ByteRange] = []
    for each in sorted(ranges):
        last = united[-1] if united else None
        if last is not None and each.offset <= last.offset + last.nbytes:
            end = max(last.offset + last.nbytes, each.offset + each.nbytes)
            united[-1] = ByteRange(last.offset, end - last.offset)
        else:
            united.append(each)
    return united


def tensors_of_graph(graph: GraphProto) -> Iterator[TensorProto]:
    """The tensors of a graph and of those in its nodes, its own initialisers first."""
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    yield from tensors_of_nodes(graph.node)


def tensors_of_nodes(nodes: Iterable[NodeProto]) -> Iterator[TensorProto]:
    """The tensors in attributes of nodes, and in graphs there."""
    for attribute in (each for node in nodes for each in node.attribute):
        yield from (*([attribute.t] if attribute.HasField("t") else []), *attribute.tensors)
        for graph in subgraphs(attribute):
            yield from tensors_of_graph(graph)


def _content(model: object) -> bytes:
    """The bytes of a model given as bytes or as an open file."""
    content = read_once(model)
    if isinstance(content, bytes | bytearray | memoryview):
        return bytes(cast("bytes", content))
    raise InvalidModelError(f"a model is a path, bytes, an open file or a ModelProto, not {type(model).__name__}")


def _from_path(path: Path) -> ModelFile:
    try:
        with open_regular(path) as file:
            if path.suffix == ".mi":
                raise InvalidModelError(
                    f"{path}: not an ONNX model: it is compiled already; "
                    "mi.load opens it, and mini-infer run, plan, bench and compare"
                )
            if os.fstat(file.fileno()).st_size == 0:
                raise InvalidModelError(f"{path}: not an ONNX model: the file is empty")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                try:
                    small, ranges = split_model(data, KEEP_BYTES)
                except InvalidModelError as error:
                    raise InvalidModelError(f"{path}: {error}") from None
    except FileNotFoundError:
        raise InvalidModelError(f"{path}: no such file") from None
    except OSError as error:
        raise InvalidModelError(f"{_shortened(str(path))}: can't be read: {error.strerror}") from None
    return ModelFile(_parse(small, str(path)), str(path), path.absolute(), ranges)


def _parse(data: bytes, label: str) -> ModelProto:
    proto = ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError as error:
        if "depth" in str(error).lower():
            raise UnsupportedError(f"{label}: graphs or types are nested too deeply: {error}") from None
        raise InvalidModelError(f"{label}: not an ONNX model, or cut short: {error}") from None
    return proto


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}..."


def _byte_count(tensor: TensorProto) -> int:
    if any(dim < 0 for dim in tensor.dims):
        raise InvalidModelError(f"initialiser {tensor.name}: shape {list(tensor.dims)} has a negative dimension")
    count = 1
    for dim in tensor.dims:
        count *= dim
    return tensor_bytes(tensor.data_type, count, f"initialiser {tensor.name}")


def _describe(tensor: TensorProto) -> str:
    return f"{element_name(tensor.data_type)}{list(tensor.dims)}"
