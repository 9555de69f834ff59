"""A builder for chains of movement ops, and casts, on one value."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Operation, SSAValue

from .ops.conversion import CastOp
from .ops.movement import PadOp, ReshapeOp, TransposeOp
from .values import shape_of


class MovementChain:
    """Ops in sequence, without identities (except for a single one)."""

    def __init__(self, value: SSAValue, location: LocationAttr | None = None) -> None:
        self.ops: list[Operation] = []
        self._value = value
        self._location = location

    @property
    def shape(self) -> tuple[int, ...]:
        """The current shape of the value."""
        return shape_of(self._value)

    def reshape(self, shape: Sequence[int]) -> None:
        """Appends a reshape."""
        if tuple(shape) != self.shape:
            self._add(ReshapeOp(self._value, shape, location=self._location))

    def transpose(self, permutation: Sequence[int]) -> None:
        """Appends a transposition."""
        if list(permutation) != sorted(permutation):
            self._add(TransposeOp(self._value, permutation, location=self._location))

    def pad_last(self, width: int) -> None:
        """Appends zero padding at the end of the last axis."""
        if width:
            none = [0] * len(self.shape)
            self._add(PadOp(self._value, none, [*none[:-1], width], location=self._location))

    def cast(self, element: Attribute) -> None:
        """Appends a conversion."""
        self._add(CastOp(self._value, element, location=self._location))

    def _add(self, op: Operation) -> None:
        self.ops.append(op)
        self._value = op.results[0]
