"""Writes the ops of a stream: bands of rows in place of whole values, and loops over what is repeated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ....dialects.graph.base import GraphOp
from ....dialects.graph.ops.conversion import CastOp
from ....dialects.graph.ops.elementwise import AddOp, MulOp
from ....dialects.graph.ops.indexing import GatherOp, ScatterNdOp
from ....dialects.graph.ops.movement import ConcatOp, SliceOp, SlideOp
from ....dialects.graph.ops.rows import EmptyOp, ExtractRowsOp, InsertRowsOp
from ....dialects.graph.ops.structure import ConstantOp, WeightOp
from ....dialects.graph.values import Array, shape_of, type_of
from ..support.counted_loops import CountedLoop, GraphWriter
from ..support.pattern_utils import with_operands
from .row_reach import lie_together
from .row_schedule import MOST_COPIED, Firing, Stream, copies_rows
from .row_steps import Rows, Step, Turns, WindowSize, repetitions, steps_of, windows_of


@dataclass
class Window:
    """The last rows of a value in one place: `held` of its `rows` are still to be read."""

    rows: int
    held: int
    now: SSAValue
    slides: bool = False
    """Whether new rows come into it at once. Otherwise they stay with those that are read with them until then."""
    behind: int = 0
    """New rows that are not there yet."""
    carried: bool = False
    """Whether a loop carries it."""
    period: int = 0
    """Of a ring, in which new rows are written over the oldest: the rows that are made in a turn."""
    made: int = 0
    """Of a ring: the rows that this turn has made."""


class StreamWriter(GraphWriter):
    """Writes the steps of a stream in front of an op."""

    def __init__(self, stream: Stream, before: Operation) -> None:
        super().__init__(InsertPoint.before(before), stream.ops[-1].location)
        self.stream = stream
        self.band: dict[SSAValue, list[SSAValue]] = {}
        """Of each value the rows that are there; parts are put together when they are read."""
        self.parts: dict[SSAValue, list[SSAValue]] = {}
        """Of outputs that no loop writes, what was made of them."""
        self.whole: dict[SSAValue, SSAValue] = {}
        """Outputs that loops write, as far as they are made."""
        self.replaced: dict[SSAValue, SSAValue] = {}
        """Values from outside, each with the output that is written over it."""
        self.windows: dict[SSAValue, Window] = {}
        """Of values that were read, what is read again; `band` has those with rows that are not there yet."""
        self.turn: SSAValue | None = None
        """In a loop the number of the turn, a tensor of i64."""
        self.index: SSAValue | None = None
        """The same as a host scalar."""
        self.strides: dict[SSAValue, int] = {}
        """In a loop the rows of each value that are made in a turn."""

    def write(self, firings: Iterable[Firing]) -> dict[SSAValue, SSAValue]:
        """Writes all firings; returns the outputs of the stream, whole."""
        steps = steps_of(self.stream, firings)
        turns = repetitions(self.stream, steps)
        looped = {step.firing.op.results[0] for each in turns if each.count > 1 for step in each.steps}
        for value in self.stream.outputs:
            fresh = self.replaced_by(value, steps)
            if fresh is None and value in looped:
                together = lie_together(value, self.stream.axis[value])
                fresh = self.insert(EmptyOp(type_of(value))) if together else self.zeros(value)
            if fresh is not None:
                self.whole[value] = fresh
            else:
                self.parts[value] = []
        for each in turns:
            if each.count > 1:
                self.loop(each)
            else:
                self.steps(each.steps)
        found = dict(self.whole)
        for value, parts in self.parts.items():
            found[value] = self.insert(ConcatOp(parts, self.stream.axis[value])) if len(parts) > 1 else parts[0]
        return found

    def replaced_by(self, value: SSAValue, steps: Sequence[Step]) -> SSAValue | None:
        """A value that nobody reads behind the stream, whose rows are all read before those of an output are made."""
        stream = self.stream
        for other in dict.fromkeys(each for op in reversed(stream.ops) for each, _ in stream.operands(op)):
            alike = other.type == value.type and stream.axis[other] == stream.axis[value]
            if not alike or other in stream.made or other in self.replaced or not _is_last_reader(stream, other):
                continue
            made, kept = 0, True
            for step in steps:
                reading = zip(step.firing.op.operands, step.sources, strict=True)
                kept = kept and all(rows is None or rows[0] >= made for each, rows in reading if each is other)
                made = step.firing.stop if step.firing.op is value.owner else made
            if kept:
                self.replaced[other] = value
                return other
        return None

    def loop(self, turns: Turns) -> None:
        """Writes a loop over steps that are repeated."""
        stream = self.stream
        windows = {value: self.opened(value, size) for value, size in windows_of(stream, turns.steps).items()}
        self.windows.update(windows)
        made = {step.firing.op.results[0] for step in turns.steps}
        wholes = [value for value in self.whole if value in made]
        loop = CountedLoop(
            self, turns.count, [*(window.now for window in windows.values()), *(self.whole[value] for value in wholes)]
        )
        self.turn, self.index = loop.number, loop.index
        for window, argument in zip(windows.values(), loop.values, strict=False):
            window.now = argument
        self.whole.update(zip(wholes, loop.values[len(windows) :], strict=True))
        self.strides = {op.results[0]: 0 for op in stream.ops}
        for step in turns.steps:
            self.strides[step.firing.op.results[0]] += step.count
        self.steps(turns.steps)
        for value in windows:
            self.stored(value)
        results = loop.close([*(window.now for window in windows.values()), *(self.whole[value] for value in wholes)])
        self.turn, self.index, self.strides = None, None, {}
        for (value, window), now in zip(windows.items(), results, strict=False):
            now = self.left(now, stream.axis[value], window, turns.count)
            self.windows[value] = Window(window.held, window.held, now)
        self.whole.update(zip(wholes, results[len(windows) :], strict=True))

    def opened(self, value: SSAValue, size: WindowSize) -> Window:
        """The rows of a value that are there as a window on which more follow."""
        axis, (band, first) = self.stream.axis[value], self.there(value)
        now = self.slice(band, axis, first, shape_of(band)[axis])
        if size.rows > size.held:  # not padded: what is there may become a part of the window
            shape = list(shape_of(now))
            shape[axis] = size.rows - size.held
            now = self.insert(ConcatOp([self.zeros(now, shape), now], axis))
        self.band.pop(value, None)
        return Window(size.rows, size.held, now, slides=size.slides, carried=True, period=size.period)

    def steps(self, steps: Sequence[Step]) -> None:
        """Writes steps."""
        for step in steps:
            self.step(step)

    def step(self, step: Step) -> None:
        """Writes an op that computes a band, and drops the rows that were read for the last time."""
        op, stream = step.firing.op, self.stream
        value = op.results[0]
        operands = list(op.operands)
        for place, (inside, outside) in enumerate(zip(step.reads, step.sources, strict=True)):
            operand, reach = operands[place], stream.reads[op][place]
            if inside is not None:
                operands[place] = self.read(operand, *inside)
            elif outside is not None and reach is not None:
                operands[place] = self.source(operand, outside, int(self.strides.get(value, 0) * reach.scale))
            elif isinstance(cast := operand.owner, CastOp) and cast not in stream.reads:
                operands[place] = self.insert(cast.clone())  # of weights: kernels take them along, each its own
        new = self.insert(with_operands(op, operands, **dict(step.properties)))
        if value in self.parts:
            self.parts[value].append(new)
        elif value in self.whole:
            self.output(value, new, step.firing)
        if stream.readers[value]:
            self.join(value, new, step)
        for each, rows in step.keeps:
            self.keep(each, rows)

    def there(self, value: SSAValue) -> tuple[SSAValue, int]:
        """What has the rows of a value that are there, and where in it they begin."""
        window = self.windows.get(value)
        if window is not None and not window.behind:
            return window.now, window.rows - window.held
        parts = self.band[value]
        if len(parts) > 1:
            parts[:] = [self.insert(ConcatOp(parts, self.stream.axis[value]))]
        return parts[0], 0

    def read(self, value: SSAValue, start: int, stop: int) -> SSAValue:
        """Rows of those that are there."""
        axis, window = self.stream.axis[value], self.windows.get(value)
        if window is None or not window.period:
            band, first = self.there(value)
            return self.slice(band, axis, first + start, first + stop)
        first = window.made - window.held
        parts: list[SSAValue] = []
        for low, high in WindowSize(window.rows, 0, True, window.period).parts((first + start, first + stop)):
            row = self.row(low % window.rows, window.period, window.rows)
            parts.append(self.insert(ExtractRowsOp(window.now, row, axis, high - low)))
        return self.insert(ConcatOp(parts, axis)) if len(parts) > 1 else parts[0]

    def left(self, now: SSAValue, axis: int, window: Window, turns: int) -> SSAValue:
        """The rows that a loop leaves in a window."""
        start = (turns * window.period - window.held) % window.rows
        stop = start + window.held
        if stop <= window.rows:
            return self.slice(now, axis, start, stop)
        parts = [self.slice(now, axis, start, window.rows), self.slice(now, axis, 0, stop - window.rows)]
        return self.insert(ConcatOp(parts, axis))

    def join(self, value: SSAValue, new: SSAValue, step: Step) -> None:
        """Puts new rows behind those that are there."""
        axis, window = self.stream.axis[value], self.windows.get(value)
        if window and window.period:
            row = self.row(window.made, window.period, window.rows)
            window.now = self.insert(InsertRowsOp(window.now, new, row, axis))
            window.held, window.made = window.held + step.count, window.made + step.count
            return
        if window and window.slides:
            window.now = self.insert(SlideOp(window.now, new, axis)) if step.count < window.rows else new
            window.held += step.count
            return
        parts = self.band.get(value, []) if step.joins else []
        if step.joins and not parts:
            held, first = self.there(value)
            parts = [self.slice(held, axis, first, shape_of(held)[axis])]
        self.band[value] = [*parts, new]
        if window:
            window.held += step.count
            window.behind += step.count

    def keep(self, value: SSAValue, rows: Rows | None) -> None:
        """Drops all rows of a value that are there but some."""
        window, axis, (band, first) = self.windows.get(value), self.stream.axis[value], self.there(value)
        start, stop = rows or (0, 0)
        held = stop - start
        if window and window.period:
            window.held = held
            return
        same = window and window.rows == held and copies_rows(held, window.behind, shape_of(band)[axis])
        if window and (window.carried or same):
            window.held = held
            if window.behind and held > window.rows:
                self.band[value] = [self.slice(band, axis, start, stop)]
            elif held:
                self.stored(value)
            else:
                window.behind = 0
            return
        self.band.pop(value, None)
        self.windows.pop(value, None)
        if rows:
            now = self.slice(band, axis, first + start, first + stop)
            if held <= MOST_COPIED * (shape_of(band)[axis] - held):  # a place of its own, not one in all that was read
                now = self.insert(SlideOp(self.zeros(now), now, axis))
            self.windows[value] = Window(held, held, now)

    def stored(self, value: SSAValue) -> None:
        """Puts rows into their window that are not there yet."""
        window, axis = self.windows[value], self.stream.axis[value]
        if window.behind:
            (band, _), count = self.there(value), min(window.behind, window.rows)
            del self.band[value]
            new = self.slice(band, axis, shape_of(band)[axis] - count, shape_of(band)[axis])
            window.now, window.behind = self.insert(SlideOp(window.now, new, axis)), 0

    def moving(self, numbers: Array, stride: Array) -> SSAValue:
        """Constant numbers, or in a loop numbers that are `stride` more in each turn."""
        given = self.insert(ConstantOp.from_numpy(numbers))
        if self.turn is None or not stride.any():
            return given
        by = self.insert(ConstantOp.from_numpy(stride))
        return self.insert(AddOp(given, self.insert(MulOp(self.turn, by))))

    def row(self, first: int, stride: int, ring: int = 0) -> SSAValue:
        """The number of a row, or in a loop one that is `stride` more in each turn; of a ring its remainder."""
        start = self.insert(arith.ConstantOp(IntegerAttr(first, IndexType())))
        if self.index is None or not stride:
            return start
        by = self.insert(arith.ConstantOp(IntegerAttr(stride, IndexType())))
        row = self.insert(arith.AddiOp(start, self.insert(arith.MuliOp(self.index, by))))
        if not ring:
            return row
        return self.insert(arith.RemSIOp(row, self.insert(arith.ConstantOp(IntegerAttr(ring, IndexType())))))

    def source(self, value: SSAValue, rows: Rows, stride: int) -> SSAValue:
        """Rows of a value from outside of the stream."""
        axis = self.stream.axis[value]
        replaced = value in self.replaced
        if replaced:
            value = self.whole[self.replaced[value]]
        if self.turn is None or not stride:
            return self.slice(value, axis, *rows)
        if lie_together(value, axis) and not replaced:
            return self.insert(ExtractRowsOp(value, self.row(rows[0], stride), axis, rows[1] - rows[0]))
        return self.insert(GatherOp(value, self.moving(np.arange(*rows), np.array(stride)), axis))

    def output(self, value: SSAValue, new: SSAValue, firing: Firing) -> None:
        """Writes rows of an output to where they stay."""
        axis, shape, stride = self.stream.axis[value], shape_of(new), self.strides.get(value, 0)
        if lie_together(value, axis) and value not in self.replaced.values():  # those are read meanwhile
            row = self.row(firing.start, stride)
            self.whole[value] = self.insert(InsertRowsOp(self.whole[value], new, row, axis))
            return
        places = np.stack(np.meshgrid(*map(np.arange, shape[: axis + 1]), indexing="ij"), -1)
        along = np.eye(axis + 1, dtype=np.int64)[axis]
        indices = self.moving(places + firing.start * along, stride * along)
        self.whole[value] = self.insert(ScatterNdOp(self.whole[value], indices, new))

    def slice(self, value: SSAValue, axis: int, start: int, stop: int) -> SSAValue:
        """Elements start..stop of an axis."""
        shape = shape_of(value)
        if (start, stop) == (0, shape[axis]):
            return value
        starts, stops = [0] * len(shape), list(shape)
        starts[axis], stops[axis] = start, stop
        return self.insert(SliceOp(value, starts, stops))


def _is_last_reader(stream: Stream, value: SSAValue) -> bool:
    """Whether a value is made in the stream's block, and nobody reads it behind the stream, or as a whole in it."""
    last, op = stream.ops[-1], value.owner
    if not isinstance(op, Operation) or isinstance(op, ConstantOp | WeightOp) or op.parent is not last.parent:
        return False
    for use in value.uses:
        reads = stream.reads.get(use.operation) if isinstance(use.operation, GraphOp) else None
        if reads[use.index] is None if reads else not use.operation.is_before_in_block(last):
            return False
    return True
