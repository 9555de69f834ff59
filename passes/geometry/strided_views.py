"""Values that are strided views of another value: chains of ops whose axes are kept, taken in steps or repeated.

Where the sizes allow it, such a chain on a row-major tensor is a strided window on that tensor: kernels read through
the window and the chain costs nothing. Offsets and strides are in elements.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from ...dialects.graph.axes import Kept, Repeated, Strided
from ...dialects.graph.base import MovementOp
from ...dialects.graph.ops.movement import ReshapeOp
from ...dialects.graph.values import shape_of
from .boxes import Box, reshaped, row_major


@dataclass(frozen=True)
class StridedView:
    """A window on `base`: element (i0, i1, ...) lies at offset + sum(i * stride)."""

    base: SSAValue
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]


def _view_through(op: MovementOp, view: StridedView) -> StridedView | None:
    """The window that `op` produces from a window on its operand; None where its result is not strided."""
    shape = shape_of(op.results[0])
    if isinstance(op, ReshapeOp):
        box = reshaped(Box(view.offset, view.sizes, view.strides), shape)
        return None if box is None else StridedView(view.base, box.offset, box.sizes, box.strides)
    offset, strides = view.offset, [0] * len(shape)
    for axis, stride in zip(op.operand_axes()[0], view.strides, strict=True):
        match axis:
            case Kept():
                strides[axis.to] = stride
            case Strided():
                strides[axis.to] = stride * axis.step
                offset += stride * axis.start
            case Repeated():
                pass
            case _:
                return None
    return StridedView(view.base, offset, shape, tuple(strides))


def strided_view(value: SSAValue, stop: SSAValue | None = None) -> StridedView:
    """The longest chain of views that ends in `value` and starts no earlier than `stop`.

    Without any view op it is the identity window on `value`.
    """
    owner = value.owner
    if value is not stop and isinstance(owner, MovementOp) and len(owner.operands) == 1:
        through = _view_through(owner, strided_view(owner.operands[0], stop))
        if through is not None:
            return through
    shape = shape_of(value)
    return StridedView(value, 0, shape, row_major(shape))
