"""Shared parts of the row-kernel families: merged axes, the rows of a launch, one launch for each pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from .....dialects.graph.ops.reduction import CumulativeOp
from .....dialects.graph.values import shape_of
from .....dialects.sizes.sizes import bounds_of
from .....passes.kernels.forms.rows import RowForm, the_row_form
from .....passes.kernels.schedules.cuda.rows import keeps_in_registers, reduced_types
from ....kernel_code.domain import Canvas, domain_for
from ....kernel_code.elements.element_values import Values
from ....kernel_code.index_expr import Expr
from ....kernel_code.row_elements import RowElements
from ....kernel_code.row_ops import write_row
from ...gpu_kernel import GpuKernel, Grid
from ...lanes import lanes_along, trial_of, values_of
from ...thread_builder import ThreadBuilder
from .row_passes import PassDone, SharedPasses


@dataclass(frozen=True)
class RowPlan:
    """The iteration space of a row kernel; adjacent axes are merged where all buffers are contiguous across them."""

    form: RowForm
    elements: RowElements
    rows: list[int]  # sizes of the axes over which rows are enumerated
    row: list[int]  # sizes of the axes within a row
    lanes: int  # vector lanes of a thread: elements of a row, or rows

    @property
    def vectors(self) -> int:
        """Number of vectors per row, or of vectors of rows."""
        return (self.form.length if self.form.along else self.form.rows) // self.lanes


def plan_of(k: GpuKernel, most: int | None = None) -> RowPlan | None:
    """The plan of a kernel, with at most `most` lanes; None if its results are empty."""
    form = the_row_form(k.kernel)
    if any(0 in shape_of(value) for value in k.kernel.terminator.operands):
        return None
    elements = RowElements(k.kernel, form)
    if form.length == 0:
        return RowPlan(form, elements, elements.outer_shape or [1], [0], 1)
    trial = trial_of(k)
    domain = domain_for(trial, [elements.outer_shape, elements.inner_shape], elements.once, cuts=False)
    rows, row = domain.groups
    axis = len(rows) + len(row) - 1 if form.along else len(rows) - 1
    in_order = isinstance(form.root, CumulativeOp) and form.along
    lanes = 1 if in_order else lanes_along(k, trial, domain, elements.once, axis, scatters=True)
    return RowPlan(form, elements, rows, row, lanes if most is None else min(lanes, most))


@dataclass(frozen=True)
class RowCode:
    """The code of one launch over rows."""

    grid: Grid
    plan: RowPlan
    values: Values
    canvas: Canvas

    @classmethod
    def of(cls, grid: Grid, plan: RowPlan) -> RowCode:
        """The code for a launch, with all buffers viewed as lines."""
        values = values_of(grid)
        return cls(grid, plan, values, Canvas(values, [values.line(buffer) for buffer in grid.results]))

    @property
    def b(self) -> ThreadBuilder:
        """The builder."""
        return self.grid.b

    def kept(self, threads: int, lanes: int, items: int) -> SSAValue | None:
        """A private array for a thread's share of a row of `items` items; None if rows are read again instead.

        Of a length known at run time, it has room for the largest.
        """
        vector, items = 1 if self.plan.form.along else lanes, bounds_of(items)[1]
        if not items or not keeps_in_registers(self.plan.form, threads, vector):
            return None
        number = self.plan.form.number
        return self.b.private(VectorType(number, [lanes]) if lanes > 1 else number, [-(-items // threads)], "row")

    def write(self, outer: Expr, passes: SharedPasses, writes: Callable[[], SSAValue] | None) -> None:
        """Builds all passes over a row, or those of this launch.

        A scalar result of a row is stored by the thread for which `writes` holds (None: by each).
        """
        row = self.plan.elements.row(self.canvas, passes, outer, keeps=passes.keeps)

        def emit(position: Expr | None, value: SSAValue) -> None:
            def store() -> None:
                with self.values.scope():
                    row.emit(position, value)

            if position is not None or writes is None:
                store()
            else:
                self.b.when(writes(), store)

        try:
            write_row(replace(row, emit=emit))
        except PassDone:
            return


def launches(form: RowForm, parts: int) -> int:
    """The number of launches: 1, or, if blocks split rows, one more than the number of reducing passes."""
    return len(reduced_types(form)) + 1 if parts > 1 else 1
