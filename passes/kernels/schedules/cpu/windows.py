"""The windows schedule: the loops follow from the shapes; no result lies over what its windows read."""

from __future__ import annotations

from .....dialects.graph import KernelOp
from .....dialects.kernel import InterfaceAttr, ScheduleAttr, TargetAttr
from ...element_flow import same_place_pairs


def schedule(kernel: KernelOp, target: TargetAttr) -> tuple[ScheduleAttr, InterfaceAttr]:
    """In place only over an operand that elementwise ops behind the window read."""
    interface = InterfaceAttr.of(
        inplace=same_place_pairs(kernel),
        strided_operands=list(range(len(kernel.arguments))),
        strided_results=list(range(len(kernel.terminator.arguments))),
    )
    return ScheduleAttr.of("windows"), interface
