"""Linear attention: each thread computes one column of the state, kept in scratch, for all steps.

Adjacent threads have adjacent columns of one head, so that they read a row of the state and the same queries and keys
together.
"""

from __future__ import annotations

from .....dialects.graph.ops.linear_attention import LinearAttentionOp
from .....dialects.graph.values import shape_of
from .....passes.kernels.kernel_facts import the_root
from .....passes.kernels.schedules.cuda.attention.linear_attention import LinearAttention
from ....kernel_code.elements.state_columns import Columns
from ....kernel_code.loop_builder import Index
from ...gpu_kernel import GpuKernel, Grid


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launch."""
    op, block = the_root(k.kernel, LinearAttentionOp), k.schedule_as(LinearAttention).block
    batch, groups, _, width = shape_of(op.last)
    total = batch * groups * width

    def write(grid: Grid) -> None:
        state = grid.scratch_part("state")

        def one(item: Index) -> None:
            entry, head, column = grid.b.delinearize(item, [batch, groups, width])
            Columns(grid, op, state, item, entry, head, column, 1).write()

        grid.items(total, one)

    if total:
        k.launch(-(-total // block), block, write)
