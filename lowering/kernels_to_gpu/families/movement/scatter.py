"""Scatter: each thread copies one row of the result from x, then applies the updates that target it, in order."""

from __future__ import annotations

from .....passes.kernels.kernel_facts import scatter_of
from .....passes.kernels.schedules.cuda.selection.scatter import Scatter, rows_of
from ....kernel_code.scatter_elements import lower_scatter
from ...gpu_kernel import GpuKernel


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launch."""
    op = scatter_of(k.kernel)
    assert op is not None
    rows, block = rows_of(op), k.schedule_as(Scatter).block
    if rows:
        k.launch(-(-rows // block), block, lambda grid: lower_scatter(grid, op))
