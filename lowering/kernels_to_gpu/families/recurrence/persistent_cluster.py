"""Recurrent layers whose weights are spread over clusters: the blocks of one have all units and some batch elements.

A launch before makes the input products of all steps. Each block leaves h of its units in its shared memory, where the
others of its cluster read it after a barrier. h is double-buffered there; h multiplied by the reset gate has a barrier
behind each of its phases. What only the lane reads that has made it is in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from typing_extensions import override
from xdsl.ir import SSAValue

from .....dialects.errors import CompileError
from .....dialects.graph.base import describe
from .....passes.kernels.schedules.cuda.recurrence.persistent_cluster import MOST_LANES, PersistentCluster
from ....kernel_code.loop_builder import Index
from ...gpu_kernel import GpuKernel, Grid
from .layer import Layer
from .spread import SpreadBlock
from .sums import Share, own_row


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launches."""
    layer, o = Layer(k), k.schedule_as(PersistentCluster)
    if not k.target.has_clusters:
        raise CompileError(f"{describe(layer.root)}: {k.target.architecture.data} has no clusters")
    if layer.is_empty:
        return
    if layer.steps:
        layer.launch_inputs(o.input_lanes, o.input_rows)
    cluster = o.cluster(layer.root)
    blocks = layer.directions * -(-layer.batch // o.rows) * cluster
    k.launch(blocks, o.threads, lambda grid: _Block(layer, grid).write(), part="all_steps", cluster=cluster)


class _Block(SpreadBlock):
    """The code of a block."""

    def __init__(self, layer: Layer, grid: Grid) -> None:
        super().__init__(layer, grid, grid.schedule_as(PersistentCluster))
        b, o = self.b, self.options
        self.own = {name: b.private(layer.element, [1], name) for name in (*layer.states, *layer.between)}
        buffers = {"h": 2, "reset_h": 1}  # that other blocks read, with so many places
        self.lent = {
            name: b.shared(layer.element, [places * o.rows, o.units], f"lent_{name}")
            for name, places in buffers.items()
            if name in self.own
        }

    def write(self) -> None:
        b = self.b
        self.keep_weights()
        own_row(b, self.share, self.layer.batch, self._start)
        b.cluster_barrier()
        self.steps(lambda step, phase: self.phase(step, phase, self.share), b.cluster_barrier)
        self.finish(self.share)

    def _start(self, row: Index) -> None:
        b, layer = self.b, self.layer
        place = [self.share.direction, row, self.share.unit]
        for name, value in zip(layer.states, layer.root.states, strict=True):
            initial = layer.buffer(self.grid, value)
            first = b.constant(0.0, layer.element) if initial is None else b.load(initial, place)
            self.keep_state(name, first, -1, place)

    @override
    def fetch(self, name: str, step: Index, share: Share) -> None:
        b, units, hidden = self.b, self.options.units, self.layer.hidden
        lanes = gcd(units, hidden, MOST_LANES)

        def load(row: Index, at: Index) -> SSAValue:
            existing = b.sub(self.row_of(share, row), share.first)
            where = [b.add(self._buffer(name, step), existing), b.rem(at, units)]
            return b.load_of_block(b.div(at, units), self.lent[name], where, lanes)

        self.copy_rows(lanes, load)

    @override
    def state(self, name: str, step: Index, place: Sequence[Index]) -> SSAValue:
        return self.b.load(self.own[name], [0])

    @override
    def keep_state(self, name: str, value: SSAValue, step: Index, place: Sequence[Index]) -> None:
        b, units = self.b, self.options.units
        b.store(value, self.own[name], [0])
        if name in self.lent:
            row = b.add(self._buffer(name, b.add(step, 1)), self.share.lane)
            b.store(value, self.lent[name], [row, b.rem(self.share.unit, units)])

    def _buffer(self, name: str, step: Index) -> Index:
        """The first row of what has h before a step; the others have one buffer."""
        return self.b.mul(self.b.rem(step, 2), self.options.rows) if name == "h" else 0
