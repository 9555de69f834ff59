"""Where a stream is cut into several: at values of few bytes, which are whole between two streams."""

from __future__ import annotations

from xdsl.dialects import func

from ....dialects.graph.values import nbytes_of, type_of
from ....dialects.sizes.sizes import now
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
            before = _value_bytes(stream, start) + _value_bytes(stream, end)
            highest, count, parts = best[start]
            found.append((max(highest, live + before), count + fired, [*parts, part]))
        best[end] = min(found, key=lambda each: each[:2])
    return best[cuts[-1]][2]


def _value_bytes(stream: Stream, cut: int) -> int:
    """Bytes of what is whole at a cut. What main is given or returns is the caller's memory."""
    if cut == 0:
        return 0
    values = stream.outputs if cut == len(stream.ops) else [stream.ops[cut - 1].results[0]]
    whole = (value for value in values if not any(isinstance(use.operation, func.ReturnOp) for use in value.uses))
    return sum(now(nbytes_of(type_of(value))) for value in whole)


def _cuts(stream: Stream) -> list[int]:
    """The ops before which the stream may be cut, first and last included: one value of few bytes is live there."""
    places: list[int] = []
    reached = 0  # the ops before this one read what was made before the present one
    order = {op: place for place, op in enumerate(stream.ops)}
    for place, op in enumerate(stream.ops[:-1], 1):
        value = op.results[0]
        if reached <= place - 1 and value not in stream.outputs:
            places.append(place)
        readers = (order[reader] for reader, _ in stream.readers[value])
        reached = len(stream.ops) if value in stream.outputs else max([reached, *readers])
    sizes = {place: _value_bytes(stream, place) for place in places}
    low = [
        place
        for place, before, after in zip(places, [0, *places], [*places[1:], 0], strict=False)
        if sizes[place] <= sizes.get(before, 1 << 62) and sizes[place] <= sizes.get(after, 1 << 62)
    ]
    chosen = sorted(low, key=lambda place: sizes[place])[:MOST_CUTS]
    return [0, *sorted(chosen), len(stream.ops)]
