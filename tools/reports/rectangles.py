"""The rectangles of a memory plan's chart: steps on the x axis, bytes of the arena on the y axis.

A buffer occupies its bytes for its whole lifetime; the tensors that share them are drawn inside. Where a result
overwrites its operand, the operand's rectangle ends at that step and the result's begins. A tensor that is a strided
part of its buffer (of a concatenation along an inner axis) is drawn as if the parts lay one above the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ...passes.memory.report.memory_plan import MemoryPlan
from ...passes.memory.report.memory_records import BufferRecord, TensorRecord

Kind = Literal["reserved", "tensor", "in place", "scratch", "view"]

KINDS: dict[Kind, str] = {
    "tensor": "tensor",
    "in place": "written in place",
    "view": "view (no copy)",
    "scratch": "scratch of a kernel",
    "reserved": "kept for parts to come",
}
"""The legend's name of each kind of rectangle."""


@dataclass(frozen=True)
class Block:
    """A rectangle: steps [start, end) by bytes [low, high) of the arena."""

    kind: Kind
    start: int
    end: int
    low: int
    high: int
    buffer: BufferRecord
    tensor: TensorRecord | None = None  # None for reserved bytes
    interleaved: bool = False  # drawn as one piece, though strided

    @property
    def area(self) -> int:
        """Steps times bytes."""
        return (self.end - self.start) * (self.high - self.low)


def blocks_of(plan: MemoryPlan) -> list[Block]:
    """The plan's rectangles in drawing order."""
    tensors: dict[int, list[TensorRecord]] = {}
    for tensor in plan.tensors:
        if tensor.buffer is not None:
            tensors.setdefault(tensor.buffer, []).append(tensor)
    reserved: list[Block] = []
    lives: list[Block] = []
    for buffer in plan.buffers:
        found = list(_lives(buffer, tensors.get(buffer.number, [])))
        whole = list(_reserved(buffer))
        if sum(block.area for block in found if block.kind != "view") < sum(block.area for block in whole):
            reserved += whole
        lives += found
    lives.sort(key=lambda block: block.kind == "view")
    return reserved + lives


def _reserved(buffer: BufferRecord) -> Iterator[Block]:
    edges = [buffer.birth, *(step for gap in buffer.gaps for step in gap), buffer.death]
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        yield Block("reserved", start, end, buffer.offset, buffer.end, buffer)


def _lives(buffer: BufferRecord, tensors: list[TensorRecord]) -> Iterator[Block]:
    for tensor in tensors:
        overwritten = [
            other.birth
            for other in tensors
            if other.inplace and other.birth > tensor.birth and other.name in tensor.shared_with
        ]
        end = min([tensor.death, *overwritten])
        low, high, interleaved = _rows(buffer, tensor)
        yield Block(_kind(tensor), tensor.birth, end, low, high, buffer, tensor, interleaved)


def _kind(tensor: TensorRecord) -> Kind:
    if tensor.role == "scratch" or tensor.role == "view":
        return tensor.role
    return "in place" if tensor.inplace else "tensor"


def _rows(buffer: BufferRecord, tensor: TensorRecord) -> tuple[int, int, bool]:
    """The byte range to draw a tensor at, and whether it is only approximate.

    A strided part: n rows of w bytes with pitch p have `bytes` = n w and, from the first byte to the last, `extent` =
    (n - 1) p + w; the buffer has n p bytes. So p - w and n follow from known numbers.
    """
    assert tensor.offset is not None and tensor.end is not None
    others = buffer.bytes - (tensor.extent or tensor.bytes)  # p - w
    if tensor.extent <= tensor.bytes or others <= 0 or (buffer.bytes - tensor.bytes) % others:
        return tensor.offset, tensor.end, False
    rows = (buffer.bytes - tensor.bytes) // others
    low = buffer.offset + (tensor.offset - buffer.offset) * rows
    if low + tensor.bytes > buffer.end:
        return tensor.offset, tensor.end, False
    return low, low + tensor.bytes, True
