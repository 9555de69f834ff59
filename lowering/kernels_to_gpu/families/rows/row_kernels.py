"""What the families of row kernels have in common: the loops' axes, the rows of a launch, one launch for each pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from .....dialects.graph.ops.reduction import CumulativeOp
from .....dialects.graph.values import shape_of
from .....passes.kernels.forms.rows import RowForm, the_row_form
from .....passes.kernels.schedules.cuda.rows import keeps_in_registers, reduced_types
from ....kernel_code.domain import Canvas, domain_for
from ....kernel_code.elements.values import Values
from ....kernel_code.index_expr import Expr
from ....kernel_code.row_elements import RowElements
from ....kernel_code.row_ops import write_row
from ...builder import ThreadBuilder
from ...instance import GpuKernel, Grid
from ...lanes import lanes_along, trial_of, values_of
from .row_passes import PassDone, SharedPasses


@dataclass(frozen=True)
class RowPlan:
    """How a kernel's rows are walked: axes that every buffer is walked along as one are one."""

    form: RowForm
    elements: RowElements
    rows: list[int]  # sizes of the axes that rows lie along one behind the other
    row: list[int]  # sizes of the axes of a row
    lanes: int  # neighbours that a thread reads at once: of a row, or rows

    @property
    def vectors(self) -> int:
        """How many vectors a row has, or rows vectors of them."""
        return (self.form.length if self.form.along else self.form.rows) // self.lanes


def plan_of(k: GpuKernel, most: int | None = None) -> RowPlan | None:
    """The plan of a kernel, with at most so many lanes; None where its results have no elements."""
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
    """One launch over rows being written."""

    grid: Grid
    plan: RowPlan
    values: Values
    canvas: Canvas

    @classmethod
    def of(cls, grid: Grid, plan: RowPlan) -> RowCode:
        """With the lines of all buffers in front."""
        values = values_of(grid)
        return cls(grid, plan, values, Canvas(values, [values.line(buffer) for buffer in grid.results]))

    @property
    def b(self) -> ThreadBuilder:
        """The builder."""
        return self.grid.b

    def kept(self, threads: int, lanes: int, items: int) -> SSAValue | None:
        """A private array for a thread's share of a row of so many items; None where rows are read again."""
        vector = 1 if self.plan.form.along else lanes
        if not items or not keeps_in_registers(self.plan.form, threads, vector):
            return None
        number = self.plan.form.number
        array = self.b.private(VectorType(number, [lanes]) if lanes > 1 else number, [-(-items // threads)])
        array.name_hint = "row"
        return array

    def write(self, outer: Expr, passes: SharedPasses, writes: Callable[[], SSAValue] | None) -> None:
        """All passes over a row, or as many as this launch is for.

        One number for a row is written by the thread for which `writes` holds (None: by each).
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
    """How many launches there are: one, or where blocks share rows one more than passes that reduce."""
    return len(reduced_types(form)) + 1 if parts > 1 else 1
