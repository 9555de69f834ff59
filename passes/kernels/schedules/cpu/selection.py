"""The selection schedule: TopK row by row, with a heap in the result's memory."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override

from .....dialects.graph.ops.structure import KernelOp
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import CpuAttr
from ....cost_model import seconds
from ..schedule import Schedule


@dataclass(frozen=True)
class Selection(Schedule[CpuAttr]):
    """Rows independently, with a heap each."""

    forms = ("selection",)

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        return seconds(kernel, target, vectors=False)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return InterfaceAttr.of(strided_operands=[0], strided_results=[0])
