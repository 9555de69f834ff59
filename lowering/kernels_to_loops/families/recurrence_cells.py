"""What the cells of recurrent networks compute, one vector of hidden units at a time.

A step is one or more phases. Each begins with a product of a state and the recurrent weights of some gates; then
its function makes new states of what the unit offers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ....dialects.errors import CompileError
from ....dialects.graph.base import describe
from ....dialects.graph.recurrence import GruOp, LstmOp, RecurrenceOp, RnnOp
from ..writing.arithmetic import Arithmetic


@dataclass(frozen=True)
class Unit(ABC):
    """Some hidden units of one batch element in one step."""

    m: Arithmetic

    @abstractmethod
    def from_input(self, gate: int) -> SSAValue:
        """The input's share of a gate, with the bias of the input's weights."""

    @abstractmethod
    def from_state(self, gate: int) -> SSAValue:
        """The product of a state and the gate's recurrent weights, with their bias."""

    @abstractmethod
    def state(self, name: str) -> SSAValue:
        """A part of scratch."""

    @abstractmethod
    def peephole(self, which: int) -> SSAValue | None:
        """A row of the peepholes, where there are any."""

    def gate(self, gate: int) -> SSAValue:
        """What goes into the gate's activation."""
        return self.m.add(self.from_input(gate), self.from_state(gate))

    def sigmoid(self, x: SSAValue) -> SSAValue:
        """1 / (1 + exp(-x))"""
        one = self.m.constant(1.0)
        return self.m.div(one, self.m.add(one, self.m.unary("exp", self.m.neg(x))))

    def tanh(self, x: SSAValue) -> SSAValue:
        """The hyperbolic tangent."""
        return self.m.unary("tanh", x)

    def relu(self, x: SSAValue) -> SSAValue:
        """max(x, 0)"""
        return self.m.max(x, self.m.constant(0.0))


@dataclass(frozen=True)
class CellPhase:
    """A product for `gates`, of the scratch part `source`; then `cell` says what parts of scratch become."""

    gates: range
    source: str
    cell: Callable[[Unit], Mapping[str, SSAValue]]


def phases_of(root: RecurrenceOp) -> Sequence[CellPhase]:
    """The phases of a step, in order; the last one makes `h`."""
    every = range(root.GATES)
    match root:
        case LstmOp():
            return [CellPhase(every, "h", _lstm)]
        case GruOp() if root.linear_before_reset is None:
            return [CellPhase(range(2), "h", _gru_gates), CellPhase(range(2, 3), "reset_h", _gru_new)]
        case GruOp():
            return [CellPhase(every, "h", _gru)]
        case RnnOp():
            name = root.activation.data
            return [CellPhase(every, "h", lambda unit: {"h": getattr(unit, name)(unit.gate(0))})]
        case _:
            raise CompileError(f"{describe(root)}: there is no code for this cell")


def _lstm(unit: Unit) -> Mapping[str, SSAValue]:
    """Gates i, o, f, c; the output gate looks at the new cell."""
    m = unit.m

    def gate(which: int, peephole: int, cell: SSAValue) -> SSAValue:
        weights = unit.peephole(peephole)
        value = unit.gate(which)
        return unit.sigmoid(value if weights is None else m.add(value, m.mul(weights, cell)))

    before = unit.state("c")
    keep, enter = gate(2, 2, before), gate(0, 0, before)
    cell = m.add(m.mul(keep, before), m.mul(enter, unit.tanh(unit.gate(3))))
    return {"c": cell, "h": m.mul(gate(1, 1, cell), unit.tanh(cell))}


def _gru(unit: Unit) -> Mapping[str, SSAValue]:
    """Gates z, r, n; the reset gate is laid on the product."""
    update, reset = unit.sigmoid(unit.gate(0)), unit.sigmoid(unit.gate(1))
    recurrent = unit.m.mul(reset, unit.from_state(2))
    return _mixed(unit, update, unit.tanh(unit.m.add(unit.from_input(2), recurrent)))


def _gru_gates(unit: Unit) -> Mapping[str, SSAValue]:
    """The gates z and r: the product for n needs the state that r has been laid on."""
    reset = unit.sigmoid(unit.gate(1))
    return {"update": unit.sigmoid(unit.gate(0)), "reset_h": unit.m.mul(reset, unit.state("h"))}


def _gru_new(unit: Unit) -> Mapping[str, SSAValue]:
    return _mixed(unit, unit.state("update"), unit.tanh(unit.gate(2)))


def _mixed(unit: Unit, update: SSAValue, new: SSAValue) -> Mapping[str, SSAValue]:
    """n + z (h - n)"""
    m = unit.m
    return {"h": m.add(new, m.mul(update, m.sub(unit.state("h"), new)))}
