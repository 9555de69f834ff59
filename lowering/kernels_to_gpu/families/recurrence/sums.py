"""Dot products of a few state rows with a hidden unit's gate weights, split over the depth between lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue

from ....kernel_code.arithmetic import Arithmetic
from ....kernel_code.loop_builder import Index, memref_type
from ...gpu_kernel import Grid
from ...thread_builder import ThreadBuilder

RowOf = Callable[[Index], tuple[SSAValue, Sequence[Index]]]


@dataclass(frozen=True)
class Share:
    """A thread's rows of one direction, from `first` on, and its unit; `lane` of `lanes` split the depth."""

    direction: Index
    first: Index
    unit: Index
    units: int
    lane: Index
    lanes: int
    rows: int

    @classmethod
    def of_grid(cls, grid: Grid, directions: int, units: int, lanes: int, rows: int) -> Share:
        """The share of a thread; a block has the units of some rows of a direction in sequence."""
        b = grid.b
        blocks = -(-units * lanes // grid.block)  # clamped, for all units
        item, some = b.delinearize(b.block_id(), [grid.blocks[0] // blocks, blocks])
        direction, part = b.delinearize(item, [directions, grid.blocks[0] // blocks // directions])
        unit = b.add(b.mul(some, grid.block // lanes), b.div(grid.lane, lanes))
        lane = b.rem(grid.lane, lanes)
        for value, name in ((unit, "unit"), (lane, "lane"), (direction, "direction")):
            if not isinstance(value, int):
                value.name_hint = name
        return cls(direction, b.mul(part, rows), unit, units, lane, lanes, rows)


def load_lanes(b: ThreadBuilder, buffer: SSAValue, index: Sequence[Index], vector: int) -> SSAValue:
    """An element, or a vector of adjacent ones."""
    return b.vload(buffer, index, vector) if vector > 1 else b.load(buffer, index)


def store_lanes(b: ThreadBuilder, value: SSAValue, buffer: SSAValue, index: Sequence[Index]) -> None:
    """Stores what load_lanes loads."""
    (b.vstore if isinstance(value.type, VectorType) else b.store)(value, buffer, index)


def lanes_type(element: Attribute, vector: int) -> Attribute:
    """The type of what load_lanes loads."""
    return VectorType(element, [vector]) if vector > 1 else element


class Sums:
    """For some gates, sums of products of this lane's rows with its unit's weights, `vector` of them at a time."""

    def __init__(self, b: ThreadBuilder, share: Share, gates: range, element: Attribute, vector: int) -> None:
        self._b, self._share, self._gates, self._vector = b, share, gates, vector
        self._m = m = Arithmetic(b, element)
        sums = self._sums = b.private(element, [len(gates), share.rows], "sums")
        self._near = b.private(lanes_type(element, vector), [share.rows], "states")
        b.unrolled(len(gates), lambda g: b.unrolled(share.rows, lambda i: b.store(m.constant(0.0), sums, [g, i])))

    def add(self, state: Callable[[Index], SSAValue], weight: Callable[[Index], SSAValue]) -> None:
        """Adds products of `state(row)` with `weight(gate)`, of which gates are counted from 0 for the whole layer."""
        b, m, rows, vector, near, sums = self._b, self._m, self._share.rows, self._vector, self._near, self._sums

        def gate(g: Index) -> None:
            weights = weight(b.add(g, self._gates.start))

            def product(i: Index) -> None:
                value, total = b.load(near, [i]), b.load(sums, [g, i])
                pairs = [(value, weights)]
                if vector > 1:
                    pairs = [(b.extract(value, e), b.extract(weights, e)) for e in range(vector)]
                for x, y in pairs:
                    total = m.add(m.mul(x, y), total)
                b.store(total, sums, [g, i])

            b.unrolled(rows, product)

        b.unrolled(rows, lambda i: b.store(state(i), near, [i]))
        b.unrolled(len(self._gates), gate)

    def totals(self) -> list[SSAValue]:
        """For each gate, the sum of all lanes for this lane's row."""
        return [_total(self._b, self._m, self._share, self._sums, g) for g in range(len(self._gates))]


def sums_of(
    b: ThreadBuilder, share: Share, gates: range, weights: SSAValue, row_of: RowOf, vector: int
) -> list[SSAValue]:
    """For each gate, the dot product of this lane's row with the unit's weights, of [gates * units, depth].

    `row_of(i)` gives the buffer and index of row i of the share; loads have `vector` elements.
    """
    type = memref_type(weights)
    sums = Sums(b, share, gates, type.element_type, vector)
    unit = b.min(share.unit, share.units - 1)

    def round(at: Index, _: Sequence[SSAValue]) -> None:
        def state(i: Index) -> SSAValue:
            buffer, place = row_of(i)
            return load_lanes(b, buffer, [*place, at], vector)

        sums.add(state, lambda g: load_lanes(b, weights, [b.add(b.mul(g, share.units), unit), at], vector))

    b.loop(b.mul(share.lane, vector), type.get_shape()[1], round, step=share.lanes * vector)
    return sums.totals()


def _total(b: ThreadBuilder, m: Arithmetic, share: Share, sums: SSAValue, gate: int) -> SSAValue:
    """The sum over all lanes for this lane's row."""

    def row(i: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        total = b.load(sums, [gate, i])
        offset = share.lanes // 2
        while offset:
            total = m.add(total, b.from_lane(total, offset, width=share.lanes))
            offset //= 2
        return [b.select(b.compare("eq", share.lane, i), total, carried[0])]

    return b.folded(share.rows, [m.constant(0.0)], row)[0]


def own_row(b: ThreadBuilder, share: Share, count: int, body: Callable[[Index], None]) -> None:
    """Runs `body(row)` in lanes whose row and unit are in range."""
    row = b.add(share.first, share.lane)
    exists = b.conjunction(b.compare("slt", share.unit, share.units), b.compare("slt", row, count))
    if share.rows < share.lanes:
        exists = b.conjunction(exists, b.compare("slt", share.lane, share.rows))
    b.when(exists, lambda: body(row))
