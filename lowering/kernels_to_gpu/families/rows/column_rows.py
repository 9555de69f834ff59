"""Row kernels whose rows are strided: a thread has adjacent rows, several threads split the elements of each.

    column = (block / parts) * columns + thread % columns: a vector of rows; share = thread / columns
    for i in elements of the rows / shares:  load, keep and reduce a vector of elements
    combine all shares, through shared memory
    for i in elements of the rows / shares:  compute and store results

Threads beyond the last row duplicate the thread that has the last rows, and store nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from .....passes.kernels.schedules.cuda.column_rows import ColumnRows
from ....kernel_code.lane_access import Vector
from ....kernel_code.loop_builder import Index
from ....kernel_code.reductions import Reduction
from ...gpu_kernel import GpuKernel, Grid
from ...thread_builder import ThreadBuilder
from .row_kernels import RowCode, RowPlan, launches, plan_of
from .row_passes import Parts, SharedPasses, box


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launches: one for each pass if rows are split between blocks."""
    options = k.schedule_as(ColumnRows)
    plan = plan_of(k, options.vector)
    if plan is None:
        return
    groups = -(-plan.vectors // options.columns)
    count = launches(plan.form, options.parts)
    for launch in range(count):
        last = launch == count - 1 > 0 and not plan.form.keeps_shape
        parts, shares = (1, 1) if last else (options.parts, options.shares)
        part = "" if count == 1 else "result" if launch == count - 1 else f"pass{launch}"

        def write(grid: Grid, launch: int = launch, parts: int = parts, shares: int = shares) -> None:
            _Columns(grid, plan, options, parts, shares, launch).write()

        k.launch(groups * parts, options.columns * shares, write, part=part)


class _Columns:
    """One launch, in which `parts` blocks split the same rows."""

    def __init__(self, grid: Grid, plan: RowPlan, options: ColumnRows, parts: int, shares: int, launch: int) -> None:
        self.grid, self.plan, self.b, self.launch = grid, plan, grid.b, launch
        self.shares, self.columns, self.parts = shares, options.columns, options.parts
        b, lane = grid.b, grid.lane
        self.column, self.share = b.rem(lane, options.columns), b.div(lane, options.columns)
        self.group, self.part = b.div(grid.number, parts), b.rem(grid.number, parts)

    def write(self) -> None:
        """Builds the thread's code."""
        b, plan = self.b, self.plan
        code = RowCode.of(self.grid, plan)
        item = b.add(b.mul(self.group, self.columns), self.column)
        inside = None if plan.vectors % self.columns == 0 else b.compare("ult", item, plan.vectors)
        if inside is None:
            self._rows(code, item, None)
        elif self.shares == 1:
            b.when(inside, lambda: self._rows(code, item, None))
        else:
            self._rows(code, b.min(item, plan.vectors - 1), inside)

    def _rows(self, code: RowCode, item: Index, inside: SSAValue | None) -> None:
        """The rows of one thread; `inside` is false in a duplicate, which stores nothing."""
        b, plan, shares = self.b, self.plan, self.shares
        outer, along = box(b, item, plan.rows, plan.lanes)
        first = b.mul(item, plan.lanes)
        writes = None if shares == 1 else b.compare("eq", self.share, 0)
        if inside is not None and writes is not None:
            writes = b.conjunction(writes, inside)

        def found(number: int, reduction: Reduction) -> SSAValue:
            scratch = self.grid.scratch_part(f"pass{number}")

            def step(part: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                place = b.add(b.mul(part, plan.form.rows), first)
                return [reduction.combine(carried[0], self._load(scratch, [place]))]

            return b.loop(1, self.parts, step, carried=[self._load(scratch, [first])])[0]

        def note(number: int, total: SSAValue) -> None:
            scratch = self.grid.scratch_part(f"pass{number}")
            place = b.add(b.mul(self.part, plan.form.rows), first)
            _where(b, writes, lambda: self._store(total, scratch, [place]))

        passes = SharedPasses(
            b,
            code.values,
            plan.row,
            1,
            shares,
            self.share,
            self._together,
            code.kept(shares, plan.lanes, plan.form.length) if self.parts == 1 else None,
            Parts(self.part, self.parts, self.launch, found, note) if self.parts > 1 else None,
            inside,
        )
        with code.values.vectorised(Vector(along, plan.lanes, plan.lanes) if plan.lanes > 1 else None):
            code.write(outer, passes, None if writes is None else lambda: writes)

    def _together(self, reduction: Reduction, value: SSAValue) -> SSAValue:
        """Combines the values of all shares of a column."""
        if self.shares == 1:
            return value
        b, lanes = self.b, self.plan.lanes
        partial = b.shared(reduction.element, [self.shares, self.columns * lanes], "of_shares")
        at = b.mul(self.column, lanes)
        self._store(value, partial, [self.share, at])
        b.barrier()

        def step(share: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [reduction.combine(carried[0], self._load(partial, [share, at]))]

        return b.loop(1, self.shares, step, carried=[self._load(partial, [0, at])])[0]

    def _load(self, buffer: SSAValue, at: Sequence[Index]) -> SSAValue:
        return self.b.vload(buffer, at, self.plan.lanes) if self.plan.lanes > 1 else self.b.load(buffer, at)

    def _store(self, value: SSAValue, buffer: SSAValue, at: Sequence[Index]) -> None:
        if isinstance(value.type, VectorType):
            self.b.vstore(value, buffer, at)
        else:
            self.b.store(value, buffer, at)


def _where(b: ThreadBuilder, condition: SSAValue | None, write: Callable[[], None]) -> None:
    if condition is None:
        write()
    else:
        b.when(condition, write)
