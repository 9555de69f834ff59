"""Single elements of movement ops: the index of the operand's element."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, Signedness, VectorType, i8, i16, i32, i64
from xdsl.ir import SSAValue

from ....dialects.extensions.arith import CmpiOp, IndexCastOp
from ....dialects.graph.ops.conversion import UnpackBitsOp
from ....dialects.graph.ops.fail import FailOp
from ....dialects.graph.ops.indexing import GatherElementsOp, GatherNdOp, GatherOp
from ....dialects.graph.ops.movement import BroadcastToOp, ConcatOp, PadOp, ReshapeOp, SliceOp, SlideOp, TransposeOp
from ....dialects.graph.ops.size_values import IotaOp, SizesOp
from ....dialects.graph.values import element_type_of_value, ints, shape_of
from ....dialects.sizes.sizes import equal
from ....passes.geometry.boxes import row_major
from ..arithmetic import Arithmetic, convert, is_unsigned, loaded, number_in, stored
from ..index_expr import Expr, Var, delinearize, linear
from ..lane_access import NotVectorisable
from ..loop_builder import INDEX, Index
from .element_values import Values, element_of, operand_index

Idx = tuple[Expr, ...]
ui8 = IntegerType(8, Signedness.UNSIGNED)


@element_of.register
def _reshape(op: ReshapeOp, v: Values, index: Idx) -> SSAValue:
    flat = linear(index, row_major(shape_of(op.result)))
    return v.at(op.x, delinearize(flat, shape_of(op.x)))


@element_of.register
def _unpack_bits(op: UnpackBitsOp, v: Values, index: Idx) -> SSAValue:
    """The byte that contains the element, shifted and masked; both bytes, where it lies across two."""
    first = linear(index, row_major(shape_of(op.result))) * op.bits
    (place, offset), last = first.divide(8), (first + (op.bits - 1)).divide(8)[0]
    parts = [v.at(op.x, [place]), v.number_as(offset, i8), *([v.at(op.x, [last])] if 8 % op.bits else [])]
    number, shift, *more = (convert(v.b, each, ui8, i16 if 8 % op.bits else i8) for each in v.alike(parts))
    for each in more:
        high = v.b.insert(arith.ShLIOp(each, v.b.constant(8, each.type)))
        number = v.b.insert(arith.OrIOp(number, high))
    number = convert(v.b, v.b.insert(arith.ShRUIOp(number, shift)), i16 if more else i8, i8)
    if op.width is None:
        return loaded(v.b, stored(v.b, number, op.to))
    return v.b.insert(arith.AndIOp(number, v.b.constant(2**op.bits - 1, number.type)))


@element_of.register
def _by_axes(op: TransposeOp | BroadcastToOp | SliceOp, v: Values, index: Idx) -> SSAValue:
    return v.at(op.x, operand_index(op, 0, index))


@element_of.register
def _concat(op: ConcatOp, v: Values, index: Idx) -> SSAValue:
    axis, borders = op.axis.value.data, op.borders
    pieces = [(begin, each) for each, begin in zip(op.inputs, borders, strict=False) if shape_of(each)[axis]]
    low, high = index[axis].bounds
    ends = [start for start, _ in pieces[1:]] + borders[-1:]
    met = [piece for piece, end in zip(pieces, ends, strict=True) if piece[0] <= high and low < end]
    return _piece(v, index, axis, met)


@element_of.register
def _slide(op: SlideOp, v: Values, index: Idx) -> SSAValue:
    axis, new = op.axis.value.data, shape_of(op.new)[op.axis.value.data]
    low, high = index[axis].bounds
    pieces = [(-new, op.x), (op.left, op.new)]
    if low >= op.left or high < op.left:
        pieces = pieces[1:] if low >= op.left else pieces[:1]
    return _piece(v, index, axis, pieces)


def _piece(v: Values, index: Idx, axis: int, pieces: Sequence[tuple[int, SSAValue]]) -> SSAValue:
    """The element of the operand into which `index` falls."""
    start, operand = pieces[0]

    def here() -> SSAValue:
        return v.at(operand, [*index[:axis], index[axis] - start, *index[axis + 1 :]])

    if len(pieces) == 1:
        return here()
    border = pieces[1][0]
    return v.choose(below(v, index[axis], border), here, lambda: _piece(v, index, axis, pieces[1:]))


def below(v: Values, index: Expr, border: int) -> SSAValue:
    """i1: index < border. Requests a break there, which makes the condition constant."""
    ask_for_break(v, index, border)
    return v.b.compare("slt", v.number_beside(index, border), border)


def ask_for_break(v: Values, index: Expr, border: int) -> None:
    """Records where to split a loop variable so that `index` is below `border` on one side of the break only."""
    terms = [(atom, factor) for atom, factor in index.terms if isinstance(atom, Var) and factor > 0]
    if not terms:
        return
    var, factor = max(terms, key=lambda term: term[1])
    rest = index - Expr(((var, factor),))
    low, high = rest.bounds
    # var * factor + rest < border on one side: exact where the rest stays within one step.
    position = -(-(border - low) // factor)
    if high - low < factor and (position - 1) * factor + high < border and var.low < position <= var.high:
        v.breaks.add((var, position))


@element_of.register
def _pad(op: PadOp, v: Values, index: Idx) -> SSAValue:
    shape = shape_of(op.x)
    moved = [i - before for i, before in zip(index, ints(op.low), strict=True)]
    mode = op.mode.data
    if mode != "constant":
        return v.at(op.x, [_folded(v, mode, i, size) for i, size in zip(moved, shape, strict=True)])
    filling = v.literal(op.filling(), element_type_of_value(op.result))
    return guarded(v, moved, shape, lambda: v.at(op.x, moved), filling)


def guarded(
    v: Values, index: Sequence[Expr], shape: Sequence[int], inside: Callable[[], SSAValue], outside: SSAValue
) -> SSAValue:
    """inside() if the index lies in a box of `shape`, else `outside`."""
    conditions: list[SSAValue] = []
    for i, size in zip(index, shape, strict=True):
        low, high = i.bounds
        if high < 0 or low >= size:
            return outside
        if low < 0:
            ask_for_break(v, i, 0)
            conditions.append(v.b.compare("sge", v.number_beside(i, 0), 0))
        if high >= size:
            conditions.append(below(v, i, size))
    if not conditions:
        return inside()
    together = conditions[0]
    for condition in conditions[1:]:
        together = v.b.conjunction(together, condition)
    return v.choose(together, inside, lambda: outside)


def _folded(v: Values, mode: str, i: Expr, size: int) -> Expr:
    """The index in [0, size) of the element at position `i` of an axis padded in `mode`."""
    low, high = i.bounds
    if low >= 0 and high < size:
        return i
    for border in (0, size):
        if low < border <= high:
            ask_for_break(v, i, border)
    period = 2 * (size - 1)
    if mode == "wrap":
        return i.divide(size)[1]
    if mode == "edge":
        if high < 0:
            return Expr()
        if low >= size:
            return Expr.of(size - 1)
        return v.variable((i, "edge", size), lambda: _clamped(v, v.number(i), size), 0, size - 1)
    if high <= 0 and low > -size:
        return i * -1
    if low >= size - 1 and high <= period:
        return i * -1 + period
    if equal(size, 1):
        return Expr()
    phase = i.divide(period)[1]

    def mirrored() -> Index:
        place = v.number(phase)
        return v.b.min(place, v.b.sub(period, place))

    return v.variable((i, "reflect", size), mirrored, 0, size - 1)


def _clamped(v: Values, place: Index, size: int) -> Index:
    return v.b.min(v.b.max(place, 0), size - 1)


def wrapped(v: Values, indices: SSAValue, at: Sequence[Expr], size: int) -> Expr:
    """An element of `indices` in [0, size): negative ones count from the end; those out of range become any index.

    Narrow numbers, so that more of them fit into a register: what the low bits say of an index outside matters no more.
    """
    element = v.at(indices, at)
    constant = number_in(element)
    if constant is not None:
        place = int(constant) + (size if constant < 0 else 0)
        return Expr.of(min(max(place, 0), size - 1))
    if isinstance(element.type, VectorType):
        raise NotVectorisable

    def write() -> Index:
        given = element_type_of_value(indices)
        type = i32 if size < 2**31 else i64
        place = convert(v.b, element, given, type)
        m = Arithmetic(v.b, type, unsigned=True)
        if not is_unsigned(given):
            negative = v.b.insert(CmpiOp(place, m.constant(0), "slt"))
            place = m.select(negative, v.b.insert(arith.AddiOp(place, m.constant(size))), place)
        return v.b.insert(IndexCastOp(m.min(place, m.constant(size - 1)), INDEX))

    return v.variable((element, "index", size), write, 0, size - 1)


@element_of.register
def _gather(op: GatherOp | GatherElementsOp | GatherNdOp, v: Values, index: Idx) -> SSAValue:
    """An element of x at indices read from an entry of `indices`, or from a row of them."""
    entries = [operand_index(op, 1, index, [Expr.of(i)]) for i in range(len(op.indexed()))]
    places = [wrapped(v, op.indices, entry, size) for entry, size in zip(entries, op.indexed(), strict=True)]
    return v.at(op.x, operand_index(op, 0, index, places))


@element_of.register
def _iota(op: IotaOp, v: Values, index: Idx) -> SSAValue:
    return v.number_as(index[0] * op.step + op.start, i64)


@element_of.register
def _sizes(op: SizesOp, v: Values, index: Idx) -> SSAValue:
    sizes, number = ints(op.sizes), index[0].number

    def chosen(first: int) -> SSAValue:
        value = v.b.constant(sizes[first], i64)
        if first == len(sizes) - 1:
            return value
        return v.b.select(v.b.compare("eq", v.number(index[0]), first), value, chosen(first + 1))

    return chosen(0) if number is None else v.b.constant(sizes[number], i64)


@element_of.register
def _fail(op: FailOp, v: Values, index: Idx) -> SSAValue:
    return v.b.constant(0, element_type_of_value(op.result))
