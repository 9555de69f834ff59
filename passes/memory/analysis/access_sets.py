"""Read and write sets of calls in bytes, and conflicts between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from ....dialects.sizes.offsets import Offset
from ....dialects.sizes.sizes import is_fixed, surely_below, symbols_of
from ...geometry.boxes import Box
from .buffers import Places
from .main_steps import Step, read_by, scratch_of, written_by


class AccessSets:
    """Bytes read and written, by space (the arena, an argument, a weight)."""

    def __init__(self) -> None:
        self.reads: dict[SSAValue, list[Box]] = {}
        self.writes: dict[SSAValue, list[Box]] = {}

    @classmethod
    def by(cls, step: Step, places: Places) -> AccessSets:
        """The read and write sets of a call or load."""
        touched = cls()
        for into, values in ((touched.reads, read_by(step)), (touched.writes, (*written_by(step), *scratch_of(step)))):
            for value in values:
                place = places[value]
                into.setdefault(place.root, []).append(place.bytes)
        return touched

    def conflicts(self, other: AccessSets) -> bool:
        """Whether one set writes bytes that the other reads or writes."""
        return _meet(self.writes, other.writes) or _meet(self.writes, other.reads) or _meet(self.reads, other.writes)

    def add(self, other: AccessSets) -> None:
        """Adds another call's sets to these."""
        for mine, theirs in ((self.reads, other.reads), (self.writes, other.writes)):
            for space, boxes in theirs.items():
                mine.setdefault(space, []).extend(boxes)


def _meet(a: Mapping[SSAValue, Sequence[Box]], b: Mapping[SSAValue, Sequence[Box]]) -> bool:
    return any(overlap(box, other) for space, boxes in a.items() if space in b for box in boxes for other in b[space])


def overlap(a: Box, b: Box) -> bool:
    """Whether two boxes may share a byte, at any shape if they are symbolic."""
    if all(is_fixed(box.offset, *box.sizes, *box.strides) for box in (a, b)):
        return a.overlaps(b)
    (first, *_), (second, *_) = ([*_offsets(box), None] for box in (a, b))
    if first is not second and first is not None and second is not None:
        return not first.is_apart_from(second)
    return not (_ends_before(a, b) or _ends_before(b, a))


def _ends_before(a: Box, b: Box) -> bool:
    end = a.offset + 1 + sum((size - 1) * stride for size, stride in zip(a.sizes, a.strides, strict=True))
    return surely_below(end - 1, b.offset)


def _offsets(box: Box) -> list[Offset]:
    return [symbol for symbol in symbols_of(box.offset) if isinstance(symbol, Offset)]
