"""Writing a changed model: with the tensors that lie in the files of the one that it was read from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto

from ...dialects.atomic_file import atomic_file
from ...lowering.onnx_to_graph.model_file import FileRange, ModelFile, tensors_of_graph, tensors_of_nodes

MOST_IN_ONE_FILE = 2**31 - 2**24  # bytes: protobuf's limit, less what stands around tensors
_ALIGNMENT = 4096  # bytes, of tensors in a file beside the model
_SMALL = 1024  # bytes of tensors that stay in the model


def write_model(proto: ModelProto, file: ModelFile, path: Path) -> list[Path]:
    """Writes a model to a file; tensors go to another one beside it, named after it, if they are too many.

    Returns the files.
    """
    own = len(proto.graph.initializer)
    tensors = [(each, _place(file, each, own=index < own)) for index, each in enumerate(_tensors(proto))]
    files = [path]
    if proto.ByteSize() + sum(place.range.nbytes for _, place in tensors if place is not None) <= MOST_IN_ONE_FILE:
        for tensor, place in tensors:
            if place is not None:
                tensor.raw_data = mapped(place).tobytes()
                tensor.ClearField("data_location")
                del tensor.external_data[:]
    else:
        apart = path.with_name(f"{path.name}.data")
        files.append(apart)
        with atomic_file(apart) as stream:
            for tensor, place in tensors:
                data = tensor.raw_data if place is None else mapped(place).data
                if place is not None or len(data) > _SMALL:
                    stream.write(bytes(-stream.tell() % _ALIGNMENT))
                    start = stream.tell()
                    stream.write(data)
                    _refer(tensor, location=apart.name, offset=start, length=len(data))
    with atomic_file(path) as stream:
        stream.write(proto.SerializeToString())
    return files


def mapped(place: FileRange) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """The bytes of a range of a file."""
    if place.range.nbytes == 0:
        return np.empty(0, np.uint8)
    return np.memmap(place.path, np.uint8, "r", place.range.offset, (place.range.nbytes,))


def _place(file: ModelFile, tensor: TensorProto, *, own: bool) -> FileRange | None:
    """The place of a tensor's data in the model's files, if they are there; `own` is an initialiser of its graph."""
    apart = tensor.data_location == TensorProto.EXTERNAL or (own and tensor.name in file.raw)
    return file.where(tensor, initializer=own) if apart else None


def _tensors(proto: ModelProto) -> Iterator[TensorProto]:
    yield from tensors_of_graph(proto.graph)
    for function in proto.functions:
        yield from tensors_of_nodes(function.node)


def _refer(tensor: TensorProto, **place: str | int) -> None:
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    del tensor.external_data[:]
    for key, value in place.items():
        tensor.external_data.add(key=key, value=str(value))
