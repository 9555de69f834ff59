"""The rows schedule: scratch for one row where it is computed once and read in several passes.

Lanes run along the row where the row is innermost in memory, so that a row is kept as it is; else they run
across rows, and a kept row is as many vectors as it has elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override

from .....dialects.graph.ops.structure import KernelOp
from .....dialects.graph.values import numpy_dtype
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import CpuAttr
from ....cost_model import seconds
from ...element_flow import same_place_pairs
from ...forms.rows import row_form, the_row_form
from ...kernel_facts import all_operands, all_results
from ..schedule import Schedule, TileSize
from ..scratch import ScratchLayout
from .tuning import ROWS_KEEPING, ROWS_SUMMING


@dataclass(frozen=True)
class Rows(Schedule[CpuAttr]):
    """Whole rows at a time."""

    forms = ("rows",)

    lanes: TileSize
    """Elements of one register."""
    vector: TileSize
    """Elements of one vector: several registers."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """If the body has the form."""
        form = row_form(kernel)
        if form is not None:
            lanes = target.lanes(8 * max(4, numpy_dtype(form.number).itemsize))
            yield cls(lanes, lanes * (ROWS_KEEPING if form.keeps_row and not form.along else ROWS_SUMMING))

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        return seconds(kernel, target)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        form = the_row_form(kernel)
        return InterfaceAttr.of(
            inplace=same_place_pairs(kernel, (form.root,) if form.keeps_shape else ()),
            strided_operands=all_operands(kernel),
            strided_results=all_results(kernel),
            per_thread=self.scratch(kernel).per_thread,
        )

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """A computed row, in whole registers; or one for each lane of a vector."""
        form = the_row_form(kernel)
        if not form.keeps_row:
            return ScratchLayout()
        elements = -(-form.length // self.lanes) * self.lanes if form.along else form.length * self.vector
        return ScratchLayout.of([("row", form.number, (elements,))])
