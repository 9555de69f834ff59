"""Packing of a byte panel by the kernel itself: groups of a column's bytes are contiguous (BytePanelPacking)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ....dialects.byte_dot import GROUP
from ...kernel_code.loop_builder import Index, LoopBuilder, memref_type, vector_of


def pack_bytes(
    b: LoopBuilder, source: SSAValue, panel: SSAValue, depth: Index, nr: int, valid: Index, *, by_rows: bool
) -> None:
    """Copies `valid` columns of a window [depth, nr] to a panel [depth rounded up to whole groups, nr].

    `by_rows`: columns are contiguous in the source. Bytes of a group beyond the depth are multiplied by zeros, and
    columns beyond `valid` are never stored: both may be anything.
    """
    size = memref_type(panel).get_shape()[0]
    groups = b.view(panel, 0, [size // GROUP, nr, GROUP], [nr * GROUP, GROUP, 1])
    rest = b.rem(depth, GROUP)
    whole = b.div(depth, GROUP)

    def rows(group: Index, there: int) -> None:
        element = vector_of(memref_type(panel).element_type, nr)
        loaded = [b.vload(source, [b.add(b.mul(group, GROUP), row), 0], nr, valid) for row in range(there)]
        loaded += [b.constant(0, element)] * (GROUP - there)
        # Bytes of rows 0 and 1 in turn, those of rows 2 and 3, and then pairs of both in turn.
        first, second = (
            b.shuffle(x, y, [lane // 2 + lane % 2 * nr for lane in range(2 * nr)]) for x, y in (loaded[:2], loaded[2:])
        )
        pairs = [lane // 4 * 2 + lane % 2 + (lane % 4 // 2) * 2 * nr for lane in range(GROUP * nr)]
        flat = b.view(groups, b.mul(group, GROUP * nr), [GROUP * nr], [1])
        b.vstore(b.shuffle(first, second, pairs), flat, [0])

    def columns(column: Index, _: Sequence[SSAValue]) -> None:
        def element(i: Index, _: Sequence[SSAValue]) -> None:
            b.store(b.load(source, [i, column]), groups, [b.div(i, GROUP), column, b.rem(i, GROUP)])

        b.loop(0, depth, element)

    if not by_rows:
        b.loop(0, valid, columns)
        return
    b.loop(0, whole, lambda group, _: rows(group, GROUP))
    assert isinstance(rest, int)
    if rest:
        rows(whole, rest)
