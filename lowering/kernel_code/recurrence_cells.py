"""Cell functions of recurrent networks, for a vector of hidden units at a time.

A step has one or more phases. Each starts with a product of a state and the recurrent weights of some gates; its cell
function then computes new states from the unit's values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ...dialects.errors import CompileError
from ...dialects.graph.base import describe
from ...dialects.graph.ops.recurrence import GruOp, LstmOp, RecurrenceOp, RnnOp
from .arithmetic import Arithmetic
from .recurrence_activations import activation


@dataclass(frozen=True)
class Unit(ABC):
    """Some hidden units of one batch element in one step."""

    m: Arithmetic

    @abstractmethod
    def from_input(self, gate: int) -> SSAValue:
        """The input product of a gate, with the bias of the input weights."""

    @abstractmethod
    def from_state(self, gate: int) -> SSAValue:
        """The product of a state and the gate's recurrent weights, with their bias."""

    @abstractmethod
    def state(self, name: str) -> SSAValue:
        """A state in scratch."""

    @abstractmethod
    def peephole(self, which: int) -> SSAValue | None:
        """A row of the peephole weights, if there are any."""

    def gate(self, gate: int) -> SSAValue:
        """The sum of a gate's input and state products."""
        return self.m.add(self.from_input(gate), self.from_state(gate))


@dataclass(frozen=True)
class CellPhase:
    """A product for `gates` with the state `source`; `cell` then computes new states."""

    gates: range
    source: str
    cell: Callable[[Unit], Mapping[str, SSAValue]]


def phases_of(root: RecurrenceOp) -> Sequence[CellPhase]:
    """The phases of a step, in order; the last one computes `h`."""
    every, cell = range(root.GATES), _Cell(root)
    match root:
        case LstmOp():
            return [CellPhase(every, "h", cell.lstm)]
        case GruOp() if root.linear_before_reset is None:
            return [CellPhase(range(2), "h", cell.gru_gates), CellPhase(range(2, 3), "reset_h", cell.gru_new)]
        case GruOp():
            return [CellPhase(every, "h", cell.gru)]
        case RnnOp():
            return [CellPhase(every, "h", lambda unit: {"h": cell.activated(unit, 0, unit.gate(0))})]
        case _:
            raise CompileError(f"{describe(root)}: there is no code for this cell")


class _Cell:
    """The cell functions, with the root's activations and its clipping of their arguments."""

    def __init__(self, root: RecurrenceOp) -> None:
        self.root, self.functions = root, root.functions

    def activated(self, unit: Unit, which: int, x: SSAValue) -> SSAValue:
        """An activation, of the clipped argument."""
        return activation(unit.m, self.functions[which], self._clipped(unit.m, x))

    def _clipped(self, m: Arithmetic, x: SSAValue) -> SSAValue:
        if self.root.clip is None:
            return x
        bound = self.root.clip.value.data
        return m.min(m.max(x, m.constant(-bound)), m.constant(bound))

    def lstm(self, unit: Unit) -> Mapping[str, SSAValue]:
        """Gates i, o, f, c; the output gate's peephole uses the new cell state."""
        m, before = unit.m, unit.state("c")

        def gate(which: int, peephole: int, cell: SSAValue) -> SSAValue:
            weights, value = unit.peephole(peephole), unit.gate(which)
            return self.activated(unit, 0, value if weights is None else m.add(value, m.mul(weights, cell)))

        enter = gate(0, 0, before)
        coupled = isinstance(self.root, LstmOp) and self.root.input_forget is not None
        keep = m.sub(m.constant(1.0), enter) if coupled else gate(2, 2, before)
        cell = m.add(m.mul(keep, before), m.mul(enter, self.activated(unit, 1, unit.gate(3))))
        return {"c": cell, "h": m.mul(gate(1, 1, cell), activation(m, self.functions[2], cell))}

    def gru(self, unit: Unit) -> Mapping[str, SSAValue]:
        """Gates z, r, n; the reset gate is applied to the product."""
        update, reset = (self.activated(unit, 0, unit.gate(each)) for each in (0, 1))
        recurrent = unit.m.mul(reset, unit.from_state(2))
        new = self.activated(unit, 1, unit.m.add(unit.from_input(2), recurrent))
        return _mixed(unit, update, new)

    def gru_gates(self, unit: Unit) -> Mapping[str, SSAValue]:
        """The gates z and r: the product for n needs the state multiplied by r."""
        reset = self.activated(unit, 0, unit.gate(1))
        return {"update": self.activated(unit, 0, unit.gate(0)), "reset_h": unit.m.mul(reset, unit.state("h"))}

    def gru_new(self, unit: Unit) -> Mapping[str, SSAValue]:
        """The new state from z and n."""
        return _mixed(unit, unit.state("update"), self.activated(unit, 1, unit.gate(2)))


def _mixed(unit: Unit, update: SSAValue, new: SSAValue) -> Mapping[str, SSAValue]:
    """n + z (h - n)"""
    m = unit.m
    return {"h": m.add(new, m.mul(update, m.sub(unit.state("h"), new)))}
