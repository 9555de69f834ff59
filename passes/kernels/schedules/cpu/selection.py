"""The selection schedule: a row at a time, whose best elements so far are kept where the result goes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override

from .....dialects.graph.ops.structure import KernelOp
from .....dialects.kernel.attributes import InterfaceAttr
from .....dialects.kernel.targets import CpuAttr
from ....work import seconds
from ..schedule import Schedule


@dataclass(frozen=True)
class Selection(Schedule[CpuAttr]):
    """Rows on their own, in a heap each."""

    name = "selection"

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """The one there is."""
        yield cls()

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        return seconds(kernel, target, vectors=False)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return InterfaceAttr.of(strided_operands=[0], strided_results=[0])
