"""Where a stream is cut into several: at values of few bytes, which are whole between two streams."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import Block, SSAValue

from ....dialects.graph.ops.structure import ConstantOp, WeightOp
from ....dialects.graph.values import nbytes_of, type_of
from ....dialects.sizes.sizes import now
from .row_reach import Reach
from .row_schedule import Stream, bands, live_bytes

MOST_CUTS = 32
"""Values at which a stream may be cut: the peaks between any two of them are calculated."""


def split_stream(stream: Stream, nbytes: int) -> list[Stream]:
    """The parts of a stream that have the lowest peak for bands of `nbytes`, in order; several ops each."""
    cuts = _cuts(stream)
    best: dict[int, tuple[int, float, list[Stream]]] = {0: (0, 0, [])}
    for number, end in enumerate(cuts[1:], 1):
        found: list[tuple[int, float, list[Stream]]] = []
        for start in cuts[:number]:
            part = stream.part(start, end)
            rows = bands(part, nbytes)
            live, fired = live_bytes(part, rows), sum(part.rows(value) / rows[value] for value in part.made)
            highest, count, parts = best[start]
            found.append((max(highest, live + _whole_bytes(stream, start, end)), count + fired, [*parts, part]))
        best[end] = min(found, key=lambda each: each[:2])
    return best[cuts[-1]][2]


def _whole_bytes(stream: Stream, start: int, end: int) -> int:
    """Bytes of what is whole while the ops start..end run, results written over what is read for the last time."""
    made = {op.results[0] for op in stream.ops[start:]}
    read = [(value, reach) for op in stream.ops[start:] for value, reach in stream.operands(op) if value not in made]
    before = {value for value, _ in read}.union(value for value in stream.outputs if value not in made)
    windows = {value for value, reach in read if reach != Reach(reach.axis)}
    behind = {value for op in stream.ops[end:] for value in op.operands}
    last = [value for value in before if value not in windows | behind | set(stream.outputs)]
    found = sum(map(_size, before))
    for value in stream.part(start, end).outputs:
        over = next((each for each in last if each.type == value.type and _size(each)), None)
        if over is None:
            found += _size(value)
        else:
            last.remove(over)
    return found


def _size(value: SSAValue) -> int:
    """Bytes of a value, 0 of a constant. What main is given or returns is the caller's memory."""
    outside = isinstance(value.owner, Block | ConstantOp | WeightOp)
    if outside or any(isinstance(use.operation, func.ReturnOp) for use in value.uses):
        return 0
    return now(nbytes_of(type_of(value)))


def _cuts(stream: Stream) -> list[int]:
    """The ops before which the stream may be cut, first and last included: one value of few bytes is live there."""
    places: list[int] = []
    reached = 0  # the ops before this one read what was made before the present one
    order = {op: place for place, op in enumerate(stream.ops)}
    for place, op in enumerate(stream.ops[:-1], 1):
        value = op.results[0]
        if reached <= place - 1:
            places.append(place)
        if value not in stream.outputs:
            reached = max([reached, *(order[reader] for reader, _ in stream.readers[value])])
    sizes = {place: _size(stream.ops[place - 1].results[0]) for place in places}
    low = [
        place
        for place, before, after in zip(places, [0, *places], [*places[1:], 0], strict=False)
        if sizes[place] <= sizes.get(before, 1 << 62) and sizes[place] <= sizes.get(after, 1 << 62)
    ]
    chosen = sorted(low, key=lambda place: sizes[place])[:MOST_CUTS]
    return [0, *sorted(chosen), len(stream.ops)]
