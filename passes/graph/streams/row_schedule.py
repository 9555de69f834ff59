"""In which order a stream makes which rows.

A stream makes its values a band of rows at a time. What makes the last value asks for the rows that its next band
reads; what makes those asks in turn, so that rows are made no earlier than they are read. Rows that a later band reads
again are kept, and none is computed twice. Bands may differ from value to value: where a picture is wide a few rows,
where it is small all of them at once.

Layers fused like this, with rows kept instead of computed again, are those of Alwani, Chen, Ferdman and Milder, "Fused-
layer CNN accelerators", 2016; asking for what the next result reads is how synchronous dataflow graphs are scheduled
for small buffers (Lee and Messerschmitt, 1987).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.ir import SSAValue

from ....dialects.graph.base import ElementwiseOp, GraphOp
from ....dialects.graph.ops.resize import ResizeOp
from ....dialects.graph.ops.windows import PoolOp
from ....dialects.graph.values import nbytes_of, shape_of, type_of
from ....dialects.sizes.sizes import now
from .row_reach import Reach

MOST_COPIED = 2
"""Rows for each new one that may be copied."""


@dataclass
class Stream:
    """Ops that compute rows, in order; for each the rows that its operands are read by, and for each value its axis."""

    ops: list[GraphOp]
    reads: dict[GraphOp, list[Reach | None]]
    axis: dict[SSAValue, int]

    def rows(self, value: SSAValue) -> int:
        """The rows of a whole value."""
        return shape_of(value)[self.axis[value]]

    def row_bytes(self, value: SSAValue) -> int:
        """Bytes of one row."""
        return now(nbytes_of(type_of(value))) // self.rows(value)

    def operands(self, op: GraphOp) -> list[tuple[SSAValue, Reach]]:
        """The operands that an op reads by rows."""
        return [(v, reach) for v, reach in zip(op.operands, self.reads[op], strict=True) if reach is not None]

    def part(self, start: int, end: int) -> Stream:
        """The stream of some of the ops."""
        ops = self.ops[start:end]
        values = {value for op in ops for value in (*op.operands, *op.results)}
        axis = {value: axis for value, axis in self.axis.items() if value in values}
        return Stream(ops, {op: self.reads[op] for op in ops}, axis)

    @cached_property
    def made(self) -> set[SSAValue]:
        """The values that it makes."""
        return {op.results[0] for op in self.ops}

    @cached_property
    def readers(self) -> dict[SSAValue, list[tuple[GraphOp, Reach]]]:
        """The ops of the stream that read rows of each value it makes."""
        found: dict[SSAValue, list[tuple[GraphOp, Reach]]] = {value: [] for value in self.made}
        for op in self.ops:
            for value, reach in self.operands(op):
                if value in found:
                    found[value].append((op, reach))
        return found

    @cached_property
    def fused(self) -> dict[SSAValue, SSAValue]:
        """Values that only the kernel has which makes them, each with the one that is computed from it there."""
        found: dict[SSAValue, SSAValue] = {}
        order: dict[SSAValue, int] = {op.results[0]: place for place, op in enumerate(self.ops)}
        for op in self.ops:
            inside = [value for value, _ in self.operands(op) if value in order]
            if inside and isinstance(op, ElementwiseOp):
                last = max(inside, key=order.__getitem__)
                alone = len(self.readers[last]) == 1 and last not in self.outputs
                if alone and shape_of(last) == shape_of(op.results[0]):
                    found[last] = op.results[0]
        return found

    def stored(self, value: SSAValue) -> SSAValue:
        """What is stored of a value: itself, or what the kernel that makes it computes from it."""
        while value in self.fused:
            value = self.fused[value]
        return value

    @cached_property
    def shifts(self) -> dict[SSAValue, int]:
        """The rows of each value from which the last ops make no row yet: where its bands begin."""
        found = dict[SSAValue, int]()
        for op in reversed(self.ops):
            value = op.results[0]
            wanted = (reach.end(found[other.results[0]]) for other, reach in self.readers[value])
            found[value] = max([0, *wanted])
        return found

    @cached_property
    def outputs(self) -> list[SSAValue]:
        """The values with users outside."""
        inside = set(self.ops)
        made = (op.results[0] for op in self.ops)
        return [value for value in made if any(use.operation not in inside for use in value.uses)]


@dataclass(frozen=True)
class Firing:
    """Rows start..stop of an op's result are computed."""

    op: GraphOp
    start: int
    stop: int


