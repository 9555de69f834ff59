"""Rearrangements of one value, written as graph ops one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation, SSAValue

from .ops.movement import PadOp, ReshapeOp, TransposeOp
from .values import shape_of


class Steps:
    """Ops one after the other; those that would change nothing are left out, but for one."""

    def __init__(self, value: SSAValue, location: LocationAttr | None = None) -> None:
        self.ops: list[Operation] = []
        self._value = value
        self._location = location

    @property
    def shape(self) -> tuple[int, ...]:
        """The value's shape now."""
        return shape_of(self._value)

    def reshape(self, shape: Sequence[int]) -> None:
        """The same elements in another shape."""
        if tuple(shape) != self.shape:
            self._add(ReshapeOp(self._value, shape, location=self._location))

    def transpose(self, permutation: Sequence[int]) -> None:
        """The axes in another order."""
        if list(permutation) != sorted(permutation):
            self._add(TransposeOp(self._value, permutation, location=self._location))

    def pad_last(self, width: int) -> None:
        """Zeros behind the last axis."""
        if width:
            none = [0] * len(self.shape)
            self._add(PadOp(self._value, none, [*none[:-1], width], location=self._location))

    def _add(self, op: Operation) -> None:
        self.ops.append(op)
        self._value = op.results[0]
