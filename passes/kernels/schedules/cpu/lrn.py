"""The schedule of normalisation over channels: a pixel's squares in scratch, with room for the neighbours outside."""

from __future__ import annotations

from .....dialects.graph import KernelOp, LrnOp, element_type_of_value, numpy_dtype, shape_of
from .....dialects.kernel import InterfaceAttr, ScheduleAttr, TargetAttr

CACHE_LINE = 64  # bytes


def schedule(kernel: KernelOp, target: TargetAttr) -> tuple[ScheduleAttr, InterfaceAttr]:
    """Two registers at a time. In place: a pixel's squares are in scratch before the pixel is written."""
    root = next(op for op in kernel.body.block.ops if isinstance(op, LrnOp))
    size = numpy_dtype(element_type_of_value(root.x)).itemsize
    lanes = 2 * target.lanes(8 * size)
    held = (shape_of(root.x)[-1] + root.size.value.data - 1 + lanes) * size
    interface = InterfaceAttr.of(
        inplace=[(0, 0)], strided_operands=[0], strided_results=[0], per_thread=-(-held // CACHE_LINE) * CACHE_LINE
    )
    return ScheduleAttr.of("lrn", lanes=lanes), interface
