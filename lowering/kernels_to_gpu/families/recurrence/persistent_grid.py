"""Recurrent layers whose weights are spread over a grid: one cooperative launch runs all steps.

A launch before makes the input products of all steps, the initial states and the counter of the barrier. States are in
memory: h is double-buffered; what else a step keeps is read by the lane only that wrote it, but for h multiplied by the
reset gate, which has a barrier behind each of its phases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from typing_extensions import override
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from .....dialects.sizes.sizes import bounds_of
from .....passes.kernels.schedules.cuda.recurrence.persistent_grid import PersistentGrid
from ....kernel_code.loop_builder import Index
from ....kernel_code.recurrence_cells import CellPhase
from ...gpu_kernel import GpuKernel, Grid
from .layer import Layer
from .spread import SpreadBlock, named_part
from .sums import Share, load_lanes


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launches."""
    layer, o = Layer(k), k.schedule_as(PersistentGrid)
    if layer.is_empty:
        return
    layer.launch_inputs(o.input_lanes, o.input_rows, partial(_start, layer))
    blocks = layer.directions * o.of_direction(layer.root)
    k.launch(blocks, o.threads, lambda grid: _Block(layer, grid).write(), part="all_steps", cooperative=True)


def _start(layer: Layer, grid: Grid) -> None:
    """Initialises the states and the counter."""
    b, counter = grid.b, named_part(grid, "counter")
    grid.items(1, lambda _: b.store(b.constant(0, i32), counter, [0]))
    for name, value in zip(layer.states, layer.root.states, strict=True):
        initial, state = layer.buffer(grid, value), named_part(grid, name)

        def element(item: Index, initial: SSAValue | None = initial, state: SSAValue = state) -> None:
            index = b.delinearize(item, [layer.directions, layer.batch, layer.hidden])
            first = b.constant(0.0, layer.element) if initial is None else b.load(initial, index)
            b.store(first, state, [0, *index])

        grid.items(layer.directions * layer.batch * layer.hidden, element)


class _Block(SpreadBlock):
    """The code of a block, which takes groups of batch elements one after the other."""

    def __init__(self, layer: Layer, grid: Grid) -> None:
        super().__init__(layer, grid, grid.schedule_as(PersistentGrid))
        self.states = {name: named_part(grid, name) for name in (*layer.states, *layer.between)}
        self.counter = named_part(grid, "counter")

    def write(self) -> None:
        self.keep_weights()
        self.steps(self._phase, lambda: self.b.grid_barrier(self.counter))
        self._groups(self.finish)

    def _groups(self, body: Callable[[Share], None]) -> None:
        """The share of each group of batch elements."""
        rows, share = self.options.rows, self.share
        groups = -(-self.layer.batch // rows)
        self.b.loop(0, groups, lambda i, _: body(replace(share, first=self.b.mul(i, rows))))

    def _phase(self, step: Index, phase: CellPhase) -> None:
        def group(share: Share) -> None:
            self.phase(step, phase, share)
            if bounds_of(self.layer.batch)[1] > self.options.rows:
                self.b.barrier()  # the next group's rows take the place of these

        self._groups(group)

    @override
    def fetch(self, name: str, step: Index, share: Share) -> None:
        b, state, buffer = self.b, self.states[name], self._buffer(name, step)

        def load(row: Index, at: Index) -> SSAValue:
            return load_lanes(b, state, [buffer, share.direction, self.row_of(share, row), at], self.vector)

        self.copy_rows(self.vector, load)

    @override
    def state(self, name: str, step: Index, place: Sequence[Index]) -> SSAValue:
        return self.b.load(self.states[name], [self._buffer(name, step), *place])

    @override
    def keep_state(self, name: str, value: SSAValue, step: Index, place: Sequence[Index]) -> None:
        self.b.store(value, self.states[name], [self._buffer(name, self.b.add(step, 1)), *place])

    def _buffer(self, name: str, step: Index) -> Index:
        """Which of two buffers has h before a step; the others have one."""
        return self.b.rem(step, 2) if name == "h" else 0
