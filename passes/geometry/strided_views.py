"""Values that are strided views of another value: chains of reshape, transpose, slice and broadcast_to.

Where the sizes allow it, such a chain on a row-major tensor is a strided window on that tensor: kernels read through
the window and the chain costs nothing. Offsets and strides are in elements.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from ...dialects.graph.ops.movement import BroadcastToOp, ReshapeOp, SliceOp, TransposeOp
from ...dialects.graph.values import ints, shape_of
from .boxes import Box, reshaped, row_major


@dataclass(frozen=True)
class StridedView:
    """A window on `base`: element (i0, i1, ...) lies at offset + sum(i * stride)."""

    base: SSAValue
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


def view_through(op: Operation, view: StridedView) -> StridedView | None:
    """The window that `op` produces from a window on its operand; None where its result is not strided."""
    match op:
        case ReshapeOp():
            box = reshaped(Box(view.offset, view.sizes, view.strides), shape_of(op.results[0]))
            return None if box is None else StridedView(view.base, box.offset, box.sizes, box.strides)
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
    """The longest chain of views that ends in `value` and starts no earlier than `stop`.

    Without any view op it is the identity window on `value`.
    """
    owner = value.owner
    is_view = isinstance(owner, Operation) and isinstance(owner, ReshapeOp | TransposeOp | SliceOp | BroadcastToOp)
    if value is not stop and isinstance(owner, Operation) and is_view:
        through = view_through(owner, strided_view(owner.operands[0], stop))
        if through is not None:
            return through
    shape = shape_of(value)
    return StridedView(value, 0, shape, row_major(shape))
