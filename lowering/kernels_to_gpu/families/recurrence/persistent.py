"""Persistent recurrent layers: weights stay in shared memory while one launch runs all steps.

    weights = r of the direction, in shared memory; h, c = initial states, or zeros
    for each step: for each phase of the cell:
        sums[gates, rows] of a unit = state r^T       split over the depth between lanes, reduced by shuffles
        c, h, .. = cell(from_input[step], sums)       a lane for each row; what other units need in shared memory

The input products of all steps come first, in a launch of their own. A block has all units of a direction and some
batch elements. h is double-buffered, so that a step's products may read the old state while the new one is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from .....passes.kernels.schedules.cuda.recurrence.persistent import Persistent
from ....kernel_code.loop_builder import Index
from ....kernel_code.recurrence_cells import CellPhase, phases_of
from ...gpu_kernel import GpuKernel, Grid
from .layer import Layer
from .sums import Share, own_row, sums_of
from .unit import cell, given_by_input, where_kept


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launches."""
    layer, o = Layer(k), k.schedule_as(Persistent)
    if layer.is_empty:
        return
    if layer.steps:
        layer.launch_inputs(o.input_lanes, o.input_rows)
    blocks = layer.directions * -(-layer.batch // o.rows)
    k.launch(blocks, o.threads(layer.root), lambda grid: _PersistentBlock(layer, grid).write(), part="all_steps")


class _PersistentBlock:
    """The code of a block."""

    def __init__(self, layer: Layer, grid: Grid) -> None:
        self.layer, self.grid, self.b = layer, grid, grid.b
        self.options = grid.schedule_as(Persistent)
        self.share = Share.of_grid(grid, layer.directions, layer.hidden, self.options.lanes, self.options.rows)
        b, rows = self.b, self.options.rows
        self.weights = b.shared(layer.element, [layer.width, layer.hidden], "weights")
        self.h = b.shared(layer.element, [2 * rows, layer.hidden], "all_h")
        resets = "reset_h" in layer.between
        self.reset_h = b.shared(layer.element, [rows, layer.hidden], "reset_h") if resets else None
        # The lane's own row of its unit.
        self.own = {name: b.private(layer.element, [1], name) for name in (*layer.states, *layer.between)}

    def write(self) -> None:
        b, layer = self.b, self.layer
        self._load_weights()
        own_row(b, self.share, layer.batch, self._start)
        b.barrier()
        b.loop(0, layer.steps, self._step)
        own_row(b, self.share, layer.batch, self._finish)

    def _load_weights(self) -> None:
        b, layer = self.b, self.layer
        source = layer.matrix(self.grid, layer.root.recurrence, self.share.direction, layer.hidden)
        vector = layer.vector(layer.hidden, layer.operand(layer.root.recurrence))
        columns = layer.hidden // vector

        def some(item: Index, _: Sequence[SSAValue]) -> None:
            row, column = b.delinearize(item, [layer.width, columns])
            at = [row, b.mul(column, vector)]
            if vector > 1:
                b.vstore(b.vload(source, at, vector), self.weights, at)
            else:
                b.store(b.load(source, at), self.weights, at)

        b.loop(self.grid.lane, layer.width * columns, some, step=self.grid.block)

    def _place(self, row: Index) -> list[Index]:
        """The index of this lane's state in the initial and final states."""
        return [self.share.direction, row, self.share.unit]

    def _start(self, row: Index) -> None:
        b, layer = self.b, self.layer
        for name, value in zip(layer.states, layer.root.states, strict=True):
            initial = layer.buffer(self.grid, value)
            zero = b.constant(0.0, layer.element)
            first = zero if initial is None else b.load(initial, self._place(row))
            b.store(first, self.own[name], [0])
            if name == "h":
                b.store(first, self.h, [self.share.lane, self.share.unit])

    def _finish(self, row: Index) -> None:
        for name in self.layer.states:
            result = self.layer.last_state(name)
            if result is not None:
                self.b.store(self.b.load(self.own[name], [0]), self.grid.results[result], self._place(row))

    # a step

    def _step(self, step: Index, _: Sequence[SSAValue]) -> None:
        for phase in phases_of(self.layer.root):
            self._phase(step, phase)
            self.b.barrier()

    def _phase(self, step: Index, phase: CellPhase) -> None:
        b, layer, share, rows = self.b, self.layer, self.share, self.options.rows
        from_input = self.grid.scratch_part("from_input")
        given = given_by_input(layer, self.grid, share, phase, lambda index: b.load(from_input, [step, *index]))
        now = b.mul(b.rem(step, 2), rows)
        source, first = (self.h, now) if phase.source == "h" else (self.reset_h, 0)
        assert source is not None
        last = b.sub(layer.batch - 1, share.first)

        def row_of(i: Index) -> tuple[SSAValue, Sequence[Index]]:
            return source, [b.add(first, b.min(i, last))]

        sums = sums_of(b, share, phase.gates, self.weights, row_of, layer.vector(layer.hidden))

        def own(name: str) -> SSAValue:
            return b.load(self.own[name], [0])

        def finish(row: Index) -> None:
            place = self._place(row)
            made = cell(layer, self.grid, phase, place, given, sums, own)
            kept = layer.kept(self.grid, step, share.direction, row)
            made, y = where_kept(layer, self.grid, kept, made, own)
            for name, value in made.items():
                b.store(value, self.own[name], [0])
                if name == "h":
                    b.store(value, self.h, [b.add(b.sub(rows, now), share.lane), share.unit])
                elif name == "reset_h" and self.reset_h is not None:
                    b.store(value, self.reset_h, [share.lane, share.unit])
            if y is not None:
                layer.store_y(self.grid, step, place, y)

        own_row(b, share, layer.batch, finish)
