"""Pools of channels-first pictures, a register of pictures at a time.

    where pixels go in scratch, where windows begin, and the divisors of means, once; pads
    for each register of pictures in this thread's share:
        for each register of pixels: transpose them into scratch, where a vector is a pixel of all pictures
        for each register of windows: the largest or the sum of their vectors, transposed back

Pictures beyond the last one are the last one again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType, f32, i64
from xdsl.ir import SSAValue

from .....dialects.extensions.arith import IndexCastOp
from .....dialects.graph.ops.windows import AvgPoolOp
from .....dialects.graph.values import element_type_of_value, ints, shape_of
from .....passes.geometry.boxes import row_major
from .....passes.kernels.schedules.cpu.pool import Pool, lone_pool, padded_shape
from ....kernel_code.arithmetic import convert, loaded, stored
from ....kernel_code.loop_builder import INDEX, Index
from ....kernel_code.reductions import Reduction
from ....kernel_code.register_transposes import transposed
from ...kernel_instance import KernelInstance
from .vector_cover import cover

_WRITTEN_OUT = 16  # taps whose code is written out


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    _Pictures(k).write()


class _Pictures:
    """The code of one kernel."""

    def __init__(self, k: KernelInstance) -> None:
        self.k, self.b, self.lanes = k, k.b, k.schedule_as(Pool).lanes
        op = lone_pool(k.kernel)
        assert op is not None
        self.op, self.element = op, element_type_of_value(op.x)
        self.count = prod(shape_of(op.x)[:2])
        self.sizes, self.results = shape_of(op.x)[2:], shape_of(op.result)[2:]
        self.before, self.after = ints(op.pads)[: len(self.sizes)], ints(op.pads)[len(self.sizes) :]
        self.padded = padded_shape(op)
        self.x, self.out = (
            self.b.view(buffer, 0, [self.count, prod(sizes)], [prod(sizes), 1])
            for buffer, sizes in ((k.operands[0], self.sizes), (k.results[0], self.results))
        )
        self.pictures, self.pixels, self.windows = map(k.scratch_part, ("pictures", "pixels", "windows"))
        self.vector = VectorType(f32, [self.lanes])
        self.reduction = Reduction(self.b, "sum" if isinstance(op, AvgPoolOp) else "max", f32)

    def write(self) -> None:
        """All pictures."""
        b, strides = self.b, row_major(self.padded)
        steps = [stride * by for stride, by in zip(strides, ints(self.op.strides), strict=True)]
        self._number(self.pixels, self.sizes, strides, b.linear(self.before, strides))
        self._number(self.windows, self.results, steps, 0)
        divisor = self._divisors() if isinstance(self.op, AvgPoolOp) else None
        if prod(self.padded) > prod(self.sizes):
            neutral = self.reduction.start(self.vector)
            b.loop(0, prod(self.padded), lambda i, _: b.vstore(neutral, self.pictures, [i, 0]))

        def register(group: Index) -> None:
            first = b.mul(group, self.lanes)
            rows = [b.min(b.add(first, lane), b.sub(self.count, 1)) for lane in range(self.lanes)]
            cover(b, prod(self.sizes), self.lanes, lambda at, valid: self._take(rows, at, valid))
            cover(b, prod(self.results), self.lanes, lambda at, valid: self._give(rows, at, valid, divisor))

        self.k.items(-(-self.count // self.lanes), register)

    def _number(self, table: SSAValue, sizes: Sequence[int], steps: Sequence[int], start: Index) -> None:
        """Fills a table with the places of elements of a box in a padded picture."""
        b = self.b

        def element(i: Index, _: Sequence[SSAValue]) -> None:
            place = b.add(start, b.linear(b.delinearize(i, sizes), steps))
            b.store(b.insert(IndexCastOp(b.index(place), i64)), table, [i])

        b.loop(0, prod(sizes), element)

    def _at(self, table: SSAValue, i: Index) -> Index:
        return self.b.insert(IndexCastOp(self.b.load(table, [i]), INDEX))

    def _take(self, rows: Sequence[Index], at: Index, valid: int) -> None:
        """Brings `valid` pixels of pictures into scratch."""
        b = self.b
        vectors = [
            convert(b, loaded(b, b.vload(self.x, [row, at], self.lanes, valid)), self.element, f32) for row in rows
        ]
        for offset, pixel in enumerate(transposed(b, vectors)[:valid]):
            b.vstore(pixel, self.pictures, [self._at(self.pixels, b.add(at, offset)), 0])

    def _give(self, rows: Sequence[Index], at: Index, valid: int, divisor: Callable[[Index], SSAValue] | None) -> None:
        """Computes `valid` elements of the results of pictures."""
        b = self.b
        windows = [b.add(at, min(lane, valid - 1)) for lane in range(self.lanes)]
        pooled = self._reduced([self._at(self.windows, i) for i in windows])
        if divisor is not None:
            pooled = [
                b.insert(arith.DivfOp(total, b.splat(divisor(i), self.lanes)))
                for i, total in zip(windows, pooled, strict=True)
            ]
        for row, vector in zip(rows, transposed(b, pooled), strict=True):
            b.vstore(stored(b, convert(b, vector, f32, self.element), self.element), self.out, [row, at], valid)

    def _reduced(self, starts: Sequence[Index]) -> Sequence[SSAValue]:
        """What the windows that begin at some places hold, tap by tap: no sum waits for another."""
        b = self.b
        steps = [s * d for s, d in zip(row_major(self.padded), ints(self.op.dilations), strict=True)]
        *outer, last = ints(self.op.kernel)

        def add(offset: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            vectors = [b.vload(self.pictures, [b.add(start, offset), 0], self.lanes) for start in starts]
            return [self.reduction.combine(*each) for each in zip(totals, vectors, strict=True)]

        totals: Sequence[SSAValue] = [self.reduction.start(self.vector) for _ in starts]
        if prod(outer) * last <= _WRITTEN_OUT:
            for tap in product(*map(range, (*outer, last))):
                totals = add(b.linear(tap, steps), totals)
            return totals

        def line(number: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            there = b.linear(b.delinearize(number, outer), steps[:-1])
            return b.loop(0, last, lambda tap, sums: add(b.add(there, b.mul(tap, steps[-1])), sums), carried=carried)

        return b.loop(0, prod(outer), line, carried=totals)

    def _divisors(self) -> Callable[[Index], SSAValue]:
        """The number of taps that count, by element of the results."""
        b, op, table = self.b, self.op, self.k.scratch_part("divisors")
        assert isinstance(op, AvgPoolOp)
        counts_pads = op.count_include_pad is not None

        def taps(axis: int, i: Index) -> Index:
            stride, dilation, most = (ints(each)[axis] for each in (op.strides, op.dilations, op.kernel))

            def before(border: int) -> Index:
                """How many taps lie before a border."""
                distance = b.max(b.sub(border + self.before[axis], b.mul(i, stride)), 0)
                return b.min(b.div(b.add(distance, dilation - 1), dilation), most)

            end = self.sizes[axis] + (self.after[axis] if counts_pads else 0)
            return before(end) if counts_pads else b.sub(before(end), before(0))

        def element(i: Index, _: Sequence[SSAValue]) -> None:
            index = b.delinearize(i, self.results)
            count = b.product([taps(axis, each) for axis, each in enumerate(index)])
            b.store(convert(b, b.insert(IndexCastOp(b.index(count), i64)), i64, f32), table, [i])

        b.loop(0, prod(self.results), element)
        return lambda i: b.load(table, [i])
