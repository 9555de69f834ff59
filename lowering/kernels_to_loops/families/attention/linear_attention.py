"""Linear attention: each thread computes vectors of state columns of some heads, for all steps.

for (batch, head, vector of columns) in this thread's share:
    the columns' state in scratch, step after step            kernel_code/elements/state_columns.py
"""

from __future__ import annotations

from .....dialects.graph.ops.linear_attention import LinearAttentionOp
from .....dialects.graph.values import shape_of
from .....dialects.sizes.sizes import pinned
from .....passes.kernels.kernel_facts import the_root
from .....passes.kernels.schedules.cpu.linear_attention import LinearAttention
from ....kernel_code.elements.state_columns import Columns
from ....kernel_code.loop_builder import Index
from ...kernel_instance import KernelInstance


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    op, b = the_root(k.kernel, LinearAttentionOp), k.b
    batch, groups, _, width = shape_of(op.last)
    lanes, state = k.schedule_as(LinearAttention).lanes, k.scratch_part("state")
    whole, rest = divmod(pinned(width), lanes)
    vectors = whole + bool(rest)

    def some(item: Index) -> None:
        entry, head, vector = b.delinearize(item, [batch, groups, vectors])

        def write(valid: int | None) -> None:
            Columns(k, op, state, 0, entry, head, b.mul(vector, lanes), lanes, valid).write()

        if not rest or not whole:
            write(rest or None)
        else:
            b.when(b.compare("slt", vector, whole), lambda: write(None), lambda: write(rest))

    if (items := batch * groups * vectors) != 0:
        k.items(items, some)
