"""The firings of a stream as steps that name rows by their distance from those that are there, and repetitions of them.

Two firings whose steps are equal differ only in the numbers of the rows outside of the stream that they read or write.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.ir import Attribute, SSAValue

from .row_reach import part_properties
from .row_schedule import Firing, Progress, Stream, copies_rows

LEAST_TURNS = 4  # a loop of fewer is written out
Rows = tuple[int, int]
"""The first of some rows, and the one behind the last."""


@dataclass(frozen=True)
class Step:
    """One firing. Rows of the stream's values are counted from the first that is there, in `reads` and `keeps`."""

    firing: Firing = field(compare=False)
    sources: tuple[Rows | None, ...] = field(compare=False)
    """The rows that are read of each operand from outside of the stream; None for those within, or read as a whole."""
    op: int
    count: int
    properties: tuple[tuple[str, Attribute], ...]
    reads: tuple[Rows | None, ...]
    joins: bool
    """Whether the new rows are put behind others that are there."""
    keeps: tuple[tuple[SSAValue, Rows | None], ...]
    """The rows that are left of bands that get shorter; None where none is."""
    held: tuple[tuple[SSAValue, int], ...]
    """The rows that are there before the step."""


def steps_of(stream: Stream, firings: Iterable[Firing]) -> list[Step]:
    """The steps of firings."""
    progress, place = Progress(stream), {op: number for number, op in enumerate(stream.ops)}
    made = [op.results[0] for op in stream.ops]
    first: dict[SSAValue, int] = {}
    steps: list[Step] = []
    for firing in firings:
        op, value = firing.op, firing.op.results[0]
        held = tuple((each, progress.made(each) - first[each]) for each in made if each in first)
        reads, sources = list[Rows | None](), list[Rows | None]()
        for operand, reach in zip(op.operands, stream.reads[op], strict=True):
            if reach is None:
                rows = None
            else:
                rows = max(0, reach.first(firing.start)), min(reach.end(firing.stop), stream.rows(operand))
            inside = rows is not None and operand in stream.made
            sources.append(None if inside else rows)
            reads.append((rows[0] - first[operand], rows[1] - first[operand]) if rows and inside else None)
        properties = part_properties(op, stream.axis[value], stream.reads[op][0], firing.start, firing.stop)
        joins = value in first
        progress.rows[value] = firing.stop
        if stream.readers[value]:
            first.setdefault(value, firing.start)
        keeps: list[tuple[SSAValue, Rows | None]] = []
        for each in dict.fromkeys((value, *op.operands)):
            if each not in first:
                continue
            needed, start, stop = progress.needed(each), first[each], progress.made(each)
            if needed >= stop:
                keeps.append((each, None))
                del first[each]
            elif needed > start:
                keeps.append((each, (needed - start, stop - start)))
                first[each] = needed
        count = firing.stop - firing.start
        changed = tuple(sorted(properties.items()))
        steps.append(Step(firing, tuple(sources), place[op], count, changed, tuple(reads), joins, tuple(keeps), held))
    return steps


@dataclass(frozen=True)
class WindowSize:
    """Rows of a value that lie in one place throughout repeated steps, `held` of them before each repetition.

    Either there is place for all that are there at once, so that rows are read there and new ones `slide` in, or just
    for those that are left between the steps.
    """

    rows: int
    held: int
    slides: bool


def windows_of(steps: Sequence[Step]) -> dict[SSAValue, WindowSize]:
    """The windows of values of which rows are there before repeated steps, and others after them.

    Where few are left of many, they get the place of those that are left: they are copied to the new ones, and back.
    """
    held = dict(steps[0].held)
    now, most = dict(held), dict[SSAValue, int]()
    new, count = dict.fromkeys(held, 0), dict.fromkeys(held, 0)  # rows since some were dropped, and the most of them
    for step in steps:
        value = step.firing.op.results[0]
        if value in held:
            now[value] += step.count
            new[value] += step.count
            most[value] = max(most.get(value, 0), now[value])
            count[value] = max(count[value], new[value])
        for each, rows in step.keeps:
            now[each], new[each] = rows[1] - rows[0] if rows else 0, 0
    found: dict[SSAValue, WindowSize] = {}
    for value, rows in most.items():
        slides = not copies_rows(held[value], count[value], rows)
        found[value] = WindowSize(rows if slides else held[value], held[value], slides)
    return found


@dataclass(frozen=True)
class Turns:
    """Steps that are repeated: `count` times those of `steps`."""

    steps: Sequence[Step]
    count: int


def repetitions(stream: Stream, steps: Sequence[Step]) -> list[Turns]:
    """The same steps with repetitions as turns: at each place those that leave the fewest steps.

    A turn begins where the fewest bytes are there: not between an op and what its kernel computes of its result.
    """
    if not steps:
        return []
    numbers: dict[Step, int] = {}
    coded = np.array([numbers.setdefault(step, len(numbers)) for step in steps])
    best, start, last, period = 0, 0, 0, 0
    for each in range(1, len(steps) // LEAST_TURNS + 1):
        if best >= len(steps) - each:
            break
        same = np.flatnonzero(np.concatenate(([True], coded[each:] != coded[:-each], [True])))
        runs = np.diff(same) - 1
        longest = int(runs.argmax())
        turns = int(runs[longest]) // each + 1
        if turns >= LEAST_TURNS and (turns - 1) * each > best:
            best, period = (turns - 1) * each, each
            start, last = int(same[longest]), int(same[longest + 1]) - 1 + each
    if not best:
        return [Turns(steps, 1)]
    places = range(start, min(start + period, last - LEAST_TURNS * period + 1))
    start = min(places, key=lambda place: sum(rows * stream.row_bytes(value) for value, rows in steps[place].held))
    count = (last - start) // period
    end = start + period * count
    before, after = repetitions(stream, steps[:start]), repetitions(stream, steps[end:])
    return [*before, Turns(steps[start : start + period], count), *after]
