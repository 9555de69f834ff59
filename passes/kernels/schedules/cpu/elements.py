"""The elements schedule: every element of the results is computed independently, with everything it depends on.

It supports every body: the only schedule of elementwise kernels and of most windows, and a slow one for contractions
and rows, where others reuse what they have read.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from typing_extensions import override

from .....dialects.graph.ops.structure import KernelOp
from .....dialects.graph.ops.windows import LrnOp
from .....dialects.graph.values import shape_of
from .....dialects.kernel.kernel_attributes import FormAttr, InterfaceAttr
from .....dialects.kernel.targets import CpuAttr
from ....cost_model import seconds
from ...element_flow import same_place_pairs
from ...kernel_facts import all_operands, all_results, argument_index, scatter_of, scatter_pairs, slide_of
from ...moves import moves_of
from ..schedule import Schedule
from . import pool, resize


@dataclass(frozen=True)
class Elements(Schedule[CpuAttr]):
    """Every element of the results independently."""

    forms = ("contraction", "map", "rows", "windows")
    rank = 2

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        """Contractions and rows are scalar code, with sums bound by latency.

        LRN computes a square again for each of its neighbours.
        """
        if kernel.form in (FormAttr.of("contraction"), FormAttr.of("rows")):
            return seconds(kernel, target, wasted=target.LATENCY, vectors=False)
        if (resized := resize.lone_resize(kernel)) is not None and resize.fits(resized):
            return seconds(kernel, target, more=resize.separate_instructions(resized))
        if (pooled := pool.lone_pool(kernel)) is not None and pool.fits(pooled):
            more = pool.strided_instructions(pooled, target.lanes(32)) - pooled.instructions
            return seconds(kernel, target, more=more)
        again = sum(prod(shape_of(op.x)) * op.size.value.data for op in kernel.body.block.ops if isinstance(op, LrnOp))
        return seconds(kernel, target, more=again)

    @override
    def precedence(self, kernel: KernelOp) -> int:
        return 2

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        """In place if elements are read just before they are written, if a scatter changes some, or if rows slide."""
        scatter, slide = scatter_of(kernel), slide_of(kernel)
        if slide is not None:
            return InterfaceAttr.of(inplace=[(argument_index(kernel, slide.x), 0)])
        return InterfaceAttr.of(
            inplace=same_place_pairs(kernel) if scatter is None else scatter_pairs(kernel, scatter),
            moves=moves_of(kernel),
            strided_operands=all_operands(kernel),
            strided_results=all_results(kernel),
            pieces=0 if scatter is None else 1,  # every share looks through all indices
        )
