"""Overlaps of boxes, for any device, on scalars and vectors, and the end of a list of them.

No product is fused with a sum: what is above a threshold is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from .arithmetic import Arithmetic
from .loop_builder import Index, LoopBuilder


@dataclass(frozen=True)
class Box:
    """Corners of a box and its area."""

    low: tuple[SSAValue, SSAValue]
    high: tuple[SSAValue, SSAValue]
    area: SSAValue

    @classmethod
    def of(cls, b: LoopBuilder, given: Sequence[SSAValue], *, centered: bool) -> Box:
        """From two opposite corners, or with `centered` from a centre and sizes: four floats."""
        m = Arithmetic(b, given[0].type, contract=False)
        one, other = (given[0], given[1]), (given[2], given[3])
        if centered:
            half = [m.mul(side, m.constant(0.5)) for side in other]
            low = m.sub(one[0], half[0]), m.sub(one[1], half[1])
            high = m.add(one[0], half[0]), m.add(one[1], half[1])
        else:
            low = m.min(one[0], other[0]), m.min(one[1], other[1])
            high = m.max(one[0], other[0]), m.max(one[1], other[1])
        return cls(low, high, m.mul(m.sub(high[0], low[0]), m.sub(high[1], low[1])))

    @classmethod
    def from_numbers(cls, numbers: Sequence[SSAValue]) -> Box:
        """From `numbers`."""
        return cls((numbers[0], numbers[1]), (numbers[2], numbers[3]), numbers[4])

    @property
    def numbers(self) -> list[SSAValue]:
        """The corners and the area."""
        return [*self.low, *self.high, self.area]


def overlap(b: LoopBuilder, one: Box, other: Box, threshold: SSAValue) -> SSAValue:
    """i1: whether what two boxes share, divided by what both cover, is above a threshold. All of one type."""
    m = Arithmetic(b, one.area.type, contract=False)
    zero = m.constant(0.0)
    sides = [m.sub(m.min(one.high[i], other.high[i]), m.max(one.low[i], other.low[i])) for i in range(2)]
    shared = m.mul(*(m.max(side, zero) for side in sides))
    both = m.sub(m.add(one.area, other.area), shared)
    return b.conjunction(m.compare("gt", shared, zero), m.compare("gt", m.div(shared, both), threshold))


def clear_from(b: LoopBuilder, memory: SSAValue, first: Index, end: Index, step: Index = 1) -> None:
    """Writes zeros (i64) to the elements first, first + step, ... before `end`."""
    b.loop(first, end, lambda i, _: b.store(b.constant(0, i64), memory, [i]), step=step)
