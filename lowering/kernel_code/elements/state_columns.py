"""Linear attention for some columns of a state, for any device; columns are independent of each other.

    state[D] = the initial state, or zeros
    for each step:
        with beta:  value = beta * (value - sum over D of key * (state *= decay))
        for each row of D:  state = state * decay + key * value;  sums of each head += query * state
        y = sums * scale

Columns are the lanes of a vector, or a scalar. The state is read once per step, with beta twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from ....dialects.graph.ops.linear_attention import LinearAttentionOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ....dialects.sizes.sizes import pinned
from ..arithmetic import Arithmetic
from ..instance_base import AnyInstance
from ..loop_builder import Index, LoopBuilder

HEADS_AT_ONCE = 4
"""Heads whose sums are kept in registers together; further ones read the state again."""


@dataclass(frozen=True)
class Columns:
    """`valid` columns of `lanes`, from `first` on, of one batch entry's state; in `state` they start at column `at`."""

    k: AnyInstance
    op: LinearAttentionOp
    state: SSAValue
    at: Index
    batch: Index
    head: Index
    first: Index
    lanes: int
    valid: int | None = None

    def write(self) -> None:
        """Builds all steps."""
        b, op = self._b, self.op
        size, place, last = shape_of(op.key)[3], [self.batch, self.head], self._result(op.last)

        def start(d: Index, _: Sequence[SSAValue]) -> None:
            index = [*place, d, self.first]
            self._keep(d, self._m.constant(0.0) if op.initial is None else self._columns(op.initial, index))

        b.loop(0, size, start)
        b.loop(0, shape_of(op.query)[1], lambda t, _: self._step(t))
        if last is not None:
            b.loop(0, size, lambda d, _: self._store(self._kept(d), last, [*place, d, self.first]))

    def _step(self, t: Index) -> None:
        b, op, m = self._b, self.op, self._m
        place, size = [self.batch, t, self.head], shape_of(op.key)[3]
        y, change = self._result(op.y), self._columns(op.value, [*place, self.first])
        if op.beta is not None:

            def gather(d: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
                row = self._decayed(place, d)
                if op.decay is not None:
                    self._keep(d, row)
                return [m.add(sums[0], m.mul(self._number(op.key, [*place, d]), row))]

            (known,) = b.loop(0, size, gather, carried=[m.constant(0.0)])
            rate = self._number(op.beta, [self.batch, t, self.head if shape_of(op.beta)[2] > 1 else 0])
            change = m.mul(rate, m.sub(change, known))

        def changed(d: Index) -> SSAValue:
            row = self._kept(d) if op.beta is not None else self._decayed(place, d)
            row = m.add(row, m.mul(self._number(op.key, [*place, d]), change))
            self._keep(d, row)
            return row

        shared = pinned(shape_of(op.query)[2] // shape_of(op.key)[2]) if y is not None else 0
        heads = [b.add(b.mul(self.head, shared), each) for each in range(shared)]
        for begin in range(0, max(shared, 1), HEADS_AT_ONCE):
            some, row_of = heads[begin : begin + HEADS_AT_ONCE], self._kept if begin else changed

            def read(
                d: Index,
                sums: Sequence[SSAValue],
                some: Sequence[Index] = some,
                row_of: Callable[[Index], SSAValue] = row_of,
            ) -> Sequence[SSAValue]:
                row = row_of(d)
                queries = [self._number(op.query, [self.batch, t, head, d]) for head in some]
                return [m.add(total, m.mul(query, row)) for total, query in zip(sums, queries, strict=True)]

            sums = b.loop(0, size, read, carried=[m.constant(0.0)] * len(some))
            for head, total in zip(some, sums, strict=True):
                assert y is not None, "without it no head is read"
                self._store(m.mul(total, m.constant(op.scale.value.data)), y, [self.batch, t, head, self.first])

    def _decayed(self, place: Sequence[Index], d: Index) -> SSAValue:
        """A row of the state after a step's decay."""
        row, decay = self._kept(d), self.op.decay
        if decay is None:
            return row
        return self._m.mul(row, self._number(decay, [*place, d if shape_of(decay)[3] > 1 else 0]))

    @property
    def _b(self) -> LoopBuilder:
        return self.k.b

    @property
    def _m(self) -> Arithmetic:
        element = element_type_of_value(self.op.y)
        return Arithmetic(self._b, VectorType(element, [self.lanes]) if self.lanes > 1 else element)

    def _result(self, value: SSAValue) -> SSAValue | None:
        """The buffer of a result; None if it is unused."""
        return next((out for out, made in zip(self.k.results, self.k.yielded, strict=True) if made is value), None)

    def _operand(self, value: SSAValue) -> SSAValue:
        buffer = self.k.buffer_of(value)
        assert buffer is not None, "nothing is fused in front of linear attention"
        return buffer

    def _number(self, value: SSAValue, index: Sequence[Index]) -> SSAValue:
        """One element of an operand, the same for all columns."""
        number = self._b.load(self._operand(value), index)
        return number if self.lanes == 1 else self._b.splat(number, self.lanes)

    def _columns(self, value: SSAValue, index: Sequence[Index]) -> SSAValue:
        """An element of an operand for each column."""
        b, buffer = self._b, self._operand(value)
        return b.load(buffer, index) if self.lanes == 1 else b.vload(buffer, index, self.lanes, self.valid)

    def _store(self, value: SSAValue, buffer: SSAValue, index: Sequence[Index], valid: bool = True) -> None:
        if self.lanes == 1:
            self._b.store(value, buffer, index)
        else:
            self._b.vstore(value, buffer, index, self.valid if valid else None)

    def _kept(self, d: Index) -> SSAValue:
        b = self._b
        return b.load(self.state, [d, self.at]) if self.lanes == 1 else b.vload(self.state, [d, self.at], self.lanes)

    def _keep(self, d: Index, row: SSAValue) -> None:
        self._store(row, self.state, [d, self.at], valid=False)
