"""Cell computation of one hidden unit of one batch element by a lane."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from typing_extensions import override
from xdsl.ir import SSAValue

from .....dialects.graph.ops.recurrence import LstmOp
from ....kernel_code.arithmetic import Arithmetic
from ....kernel_code.loop_builder import Index
from ....kernel_code.recurrence_cells import CellPhase, Unit
from ...gpu_kernel import Grid
from .layer import Layer
from .sums import Share


def given_by_input(
    layer: Layer, grid: Grid, share: Share, phase: CellPhase, load: Callable[[Sequence[Index]], SSAValue]
) -> dict[int, SSAValue]:
    """Loads the input products of the phase's gates, before the state products to hide the latency.

    `load` reads at (direction, batch element, gate * hidden + unit).
    """
    b = grid.b
    row = b.min(b.add(share.first, share.lane), layer.batch - 1)
    unit = b.min(share.unit, layer.hidden - 1)
    return {gate: load([share.direction, row, b.add(gate * layer.hidden, unit)]) for gate in phase.gates}


def cell(
    layer: Layer,
    grid: Grid,
    phase: CellPhase,
    place: Sequence[Index],
    given: Mapping[int, SSAValue],
    sums: Sequence[SSAValue],
    state: Callable[[str], SSAValue],
) -> Mapping[str, SSAValue]:
    """Applies the cell function to the products of the unit at `place` (direction, batch element, unit)."""
    peephole = layer.root.peephole if isinstance(layer.root, LstmOp) else None
    bias, weights = layer.buffer(grid, layer.root.bias), layer.buffer(grid, peephole)
    products = dict(zip(phase.gates, sums, strict=True))
    m = Arithmetic(grid.b, layer.element)
    return phase.cell(_GridUnit(m, layer, grid, place, given, products, state, bias, weights))


def where_kept(
    layer: Layer,
    grid: Grid,
    kept: SSAValue | None,
    made: Mapping[str, SSAValue],
    state: Callable[[str], SSAValue],
) -> tuple[Mapping[str, SSAValue], SSAValue | None]:
    """The states and y, unchanged (or zero) where the step is beyond the sequence; y is None in a phase without it."""
    if kept is None or "h" not in made:
        return made, made.get("h")
    b = grid.b
    chosen = {name: b.select(kept, value, state(name)) for name, value in made.items()}
    return chosen, b.select(kept, made["h"], b.constant(0.0, layer.element))


@dataclass(frozen=True)
class _GridUnit(Unit):
    layer: Layer
    grid: Grid
    place: Sequence[Index]
    given: Mapping[int, SSAValue]
    products: Mapping[int, SSAValue]
    states: Callable[[str], SSAValue]
    bias: SSAValue | None
    weights: SSAValue | None

    def _column(self, gate: int) -> Index:
        return self.grid.b.add(gate * self.layer.hidden, self.place[-1])

    @override
    def from_input(self, gate: int) -> SSAValue:
        return self.given[gate]

    @override
    def from_state(self, gate: int) -> SSAValue:
        if self.bias is None:
            return self.products[gate]
        column = self._column(self.layer.root.GATES + gate)
        return self.m.add(self.products[gate], self.grid.b.load(self.bias, [self.place[0], column]))

    @override
    def state(self, name: str) -> SSAValue:
        return self.states(name)

    @override
    def peephole(self, which: int) -> SSAValue | None:
        if self.weights is None:
            return None
        return self.grid.b.load(self.weights, [self.place[0], self._column(which)])