@dataclass
class Progress:
    """How far a stream has come: the rows made of each value."""

    stream: Stream
    rows: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def made(self, value: SSAValue) -> int:
        """The rows of a value that were made."""
        return self.rows.get(value, 0)

    def needed(self, value: SSAValue) -> int:
        """The first row of a value that is still to be read; all its rows if none is."""
        rows = self.stream.rows(value)
        places = [
            reach.first(done)
            for op, reach in self.stream.readers[value]
            if (done := self.made(op.results[0])) < self.stream.rows(op.results[0])
        ]
        return max(0, min([rows, *places]))


def makes_whole_values(op: GraphOp) -> bool:
    """Whether an op's result is a value of its own, not written by the kernel that reads or makes it otherwise."""
    return op.products > 0 or isinstance(op, PoolOp | ResizeOp)


def widens(stream: Stream, value: SSAValue) -> bool:
    """Whether a row of a value is made of one row of fewer bytes: better these wait until several are read at once."""
    op = value.owner
    while isinstance(op, GraphOp) and op in stream.reads and not makes_whole_values(op):
        value = next((v for v, _ in reversed(stream.operands(op)) if v in stream.made), op.operands[0])
        op = value.owner
    if not isinstance(op, GraphOp) or op not in stream.reads:
        return False
    read = stream.operands(op)
    alone = all((reach.first(1), reach.end(1)) == (1, 1) for _, reach in read)
    return alone and sum(stream.row_bytes(v) for v, _ in read) < stream.row_bytes(stream.stored(value))


