"""The direct schedule: every element of the results on its own, with all that it is made of computed for it alone.

The code for every body that can be written at all: slow where other schedules reuse what they have read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override

from .....dialects.graph.ops.structure import KernelOp
from .....dialects.kernel.attributes import InterfaceAttr
from .....dialects.kernel.targets import CpuAttr
from ....work import seconds
from ...element_flow import same_place_pairs
from ...kernel_facts import all_operands, all_results
from ..schedule import Schedule


@dataclass(frozen=True)
class Direct(Schedule[CpuAttr]):
    """Element by element."""

    forms = ("contraction", "rows")
    rank = 2

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """The only candidate."""
        yield cls()

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        """Scalar code, with sums bound by latency."""
        return seconds(kernel, target, wasted=target.LATENCY, vectors=False)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        """In place only over an operand of which each element is read at the position being written."""
        return InterfaceAttr.of(
            inplace=same_place_pairs(kernel),
            strided_operands=all_operands(kernel),
            strided_results=all_results(kernel),
        )
