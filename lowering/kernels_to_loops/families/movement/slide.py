"""A window that slides on, also in place: rows are moved first to last, each by its own distance at once.

for each row of the result:
    for each vector in this thread's part of a row: result[row] = x[row + new rows], or the new row
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from xdsl.ir import SSAValue

from .....dialects.graph.ops.movement import SlideOp
from .....dialects.graph.values import shape_of
from .....passes.kernels.kernel_facts import item_bytes
from ....kernel_code.loop_builder import Index
from ...kernel_instance import KernelInstance

_REGISTERS = 4


def lower_slide(k: KernelInstance, op: SlideOp) -> None:
    """Builds a kernel that consists of a slide."""
    axis, shape = op.axis.value.data, shape_of(op.result)
    if 0 in shape:
        return
    length, new = prod(shape[axis + 1 :]), shape_of(op.new)[axis]
    lanes = gcd(length, _REGISTERS * k.target.lanes(8 * item_bytes(op.x)))
    low, high = k.part(length // lanes)
    x, rows, out = (
        _by_rows(k, buffer, shape_of(value), axis)
        for buffer, value in ((k.argument(op.x), op.x), (k.argument(op.new), op.new), (k.results[0], op.result))
    )

    def copy(count: int, source: SSAValue, at: Index, to: Index) -> None:
        """Copies rows from `at` on to rows from `to` on."""

        def row(number: Index, _: Sequence[SSAValue]) -> None:
            def vector(column: Index, _: Sequence[SSAValue]) -> None:
                place = k.b.mul(column, lanes)
                value = k.b.vload(source, [k.b.add(number, at), place], lanes)
                k.b.vstore(value, out, [k.b.add(number, to), place])

            k.b.loop(low, high, vector)

        k.b.loop(0, count, row)

    def entry(number: Index, _: Sequence[SSAValue]) -> None:
        first = k.b.mul(number, shape[axis])
        copy(op.left, x, k.b.add(first, new), first)
        copy(new, rows, k.b.mul(number, new), k.b.add(first, op.left))

    k.b.loop(0, prod(shape[:axis]), entry)


def _by_rows(k: KernelInstance, buffer: SSAValue, shape: Sequence[int], axis: int) -> SSAValue:
    """A view of a buffer as a matrix of rows."""
    length = prod(shape[axis + 1 :])
    return k.b.view(buffer, 0, [prod(shape[: axis + 1]), length], [length, 1])
