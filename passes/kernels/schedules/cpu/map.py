"""The map schedule: elementwise loops that follow from the shapes, in place where possible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override

from .....dialects.graph.ops.indexing import ScatterElementsOp, ScatterNdOp
from .....dialects.graph.ops.structure import KernelOp
from .....dialects.kernel.attributes import InterfaceAttr
from .....dialects.kernel.targets import CpuAttr
from ....work import seconds
from ...element_flow import same_place_pairs
from ...kernel_facts import all_operands, all_results
from ...moves import moves_of
from ..schedule import Schedule


@dataclass(frozen=True)
class Map(Schedule[CpuAttr]):
    """Every element of the results independently."""

    forms = ("map",)

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """The only candidate."""
        yield cls()

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        return seconds(kernel, target)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        """In place if elements are read just before they are written, or if a scatter changes some."""
        ops = [op for op in kernel.body.block.ops if isinstance(op, ScatterNdOp | ScatterElementsOp)]
        scatter = ops[0] if ops else None
        return InterfaceAttr.of(
            inplace=_scatter_pairs(kernel, scatter) if scatter is not None else same_place_pairs(kernel),
            moves=moves_of(kernel),
            strided_operands=all_operands(kernel),
            strided_results=[] if scatter is not None else all_results(kernel),
            pieces=0 if scatter is None else 1,  # every share looks through all indices
        )


def _scatter_pairs(kernel: KernelOp, scatter: ScatterNdOp | ScatterElementsOp) -> list[tuple[int, int]]:
    """x and the result of a scatter, if x has no other use."""
    for position, argument in enumerate(kernel.arguments):
        if argument is scatter.x and argument.has_one_use():
            return [(position, 0)]
    return []
