"""Code of a block that has some hidden units of a direction, and of all units the state of some batch elements.

    weights of the block's units, as far as there is room, in registers and in shared memory
    for each step: for each phase of the cell:
        rows = h, or what the phase reads instead, of all units, to shared memory
        sums[gates, rows] of a unit = rows r^T        split over the depth between lanes, reduced by shuffles
        c, h, .. = cell(from_input[step], sums)       a lane for each row
        what other blocks have made is waited for

How blocks exchange states, and where the others are, schedules say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial

from xdsl.ir import SSAValue

from .....passes.kernels.schedules.cuda.recurrence.spread import Spread
from ....kernel_code.loop_builder import Index
from ....kernel_code.recurrence_cells import CellPhase, phases_of
from ...gpu_kernel import Grid
from .layer import Layer
from .sums import Share, Sums, lanes_type, load_lanes, own_row, store_lanes
from .unit import cell, given_by_input, where_kept


def named_part(grid: Grid, name: str) -> SSAValue:
    """A part of the scratch, of that name."""
    part = grid.scratch_part(name)
    part.name_hint = name
    return part


class SpreadBlock(ABC):
    """The code of a block. A place is (direction, batch element, unit)."""

    def __init__(self, layer: Layer, grid: Grid, options: Spread) -> None:
        self.layer, self.grid, self.options = layer, grid, options
        b = self.b = grid.b
        self.share = Share.of_grid(grid, layer.directions, layer.hidden, options.lanes, options.rows)
        self.vector = layer.vector(layer.hidden, layer.operand(layer.root.recurrence), layer.k.scratch)
        self.line = options.lanes * self.vector  # columns that the lanes of a unit multiply at once
        vectors = -(-layer.hidden // self.line)
        self.in_registers = min(options.in_registers, vectors)
        self.in_shared = min(options.in_shared, vectors - self.in_registers)
        gates, kind = layer.root.GATES, lanes_type(layer.element, self.vector)
        self.source = layer.matrix(grid, layer.root.recurrence, self.share.direction, layer.hidden)
        self.near = b.private(kind, [self.in_registers, gates], "near") if self.in_registers else None
        shape = [self.in_shared, gates, grid.block * self.vector]
        self.kept = b.shared(layer.element, shape, "weights") if self.in_shared else None
        self.rows = b.shared(layer.element, [options.rows, vectors * self.line], "rows")

    @abstractmethod
    def fetch(self, name: str, step: Index, share: Share) -> None:
        """Copies a state of a share's batch elements to `rows`, of all units; the block has met afterwards."""

    @abstractmethod
    def state(self, name: str, step: Index, place: Sequence[Index]) -> SSAValue:
        """A state of this lane's row before a step, or what an earlier phase has made."""

    @abstractmethod
    def keep_state(self, name: str, value: SSAValue, step: Index, place: Sequence[Index]) -> None:
        """Stores what a phase of a step has made of this lane's row."""

    def keep_weights(self) -> None:
        """Loads the weights that are kept, and zeros behind the rows."""
        b, near, kept = self.b, self.near, self.kept
        if near is not None:
            b.unrolled(self.in_registers, partial(self._keep, 0, lambda value, i, g: b.store(value, near, [i, g])))
        if kept is not None:
            mine = b.mul(self.grid.lane, self.vector)
            keep = partial(self._keep, self.in_registers, lambda value, i, g: store_lanes(b, value, kept, [i, g, mine]))
            b.loop(0, self.in_shared, lambda i, _: keep(i))
        self._clear_behind()

    def steps(self, phase: Callable[[Index, CellPhase], None], meet: Callable[[], None]) -> None:
        """All steps: each phase, after which all blocks meet."""

        def step(number: Index, _: Sequence[SSAValue]) -> None:
            for each in phases_of(self.layer.root):
                phase(number, each)
                meet()

        self.b.loop(0, self.layer.steps, step)

    def phase(self, step: Index, phase: CellPhase, share: Share) -> None:
        """One phase of a step for a share's batch elements."""
        b, layer, grid = self.b, self.layer, self.grid
        from_input = named_part(grid, "from_input")
        given = given_by_input(layer, grid, share, phase, lambda index: b.load(from_input, [step, *index]))
        self.fetch(phase.source, step, share)
        sums = self._sums(phase.gates)

        def finish(row: Index) -> None:
            place = [share.direction, row, share.unit]

            def own(name: str) -> SSAValue:
                return self.state(name, step, place)

            made = cell(layer, grid, phase, place, given, sums, own)
            made, y = where_kept(layer, grid, layer.kept(grid, step, share.direction, row), made, own)
            for name, value in made.items():
                self.keep_state(name, value, step, place)
            if y is not None:
                layer.store_y(grid, step, place, y)

        own_row(b, share, layer.batch, finish)

    def finish(self, share: Share) -> None:
        """Stores final states, where they are used."""

        def store(row: Index) -> None:
            place = [share.direction, row, share.unit]
            for name in self.layer.states:
                result = self.layer.last_state(name)
                if result is not None:
                    self.b.store(self.state(name, self.layer.steps, place), self.grid.results[result], place)

        own_row(self.b, share, self.layer.batch, store)

    def copy_rows(self, lanes: int, load: Callable[[Index, Index], SSAValue]) -> None:
        """Fills `rows` with `load(row, unit)`, of `lanes` units at a time; then the block meets."""
        b, columns = self.b, self.layer.hidden // lanes

        def some(item: Index, _: Sequence[SSAValue]) -> None:
            row, column = b.delinearize(item, [self.options.rows, columns])
            at = b.mul(column, lanes)
            store_lanes(b, load(row, at), self.rows, [row, at])

        b.loop(self.grid.lane, self.options.rows * columns, some, step=self.grid.block)
        b.barrier()

    def row_of(self, share: Share, row: Index) -> Index:
        """The batch element of a row of a share; the last one beyond the end."""
        return self.b.min(self.b.add(share.first, row), self.layer.batch - 1)

    def _keep(self, first: int, keep: Callable[[SSAValue, Index, Index], None], i: Index) -> None:
        """Keeps the weights of all gates in vector number `first` + i of this lane; zeros beyond the depth."""
        b, depth = self.b, self.layer.hidden
        at = self._column(b.add(i, first))

        def gate(g: Index) -> None:
            def load() -> list[SSAValue]:
                return [self._weight(g, at)]

            def zero() -> list[SSAValue]:
                return [b.constant(0.0, lanes_type(self.layer.element, self.vector))]

            always = depth % self.line == 0
            (value,) = load() if always else b.when(b.compare("slt", at, depth), load, zero)
            keep(value, i, g)

        b.unrolled(self.layer.root.GATES, gate)

    def _column(self, i: Index) -> Index:
        """The first column of vector number i of this lane."""
        return self.b.add(self.b.mul(i, self.line), self.b.mul(self.share.lane, self.vector))

    def _weight(self, gate: Index, at: Index) -> SSAValue:
        """A vector of the unit's weights in memory."""
        b, hidden = self.b, self.layer.hidden
        unit = b.min(self.share.unit, hidden - 1)
        return load_lanes(b, self.source, [b.add(b.mul(gate, hidden), unit), at], self.vector)

    def _clear_behind(self) -> None:
        """Zeros behind the depth, where the last vectors of some lanes lie."""
        b, rows, depth = self.b, self.options.rows, self.layer.hidden
        behind = -depth % self.line
        zero = b.constant(0.0, self.layer.element)

        def some(item: Index, _: Sequence[SSAValue]) -> None:
            row, column = b.delinearize(item, [rows, behind])
            b.store(zero, self.rows, [row, b.add(column, depth)])

        if behind:
            b.loop(self.grid.lane, rows * behind, some, step=self.grid.block)

    def _sums(self, gates: range) -> list[SSAValue]:
        """For each gate, the product with this lane's row of the group: in order of the depth, wherever weights are."""
        b, near, kept, vector = self.b, self.near, self.kept, self.vector
        sums = Sums(b, self.share, gates, self.layer.element, vector)

        def add(at: Index, weight: Callable[[Index], SSAValue]) -> None:
            sums.add(lambda row: load_lanes(b, self.rows, [row, at], vector), weight)

        if near is not None:
            b.unrolled(self.in_registers, lambda i: add(self._column(i), lambda g: b.load(near, [i, g])))
        if kept is not None:
            mine = b.mul(self.grid.lane, vector)

            def of_shared(i: Index, _: Sequence[SSAValue]) -> None:
                add(self._column(b.add(i, self.in_registers)), lambda g: load_lanes(b, kept, [i, g, mine], vector))

            b.loop(0, self.in_shared, of_shared)
        rest = self._column(self.in_registers + self.in_shared)
        if (self.in_registers + self.in_shared) * self.line < self.layer.hidden:
            b.loop(rest, self.layer.hidden, lambda at, _: add(at, lambda g: self._weight(g, at)), step=self.line)
        return sums.totals()
