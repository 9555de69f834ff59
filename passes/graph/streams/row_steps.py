"""The firings of a stream as steps that name rows by their distance from those that are there, and repetitions of them.

Two firings whose steps are equal differ only in the numbers of the rows outside of the stream that they read or write.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, pairwise
from math import gcd

import numpy as np
from xdsl.ir import Attribute, SSAValue

from .row_reach import lie_together, part_properties
from .row_schedule import Firing, Progress, Stream, copies_rows

LEAST_TURNS = 4  # a loop of fewer is written out
MOST_ROUNDED = 1.125  # what a ring may take more than the rows that are there at once
Rows = tuple[int, int]
"""The first of some rows, and the one behind the last."""


@dataclass(frozen=True)
class Step:
    """One firing. Rows of the stream's values are counted from the first that is there, in `reads` and `keeps`."""

    firing: Firing = field(compare=False)
    sources: tuple[Rows | None, ...] = field(compare=False)
    """The rows that are read of each operand from outside of the stream; None for those within, or read as a whole."""
    places: tuple[tuple[Fraction, int] | None, ...]
    """Of these, how far the first lies from where the reach's line is at the firing's first row, and their number."""
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
        places: list[tuple[Fraction, int] | None] = []
        for operand, reach in zip(op.operands, stream.reads[op], strict=True):
            if reach is None:
                rows = None
            else:
                rows = max(0, reach.first(firing.start)), min(reach.end(firing.stop), stream.rows(operand))
            inside = rows is not None and operand in stream.made
            sources.append(None if inside else rows)
            if reach is None or rows is None or inside:
                places.append(None)
            else:
                places.append((rows[0] - firing.start * reach.scale, rows[1] - rows[0]))
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
        steps.append(
            Step(
                firing,
                tuple(sources),
                tuple(places),
                place[op],
                count,
                changed,
                tuple(reads),
                joins,
                tuple(keeps),
                held,
            )
        )
    return steps


@dataclass(frozen=True)
class WindowSize:
    """Rows of a value that lie in one place throughout repeated steps, `held` of them before each repetition.

    Either there is place for all that are there at once, so that rows are read there and new ones `slide` in, or just
    for those that are left between the steps. Or new rows are written over those that nobody needs any more, round and
    round: a ring.
    """

    rows: int
    held: int
    slides: bool
    period: int = 0
    """Of a ring: the rows that are written in each repetition."""

    def parts(self, rows: Rows) -> list[Rows]:
        """The parts of rows of a ring, each of which lies in one piece in every repetition.

        They are counted from the first row that is made in the repetition. In one of them or another the ring ends at
        each multiple of what its size and the period have in common.
        """
        unit, (start, stop) = gcd(self.rows, self.period), rows
        return [*pairwise([start, *range((start // unit + 1) * unit, stop, unit), stop])]


def windows_of(stream: Stream, steps: Sequence[Step]) -> dict[SSAValue, WindowSize]:
    """The windows of values of which rows are there before repeated steps, and others after them.

    Where few are left of many, they get the place of those that are left: they are copied to the new ones, and back.
    """
    held = dict(steps[0].held)
    now, most = dict(held), dict[SSAValue, int]()
    new, count = dict.fromkeys(held, 0), dict.fromkeys(held, 0)  # rows since some were dropped, and the most of them
    counts: dict[SSAValue, list[int]] = {value: [] for value in held}
    reads: dict[SSAValue, list[Rows]] = {value: [] for value in held}
    """Rows that are read, counted from the first that is made."""
    for step in steps:
        value = step.firing.op.results[0]
        for each, rows in zip(step.firing.op.operands, step.reads, strict=True):
            if rows and each in held:
                first = sum(counts[each]) - now[each]
                reads[each].append((first + rows[0], first + rows[1]))
        if value in held:
            now[value] += step.count
            new[value] += step.count
            most[value] = max(most.get(value, 0), now[value])
            count[value] = max(count[value], new[value])
            counts[value].append(step.count)
        for each, rows in step.keeps:
            now[each], new[each] = rows[1] - rows[0] if rows else 0, 0
    found: dict[SSAValue, WindowSize] = {}
    for value, rows in most.items():
        slides = not copies_rows(held[value], count[value], rows)
        size = WindowSize(rows if slides else held[value], held[value], slides)
        ring = _ring(held[value], counts[value], reads[value]) if slides else None
        fits = ring is not None and ring.rows <= MOST_ROUNDED * rows and lie_together(value, stream.axis[value])
        found[value] = ring if ring is not None and fits else size
    return found


def _ring(held: int, counts: Sequence[int], reads: Iterable[Rows]) -> WindowSize | None:
    """A ring for rows that are there before the steps and those that they make, in whole bands.

    So what is made never replaces what the same steps read. None where bands would have to be parted, or as many rows
    be copied, since they may lie at both ends of the ring, as half of those that slide otherwise.
    """
    made, band = sum(counts), gcd(*counts)
    ring = WindowSize(-(-(held + made) // band) * band, held, True, made)
    whole = all(len(ring.parts(rows)) == 1 for rows in pairwise(accumulate(counts, initial=0)))
    copied = sum(stop - start for start, stop in reads if len(ring.parts((start, stop))) > 1)
    return ring if whole and 2 * copied <= ring.rows * len(counts) else None


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
