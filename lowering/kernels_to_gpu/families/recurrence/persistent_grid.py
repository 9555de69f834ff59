"""Recurrent layers whose weights are spread over a grid: one cooperative launch runs all steps.

    weights of the block's units, as far as there is room, in registers and in shared memory
    for each step: for each phase of the cell: for each group of batch elements:
        state = h, or what the phase reads instead, of all units, from memory to shared memory
        sums[gates, rows] of a unit = state r^T       split over the depth between lanes, reduced by shuffles
        c, h, .. = cell(from_input[step], sums)       a lane for each row, to memory
      barrier of the grid

A launch before makes the input products of all steps, the initial states and the counter of the barrier. h is
double-buffered; what else a step keeps is read by the lane only that wrote it, but for h multiplied by the reset gate,
which has a barrier behind each of its phases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from .....passes.kernels.schedules.cuda.recurrence.persistent_grid import PersistentGrid
from ....kernel_code.loop_builder import Index
from ....kernel_code.recurrence_cells import CellPhase, phases_of
from ...gpu_kernel import GpuKernel, Grid
from .layer import Layer
from .sums import Share, Sums, lanes_type, load_lanes, own_row, store_lanes
from .unit import cell, given_by_input, where_kept


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launches."""
    layer, o = Layer(k), k.schedule_as(PersistentGrid)
    if layer.is_empty:
        return
    layer.launch_inputs(o.input_lanes, o.input_rows, partial(_start, layer))
    blocks = o.blocks(layer.root)
    k.launch(blocks, o.threads, lambda grid: _Block(layer, grid).write(), part="all_steps", cooperative=True)


def _start(layer: Layer, grid: Grid) -> None:
    """Initialises the states and the counter."""
    b, counter = grid.b, _part(grid, "counter")
    grid.items(1, lambda _: b.store(b.constant(0, i32), counter, [0]))
    for name, value in zip(layer.states, layer.root.states, strict=True):
        initial, state = layer.buffer(grid, value), _part(grid, name)

        def element(item: Index, initial: SSAValue | None = initial, state: SSAValue = state) -> None:
            index = b.delinearize(item, [layer.directions, layer.batch, layer.hidden])
            first = b.constant(0.0, layer.element) if initial is None else b.load(initial, index)
            b.store(first, state, [0, *index])

        grid.items(layer.directions * layer.batch * layer.hidden, element)


def _part(grid: Grid, name: str) -> SSAValue:
    """A part of the scratch, of that name."""
    part = grid.scratch_part(name)
    part.name_hint = name
    return part


class _Block:
    """The code of a block."""

    def __init__(self, layer: Layer, grid: Grid) -> None:
        self.layer, self.grid, self.b = layer, grid, grid.b
        o = self.options = grid.schedule_as(PersistentGrid)
        b = self.b
        self.share = Share.of_grid(grid, layer.directions, layer.hidden, o.lanes, o.rows)
        self.vector = layer.vector(layer.hidden, layer.operand(layer.root.recurrence), layer.k.scratch)
        self.line = o.lanes * self.vector  # columns that the lanes of a unit multiply at once
        vectors = -(-layer.hidden // self.line)
        self.in_registers = min(o.in_registers, vectors)
        self.in_shared = min(o.in_shared, vectors - self.in_registers)
        gates, kind = layer.root.GATES, lanes_type(layer.element, self.vector)
        self.source = layer.matrix(grid, layer.root.recurrence, self.share.direction, layer.hidden)
        self.near = b.private(kind, [self.in_registers, gates], "near") if self.in_registers else None
        shape = [self.in_shared, gates, grid.block * self.vector]
        self.kept = b.shared(layer.element, shape, "weights") if self.in_shared else None
        self.rows = b.shared(layer.element, [o.rows, vectors * self.line], "rows")
        self.states = {name: _part(grid, name) for name in (*layer.states, *layer.between)}
        self.from_input, self.counter = (_part(grid, name) for name in ("from_input", "counter"))

    def write(self) -> None:
        b, layer, near, kept = self.b, self.layer, self.near, self.kept
        if near is not None:
            b.unrolled(self.in_registers, partial(self._keep, 0, lambda value, i, g: b.store(value, near, [i, g])))
        if kept is not None:
            mine = b.mul(self.grid.lane, self.vector)
            keep = partial(self._keep, self.in_registers, lambda value, i, g: store_lanes(b, value, kept, [i, g, mine]))
            b.loop(0, self.in_shared, lambda i, _: keep(i))
        self._clear_behind()
        b.loop(0, layer.steps, self._step)
        self._groups(lambda share: own_row(b, share, layer.batch, partial(self._finish, share)))

    def _groups(self, body: Callable[[Share], None]) -> None:
        """The share of each group of batch elements."""
        rows, share = self.options.rows, self.share
        groups = -(-self.layer.batch // rows)
        self.b.loop(0, groups, lambda i, _: body(replace(share, first=self.b.mul(i, rows))))

    # weights

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

    # a step

    def _step(self, step: Index, _: Sequence[SSAValue]) -> None:
        for phase in phases_of(self.layer.root):
            self._groups(partial(self._phase, step, phase))
            self.b.grid_barrier(self.counter)

    def _phase(self, step: Index, phase: CellPhase, share: Share) -> None:
        b, layer, grid = self.b, self.layer, self.grid
        now = b.rem(step, 2)
        given = given_by_input(layer, grid, share, phase, lambda index: b.load(self.from_input, [step, *index]))
        self._fetch(phase.source, now, share)
        sums = self._sums(phase.gates)

        def finish(row: Index) -> None:
            place = [share.direction, row, share.unit]

            def own(name: str) -> SSAValue:
                return b.load(self.states[name], [now if name == "h" else 0, *place])

            made = cell(layer, grid, phase, place, given, sums, own)
            made, y = where_kept(layer, grid, layer.kept(grid, step, share.direction, row), made, own)
            for name, value in made.items():
                b.store(value, self.states[name], [b.sub(1, now) if name == "h" else 0, *place])
            if y is not None:
                layer.store_y(grid, step, place, y)

        own_row(b, share, layer.batch, finish)
        if layer.batch > self.options.rows:
            b.barrier()  # the next group's rows take the place of these

    def _fetch(self, name: str, now: Index, share: Share) -> None:
        """Copies a state of a group's batch elements to shared memory, of all units of the direction."""
        b, layer, rows, state = self.b, self.layer, self.options.rows, self.states[name]
        columns = layer.hidden // self.vector

        def some(item: Index, _: Sequence[SSAValue]) -> None:
            row, column = b.delinearize(item, [rows, columns])
            at = b.mul(column, self.vector)
            element = b.min(b.add(share.first, row), layer.batch - 1)
            source = [now if name == "h" else 0, share.direction, element, at]
            store_lanes(b, load_lanes(b, state, source, self.vector), self.rows, [row, at])

        b.loop(self.grid.lane, rows * columns, some, step=self.grid.block)
        b.barrier()

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

    def _finish(self, share: Share, row: Index) -> None:
        """Stores this lane's final states, where they are used."""
        b, place = self.b, [share.direction, row, share.unit]
        last = b.rem(self.layer.steps, 2)
        for name in self.layer.states:
            result = self.layer.last_state(name)
            if result is not None:
                state = b.load(self.states[name], [last if name == "h" else 0, *place])
                b.store(state, self.grid.results[result], place)
