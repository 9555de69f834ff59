"""Which values are another value's bytes read with other strides.

A chain of reshape, transpose, slice and broadcast_to ops on a row-major tensor is, where the sizes allow it, a
strided window on that tensor: kernels read through the window and the chain costs nothing. All numbers are in
elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from ...dialects.graph import BroadcastToOp, ReshapeOp, SliceOp, TransposeOp, ints, shape_of


@dataclass(frozen=True)
class StridedView:
    """A window on `base`: element (i0, i1, ...) lies at offset + sum(i * stride)."""

    base: SSAValue
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


def row_major(sizes: Sequence[int]) -> tuple[int, ...]:
    """Strides of a dense row-major box."""
    strides = [1] * len(sizes)
    for i in range(len(sizes) - 2, -1, -1):
        strides[i] = strides[i + 1] * sizes[i + 1]
    return tuple(strides)


def reshaped_strides(sizes: Sequence[int], strides: Sequence[int], shape: Sequence[int]) -> tuple[int, ...] | None:
    """Strides of a window seen with another shape, or None where that needs a copy."""
    if 0 in shape:
        return row_major(shape)
    old = [(size, stride) for size, stride in zip(sizes, strides, strict=True) if size != 1]
    result: list[int] = []
    position = 0
    remaining, stride = (1, 1) if not old else (1, old[0][1])
    # Dimensions are matched from the left; `remaining` elements of the current old dimensions are not yet named.
    for size in shape:
        if size == 1:
            result.append(0)
            continue
        while remaining < size or remaining % size:
            if position == len(old):
                return None
            next_size, next_stride = old[position]
            if remaining > 1 and stride != next_stride * next_size:
                return None
            remaining, stride = remaining * next_size, next_stride
            position += 1
        remaining //= size
        result.append(stride * remaining)
    if remaining != 1 or position != len(old):
        return None
    return _with_unit_strides(shape, result)


def _with_unit_strides(shape: Sequence[int], strides: list[int]) -> tuple[int, ...]:
    """Dimensions of size 1 get the stride a row-major box would give them."""
    following = 1
    for i in range(len(shape) - 1, -1, -1):
        if shape[i] == 1:
            strides[i] = following
        following = max(following, strides[i] * shape[i])
    return tuple(strides)


def view_through(op: Operation, view: StridedView) -> StridedView | None:
    """The window that `op` makes of a window on its operand, or None where it is no window."""
    match op:
        case ReshapeOp():
            shape = shape_of(op.results[0])
            strides = reshaped_strides(view.sizes, view.strides, shape)
            return None if strides is None else StridedView(view.base, view.offset, shape, strides)
        case TransposeOp():
            order = ints(op.permutation)
            sizes = tuple(view.sizes[i] for i in order)
            return StridedView(view.base, view.offset, sizes, tuple(view.strides[i] for i in order))
        case SliceOp():
            starts, steps = ints(op.starts), ints(op.steps)
            offset = view.offset + sum(a * s for a, s in zip(starts, view.strides, strict=True))
            strides = tuple(a * s for a, s in zip(steps, view.strides, strict=True))
            return StridedView(view.base, offset, shape_of(op.results[0]), strides)
        case BroadcastToOp():
            shape = shape_of(op.results[0])
            lead = len(shape) - len(view.sizes)
            pairs = zip(shape[lead:], view.sizes, view.strides, strict=True)
            strides = (0,) * lead + tuple(0 if old != new else stride for new, old, stride in pairs)
            return StridedView(view.base, view.offset, shape, strides)
        case _:
            return None


def strided_view(value: SSAValue, stop: SSAValue | None = None) -> StridedView:
    """The longest chain of windows that ends in `value`, at most back to `stop`; the trivial window where there is
    no chain."""
    owner = value.owner
    is_view = isinstance(owner, Operation) and isinstance(owner, ReshapeOp | TransposeOp | SliceOp | BroadcastToOp)
    if value is not stop and isinstance(owner, Operation) and is_view:
        through = view_through(owner, strided_view(owner.operands[0], stop))
        if through is not None:
            return through
    shape = shape_of(value)
    return StridedView(value, 0, shape, row_major(shape))
