"""Row kernels with one block (or several) per row; partial results are combined in shared memory.

row = block / parts, part = block % parts
for i in part of the row / vectors of all threads:  load, keep, reduce
lanes by shuffles, warps by shared memory; parts: stored to scratch for the next launch
for i in part of the row / vectors of all threads:  compute and store results
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from .....passes.kernels.schedules.cuda.block_rows import BlockRows
from ....kernel_code.reductions import Reduction
from ...gpu_kernel import GpuKernel, Grid
from ...thread_builder import WARP
from ...warp_reductions import over_block, over_lanes
from .row_kernels import RowCode, RowPlan, launches, plan_of
from .row_passes import Parts, SharedPasses, box


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launches: one for each pass if rows are split between blocks."""
    plan, options = plan_of(k), k.schedule_as(BlockRows)
    if plan is None:
        return
    count = launches(plan.form, options.parts)
    for launch in range(count):
        # Combining the parts of a reduced row needs a warp only.
        last = launch == count - 1 > 0 and not plan.form.keeps_shape
        blocks, block = (plan.form.rows, WARP) if last else (plan.form.rows * options.parts, options.block)
        part = "" if count == 1 else "result" if launch == count - 1 else f"pass{launch}"

        def write(grid: Grid, launch: int = launch, last: bool = last) -> None:
            _write(grid, plan, options.parts, launch, last)

        k.launch(blocks, block, write, part=part)


def _write(grid: Grid, plan: RowPlan, parts: int, launch: int, last: bool) -> None:
    """Builds one launch."""
    b, lane = grid.b, grid.lane
    code = RowCode.of(grid, plan)
    row, part = (grid.number, 0) if last else (b.div(grid.number, parts), b.rem(grid.number, parts))
    writer = b.compare("eq", lane, 0)

    def found(number: int, reduction: Reduction) -> SSAValue:
        place = b.add(b.mul(row, parts), b.rem(lane, parts))
        return over_lanes(b, reduction, b.load(grid.scratch_part(f"pass{number}"), [place]), parts)

    def note(number: int, total: SSAValue) -> None:
        scratch = grid.scratch_part(f"pass{number}")
        b.when(writer, lambda: b.store(total, scratch, [b.add(b.mul(row, parts), part)]))

    passes = SharedPasses(
        b,
        code.values,
        plan.row,
        plan.lanes,
        grid.block,
        lane,
        lambda reduction, value: over_block(b, reduction, value, lane, grid.block),
        code.kept(grid.block, plan.lanes, plan.vectors) if parts == 1 else None,
        Parts(part, parts, launch, found, note) if parts > 1 else None,
    )
    code.write(box(b, row, plan.rows)[0], passes, lambda: writer)
