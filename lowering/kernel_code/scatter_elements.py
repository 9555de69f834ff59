"""Scatter: a copy of x, then the updates in order.

for each row of this thread's part of the result:            row: the elements that one update replaces
    result[row] = x[row]                                     left out if x and the result are one buffer
for each update, in order:
    if its row lies in this thread's part: result[row] = update
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from ...dialects.errors import CompileError
from ...dialects.graph.base import describe
from ...dialects.graph.ops.indexing import ScatterElementsOp, ScatterNdOp
from ...dialects.graph.values import element_type_of_value, shape_of
from ...dialects.sizes.sizes import pinned
from ...passes.geometry.boxes import row_major
from .arithmetic import convert, signless, wide_float
from .elements.element_values import Values
from .elements.movement_rules import wrapped
from .elements.reduction_rules import wide
from .index_expr import Expr, Var, delinearize, linear
from .instance_base import AnyInstance
from .lane_access import Line
from .loop_builder import Index
from .reductions import Reduction

_KINDS = {"add": "sum", "mul": "prod", "min": "min", "max": "max"}


def lower_scatter(k: AnyInstance, op: ScatterNdOp | ScatterElementsOp) -> None:
    """Builds a kernel whose root is a scatter."""
    if k.yielded != [op.result]:
        raise CompileError(f"{describe(op)}: nothing can follow a scatter in its kernel")
    v = Values(k.b, k.kernel, k.operands)
    b, shape = k.b, shape_of(op.result)
    if 0 in shape:
        return
    out = v.line(k.results[0])
    depth = depth_of(op)
    rows, length = prod(shape[:depth]), prod(shape[depth:])
    low, high = k.part(rows)
    if k.buffer_of(op.x) is not k.results[0]:
        copy_elements(v, op.x, out, b.mul(low, length), b.mul(high, length))
    counts = counts_of(op)
    if 0 in counts:
        return

    def update(position: Expr) -> None:
        at = delinearize(position, counts)
        index = _index(v, op, at)
        row = v.number(linear(index, row_major(shape[:depth])))
        mine = b.conjunction(b.compare("sge", row, low), b.compare("slt", row, high))
        start = linear(index, out.strides[:depth])

        def write() -> None:
            def element(i: Expr) -> None:
                inner = delinearize(i, shape[depth:])
                place = start + linear(inner, out.strides[depth:])
                _apply(v, op, out, place, [*at, *(inner if isinstance(op, ScatterNdOp) else ())])

            with v.scope():
                v.each(0, length, length, element)

        b.when(mine, write)

    v.each(0, prod(counts), prod(counts), update)


def depth_of(op: ScatterNdOp | ScatterElementsOp) -> int:
    """The number of leading dimensions that indices are for; the others are those of a row."""
    return pinned(shape_of(op.indices)[-1]) if isinstance(op, ScatterNdOp) else len(shape_of(op.result))


def counts_of(op: ScatterNdOp | ScatterElementsOp) -> tuple[int, ...]:
    """The shape in which updates are numbered."""
    return shape_of(op.indices)[:-1] if isinstance(op, ScatterNdOp) else shape_of(op.indices)


def row_of(v: Values, op: ScatterNdOp | ScatterElementsOp, number: Index) -> Index:
    """The row of the result that an update targets, by its number."""
    at = delinearize(expression(number, prod(counts_of(op))), counts_of(op))
    return v.number(linear(_index(v, op, at), row_major(shape_of(op.result)[: depth_of(op)])))


def expression(i: Index, size: int) -> Expr:
    """An index in [0, size) as an expression."""
    return Expr.of(i) if isinstance(i, int) else Expr.of(Var(i, 0, size - 1))


def copy_elements(v: Values, x: SSAValue, out: Line, low: Index, high: Index) -> None:
    """Copies a range of the elements of x."""
    shape = shape_of(x)

    def element(i: Expr) -> None:
        index = delinearize(i, shape)
        v.store(v.at(x, index), out, linear(index, out.strides))

    v.each(low, high, prod(shape), element)


def _index(v: Values, op: ScatterNdOp | ScatterElementsOp, at: Sequence[Expr]) -> list[Expr]:
    """The leading indices of the result that an update targets."""
    shape = shape_of(op.result)
    if isinstance(op, ScatterNdOp):
        depth = pinned(shape_of(op.indices)[-1])
        return [wrapped(v, op.indices, [*at, Expr.of(i)], shape[i]) for i in range(depth)]
    axis = op.axis.value.data
    return [*at[:axis], wrapped(v, op.indices, at, shape[axis]), *at[axis + 1 :]]


def _apply(v: Values, op: ScatterNdOp | ScatterElementsOp, out: Line, place: Expr, at: Sequence[Expr]) -> None:
    before = None if op.reduction.data == "none" else v.load(out, place)
    v.store(updated(v, op, before, at), out, place)


def updated(v: Values, op: ScatterNdOp | ScatterElementsOp, before: SSAValue | None, at: Sequence[Expr]) -> SSAValue:
    """An element of an update, combined with what the result had unless that is None; as it is stored."""
    if before is None:
        return v.at(op.updates, at)
    element = element_type_of_value(op.updates)
    before = convert(v.b, before, signless(element), wide_float(element))
    combined = Reduction(v.b, _KINDS[op.reduction.data], element).combine(before, wide(v, op.updates, at))
    return convert(v.b, combined, wide_float(element), element)
