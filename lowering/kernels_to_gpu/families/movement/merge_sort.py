"""TopK by sorting: items are integers that order as the elements do, with their indices behind them.

    items = (key of the element, its index), the first in order the least
    sort each row; result = indices of the first items

Numbers of up to 32 bits share one integer of 64 with their index.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import i64

from .....dialects.extensions.arith import IndexCastOp
from .....dialects.graph.ops.selection import TopKOp
from .....dialects.graph.values import element_type_of_value, shape_of
from .....passes.kernels.kernel_facts import the_root
from .....passes.kernels.schedules.cuda.selection.merge_sort import MergeSort
from ....kernel_code.arithmetic import Arithmetic
from ....kernel_code.elements.order import LOW, RowOrder, number_key
from ....kernel_code.index_expr import Expr, Var
from ....kernel_code.loop_builder import Index
from ...gpu_kernel import GpuKernel, Grid
from ...lanes import values_of
from ...sort_launches import Item, sort_rows


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launches."""
    op = the_root(k.kernel, TopKOp)
    if 0 in shape_of(op.result):
        return
    runs, axis = k.schedule_as(MergeSort).runs(op), op.axis.value.data
    sizes = [*shape_of(op.x)[:axis], *shape_of(op.x)[axis + 1 :]]

    def load(grid: Grid) -> Callable[[Index, Index], Item]:
        b, m, v = grid.b, Arithmetic(grid.b, i64), values_of(grid)

        def item(row: Index, at: Index) -> Item:
            others = [Expr.of(Var(i, 0, size - 1)) for i, size in zip(b.delinearize(row, sizes), sizes, strict=True)]
            key = number_key(b, RowOrder(v, op, others).element(at).number, element_type_of_value(op.x))
            if op.smallest is None:
                key = m.binary("xor", key, m.constant(-1))
            place = b.insert(IndexCastOp(b.index(at), i64))
            return [key, place] if runs.fields == 2 else [m.binary("or", m.binary("shl", key, m.constant(32)), place)]

        return item

    def emit(grid: Grid, row: Index, at: Index, item: Item) -> None:
        b, m = grid.b, Arithmetic(grid.b, i64)
        place = item[-1] if runs.fields == 2 else m.binary("and", item[0], m.constant(LOW))
        others = b.delinearize(row, sizes)
        b.store(place, grid.results[0], [*others[:axis], at, *others[axis:]])

    sort_rows(k, runs, load, emit)
