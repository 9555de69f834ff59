"""TopK by a heap of element indices, kept in the result's memory.

    for each row in this thread's share:
        heap = the first `count` indices           the last in order at its top
        for each further element, several at a time:
            if it precedes the top: it replaces the top
        heap sort: the top goes to the end of the remaining heap, repeatedly

A row of n elements takes O(n) time, in the worst order O(n log(count)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from .....dialects.extensions.arith import IndexCastOp
from .....dialects.graph.ops.selection import TopKOp
from .....dialects.graph.values import shape_of
from .....dialects.sizes.sizes import bounds_of
from .....passes.kernels.kernel_facts import the_root
from ....kernel_code.elements.element_values import Values
from ....kernel_code.elements.order import Ranked, RowOrder
from ....kernel_code.index_expr import Expr, Var, delinearize, linear
from ....kernel_code.loop_builder import INDEX, Index, LoopBuilder
from ...kernel_instance import KernelInstance


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    op = the_root(k.kernel, TopKOp)
    v, shape, axis = Values(k.b, k.kernel, k.operands), shape_of(op.result), op.axis.value.data
    if 0 in shape:
        return
    out, others = v.line(k.results[0]), [*shape[:axis], *shape[axis + 1 :]]
    total = prod(others)

    def row(item: Index) -> None:
        with v.scope():
            at = item if isinstance(item, int) else Var(item, 0, total - 1)
            index = delinearize(Expr.of(at), others)
            first = linear([*index[:axis], Expr(), *index[axis:]], out.strides)
            heap = _Heap(k.b, RowOrder(v, op, index), out.line, v.number(first), out.strides[axis], shape[axis])
            heap.fill()
            heap.sort()

    k.items(total, row)


AT_ONCE = 16
"""Elements compared with the top at once: a few registers."""


@dataclass(frozen=True)
class _Heap:
    """A heap of element indices: `count` from `first` on, `step` apart. No child comes after its parent in order."""

    b: LoopBuilder
    order: RowOrder
    places: SSAValue
    first: Index
    step: int
    count: int

    def fill(self) -> None:
        """Builds the heap of the first `count` elements in order."""
        b, count = self.b, self.count
        b.loop(0, count, lambda i, _: self._put(i, i))
        inner = count // 2

        def settle(i: Index, _: Sequence[SSAValue]) -> None:
            at = b.sub(inner - 1, i)
            self._sift(at, count, self._entry(at))

        b.loop(0, inner, settle)

        def look(place: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            (last,) = carried
            found = self.order.element(place)

            def enter() -> Sequence[SSAValue]:
                self._sift(0, count, found)
                return [self._entry(0).number]

            return b.when(self.order.is_ahead(found.number, last), enter, lambda: [last])

        def look_at_some(start: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            """Most vectors have no element that precedes the top: one comparison tests all lanes."""
            found = [self.order.element(b.add(start, i)).number for i in range(AT_ONCE)]
            ahead = [self.order.is_ahead(number, carried[0]) for number in found]
            some = reduce(lambda one, other: b.make(arith.OrIOp, one, other), ahead)
            return b.when(
                some, lambda: b.loop(start, b.add(start, AT_ONCE), look, carried=carried), lambda: list(carried)
            )

        whole = count + (self.order.size - count) // AT_ONCE * AT_ONCE
        carried = b.loop(count, whole, look_at_some, step=AT_ONCE, carried=[self._entry(0).number])
        b.loop(whole, self.order.size, look, carried=carried)

    def sort(self) -> None:
        """Sorts the heap, the first element first."""

        def take(i: Index, _: Sequence[SSAValue]) -> None:
            end = self.b.sub(self.count - 1, i)
            moved = self._entry(end)
            self._put(end, self._place(0))
            self._sift(0, end, moved)

        self.b.loop(0, self.count - 1, take)

    def _sift(self, at: Index, size: Index, item: Ranked) -> None:
        """Inserts an element into a heap of `size`, at `at` or below: children that come after it rise."""
        b = self.b

        def level(_: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            hole, left = carried

            def compare() -> Sequence[SSAValue]:
                right = b.min(b.add(left, 1), b.sub(size, 1))
                below, beside = self._entry(left), self._entry(right)
                other = self.order.comes_first(below, beside)
                number = b.select(other, beside.number, below.number)
                place = b.select(other, b.index(beside.place), b.index(below.place))
                child = b.select(other, b.index(right), left)

                def rise() -> Sequence[SSAValue]:
                    self._put(hole, place)
                    return [child, b.index(b.add(b.mul(child, 2), 1))]

                later = self.order.comes_first(item, Ranked(number, place))
                return b.when(later, rise, lambda: [hole, b.index(size)])

            return b.when(b.compare("slt", left, size), compare, lambda: [hole, left])

        start = [b.index(at), b.index(b.add(b.mul(at, 2), 1))]
        levels = bounds_of(self.count)[1].bit_length() - 1  # lanes beyond the last element do nothing
        self._put(b.loop(0, levels, level, carried=start)[0], item.place)

    def _entry(self, i: Index) -> Ranked:
        return self.order.element(self._place(i))

    def _place(self, i: Index) -> SSAValue:
        return self.b.insert(IndexCastOp(self.b.load(self.places, [self._at(i)]), INDEX))

    def _put(self, i: Index, place: Index) -> None:
        self.b.store(self.b.insert(IndexCastOp(self.b.index(place), i64)), self.places, [self._at(i)])

    def _at(self, i: Index) -> Index:
        return self.b.add(self.first, self.b.mul(i, self.step))