def bands(stream: Stream, nbytes: int) -> dict[SSAValue, int]:
    """The rows of each value's bands, or all where those would be most of them.

    Products, pools and resizes make a power of two, of at most `nbytes` or of what they read for it; other ops make
    what they can of the bands that they read, or what is read of theirs. What a stride reads at once is made at once
    only where that `widens` rows; otherwise a band at a time, which takes fewer bytes of what these are made of.
    """
    found: dict[SSAValue, int] = {}
    multiple: dict[SSAValue, int] = {
        op.results[0]: max(reach.multiple for _, reach in stream.operands(op)) for op in stream.ops
    }

    def whole(value: SSAValue, rows: int) -> int:
        rows, total = max(1, -(-rows // multiple[value])) * multiple[value], stream.rows(value)
        return total if 3 * rows >= 2 * total else rows

    widest: dict[int, int] = {}
    """The most bytes of a row that ops make or read for it, of values with so many rows."""
    for op in filter(makes_whole_values, stream.ops):
        value = op.results[0]
        read = (int(stream.row_bytes(v) * reach.scale) for v, reach in stream.operands(op))
        row = max(stream.row_bytes(stream.stored(value)), *read)
        widest[stream.rows(value)] = max(row, widest.get(stream.rows(value), 0))
    for op in stream.ops:
        value, reading = op.results[0], stream.operands(op)
        inside = [(v, reach) for v, reach in reading if v in found]
        if makes_whole_values(op):
            rows = max(1, nbytes // widest[stream.rows(value)])
            found[value] = whole(value, 1 << (rows.bit_length() - 1))
        elif inside:
            found[value] = whole(value, max(int(found[v] / reach.scale) for v, reach in inside))
    for op in reversed(stream.ops):
        value, reading = op.results[0], stream.operands(op)
        if value not in found:
            wanted = [int(found[other.results[0]] * reach.scale) for other, reach in stream.readers[value]]
            found[value] = whole(value, max(wanted, default=1))
    given = dict(found)
    for op in reversed(stream.ops):
        rows = given if makes_whole_values(op) else found
        for value, reach in stream.operands(op):
            anew = int(rows[op.results[0]] * reach.scale)
            if value in found and found[value] < anew and (not makes_whole_values(op) or widens(stream, value)):
                found[value] = whole(value, anew)
    return found


def firings(stream: Stream, rows: Mapping[SSAValue, int]) -> Iterator[Firing]:
    """The firings of a stream in order, for bands of so many rows."""
    progress = Progress(stream)
    producers: dict[SSAValue, GraphOp] = {op.results[0]: op for op in stream.ops}

    def next_stop(op: GraphOp) -> int:
        """Where the next band of an op ends: bands end where those of their readers need them to."""
        value, band = op.results[0], rows[op.results[0]]
        total, done = stream.rows(value), progress.made(value)
        multiple = max(reach.multiple for _, reach in stream.operands(op))
        stop = done + band - (done - stream.shifts[value]) % band
        if stop - done < (band + 1) // 2:
            stop += band
        stop = -(-stop // multiple) * multiple
        return total if total - stop < (band + 1) // 2 else stop

    def ask(op: GraphOp, wanted: int) -> Iterator[Firing]:
        """Fires an op until `wanted` rows are made."""
        value = op.results[0]
        while (start := progress.made(value)) < wanted:
            stop = next_stop(op)
            for operand, reach in stream.operands(op):
                if operand in producers:
                    yield from ask(producers[operand], min(reach.end(stop), stream.rows(operand)))
            progress.rows[value] = stop
            yield Firing(op, start, stop)

    while True:
        left = [value for value in stream.outputs if progress.made(value) < stream.rows(value)]
        if not left:
            return
        value = min(left, key=lambda v: progress.made(v) / stream.rows(v))
        yield from ask(producers[value], progress.made(value) + 1)


def live_bytes(stream: Stream, rows: Mapping[SSAValue, int]) -> int:
    """An estimate of the bytes of rows that are live at once, for bands of so many rows.

    Rows that windows read again are there all the time, the others while what reads them is computed. What stands whole
    before or after the stream, and scratch, are not counted.
    """
    kept, moving = 0, dict[SSAValue, int]()
    read: dict[SSAValue, set[SSAValue]] = {}
    most = 0
    for op in stream.ops:
        value = op.results[0]
        sources = [v for v, _ in stream.operands(op) if v in stream.made]
        read[value] = {each for v in sources for each in ({v} if v not in stream.fused else read[v])}
        if value in stream.fused:
            continue
        left, total = _rows_left(stream, value), stream.rows(value)
        wanted = [int(rows[other.results[0]] * reach.scale) for other, reach in stream.readers[value]]
        band = max(rows[value], *wanted, 0)
        if rows[value] == total:
            held, more = (total, 0) if min(wanted, default=total) < total else (0, total)
        elif copies_rows(left, band, left + band):
            held, more = left, left + band
        else:
            held, more = left + (band if left else 0), band
        kept += held * stream.row_bytes(value)
        moving[value] = more * stream.row_bytes(value)
        most = max(most, moving[value] + sum(moving[each] for each in read[value]))
    return kept + most


def copies_rows(left: int, new: int, most: int) -> bool:
    """Whether rows that are left are copied to new ones, and back, so that only they lie in their place between.

    Otherwise new rows slide in where they are, with place for the `most` that are there at once.
    """
    return 0 < left <= MOST_COPIED * new and most == left + new


def _rows_left(stream: Stream, value: SSAValue) -> int:
    """The rows of a value that are made and read again, when all its readers have read what they can."""
    first = (reach.first(stream.shifts[op.results[0]]) for op, reach in stream.readers[value])
    return max(0, stream.shifts[value] - min(first, default=stream.shifts[value]))
