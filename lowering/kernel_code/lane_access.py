"""Loads and stores of vectors: contiguous, strided, transposed in registers, interleaved, gathered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.dialects import vector as vector_ops
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue

from ...dialects.sizes.sizes import is_fixed, pinned
from .arithmetic import loaded, signless, stored
from .index_expr import Expr, Var
from .loop_builder import LoopBuilder, memref_type
from .register_transposes import transposed

# Strides up to this are loaded by a few vector loads and shuffles; larger ones by one load per lane.
_LARGEST_SHUFFLED_STRIDE = 4


class NotVectorisable(Exception):
    """Lanes would need different code; the caller builds scalar loops instead."""


class Vector(NamedTuple):
    """Lanes along `var`: lane i is at var + i; lanes from `valid` on are neither loaded nor stored."""

    var: Var
    lanes: int
    valid: int


@dataclass
class Square:
    """A square of `size` x `size` elements: lanes along the vector's variable, `offset` counts along `var`.

    What is contiguous along `var` is loaded once for all offsets and transposed in registers.
    """

    var: Var
    size: int
    offset: int = 0
    turned: dict[tuple[SSAValue, Expr], list[SSAValue]] = field(
        default_factory=dict[tuple[SSAValue, Expr], list[SSAValue]]
    )


@dataclass
class Interleaved:
    """`count` vectors whose lanes alternate in memory; `number` is the current one."""

    count: int
    number: int = 0
    pending: dict[tuple[SSAValue, Expr], list[SSAValue]] = field(
        default_factory=dict[tuple[SSAValue, Expr], list[SSAValue]]
    )


@dataclass(frozen=True)
class Line:
    """A memref viewed as one dimension."""

    line: SSAValue
    strides: tuple[int, ...]

    @property
    def element(self) -> Attribute:
        """The element type in memory."""
        return memref_type(self.line).element_type


class LaneAccess:
    """Vector accesses to buffers, built into the block that `b` appends to; integers are signless.

    `one_by_one` collects the positions whose lanes are loaded separately, since their stride is large.
    """

    def __init__(self, b: LoopBuilder) -> None:
        self.b = b
        self.square: Square | None = None
        self.interleaved: Interleaved | None = None
        self.one_by_one: list[Expr] = []

    def unsigned(self, value: SSAValue) -> SSAValue:
        """A loaded value as a signless integer for computation."""
        return loaded(self.b, value)

    def as_stored(self, value: SSAValue, buffer: Line) -> SSAValue:
        """A signless integer as the buffer stores it."""
        return stored(self.b, value, buffer.element)

    def load(self, buffer: Line, place: Expr, step: int, vector: Vector) -> SSAValue:
        """A vector with stride `step`; the first lane is at `place`."""
        b, (_, lanes, valid) = self.b, vector
        if step == 1:
            return b.vload(buffer.line, [place.emit(b)], lanes, valid)
        valid = pinned(valid)
        vector = vector._replace(valid=valid)
        if step == -1:
            loaded = b.vload(buffer.line, [(place - (valid - 1)).emit(b)], lanes, valid)
            return self.b.shuffle(loaded, loaded, [max(valid - 1 - lane, 0) for lane in range(lanes)])
        if is_fixed(step) and 1 < step <= _LARGEST_SHUFFLED_STRIDE:
            return self._load_strided(buffer, place, step, vector)
        if self.square is not None and place.coefficient(self.square.var) == 1:
            return self._load_turned(buffer, place, step, self.square)
        self.one_by_one.append(place)
        return self.gather(buffer, [place + lane * step for lane in range(valid)], lanes)

    def gather(self, buffer: Line, places: Sequence[Expr], lanes: int) -> SSAValue:
        """A vector of the elements at some positions, zeros in the remaining lanes."""
        b = self.b
        result = b.constant(0, VectorType(signless(buffer.element), [lanes]))
        for lane, place in enumerate(places):
            element = self.unsigned(b.load(buffer.line, [place.emit(b)]))
            result = b.insert(vector_ops.InsertOp(element, result, [lane]))
        return result

    def _load_turned(self, buffer: Line, place: Expr, step: int, square: Square) -> SSAValue:
        """A strided vector, from a square that is loaded along the other axis and transposed."""
        corner = place - square.offset
        key = (buffer.line, corner)
        if key not in square.turned:
            starts = [(corner + lane * step).emit(self.b) for lane in range(square.size)]
            rows = [self.b.vload(buffer.line, [start], square.size) for start in starts]
            square.turned[key] = transposed(self.b, rows)
        return square.turned[key][square.offset]

    def _load_strided(self, buffer: Line, place: Expr, step: int, vector: Vector) -> SSAValue:
        """Whole vectors that cover every requested element and none after the last one, then shuffles."""
        b, (_, lanes, valid) = self.b, vector
        span = (valid - 1) * step + 1
        result: SSAValue | None = None
        for first in range(0, span, lanes):
            start = max(min(first, span - lanes), 0)
            loaded = b.vload(buffer.line, [(place + start).emit(b)], lanes, min(lanes, span))
            offsets = [min(lane * step, span - 1) for lane in range(lanes)]
            mask = [
                lanes + offset - start if first <= offset < first + lanes else lane
                for lane, offset in enumerate(offsets)
            ]
            result = self.b.shuffle(loaded if result is None else result, loaded, mask)
        assert result is not None
        return result

    def store(self, value: SSAValue, buffer: Line, place: Expr, step: int, vector: Vector) -> None:
        """Stores a vector with stride `step`; the first lane goes to `place`."""
        b = self.b
        if step == 1:
            b.vstore(value, buffer.line, [place.emit(b)], vector.valid)
        elif self.interleaved is not None and self.interleaved.count == step:
            self._store_interleaved(value, buffer, place, vector, self.interleaved)
        else:
            self.scatter(value, buffer, [place + lane * step for lane in range(pinned(vector.valid))])

    def scatter(self, value: SSAValue, buffer: Line, places: Sequence[Expr]) -> None:
        """Stores the first lanes of a vector to some positions."""
        b = self.b
        for lane, place in enumerate(places):
            one = b.insert(vector_ops.ExtractOp(value, [lane], buffer.element))
            b.store(one, buffer.line, [place.emit(b)])

    def _store_interleaved(
        self, value: SSAValue, buffer: Line, place: Expr, vector: Vector, group: Interleaved
    ) -> None:
        """Keeps the vector until all vectors of its group are there, then stores them interleaved."""
        start = place - group.number
        waiting = group.pending.setdefault((buffer.line, start), [])
        waiting.append(value)
        if len(waiting) < group.count:
            return
        lanes = vector.lanes
        pairs = [
            self.b.shuffle(waiting[i], waiting[min(i + 1, group.count - 1)], range(2 * lanes))
            for i in range(0, group.count, 2)
        ]
        order = [number * lanes + lane for lane in range(lanes) for number in range(group.count)]
        together = self.b.shuffle(pairs[0], pairs[-1], order)
        self.b.vstore(together, buffer.line, [start.emit(self.b)], vector.valid * group.count)
