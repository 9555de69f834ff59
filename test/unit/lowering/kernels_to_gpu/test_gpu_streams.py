"""The longest chain of calls that must wait for each other, by the bytes that they touch."""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType, i8
from xdsl.ir import Block

from mini_infer.passes.geometry.boxes import Box
from mini_infer.passes.memory.analysis.access_sets import AccessSets
from mini_infer.tools.bench.gpu_streams import longest_chain

ARENA = Block(arg_types=[MemRefType(i8, [100])]).args[0]


def touched(reads: tuple[int, int] | None, writes: tuple[int, int]) -> AccessSets:
    """Bytes [first, last) that are read, and those that are written."""
    made = AccessSets()
    for into, bytes in (made.reads, reads), (made.writes, writes):
        if bytes is not None:
            into[ARENA] = [Box.dense([bytes[1] - bytes[0]], bytes[0])]
    return made


def test_branches_run_side_by_side() -> None:
    """Two branches behind one call and in front of another: the longer one counts."""
    calls = [
        touched(None, (0, 10)),
        touched((0, 10), (10, 20)),
        touched((0, 10), (20, 30)),
        touched((10, 30), (30, 40)),
    ]
    assert longest_chain([1, 5, 3, 1], calls) == 7


def test_bytes_that_are_used_again_are_waited_for() -> None:
    """The second branch writes over what the first reads: it waits, though it needs nothing of it."""
    calls = [touched((0, 10), (10, 20)), touched((40, 50), (0, 10))]
    assert longest_chain([2, 3], calls) == 5
    calls = [touched((0, 10), (10, 20)), touched((0, 10), (20, 30))]
    assert longest_chain([2, 3], calls) == 3
    assert longest_chain([], []) == 0
