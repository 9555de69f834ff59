"""Packing of a panel for dot products by the kernel itself: a column's elements of a group are contiguous.

Groups are four bytes or two bf16: see graph/packing/grouped_panels.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from ....dialects.bf16_dot import PAIR
from ....dialects.byte_dot import GROUP
from ...kernel_code.loop_builder import Index, LoopBuilder, memref_type, vector_of


def pack_groups(
    b: LoopBuilder, source: SSAValue, panel: SSAValue, depth: Index, nr: int, valid: Index, size: int, *, by_rows: bool
) -> None:
    """Copies `valid` columns of a window [depth, nr] to a panel [depth rounded up to whole groups of `size`, nr].

    `by_rows`: columns are contiguous in the source. Elements of a group beyond the depth are zeros, as a row's are.
    Columns beyond `valid` are never stored: they may be anything.
    """
    element = memref_type(panel).element_type
    rows_of_panel = memref_type(panel).get_shape()[0]
    groups = b.view(panel, 0, [rows_of_panel // size, nr, size], [nr * size, size, 1])
    rest = b.rem(depth, size)
    whole = b.div(depth, size)
    assert isinstance(rest, int)

    def zero(type: Attribute) -> SSAValue:
        return b.constant(0 if size == GROUP else 0.0, type)

    def rows(group: Index, there: int) -> None:
        loaded = [b.vload(source, [b.add(b.mul(group, size), row), 0], nr, valid) for row in range(there)]
        loaded += [zero(vector_of(element, nr))] * (size - there)
        flat = b.view(groups, b.mul(group, size * nr), [size * nr], [1])
        # Elements of rows 0 and 1 in turn.
        pairs = [
            b.shuffle(x, y, [lane // 2 + lane % 2 * nr for lane in range(2 * nr)])
            for x, y in zip(loaded[::2], loaded[1::2], strict=True)
        ]
        if size == PAIR:
            b.vstore(pairs[0], flat, [0])
            return
        # Those of rows 2 and 3, and then pairs of both in turn.
        order = [lane // 4 * 2 + lane % 2 + (lane % 4 // 2) * 2 * nr for lane in range(GROUP * nr)]
        b.vstore(b.shuffle(pairs[0], pairs[1], order), flat, [0])

    def columns(column: Index, _: Sequence[SSAValue]) -> None:
        def copied(i: Index, _: Sequence[SSAValue]) -> None:
            b.store(b.load(source, [i, column]), groups, [b.div(i, size), column, b.rem(i, size)])

        b.loop(0, depth, copied)
        for place in range(rest, size if rest else 0):
            b.store(zero(element), groups, [whole, column, place])

    if not by_rows:
        b.loop(0, valid, columns)
        return
    b.loop(0, whole, lambda group, _: rows(group, size))
    if rest:
        rows(whole, rest)
