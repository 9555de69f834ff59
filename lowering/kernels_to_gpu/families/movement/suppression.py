"""Non-maximum suppression by a block for each batch and class, and the list of what was chosen.

    left = the boxes with a score above the threshold, each as one integer: its score above its place
    while some are left and fewer than `most` are chosen:
        the largest of all threads is chosen
        each thread removes it, and those of its boxes that overlap it, and finds the largest of those left

Of the list, each thread writes a row, which it finds by the counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from .....dialects.extensions.arith import IndexCastOp
from .....dialects.graph.ops.selection import ChosenRowsOp, NonMaxSuppressionOp
from .....dialects.graph.values import shape_of
from .....dialects.sizes.sizes import larger
from .....passes.kernels.kernel_facts import suppression_of, the_root
from .....passes.kernels.schedules.cuda.selection.suppression import Suppression
from ....kernel_code.arithmetic import Arithmetic
from ....kernel_code.box_overlaps import Box, clear_from, overlap
from ....kernel_code.elements.order import float_key, place_of, with_place
from ....kernel_code.loop_builder import INDEX, Index, memref_type, strides_of
from ....kernel_code.reductions import Reduction
from ...gpu_kernel import GpuKernel, Grid
from ...warp_reductions import over_block

_NONE = -(1 << 63)  # less than any box that is left


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launch."""
    op, block = suppression_of(k.kernel), k.schedule_as(Suppression).block
    if op is not None:
        batch, classes, _ = shape_of(op.chosen)
        if batch * classes:
            k.launch(batch * classes, block, partial(_suppress, op))
    else:
        root = the_root(k.kernel, ChosenRowsOp)
        k.launch(larger(1, -(-shape_of(root.result)[0] // block)), block, partial(_list, root))


def _suppress(op: NonMaxSuppressionOp, grid: Grid) -> None:
    b, m, row = grid.b, Arithmetic(grid.b, i64), grid.number
    (_, classes, rows), boxes = shape_of(op.chosen), shape_of(op.scores)[2]
    entry = b.div(row, classes)
    left = b.view(grid.scratch_part("left"), b.mul(row, boxes), [boxes], [1])
    scores, corners = grid.argument(op.scores), grid.argument(op.boxes)
    steps, places = (strides_of(memref_type(each)) for each in (scores, corners))
    scores = b.view(scores, b.linear([entry, b.rem(row, classes)], steps[:2]), [boxes], [1])
    corners = b.view(corners, b.mul(entry, places[0]), [boxes, 4], places[1:])
    chosen, counts = grid.result_of(op.chosen), grid.result_of(op.counts)
    chosen = None if chosen is None else b.view(chosen, b.mul(row, rows), [rows], [1])
    is_first = b.compare("eq", grid.lane, 0)
    none, reduction = m.constant(_NONE), Reduction(b, "max", i64)
    overlapping = b.load(grid.argument(op.overlap), [])
    least = None if op.least is None else b.load(grid.argument(op.least), [])
    most = b.min(b.insert(IndexCastOp(b.load(grid.argument(op.most), []), INDEX)), rows)

    def box(place: Index) -> Box:
        given = [b.load(corners, [place, i]) for i in range(4)]
        return Box.of(b, given, centered=op.centered is not None)

    def begin(place: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        score = b.load(scores, [place])
        number = Arithmetic(b, score.type)
        takes_part = number.compare("eq", score, score) if least is None else number.compare("gt", score, least)
        item = with_place(b, float_key(b, score), b.insert(IndexCastOp(b.index(place), i64)))
        item = m.select(takes_part, item, none)
        b.store(item, left, [place])
        return [reduction.combine(carried[0], item)]

    def turn(carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        taken, _, best = carried
        b.barrier()  # all threads have read the largest
        number = place_of(b, best)
        own = box(b.insert(IndexCastOp(number, INDEX)))
        if chosen is not None:
            b.when(is_first, partial(b.store, number, chosen, [taken]))

        def look(place: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            item = b.load(left, [place])
            free = b.when(
                m.compare("lt", item, best),
                lambda: [m.select(overlap(b, own, box(place), overlapping), none, item)],
                lambda: [none],
            )[0]
            b.store(free, left, [place])
            return [reduction.combine(carried[0], free)]

        following = b.loop(grid.lane, boxes, look, step=grid.block, carried=[none])
        return [b.index(b.add(taken, 1)), *following, none]

    def goes_on(carried: Sequence[SSAValue]) -> tuple[SSAValue, Sequence[SSAValue]]:
        taken, own, _ = carried
        best = over_block(b, reduction, own, grid.lane, grid.block)
        some = b.conjunction(m.compare("ne", best, none), b.compare("slt", taken, most))
        return some, [taken, own, best]

    start = b.loop(grid.lane, boxes, begin, step=grid.block, carried=[none])
    taken = b.loop_while([b.index(0), *start, none], goes_on, turn)[0]
    count = b.insert(IndexCastOp(taken, i64))
    if counts is not None:
        b.when(is_first, partial(b.store, count, b.view(counts, row, [1], [1]), [0]))
    if chosen is not None:
        clear_from(b, chosen, b.add(taken, grid.lane), rows, step=grid.block)


def _list(op: ChosenRowsOp, grid: Grid) -> None:
    b, (batch, classes, rows) = grid.b, shape_of(op.chosen)
    counts = b.view(grid.argument(op.counts), 0, [larger(1, batch * classes)], [1])
    chosen = b.view(grid.argument(op.chosen), 0, [larger(1, batch * classes * rows)], [1])

    def look(at: Index, item: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        start, row, place = carried
        count = b.insert(IndexCastOp(b.load(counts, [item]), INDEX))
        own = b.index(b.sub(at, start))
        inside = b.conjunction(b.compare("sge", own, 0), b.compare("slt", own, count))
        found = b.select(inside, b.index(item), row), b.select(inside, own, place)
        return [b.index(b.add(start, count)), *found]

    def write(listed: SSAValue, at: Index) -> None:
        start = [b.index(0), b.index(-1), b.index(0)]
        _, row, place = b.loop(0, batch * classes, lambda item, carried: look(at, item, carried), carried=start)

        def numbers() -> Sequence[SSAValue]:
            places = b.div(row, classes), b.rem(row, classes)
            number = b.load(chosen, [b.add(b.mul(row, rows), place)])
            return [*(b.insert(IndexCastOp(b.index(each), i64)) for each in places), number]

        found = b.when(b.compare("sge", row, 0), numbers, lambda: [b.constant(0, i64)] * 3)
        for column, number in enumerate(found):
            b.store(number, listed, [at, column])

    def count_all(total: SSAValue) -> None:
        m = Arithmetic(b, i64)

        def add(item: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [m.add(carried[0], b.load(counts, [item]))]

        b.store(b.loop(0, batch * classes, add, carried=[m.constant(0)])[0], total, [])

    listed, total = grid.result_of(op.result), grid.result_of(op.total)
    if listed is not None and batch * classes * rows:
        grid.items(batch * classes * rows, partial(write, listed))
    if total is not None:
        b.when(b.compare("eq", grid.thread, 0), partial(count_all, total))
