"""The map schedule: the loops follow from the shapes, so all there is to find is what may share bytes."""

from __future__ import annotations

from .....dialects.graph import KernelOp, ScatterElementsOp, ScatterNdOp
from .....dialects.kernel import InterfaceAttr, ScheduleAttr, TargetAttr
from ...element_flow import pure_views, same_place_pairs


def schedule(kernel: KernelOp, target: TargetAttr) -> tuple[ScheduleAttr, InterfaceAttr]:
    """In place where elements are read just before they are written, or where a scatter changes some."""
    ops = [op for op in kernel.body.block.ops if isinstance(op, ScatterNdOp | ScatterElementsOp)]
    scatter = ops[0] if ops else None
    inplace = _scatter_pairs(kernel, scatter) if scatter is not None else same_place_pairs(kernel)
    operands = range(len(kernel.arguments))
    interface = InterfaceAttr.of(
        inplace=inplace,
        views=pure_views(kernel),
        strided_operands=list(operands),
        strided_results=[] if scatter is not None else list(range(len(kernel.terminator.arguments))),
    )
    return ScheduleAttr.of("map"), interface


def _scatter_pairs(kernel: KernelOp, scatter: ScatterNdOp | ScatterElementsOp) -> list[tuple[int, int]]:
    """x and the result, where x is read for nothing else."""
    for position, argument in enumerate(kernel.arguments):
        if argument is scatter.x and argument.has_one_use():
            return [(position, 0)]
    return []
