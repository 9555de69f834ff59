"""The windows schedule: pools and normalisation over channels, by loops that follow from the shapes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from typing_extensions import override

from .....dialects.graph.ops.structure import KernelOp
from .....dialects.graph.ops.windows import LrnOp
from .....dialects.graph.values import shape_of
from .....dialects.kernel.targets import CpuAttr
from ....work import seconds
from .direct import Direct


@dataclass(frozen=True)
class Windows(Direct):
    """In place only over an operand of elementwise ops after the window op."""

    forms = ("windows",)
    rank = 2

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        """LRN computes a square again for each of its neighbours."""
        again = sum(prod(shape_of(op.x)) * op.size.value.data for op in kernel.body.block.ops if isinstance(op, LrnOp))
        return seconds(kernel, target, more=again)
