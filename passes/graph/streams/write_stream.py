"""Writes the ops of a stream: bands of rows in place of whole values."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from xdsl.ir import Operation, SSAValue

from ....dialects.graph.ops.movement import ConcatOp, SliceOp
from ....dialects.graph.values import shape_of
from ..support.pattern_utils import with_operands
from .row_reach import part_properties
from .row_schedule import Firing, Progress, Stream


class StreamWriter:
    """Writes firings, and keeps the rows that are still to be read."""

    def __init__(self, stream: Stream, insert: Callable[[Operation], SSAValue]) -> None:
        self.stream = stream
        self.insert = insert
        self.progress = Progress(stream)
        self.band: dict[SSAValue, tuple[SSAValue, int]] = {}  # the rows that are there, and the number of the first
        self.parts: dict[SSAValue, list[SSAValue]] = {value: [] for value in stream.outputs}

    def write(self, firings: Iterable[Firing]) -> dict[SSAValue, SSAValue]:
        """Writes all firings; returns the outputs of the stream, whole."""
        for firing in firings:
            self.fire(firing)
        return {
            value: self.insert(ConcatOp(parts, self.stream.axis[value])) if len(parts) > 1 else parts[0]
            for value, parts in self.parts.items()
        }

    def fire(self, firing: Firing) -> None:
        """Writes an op that computes a band, and drops the rows that were read for the last time."""
        op, stream = firing.op, self.stream
        value = op.results[0]
        reads = stream.reads[op]
        operands = [
            each if reach is None else self.rows(each, reach.first(firing.start), reach.end(firing.stop))
            for each, reach in zip(op.operands, reads, strict=True)
        ]
        changed = part_properties(op, stream.axis[value], reads[0], firing.start, firing.stop)
        new = self.insert(with_operands(op, operands, **changed))
        if value in self.parts:
            self.parts[value].append(new)
        self.progress.rows[value] = firing.stop
        if stream.readers[value]:
            if value in self.band:
                old, start = self.band[value]
                self.band[value] = self.insert(ConcatOp([old, new], stream.axis[value])), start
            else:
                self.band[value] = new, firing.start
        for each in dict.fromkeys((value, *op.operands)):
            if each in self.band:
                self.trim(each)

    def rows(self, value: SSAValue, start: int, stop: int) -> SSAValue:
        """Rows start..stop of a value, as far as it has them."""
        start, stop = max(0, start), min(stop, self.stream.rows(value))
        band, first = self.band[value] if value in self.stream.made else (value, 0)
        return self.slice(band, self.stream.axis[value], start - first, stop - first)

    def trim(self, value: SSAValue) -> None:
        """Drops the rows of a band that nothing is going to read."""
        band, first = self.band[value]
        needed = self.progress.needed(value)
        if needed >= self.progress.made(value):
            del self.band[value]
        elif needed > first:
            rows = self.slice(band, self.stream.axis[value], needed - first, self.progress.made(value) - first)
            self.band[value] = rows, needed

    def slice(self, value: SSAValue, axis: int, start: int, stop: int) -> SSAValue:
        shape = shape_of(value)
        if (start, stop) == (0, shape[axis]):
            return value
        starts, stops = [0] * len(shape), list(shape)
        starts[axis], stops[axis] = start, stop
        return self.insert(SliceOp(value, starts, stops))
