"""Parses a model file at the level of protobuf's wire format, to locate initialisers' raw data without reading it.

A `.onnx` file is a ModelProto; its weights are `graph.initializer[i].raw_data`. Parsing the whole file copies every
weight. Here the length-prefixed fields are walked instead: large `raw_data` fields are skipped (to be mapped later),
and the rest is reassembled as a small ModelProto.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import NamedTuple

from ...dialects.errors import InvalidModelError

Bytes = bytes | mmap.mmap

_MODEL_GRAPH = 7
_GRAPH_INITIALIZER = 5
_TENSOR_NAME = 8
_TENSOR_RAW_DATA = 9

_VARINT, _FIXED64, _LENGTH_PREFIXED, _FIXED32 = 0, 1, 2, 5


class ByteRange(NamedTuple):
    """Half-open range of bytes in a file: [offset, offset + nbytes)."""

    offset: int
    nbytes: int


class _Field(NamedTuple):
    """One field of a message: its number, the position of its tag, and its payload [start, end)."""

    number: int
    tag: int
    start: int
    end: int


def _varint(data: Bytes, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise InvalidModelError(f"not an ONNX model, or cut short: broken number at byte {at}")


def _fields(data: Bytes, start: int, end: int) -> Iterator[_Field]:
    """The fields of the message in data[start:end]."""
    at = start
    while at < end:
        tag = at
        key, at = _varint(data, at, end)
        kind = key & 7
        if kind == _VARINT:
            _, stop = _varint(data, at, end)
        elif kind == _LENGTH_PREFIXED:
            length, at = _varint(data, at, end)
            stop = at + length
        elif kind in (_FIXED32, _FIXED64):
            stop = at + (4 if kind == _FIXED32 else 8)
        else:
            raise InvalidModelError(f"not an ONNX model: unknown field kind {kind} at byte {tag}")
        if stop > end:
            raise InvalidModelError(
                f"not an ONNX model, or cut short: a field at byte {tag} ends at {stop}, its message at {end}"
            )
        yield _Field(key >> 3, tag, at, stop)
        at = stop


def _encode_varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _with_prefix(number: int, payload: bytes) -> bytes:
    return _encode_varint(number << 3 | _LENGTH_PREFIXED) + _encode_varint(len(payload)) + payload


def _strip_tensor(data: Bytes, tensor: _Field, keep: int) -> tuple[bytes, str, ByteRange | None]:
    """The tensor message without raw data of more than `keep` bytes, its name, and the range of the raw data."""
    name = ""
    raw: _Field | None = None
    pieces: list[bytes] = []
    for field in _fields(data, tensor.start, tensor.end):
        if field.number == _TENSOR_RAW_DATA:
            raw = field
            continue
        if field.number == _TENSOR_NAME:
            name = data[field.start : field.end].decode("utf-8", "replace")
        pieces.append(data[field.tag : field.end])
    if raw is None:
        return b"".join(pieces), name, None
    if raw.end - raw.start <= keep:
        pieces.append(data[raw.tag : raw.end])
    return b"".join(pieces), name, ByteRange(raw.start, raw.end - raw.start)


def split_model(data: Bytes, keep: int) -> tuple[bytes, dict[str, ByteRange]]:
    """The model without initialisers' raw data of more than `keep` bytes, and the ranges of these."""
    ranges: dict[str, ByteRange] = {}
    model: list[bytes] = []
    for part in _fields(data, 0, len(data)):
        if part.number != _MODEL_GRAPH:
            model.append(data[part.tag : part.end])
            continue
        graph: list[bytes] = []
        copied = part.start
        for field in _fields(data, part.start, part.end):
            if field.number != _GRAPH_INITIALIZER:
                continue
            stripped, name, raw = _strip_tensor(data, field, keep)
            graph += [data[copied : field.tag], _with_prefix(_GRAPH_INITIALIZER, stripped)]
            copied = field.end
            if raw is not None:
                ranges[name] = raw
        graph.append(data[copied : part.end])
        model.append(_with_prefix(_MODEL_GRAPH, b"".join(graph)))
    return b"".join(model), ranges
