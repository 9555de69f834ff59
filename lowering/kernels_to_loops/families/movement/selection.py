"""TopK by a heap of elements, kept in the result's memory.

    for each row in this thread's share:
        heap = the first `count` elements          the last in order at its top
        for each further element, several at a time:
            if it precedes the top: it replaces the top
        heap sort: the top goes to the end of the remaining heap, repeatedly

A row of n elements takes O(n) time, in the worst order O(n log(count)). An element of up to 32 bits is one integer in
the heap, its bits in an order-preserving form above those of its index, which remain in the end. Of wider elements the
heap has the indices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Generic, TypeVar

from typing_extensions import override
from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from .....dialects.extensions.arith import IndexCastOp
from .....dialects.graph.ops.selection import TopKOp
from .....dialects.graph.values import element_type_of_value, shape_of
from .....dialects.sizes.sizes import bounds_of
from .....passes.kernels.kernel_facts import the_root
from ....kernel_code.arithmetic import Arithmetic, bits_of, convert, is_integer, is_unsigned, wide_float
from ....kernel_code.elements.element_values import Values
from ....kernel_code.elements.order import Ranked, RowOrder, float_key, place_of, with_place
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
            kind = _NumberHeap if _fits_beside_index(op) else _IndexHeap
            heap = kind(k.b, RowOrder(v, op, index), out.line, v.number(first), out.strides[axis], shape[axis])
            heap.fill()
            heap.sort()
            heap.finish()

    k.items(total, row)


AT_ONCE = 16
"""Elements compared with the top at once: a few registers."""


def _fits_beside_index(op: TopKOp) -> bool:
    """Whether an element and its index fit 64 bits."""
    element = element_type_of_value(op.x)
    return bits_of(wide_float(element)) <= 32 and bounds_of(shape_of(op.x)[op.axis.value.data])[1] < 1 << 32


ItemT = TypeVar("ItemT")


@dataclass(frozen=True)
class _Heap(ABC, Generic[ItemT]):
    """A heap of `count` elements from `first` on, `step` apart. No child comes after its parent in order."""

    b: LoopBuilder
    order: RowOrder
    memory: SSAValue
    first: Index
    step: int
    count: int

    @abstractmethod
    def _item(self, element: Ranked) -> ItemT:
        """What the heap has of an element."""

    @abstractmethod
    def _load(self, at: Index) -> ItemT: ...

    @abstractmethod
    def _store(self, at: Index, item: ItemT) -> None: ...

    @abstractmethod
    def _number(self, item: ItemT) -> SSAValue:
        """The element's value."""

    @abstractmethod
    def _precedes(self, one: ItemT, other: ItemT) -> SSAValue:
        """i1: whether one item precedes the other in order."""

    @abstractmethod
    def _select(self, condition: SSAValue, one: ItemT, other: ItemT) -> ItemT: ...

    @abstractmethod
    def finish(self) -> None:
        """Leaves the indices of the heap's elements."""

    def fill(self) -> None:
        """Builds the heap of the first `count` elements in order."""
        b, count = self.b, self.count
        b.loop(0, count, lambda i, _: self._store(i, self._item(self.order.element(i))))
        inner = count // 2

        def settle(i: Index, _: Sequence[SSAValue]) -> None:
            at = b.sub(inner - 1, i)
            self._sift(at, count, self._load(at))

        b.loop(0, inner, settle)

        def look(place: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            (last,) = carried
            found = self.order.element(place)

            def enter() -> Sequence[SSAValue]:
                self._sift(0, count, self._item(found))
                return [self._number(self._load(0))]

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
        top = self._number(self._load(0))
        carried = b.loop(count, whole, look_at_some, step=AT_ONCE, carried=[top])
        b.loop(whole, self.order.size, look, carried=carried)

    def sort(self) -> None:
        """Sorts the heap, the first element first."""

        def take(i: Index, _: Sequence[SSAValue]) -> None:
            end = self.b.sub(self.count - 1, i)
            moved = self._load(end)
            self._store(end, self._load(0))
            self._sift(0, end, moved)

        self.b.loop(0, self.count - 1, take)

    def _sift(self, at: Index, size: Index, item: ItemT) -> None:
        """Inserts an element into a heap of `size`, at `at` or below: children that come after it rise."""
        b = self.b

        def level(_: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            hole, left = carried

            def compare() -> Sequence[SSAValue]:
                right = b.min(b.add(left, 1), b.sub(size, 1))
                below, beside = self._load(left), self._load(right)
                other = self._precedes(below, beside)
                later = self._select(other, beside, below)
                child = b.select(other, b.index(right), left)

                def rise() -> Sequence[SSAValue]:
                    self._store(hole, later)
                    return [child, b.index(b.add(b.mul(child, 2), 1))]

                return b.when(self._precedes(item, later), rise, lambda: [hole, b.index(size)])

            return b.when(b.compare("slt", left, size), compare, lambda: [hole, left])

        start = [b.index(at), b.index(b.add(b.mul(at, 2), 1))]
        levels = bounds_of(self.count)[1].bit_length() - 1  # lanes beyond the last element do nothing
        self._store(b.loop(0, levels, level, carried=start)[0], item)

    def _at(self, i: Index) -> Index:
        return self.b.add(self.first, self.b.mul(i, self.step))


class _IndexHeap(_Heap[Ranked]):
    """Elements by their indices."""

    @override
    def _item(self, element: Ranked) -> Ranked:
        return element

    @override
    def _load(self, at: Index) -> Ranked:
        place = self.b.load(self.memory, [self._at(at)])
        return self.order.element(self.b.insert(IndexCastOp(place, INDEX)))

    @override
    def _store(self, at: Index, item: Ranked) -> None:
        place = self.b.insert(IndexCastOp(self.b.index(item.place), i64))
        self.b.store(place, self.memory, [self._at(at)])

    @override
    def _number(self, item: Ranked) -> SSAValue:
        return item.number

    @override
    def _precedes(self, one: Ranked, other: Ranked) -> SSAValue:
        return self.order.comes_first(one, other)

    @override
    def _select(self, condition: SSAValue, one: Ranked, other: Ranked) -> Ranked:
        b = self.b
        number = b.select(condition, one.number, other.number)
        return Ranked(number, b.select(condition, b.index(one.place), b.index(other.place)))

    @override
    def finish(self) -> None:
        pass


class _NumberHeap(_Heap[SSAValue]):
    """Elements as integers of 64 bits, the larger one first: a key above the index, which counts down."""

    @override
    def _item(self, element: Ranked) -> SSAValue:
        place = self.b.insert(IndexCastOp(self.b.index(element.place), i64))
        return with_place(self.b, self._key(element.number), place)

    @property
    def _long(self) -> Arithmetic:
        return Arithmetic(self.b, i64)

    def _key(self, number: SSAValue) -> SSAValue:
        """An integer of 32 bits, in 64, that is larger if the element comes first; equal elements have equal ones."""
        b, element = self.b, wide_float(element_type_of_value(self.order.op.x))
        if is_integer(element):
            key = convert(b, number, element, i64)
            key = (
                self._long.sub(key, self._long.constant(1 << 31))
                if bits_of(element) == 32 and is_unsigned(element)
                else key
            )
        else:
            key = float_key(b, number)
        return self._long.binary("xor", key, self._long.constant(-1)) if self.order.op.smallest is not None else key

    @override
    def _load(self, at: Index) -> SSAValue:
        return self.b.load(self.memory, [self._at(at)])

    @override
    def _store(self, at: Index, item: SSAValue) -> None:
        self.b.store(item, self.memory, [self._at(at)])

    @override
    def _number(self, item: SSAValue) -> SSAValue:
        return self.order.element(self.b.insert(IndexCastOp(place_of(self.b, item), INDEX))).number

    @override
    def _precedes(self, one: SSAValue, other: SSAValue) -> SSAValue:
        return self._long.compare("gt", one, other)

    @override
    def _select(self, condition: SSAValue, one: SSAValue, other: SSAValue) -> SSAValue:
        return self.b.select(condition, one, other)

    @override
    def finish(self) -> None:
        self.b.loop(0, self.count, lambda i, _: self._store(i, place_of(self.b, self._load(i))))
