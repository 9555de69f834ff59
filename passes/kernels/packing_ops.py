"""How a weight that is computed is packed: the same rearrangement as in dialects/graph/packing.py, as graph ops.

before:  %2 = graph.call @conv_0(%x, %w)                     (%w is another kernel's result, or an input)
after:   %p = graph.call @pack_conv_panels_0(%w)             (reshapes, a transpose and zeros, in one kernel)
         %2 = graph.call @conv_0(%x, %p)

So the panels are an intermediate like any other: they lie in the arena while something reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation, SSAValue

from ...dialects.graph import PadOp, ReshapeOp, TransposeOp, shape_of


def packing_ops(
    value: SSAValue, kind: str, nr: int, groups: int, transposed: bool, location: LocationAttr | None = None
) -> list[Operation]:
    """Ops, in order, whose last result is `value` packed as `pack_panels`, `pack_conv_panels`, `pack_depthwise` do."""
    steps = _Steps(value, location)
    shape = shape_of(value)
    if kind == "panels":
        steps.transpose((1, 0) if transposed else (0, 1))
    elif kind == "conv_panels":
        outputs, inputs, taps = shape[0] // groups, shape[1], prod(shape[2:])
        steps.reshape((groups, outputs, inputs, taps))
        steps.transpose((0, 3, 2, 1))
        steps.reshape((groups, taps * inputs, outputs))
    else:
        steps.reshape((shape[0], prod(shape[1:])))
        steps.transpose((1, 0))
    *leading, depth, columns = steps.shape
    panels, rank = -(-columns // nr), len(leading)
    steps.pad_last(panels * nr - columns)
    steps.reshape((*leading, depth, panels, nr))
    steps.transpose((*range(rank), rank + 1, rank, rank + 2))
    return steps.ops


class _Steps:
    """Ops one after the other; those that would change nothing are left out, but for one."""

    def __init__(self, value: SSAValue, location: LocationAttr | None) -> None:
        self.ops: list[Operation] = []
        self._value = value
        self._location = location

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self._value)

    def reshape(self, shape: Sequence[int]) -> None:
        if tuple(shape) != self.shape:
            self._add(ReshapeOp(self._value, shape, location=self._location))

    def transpose(self, permutation: Sequence[int]) -> None:
        if list(permutation) != sorted(permutation):
            self._add(TransposeOp(self._value, permutation, location=self._location))

    def pad_last(self, width: int) -> None:
        if width:
            none = [0] * len(self.shape)
            self._add(PadOp(self._value, none, [*none[:-1], width], location=self._location))

    def _add(self, op: Operation) -> None:
        self.ops.append(op)
        self._value = op.results[0]
