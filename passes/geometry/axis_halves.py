"""Splitting of a value's last axis into two halves by slices."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ...dialects.graph.ops.movement import SliceOp
from ...dialects.graph.values import ints, shape_of
from ...dialects.sizes.sizes import is_fixed


def halves_of(value: SSAValue, readers: Sequence[Operation]) -> tuple[SliceOp, ...]:
    """The slices among a value's readers that take the two halves of its last axis, in order; () if one is missing."""
    *rows, columns = shape_of(value) or (0,)
    if not is_fixed(columns) or columns % 2:
        return ()
    found = {
        (ints(op.starts), ints(op.stops)): op
        for op in readers
        if isinstance(op, SliceOp) and op.x is value and set(ints(op.steps)) == {1}
    }
    windows = [((*[0] * len(rows), first), (*rows, first + columns // 2)) for first in (0, columns // 2)]
    return tuple(found[window] for window in windows if window in found) if {*windows} <= {*found} else ()
