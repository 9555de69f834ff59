"""The problem of the order of main's calls, from what their values are and who reads them (value_flow.py).

Everything that can't be told exactly is taken for less than it is (a read that is not known, a value that is rounded to
no alignment), so that a bound of the problem is a bound of the arena for every order of the calls, whichever results
are then written in place and whichever copies become views.

What a call reads as one operand lies in one buffer, also where several calls have made it: a concatenation. Its parts
may be written there, and then all of its bytes are live from the first part on; or they lie apart, and are copied. So
there is a call more, which begins the buffer and which its readers wait for. Before it parts take bytes of their own,
after it they are in the buffer: that is its slot. A part that is made first is live beside the buffer as it begins,
as it is when it is copied.

Calls in loops and branches are taken once, in textual order, as if there were no loop: what is live in the arena by the
lifetimes of static buffers is at least that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from xdsl.ir import SSAValue

from ...ordering.calls_and_values import Call, InPlace, OrderProblem, Slot, Value, bits, union
from ...ordering.slots import slots_of
from .byte_map import Region
from .value_flow import Made, ValueFlow


@dataclass(frozen=True)
class _Part:
    """Bytes of a value that are read by the same calls."""

    made: Made
    readers: frozenset[int]
    bytes: int


@dataclass(eq=False)
class _Joint:
    """A buffer that is read as one operand, of results of several calls."""

    region: Region
    made: frozenset[Made]
    readers: set[int] = field(default_factory=set[int])
    within: set[int] = field(default_factory=set[int])  # parts of values that may lie in it
    first: int = 0  # the call in front of which it is begun


Places = Mapping["int | _Joint", int]
"""Where calls of main and beginnings of buffers stand in the problem."""


def flow_problem(flow: ValueFlow, cached: Collection[SSAValue]) -> OrderProblem:
    """The problem of the calls of a flow; cached: the arguments that main writes and that hold something before."""
    return _Builder(flow, cached).build()


class _Builder:
    def __init__(self, flow: ValueFlow, cached: Collection[SSAValue]) -> None:
        flow.keep()
        self.flow = flow
        self.cached = cached
        self.parts: list[_Part] = []
        self.numbers: dict[Made, range] = {}  # of its parts
        for made in flow.made:
            first = len(self.parts)
            self.parts += _parts(made)
            self.numbers[made] = range(first, len(self.parts))
        makers = {made.maker for made in flow.made}
        self.calls = [number for number, call in enumerate(flow.calls) if not call.is_copy or number in makers]
        self.inplace: list[list[tuple[int, range, list[int], frozenset[Made]]]] = []
        """By call: a result, its parts, parts of the operand that it may be written over, and what that consists of."""
        self.sources: dict[int, set[int]] = {}  # by part: those of operands in whose bytes it may lie
        for number, call in enumerate(flow.calls):
            self.inplace.append([])
            for pair in call.pairs:
                over = {each for each, _ in pair.over.sources} if pair.over.exact else set(call.reads)
                read = [part for each in over for part in self.numbers[each] if number in self.parts[part].readers]
                target = self.numbers[pair.made]
                self.inplace[-1].append((pair.result, target, sorted(read), frozenset(over)))
                for part in target:
                    self.sources.setdefault(part, set()).update(read)

    def build(self) -> OrderProblem:
        slot_of, rooms = self.caller_slots()
        joints = self.joints(slot_of)
        places = {each: place for place, each in enumerate(self.sequence(joints))}
        slots = [*map(Slot, rooms), *(Slot(joint.region.count, places[joint]) for joint in joints)]
        inside = {part: number for number, joint in enumerate(joints, len(rooms)) for part in joint.within}
        slot_of |= inside
        values = [
            Value(
                part.bytes if number in inside else self.bytes_of(part),
                places[part.made.maker],
                tuple(sorted(places[each] for each in part.readers)),
                part.made.kept,
                slot_of.get(number),
            )
            for number, part in enumerate(self.parts)
        ]
        values += (
            Value(self.joint_bytes(joint), places[joint], tuple(sorted(places[each] for each in joint.readers)))
            for joint in joints
        )
        calls = [
            self.beginning(each, places) if isinstance(each, _Joint) else self.call(each, places, values, joints)
            for each in places
        ]
        return OrderProblem(tuple(calls), tuple(values), tuple(slots), self.flow.alignment)

    def call(self, number: int, places: Places, values: Sequence[Value], joints: Sequence[_Joint]) -> Call:
        """A call of main."""
        flow = self.flow.calls[number]
        after = {places[made.maker] for made in flow.reads}
        after |= {places[joint] for joint in joints if number in joint.readers}
        whole = {joint.made: (len(self.parts) + place,) for place, joint in enumerate(joints)}
        inplace = (
            InPlace(result, sum(values[each].bytes for each in target), (*over, *whole.get(made, ())))
            for result, target, over, made in self.inplace[number]
        )
        return Call(tuple(sorted(after)), flow.scratch, tuple(inplace))

    def beginning(self, joint: _Joint, places: Places) -> Call:
        """The call that begins a joint buffer.

        None of it is needed before the first value that may lie there is made, by when all have run that precede the
        makers of all of these.
        """
        common = -1
        for part in joint.within:
            common &= self.ancestors[self.parts[part].made.maker]
        return Call(tuple(sorted(places[each] for each in bits(common))))

    @cached_property
    def ancestors(self) -> list[int]:
        """For each call of main, the bit set of the calls that precede it in every order."""
        found: list[int] = []
        for call in self.flow.calls:
            found.append(union(found[made.maker] | 1 << made.maker for made in call.reads))
        return found

    def sequence(self, joints: Sequence[_Joint]) -> Iterator[int | _Joint]:
        """The calls in the order of main, and the beginnings of buffers."""
        for number in self.calls:
            yield from (joint for joint in joints if joint.first == number)
            yield number

    def bytes_of(self, part: _Part) -> int:
        """Its bytes in the arena: a value that shares its buffer with nothing in any order takes them by itself."""
        alone = part.made.is_whole and part.bytes == part.made.region.count
        return self.rounded(part.bytes) if alone else part.bytes

    def joint_bytes(self, joint: _Joint) -> int:
        alone = self.flow.is_whole(joint.region) and joint.region.owner not in self.flow.copied
        return self.rounded(joint.region.count) if alone else joint.region.count

    def rounded(self, nbytes: int) -> int:
        return -(-nbytes // self.flow.alignment) * self.flow.alignment

    def caller_slots(self) -> tuple[dict[int, int], tuple[int, ...]]:
        """The slot of each part that may lie in memory of the caller, and the bytes of each slot."""
        flow = self.flow
        owned = {
            space: [part for made in flow.owned.get(space, ()) for part in self.numbers[made]] for space in flow.held
        }
        for call in flow.calls:
            for pair in call.pairs:
                if pair.over.region.space in self.cached:
                    owned[pair.over.region.space] += self.numbers[pair.made]
        rooms = [self.rounded(count) for count in flow.held.values()]
        forward = {place for place, space in enumerate(owned) if space in self.cached}
        pairs = [(source, target) for target, sources in self.sources.items() for source in sources]
        return slots_of(len(self.parts), pairs, list(owned.values()), rooms, forward)

    def joints(self, elsewhere: Collection[int]) -> list[_Joint]:
        """The buffers that are read as one, without those that have parts in common, or `elsewhere`."""
        found: dict[tuple[Region, frozenset[Made]], _Joint] = {}
        for number in self.calls:
            for operand in self.flow.calls[number].operands:
                made = frozenset(each for each, _ in operand.sources)
                if len(made) < 2 or not operand.exact or operand.region.space in self.flow.held:
                    continue
                if any(each.region.shared(region) < each.region.count for each, region in operand.sources):
                    continue
                joint = found.setdefault((operand.region, made), _Joint(operand.region, made))
                joint.readers.add(number)
        for joint in found.values():
            joint.within = self.within(joint)
            there = [part for part in joint.within if self.parts[part].made.region.owner == joint.region.owner]
            joint.first = min((*(self.parts[part].made.maker for part in there), *joint.readers))
        uses = Counter(part for joint in found.values() for part in joint.within)
        return [
            joint
            for joint in found.values()
            if all(uses[part] == 1 for part in joint.within) and joint.within.isdisjoint(elsewhere)
        ]

    def within(self, joint: _Joint) -> set[int]:
        """What a joint buffer is made of, and what that may be written over, and so on."""
        found = {part for made in joint.made for part in self.numbers[made]}
        left = list(found)
        while left:
            new = self.sources.get(left.pop(), set[int]()) - found
            found |= new
            left += new
        return found


def _parts(made: Made) -> Iterator[_Part]:
    """A value's bytes by the calls that read them."""
    partial = {call: each for call, each in made.reads.items() if made.region.shared(each) < made.region.count}
    whole = frozenset(made.reads) - partial.keys()
    if not partial:
        yield _Part(made, whole, made.region.count)
        return
    regions = [made.region, *partial.values()]
    rows = [region.rows() for region in regions]
    edges = np.unique(
        np.concatenate([side for each, at in zip(regions, rows, strict=True) for side in (at, at + each.run)])
    )
    inside = np.array(
        [
            np.searchsorted(at, edges[:-1], "right") > np.searchsorted(at + each.run, edges[:-1], "right")
            for each, at in zip(regions, rows, strict=True)
        ]
    )
    lengths = np.diff(edges)[inside[0]]
    kinds, which = np.unique(inside[1:, inside[0]], axis=1, return_inverse=True)
    for number, kind in enumerate(kinds.T):
        readers = whole | {call for call, is_read in zip(partial, kind, strict=True) if is_read}
        yield _Part(made, readers, int(lengths[which.reshape(-1) == number].sum()))
