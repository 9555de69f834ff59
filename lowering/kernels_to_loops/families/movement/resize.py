"""Resizes of pictures whose rows lie along the innermost axis: rows along their length, then sums of rows.

    positions and weights of all elements along both axes, once
    for each item of this thread's share:         item = (some pictures), or (a picture, band of its result's rows)
        for each register of rows of x:
            transpose them in registers: a vector is then a column of the rows
            resampled = weighted sums of columns, transposed back
        for each row of the result: weighted sums of resampled rows

Rows of x beyond those that an item needs are its last one again, in scratch that is in whole registers of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import SSAValue

from .....dialects.extensions.arith import IndexCastOp
from .....dialects.graph.ops.resize import ResizeOp
from .....dialects.graph.values import element_type_of_value, shape_of
from .....dialects.sizes.sizes import is_fixed
from .....passes.kernels.kernel_facts import the_root
from .....passes.kernels.schedules.cpu.resize import Resize
from ....kernel_code.arithmetic import convert, lanes_of, loaded, stored
from ....kernel_code.elements.element_values import Values
from ....kernel_code.elements.resize_rule import each_neighbour
from ....kernel_code.index_expr import Expr, Var
from ....kernel_code.loop_builder import INDEX, Index
from ....kernel_code.register_transposes import transposed
from ...kernel_instance import KernelInstance
from .vector_cover import cover

_WRITTEN_OUT = 4  # neighbours whose sums are written out: those of a cubic
_REGISTERS = 4  # of sums of rows at a time, which hide the latency of additions


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    _Pictures(k).write()


class _Pictures:
    """The code of one kernel."""

    def __init__(self, k: KernelInstance) -> None:
        self.k, self.b, self.how = k, k.b, k.schedule_as(Resize)
        self.op = op = the_root(k.kernel, ResizeOp)
        self.element, self.lanes = element_type_of_value(op.x), self.how.lanes
        (*outer, self.height, self.width), (self.new_height, self.new_width) = shape_of(op.x), shape_of(op.result)[-2:]
        self.pictures = prod(outer)
        self.x = self.b.view(k.operands[0], 0, [self.pictures * self.height, self.width], [self.width, 1])
        out = self.pictures * self.new_height, self.new_width
        self.out = self.b.view(k.results[0], 0, out, [self.new_width, 1])
        self.columns, self.resampled = k.scratch_part("columns"), k.scratch_part("resampled")
        axis = len(outer) + 1
        self.along = _Neighbours(k, op, axis, "along", self.lanes)
        self.across = _Neighbours(k, op, axis - 1, "across", 1)

    def write(self) -> None:
        """All items."""
        b, how = self.b, self.how
        bands = -(-self.new_height // how.band)

        def item(i: Index) -> None:
            group, band = b.delinearize(i, [-(-self.pictures // how.planes), bands])
            picture = b.mul(group, how.planes)
            count = b.min(b.sub(self.pictures, picture), how.planes)
            low = b.mul(band, how.band)
            high = b.min(b.add(low, how.band), self.new_height)
            if how.planes > 1:
                first, last = 0, b.sub(b.mul(count, self.height), 1)
            else:
                first = self.across.place(low, 0)
                last = self.across.place(b.sub(high, 1), self.across.count - 1)
            start = b.mul(picture, self.height)
            self._resample(b.add(start, first), b.add(start, last))

            def rows(p: Index, _: Sequence[SSAValue]) -> None:
                start, into = b.sub(b.mul(p, self.height), first), b.mul(b.add(picture, p), self.new_height)
                b.loop(low, high, lambda y, _: self._sum_rows(y, start, b.add(into, y)))

            b.loop(0, count, rows)

        self.k.items(-(-self.pictures // how.planes) * bands, item)

    def _resample(self, first: Index, last: Index) -> None:
        """Rows [first, last] of x, resampled along their length, into scratch."""
        b, lanes = self.b, self.lanes

        def register(r: Index, _: Sequence[SSAValue]) -> None:
            rows = [b.min(b.add(b.add(first, r), lane), last) for lane in range(lanes)]

            def columns(at: Index, valid: Index) -> None:
                vectors = [
                    convert(b, loaded(b, b.vload(self.x, [row, at], lanes, valid)), self.element, f32) for row in rows
                ]
                for offset, column in enumerate(transposed(b, vectors)):
                    b.vstore(column, self.columns, [b.add(at, offset), 0])

            cover(b, self.width, lanes, columns)

            def results(j: Index, _: Sequence[SSAValue]) -> None:
                sums = self.along.sums(
                    [b.add(j, lane) for lane in range(lanes)], lambda place: b.vload(self.columns, [place, 0], lanes)
                )
                for lane, row in enumerate(transposed(b, sums)):
                    b.vstore(row, self.resampled, [b.add(r, lane), j])

            b.loop(0, -(-self.new_width // lanes) * lanes, results, step=lanes)

        b.loop(0, b.add(b.sub(last, first), 1), register, step=lanes)

    def _sum_rows(self, y: Index, start: Index, into: Index) -> None:
        """Row `into` of the result, element y along its column; resampled rows of its picture begin at `start`."""
        b = self.b
        known = self.across.known(y) if self.across.count <= _WRITTEN_OUT else None

        def some(lanes: int) -> Callable[[Index, Index], None]:
            def run(j: Index, valid: Index) -> None:
                (total,) = self.across.sums(
                    [y], lambda place: b.vload(self.resampled, [b.add(start, place), j], lanes), known
                )
                b.vstore(stored(b, convert(b, total, f32, self.element), self.element), self.out, [into, j], valid)

            return run

        wide = self.lanes * _REGISTERS
        whole = self.new_width // wide * wide
        b.loop(0, whole, lambda j, _: some(wide)(j, wide), step=wide)
        if not is_fixed(whole) or whole < self.new_width:
            cover(b, self.new_width, self.lanes, some(self.lanes), whole)


class _Neighbours:
    """Places and weights of the neighbours of all elements along an axis, in scratch."""

    def __init__(self, k: KernelInstance, op: ResizeOp, axis: int, name: str, multiple: int) -> None:
        """Elements beyond the last one, up to a `multiple` of them, are the last one again."""
        self.b = b = k.b
        self.count, self.weighted = op.neighbours(axis), False
        self.places, self.weights = k.scratch_part(f"places_{name}"), k.scratch_part(f"weights_{name}")
        new = shape_of(op.result)[axis]
        values = Values(b, k.kernel, k.operands)

        def element(i: Index, _: Sequence[SSAValue]) -> None:
            at = i if multiple == 1 else b.min(i, new - 1)

            def use(number: Index, place: Index, weight: SSAValue | None) -> None:
                b.store(b.insert(IndexCastOp(b.index(place), i64)), self.places, [i, number])
                if weight is not None:
                    self.weighted = True
                    b.store(convert(b, weight, f64, f32), self.weights, [i, number])

            with values.scope():
                each_neighbour(
                    values, op, axis, Expr.of(at) if isinstance(at, int) else Expr.of(Var(at, 0, new - 1)), use
                )

        b.loop(0, -(-new // multiple) * multiple, element)

    def place(self, i: Index, number: Index) -> Index:
        """The place of a neighbour of element i."""
        return self.b.insert(IndexCastOp(self.b.load(self.places, [i, number]), INDEX))

    def _weight(self, i: Index, number: Index) -> SSAValue:
        return self.b.load(self.weights, [i, number])

    def known(self, i: Index) -> list[tuple[Index, SSAValue | None]]:
        """The place and the weight of each neighbour of element i."""
        return [(self.place(i, n), self._weight(i, n) if self.weighted else None) for n in range(self.count)]

    def sums(
        self,
        elements: Sequence[Index],
        at: Callable[[Index], SSAValue],
        known: Sequence[tuple[Index, SSAValue | None]] | None = None,
    ) -> list[SSAValue]:
        """The weighted sum of at(place) over the neighbours of each element; `known` are those of the only one."""
        b = self.b

        def part(place: Index, weight: SSAValue | None, total: SSAValue | None) -> SSAValue:
            value = at(place)
            if weight is None:
                return value
            factor = b.splat(weight, lanes_of(value))
            return b.insert(arith.MulfOp(value, factor)) if total is None else b.fma(value, factor, total)

        if self.count <= _WRITTEN_OUT:
            totals: list[SSAValue] = []
            for i in elements:
                total = None
                for place, weight in known or self.known(i):
                    total = part(place, weight, total)
                assert total is not None
                totals.append(total)
            return totals

        def add(number: Index, totals: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [
                part(self.place(i, number), self._weight(i, number), total)
                for i, total in zip(elements, totals, strict=True)
            ]

        kind = at(self.place(elements[0], 0)).type
        return list(b.loop(0, self.count, add, carried=[b.constant(0.0, kind) for _ in elements], unrolled=False))
