"""The order of `graph.top_k`, for any device: whether one element of a row precedes another; floats as integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, i1, i64
from xdsl.ir import Attribute, SSAValue

from ....dialects.graph.ops.selection import TopKOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ..arithmetic import Arithmetic, bits_of, convert, is_integer, is_unsigned
from ..index_expr import Expr, Var
from ..loop_builder import Index, LoopBuilder
from .element_values import Values
from .reduction_rules import wide

LOW = (1 << 32) - 1
"""The half of a 64-bit integer that holds a place."""


@dataclass(frozen=True)
class Ranked:
    """An element of a row: its value, and its index along the axis."""

    number: SSAValue
    place: Index


class RowOrder:
    """The elements of one row of x, with the order of a top_k."""

    def __init__(self, v: Values, op: TopKOp, row: Sequence[Expr]) -> None:
        """`row` is an index of all axes but the one that is sorted."""
        self.v, self.op, self.row = v, op, list(row)
        self.axis = op.axis.value.data
        self.size = shape_of(op.x)[self.axis]

    def element(self, place: Index) -> Ranked:
        """Loads the element at an index."""
        at = Expr.of(place) if isinstance(place, int) else Expr.of(Var(place, 0, self.size - 1))
        with self.v.scope():
            return Ranked(wide(self.v, self.op.x, [*self.row[: self.axis], at, *self.row[self.axis :]]), place)

    def is_ahead(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """i1: whether value a precedes b regardless of their indices."""
        m = Arithmetic(self.v.b, a.type, is_unsigned(element_type_of_value(self.op.x)))
        largest = self.op.smallest is None
        ahead = m.compare("gt" if largest else "lt", a, b)
        if not m.is_float:
            return ahead
        # NaN is larger than any number: it precedes them, or they precede it.
        nan, number = (a, b) if largest else (b, a)
        beside = self.v.b.conjunction(m.is_nan(nan), m.compare("eq", number, number))
        return self.v.b.insert(arith.OrIOp(ahead, beside))

    def comes_first(self, a: Ranked, b: Ranked) -> SSAValue:
        """i1: whether element a precedes b; among equal values the smaller index does."""
        write = self.v.b
        stands_first = write.compare("slt", a.place, b.place)
        ahead = write.insert(arith.OrIOp(self.is_ahead(a.number, b.number), stands_first))
        return write.select(self.is_ahead(b.number, a.number), write.constant(0, i1), ahead)


def float_key(b: LoopBuilder, number: SSAValue) -> SSAValue:
    """An i64 (of an f32: one of 32 bits) that is larger for larger floats; zeros are equal, NaN is above infinity."""
    m = Arithmetic(b, number.type)
    integer = IntegerType(bits_of(number.type))
    i, largest = Arithmetic(b, integer), (1 << bits_of(number.type) - 1) - 1
    bits = m.bits(m.add(number, m.constant(0.0)), integer)  # -0 and 0 are equal
    magnitude = i.binary("and", i.binary("shr", bits, i.constant(bits_of(integer) - 1)), i.constant(largest))
    ordered = i.select(m.is_nan(number), i.constant(largest), i.binary("xor", bits, magnitude))
    return convert(b, ordered, integer, i64)


def number_key(b: LoopBuilder, number: SSAValue, element: Attribute) -> SSAValue:
    """An i64 that orders as the `wide` numbers of a type do: of 32 bits, signed, unless the number has 64."""
    if not is_integer(number.type):
        return float_key(b, number)
    key, m = convert(b, number, element, i64), Arithmetic(b, i64)
    return m.sub(key, m.constant(1 << bits_of(element) - 1)) if is_unsigned(element) else key


def with_place(b: LoopBuilder, key: SSAValue, place: SSAValue) -> SSAValue:
    """An i64 that orders by a key of 32 bits and, where it is equal, by a place (i64), the lower one larger."""
    m = Arithmetic(b, i64)
    return m.binary("or", m.binary("shl", key, m.constant(32)), m.sub(m.constant(LOW), place))


def place_of(b: LoopBuilder, item: SSAValue) -> SSAValue:
    """The place (i64) in a result of `with_place`."""
    m = Arithmetic(b, i64)
    return m.sub(m.constant(LOW), m.binary("and", item, m.constant(LOW)))
