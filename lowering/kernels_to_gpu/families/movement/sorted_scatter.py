"""Scatter by sorting updates: items are the row that an update targets, with the update's number behind it.

result = x                                                      left out where they are one buffer
sort items
for each item and each element of a row, if the item is the first of its row (without a reduction: the last):
    result = update, or result combined with all of the row's updates in order
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from .....dialects.extensions.arith import IndexCastOp
from .....dialects.graph.values import shape_of
from .....passes.kernels.kernel_facts import ScatterOp, scatter_of
from .....passes.kernels.schedules.cuda.selection.scatter import rows_of, updates_of
from .....passes.kernels.schedules.cuda.selection.sorted_scatter import SortedScatter
from ....kernel_code.arithmetic import Arithmetic
from ....kernel_code.elements.order import LOW
from ....kernel_code.index_expr import Expr, delinearize, linear
from ....kernel_code.loop_builder import INDEX, Index
from ....kernel_code.scatter_elements import copy_elements, counts_of, depth_of, expression, row_of, updated
from ...gpu_kernel import GpuKernel, Grid
from ...lanes import values_of
from ...sort_launches import Item, sort_rows


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launches."""
    op, schedule = scatter_of(k.kernel), k.schedule_as(SortedScatter)
    assert op is not None
    elements = prod(shape_of(op.result))
    if k.operands[k.kernel.arguments.index(op.x)] != k.results[0]:
        k.launch(-(-elements // schedule.block), schedule.block, partial(_copy, op), part="copy")
    sort_rows(k, schedule.runs(op), partial(_items, op), _keep)
    k.launch(-(-prod(shape_of(op.updates)) // schedule.block), schedule.block, partial(_update, op), part="updates")


def _copy(op: ScatterOp, grid: Grid) -> None:
    v = values_of(grid)
    out = v.line(grid.results[0])
    grid.items(prod(shape_of(op.x)), lambda i: copy_elements(v, op.x, out, i, grid.b.add(i, 1)))


def _items(op: ScatterOp, grid: Grid) -> Callable[[Index, Index], Item]:
    b, m, v = grid.b, Arithmetic(grid.b, i64), values_of(grid)

    def item(_: Index, number: Index) -> Item:
        with v.scope():
            row = row_of(v, op, number)
        row, place = (b.insert(IndexCastOp(b.index(each), i64)) for each in (row, number))
        return [m.binary("or", m.binary("shl", row, m.constant(32)), place)]

    return item


def _keep(grid: Grid, _: Index, place: Index, item: Item) -> None:
    grid.b.store(item[0], grid.scratch_part("sorted"), [place])


def _update(op: ScatterOp, grid: Grid) -> None:
    b, m, v, shape = grid.b, Arithmetic(grid.b, i64), values_of(grid), shape_of(op.result)
    items, out = grid.scratch_part("sorted"), v.line(grid.results[0])
    updates, depth, counts = updates_of(op), depth_of(op), counts_of(op)
    length = prod(shape[depth:])

    def row_at(place: Index) -> SSAValue:
        return m.binary("shr", b.load(items, [place]), m.constant(32))

    def update_at(place: Index, inner: Sequence[Expr], before: SSAValue | None) -> SSAValue:
        number = b.insert(IndexCastOp(m.binary("and", b.load(items, [place]), m.constant(LOW)), INDEX))
        at = delinearize(expression(number, updates), counts)
        with v.scope():
            return updated(v, op, before, [*at, *(inner if depth < len(shape) else ())])

    def one(number: Index) -> None:
        place, at = b.div(number, length), b.rem(number, length)
        row = row_at(place)
        inside = b.conjunction(m.compare("ge", row, m.constant(0)), m.compare("lt", row, m.constant(rows_of(op))))
        overwrites = op.reduction.data == "none"
        beside, edge = (b.add(place, 1), updates - 1) if overwrites else (b.sub(place, 1), 0)
        differs = b.when(
            b.compare("ne", place, edge),
            lambda: [m.compare("ne", row_at(beside), row)],
            lambda: [m.compare("eq", row, row)],
        )[0]

        def write() -> None:
            inner = delinearize(expression(at, length), shape[depth:])
            outer = delinearize(expression(b.insert(IndexCastOp(row, INDEX)), rows_of(op)), shape[:depth])
            target = linear([*outer, *inner], out.strides)

            def goes_on(carried: Sequence[SSAValue]) -> tuple[SSAValue, Sequence[SSAValue]]:
                inside = b.compare("slt", carried[0], updates)
                more = b.when(inside, lambda: [m.compare("eq", row_at(carried[0]), row)], lambda: [inside])[0]
                return more, carried

            def turn(carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                return [b.index(b.add(carried[0], 1)), update_at(carried[0], inner, carried[1])]

            if overwrites:
                found = update_at(place, inner, None)
            else:
                found = b.loop_while([b.index(place), v.load(out, target)], goes_on, turn)[1]
            v.store(found, out, target)

        b.when(b.conjunction(inside, differs), write)

    grid.items(updates * length, one)
