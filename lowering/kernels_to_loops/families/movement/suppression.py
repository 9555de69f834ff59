"""Non-maximum suppression, a batch and class at a time, and the list of what was chosen.

    candidates = the boxes with a score above the threshold, each as one integer: its score above its place
    best[i] = the largest of each block of candidates
    while one is left and fewer than `most` are chosen:
        candidate = max(best); the best of its block is now the largest that is smaller
        if it overlaps none of those chosen, several compared at once: it is chosen

Only candidates are ordered, and only as far as they are looked at; both maxima are of vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import inf

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import f32, i1, i32, i64
from xdsl.ir import SSAValue

from .....dialects.extensions.arith import ExtUIOp, IndexCastOp, TruncIOp
from .....dialects.extensions.vector import ReductionOp
from .....dialects.graph.ops.selection import ChosenRowsOp, NonMaxSuppressionOp
from .....dialects.graph.values import shape_of
from .....passes.kernels.kernel_facts import suppression_of, the_root
from .....passes.kernels.schedules.cpu.suppression import CORNERS, Suppression
from ....kernel_code.arithmetic import Arithmetic
from ....kernel_code.box_overlaps import Box, clear_from, overlap
from ....kernel_code.elements.order import float_key, place_of, with_place
from ....kernel_code.loop_builder import INDEX, Index, memref_type, strides_of, vector_of
from ....kernel_code.reductions import Reduction
from ...kernel_instance import KernelInstance

_WORD = 64  # scores that are compared with the threshold at once: the bits of an integer
_NONE = -(1 << 63)  # less than any candidate


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    op = suppression_of(k.kernel)
    if op is None:
        _list(k, the_root(k.kernel, ChosenRowsOp))
    else:
        batch, classes, _ = shape_of(op.chosen)
        parts = {name: k.scratch_part(name) for name in ("keys", "numbers", "best", "corners")}
        k.items(batch * classes, _Rows(k, op, parts).suppress)


@dataclass(frozen=True)
class _Rows:
    """The code of one batch and class."""

    k: KernelInstance
    op: NonMaxSuppressionOp
    part: Mapping[str, SSAValue]
    """Scratch by name."""

    @property
    def boxes(self) -> int:
        """How many there are."""
        return shape_of(self.op.scores)[2]

    @cached_property
    def schedule(self) -> Suppression:
        """The options."""
        return self.k.schedule_as(Suppression)

    def limit(self, operand: SSAValue) -> SSAValue:
        """A scalar operand."""
        return self.k.b.load(self.k.argument(operand), [])

    def suppress(self, item: Index) -> None:
        """Finds the boxes of a batch and class."""
        b, (_, classes, rows) = self.k.b, shape_of(self.op.chosen)
        entry, kind = b.div(item, classes), b.rem(item, classes)
        scores, boxes = self.k.argument(self.op.scores), self.k.argument(self.op.boxes)
        steps, places = (strides_of(memref_type(each)) for each in (scores, boxes))
        row = b.view(scores, b.linear([entry, kind], steps[:2]), [self.boxes], [1])
        corners = b.view(boxes, b.mul(entry, places[0]), [self.boxes, 4], places[1:])
        chosen = self.k.result_of(self.op.chosen)
        chosen = None if chosen is None else b.view(chosen, b.mul(item, rows), [rows], [1])
        blocks = self.order(self.gather(row))
        most = b.min(b.insert(IndexCastOp(self.limit(self.op.most), INDEX)), rows)
        taken = self.choose(corners, chosen, blocks, most)
        if chosen is not None:
            clear_from(b, chosen, taken, rows)
        counts = self.k.result_of(self.op.counts)
        if counts is not None:
            b.store(b.insert(IndexCastOp(taken, i64)), b.view(counts, item, [1], [1]), [0])

    def gather(self, scores: SSAValue) -> SSAValue:
        """Writes the candidates in the order of their boxes; returns how many there are."""
        b = self.k.b
        least = None if self.op.least is None else b.splat(self.limit(self.op.least), _WORD)

        def take(first: Index, valid: Index, found: SSAValue) -> SSAValue:
            m = Arithmetic(b, vector_of(f32, _WORD))
            numbers = b.vload(scores, [first], _WORD, valid)
            marks = m.compare("eq", numbers, numbers) if least is None else m.compare("gt", numbers, least)
            if valid != _WORD:
                marks = b.conjunction(marks, b.mask(_WORD, valid))
            word = b.insert(vector.ExtractOp(b.insert(vector.BitcastOp(marks, vector_of(i64, 1))), [0], i64))
            return self.append(scores, first, word, found)

        whole = self.boxes // _WORD * _WORD
        found = b.loop(
            0, whole, lambda i, found: [take(i, _WORD, found[0])], step=_WORD, carried=[b.index(0)], unrolled=False
        )[0]
        rest = self.boxes - whole
        return found if rest == 0 else take(whole, rest, found)

    def append(self, scores: SSAValue, first: Index, word: SSAValue, found: SSAValue) -> SSAValue:
        """Writes the boxes from `first` on whose bits are set; returns how many candidates there are then."""
        b, m = self.k.b, Arithmetic(self.k.b, i64)

        def one(carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            left, at = carried
            bit = b.insert(IndexCastOp(b.insert(math.CountTrailingZerosOp(left)), INDEX))
            box = b.add(first, bit)
            place = b.insert(IndexCastOp(at, i64))
            b.store(with_place(b, float_key(b, b.load(scores, [box])), place), self.part["keys"], [at])
            number = b.insert(TruncIOp(b.insert(IndexCastOp(b.index(box), i64)), i32))
            b.store(number, self.part["numbers"], [at])
            return [m.binary("and", left, m.sub(left, m.constant(1))), b.index(b.add(at, 1))]

        return b.loop_while([word, found], lambda left: (m.compare("ne", left[0], m.constant(0)), left), one)[1]

    def order(self, found: SSAValue) -> SSAValue:
        """Writes the best candidate of each block; returns how many blocks there are."""
        b, lanes, block = self.k.b, self.schedule.vector, self.schedule.block
        blocks = b.index(b.div(b.add(found, block - 1), block))
        none = b.constant(_NONE, vector_of(i64, lanes))
        b.loop(found, b.mul(blocks, block), lambda i, _: b.vstore(none, self.part["keys"], [i]), step=lanes)
        b.vstore(none, self.part["best"], [blocks])
        b.loop(0, blocks, lambda i, _: b.store(self.largest("keys", b.mul(i, block), block), self.part["best"], [i]))
        return blocks

    def largest(self, part: str, first: Index, count: Index, below: SSAValue | None = None) -> SSAValue:
        """The largest of the candidates from `first` on, of those that are smaller than `below`."""
        b, lanes = self.k.b, self.schedule.vector
        reduction, m = Reduction(b, "max", i64), Arithmetic(b, vector_of(i64, lanes))
        limit = None if below is None else b.splat(below, lanes)

        def step(i: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            keys = b.vload(self.part[part], [b.add(first, i)], lanes)
            if limit is not None:
                keys = m.select(m.compare("lt", keys, limit), keys, m.constant(_NONE))
            return [reduction.combine(carried[0], keys)]

        return reduction.across(b.loop(0, count, step, step=lanes, carried=[m.constant(_NONE)])[0])

    def choose(self, boxes: SSAValue, chosen: SSAValue | None, blocks: SSAValue, most: Index) -> SSAValue:
        """Writes the chosen boxes; returns how many there are."""
        b, m, threshold = self.k.b, Arithmetic(self.k.b, i64), self.limit(self.op.overlap)

        def goes_on(carried: Sequence[SSAValue]) -> tuple[SSAValue, Sequence[SSAValue]]:
            taken, candidate = carried
            some = m.compare("ne", candidate, m.constant(_NONE))
            return b.conjunction(some, b.compare("slt", taken, most)), carried

        def turn(carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            taken, candidate = carried
            place = b.insert(IndexCastOp(place_of(b, candidate), INDEX))
            own = b.div(place, self.schedule.block)
            following = self.largest("keys", b.mul(own, self.schedule.block), self.schedule.block, candidate)
            b.store(following, self.part["best"], [own])
            number = b.insert(ExtUIOp(b.load(self.part["numbers"], [place]), i64))
            at = b.insert(IndexCastOp(number, INDEX))
            given = [b.load(boxes, [at, i]) for i in range(4)]
            box = Box.of(b, given, centered=self.op.centered is not None)

            def take() -> Sequence[SSAValue]:
                if chosen is not None:
                    b.store(number, chosen, [taken])
                self.keep(box, taken)
                return [b.index(b.add(taken, 1))]

            after = b.when(self.is_free(box, taken, threshold), take, lambda: [taken])
            return [*after, self.largest("best", 0, blocks)]

        start = [b.index(0), self.largest("best", 0, blocks)]
        return b.loop_while(start, goes_on, turn)[0]

    @property
    def at_once(self) -> int:
        """Chosen boxes that are compared with a candidate at once."""
        return 2 * self.schedule.vector

    def keep(self, box: Box, taken: SSAValue) -> None:
        """Adds a chosen box to those that candidates are compared with; the first of a vector clears the others."""
        b, corners = self.k.b, self.part["corners"]

        def clear() -> None:
            for number, value in enumerate((inf, inf, -inf, -inf, 0.0)):  # overlaps none
                b.vstore(b.constant(value, vector_of(f32, self.at_once)), corners, [number, taken])

        b.when(b.compare("eq", b.index(b.rem(taken, self.at_once)), 0), clear)
        for number, value in enumerate(box.numbers):
            b.store(value, corners, [number, taken])

    def is_free(self, box: Box, taken: SSAValue, threshold: SSAValue) -> SSAValue:
        """i1: whether a box overlaps none of those chosen."""
        b, lanes = self.k.b, self.at_once
        own = Box.from_numbers([b.splat(each, lanes) for each in box.numbers])
        limit = b.splat(threshold, lanes)

        def goes_on(carried: Sequence[SSAValue]) -> tuple[SSAValue, Sequence[SSAValue]]:
            at, free = carried
            return b.conjunction(free, b.compare("slt", at, taken)), carried

        def some(carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            at, _ = carried
            other = Box.from_numbers([b.vload(self.part["corners"], [i, at], lanes) for i in range(CORNERS)])
            hit = b.insert(ReductionOp(overlap(b, other, own, limit), "or"))
            return [b.index(b.add(at, lanes)), b.insert(arith.XOrIOp(hit, b.constant(1, i1)))]

        return b.loop_while([b.index(0), b.constant(1, i1)], goes_on, some)[1]


def _list(k: KernelInstance, op: ChosenRowsOp) -> None:
    """Lists what was chosen: a share begins behind the rows of those before it; the last one ends the list."""
    b, (batch, classes, rows) = k.b, shape_of(op.chosen)
    items, size = batch * classes, batch * classes * rows
    chosen = b.view(k.argument(op.chosen), 0, [max(size, 1)], [1])
    counts = b.view(k.argument(op.counts), 0, [max(items, 1)], [1])
    listed, total = k.result_of(op.result), k.result_of(op.total)

    def count(item: Index) -> SSAValue:
        return b.insert(IndexCastOp(b.load(counts, [item]), INDEX))

    def write(listed: SSAValue, item: Index, start: SSAValue, number: SSAValue) -> None:
        places = [b.insert(IndexCastOp(b.index(each), i64)) for each in (b.div(item, classes), b.rem(item, classes))]

        def row(n: Index, _: Sequence[SSAValue]) -> None:
            for column, value in enumerate((*places, b.load(chosen, [b.add(b.mul(item, rows), n)]))):
                b.store(value, listed, [b.add(start, n), column])

        b.loop(0, number, row)

    def one(item: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        number = count(item)
        if listed is not None:
            write(listed, item, carried[0], number)
        return [b.index(b.add(carried[0], number))]

    def end(total: SSAValue | None, length: SSAValue) -> None:
        if total is not None:
            b.store(b.insert(IndexCastOp(length, i64)), total, [])
        if listed is not None:
            clear_from(b, b.view(listed, 0, [max(3 * size, 1)], [1]), b.mul(length, 3), 3 * size)

    low, high = k.part(items)
    before = b.loop(0, low, lambda item, sum: [b.index(b.add(sum[0], count(item)))], carried=[b.index(0)])
    (length,) = b.loop(low, high, one, carried=before)
    b.when(b.compare("eq", b.add(k.thread, 1), k.threads), partial(end, total, length))
