"""TopK by rank: each thread has an element and counts the elements of its row that precede it.

    if the count is below k: result[count] = the element's index

Equal elements are ordered by index, so that ranks are distinct.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from .....dialects.extensions.arith import IndexCastOp
from .....dialects.graph.ops.selection import TopKOp
from .....dialects.graph.values import shape_of
from .....passes.kernels.kernel_facts import the_root
from .....passes.kernels.schedules.cuda.selection.ranks import Ranks
from ....kernel_code.elements.order import RowOrder
from ....kernel_code.index_expr import Expr, Var, linear
from ....kernel_code.loop_builder import Index
from ...gpu_kernel import GpuKernel, Grid
from ...lanes import values_of


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launch."""
    op = the_root(k.kernel, TopKOp)
    shape, axis, count = shape_of(op.x), op.axis.value.data, op.count.value.data
    if 0 in shape_of(op.result):
        return
    total, block = prod(shape), k.schedule_as(Ranks).block

    def write(grid: Grid) -> None:
        b, v = grid.b, values_of(grid)
        out = v.line(grid.results[0])

        def one(item: Index) -> None:
            index = b.delinearize(item, list(shape))
            variables = [Expr.of(Var(i, 0, size - 1)) for i, size in zip(index, shape, strict=True)]
            row = RowOrder(v, op, [*variables[:axis], *variables[axis + 1 :]])
            own = row.element(index[axis])

            def ahead(place: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                first = row.comes_first(row.element(place), own)
                return [b.index(b.add(carried[0], b.select(first, b.index(1), b.index(0))))]

            (rank,) = b.loop(0, shape[axis], ahead, carried=[b.index(0)])
            variables[axis] = Expr.of(Var(rank, 0, shape[axis] - 1))
            place = b.insert(IndexCastOp(b.index(own.place), i64))
            b.when(b.compare("slt", rank, count), lambda: v.store(place, out, linear(variables, out.strides)))

        grid.items(total, one)

    k.launch(-(-total // block), block, write)
