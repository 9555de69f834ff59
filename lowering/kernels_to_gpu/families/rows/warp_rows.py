"""Row kernels in which `width` lanes of a warp split a row and combine partial results by shuffles.

    row = thread of the grid / width, lane = thread % width
    for i in row / vectors of all lanes:  load, keep and reduce the lane's vector
    reduce over the vector, then over the lanes
    for i in row / vectors of all lanes:  compute and store results

Prefix sums are computed over 32 elements at a time by a scan of five shuffle steps.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from .....dialects.graph.ops.reduction import CumulativeOp
from .....dialects.graph.values import element_type_of_value
from .....passes.kernels.schedules.cuda.warp_rows import WarpRows
from ....kernel_code.elements.reduction_rules import wide
from ....kernel_code.index_expr import Expr, Var
from ....kernel_code.loop_builder import Index
from ....kernel_code.reductions import Reduction
from ...gpu_kernel import GpuKernel, Grid
from ...thread_builder import WARP
from ...warp_reductions import from_lane, over_lanes, up_to_lane
from .row_kernels import RowCode, RowPlan, plan_of
from .row_passes import SharedPasses, box


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launch."""
    plan, options = plan_of(k), k.schedule_as(WarpRows)
    if plan is None:
        return
    width, rows = options.width, plan.form.rows

    def write(grid: Grid) -> None:
        b, code = grid.b, RowCode.of(grid, plan)
        lane = b.rem(grid.lane, width)

        def one(row: Index) -> None:
            _row(code, plan, row, lane, width)

        row, all_rows = b.div(grid.thread, width), grid.blocks[0] * options.block // width
        if rows == all_rows:
            one(row)
        else:
            b.when(b.compare("ult", row, rows), lambda: one(row))

    k.launch(-(-rows * width // options.block), options.block, write)


def _row(code: RowCode, plan: RowPlan, row: Index, lane: Index, width: int) -> None:
    """One row, of which this thread is `lane`."""
    b, outer = code.b, box(code.b, row, plan.rows)[0]
    if isinstance(plan.form.root, CumulativeOp) and width == WARP:
        _running(code, plan, outer, lane)
        return
    passes = SharedPasses(
        b,
        code.values,
        plan.row,
        plan.lanes,
        width,
        lane,
        lambda reduction, value: over_lanes(b, reduction, value, width),
        code.kept(width, plan.lanes, plan.vectors),
    )
    code.write(outer, passes, (lambda: b.compare("eq", lane, 0)) if width > 1 else None)


def _running(code: RowCode, plan: RowPlan, outer: Expr, lane: Index) -> None:
    """The inclusive scan up to each element, 32 elements at a time; `before` is the total of all earlier ones."""
    b, v, root, length = code.b, code.values, plan.form.root, plan.form.length
    assert isinstance(root, CumulativeOp)
    total = Reduction(b, root.KIND, element_type_of_value(root.x))

    def chunk(i: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        before, item = carried[0], b.add(b.mul(i, WARP), lane)
        at = Expr.of(Var(item, 0, length - 1))
        position = at * -1 + (length - 1) if root.reverse is not None else at
        inside = b.compare("ult", item, length) if length % WARP != 0 else None

        def read() -> Sequence[SSAValue]:
            with v.scope():
                return [wide(v, root.x, plan.elements.x_index(outer, position))]

        def store() -> None:
            with v.scope():
                plan.elements.emit(code.canvas, outer, position, total.combine(before, own))

        value = (read() if inside is None else b.when(inside, read, lambda: [total.start()]))[0]
        value, shifted = up_to_lane(b, total, value, lane)
        own = value if root.exclusive is None else shifted
        if inside is None:
            store()
        else:
            b.when(inside, store)
        return [total.combine(before, from_lane(b, value, WARP - 1, "idx"))]

    b.loop(0, -(-length // WARP), chunk, carried=[total.start()])
