"""What a window of calls tells about live bytes in every order, as tables for the search.

A window is any set of calls. Only their order among each other is followed: when one of them runs, exactly the calls
that precede it, or precede one that has run, are sure to have run, and those that follow one that has not are sure not
to have. A value is counted where its maker is among the former and a reader among the latter. So the bytes counted at
a step are live there in any order of all calls that has this order of the window. A window of one call gives what is
live with it in every order; that of all calls is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .calls_and_values import OrderProblem, Slot, bits, union


@dataclass(frozen=True)
class Counted:
    """A value as the window sees it: made by the first of `makers` that runs, dead once all of `readers` have run."""

    bytes: int
    makers: int
    readers: int
    slot: int  # -1 for none


@dataclass(frozen=True)
class CountedSlot:
    """A slot as the window sees it."""

    bytes: int
    is_open: bool  # from the start
    openers: int  # it is open once one of these has run
    during: bool  # or while it runs: it is not the opener itself, but follows it

    def is_open_at(self, done: int, then: int) -> bool:
        """Whether it is open during a step from the executed calls `done` to `then`."""
        return self.is_open or bool(self.openers & (then if self.during else done))


@dataclass(frozen=True)
class State:
    """Calls of the window that have run, the bytes live after them, and of these the bytes in each slot."""

    done: int
    live: int
    held: tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """What a call does to a state: bytes live while it runs, and the state after it."""

    bytes: int
    after: State
    is_free: bool  # whether no more is live after it than before, in whatever state it runs later


class Window:
    """The calls of a window by position; see the file's comment."""

    def __init__(self, problem: OrderProblem, calls: Sequence[int]) -> None:
        self.problem = problem
        self.calls = tuple(calls)
        self.position = {call: place for place, call in enumerate(calls)}
        self.all = (1 << len(calls)) - 1
        chosen = union(1 << call for call in calls)
        self.before = [self.positions(problem.ancestors[call] & chosen) for call in calls]
        self.behind = [self.positions(problem.descendants[call] & chosen) for call in calls]
        self.first = [place for place, before in enumerate(self.before) if not before]
        self.made: list[list[Counted]] = [[] for _ in calls]
        self.read: list[list[Counted]] = [[] for _ in calls]
        self.slots: list[CountedSlot] = []
        self.counted = self._counted(chosen)
        self.saved = [self._saved(call) for call in calls]

    def positions(self, chosen: int) -> int:
        """A bit set of calls of the window by position."""
        return union(1 << self.position[call] for call in bits(chosen))

    def _counted(self, chosen: int) -> dict[int, Counted]:
        """The values that the window sees, also sorted by who makes and who reads them."""
        problem, found = self.problem, dict[int, Counted]()
        slots: dict[int, int] = {}
        for number, value in enumerate(problem.values):
            makers = (problem.descendants[value.maker] | 1 << value.maker) & chosen
            ends = value.readers or (value.maker,)
            readers = union(problem.ancestors[end] | 1 << end for end in ends) & chosen
            if not value.bytes or not makers or not (readers or value.kept):
                continue
            first = self._first(self.positions(makers))
            last = self.positions(readers)
            last &= ~union(self.before[place] for place in bits(last))
            if value.kept:
                last = 1 << len(self.calls)
            slot = -1
            if value.slot is not None:
                slot = slots.setdefault(value.slot, len(slots))
            each = found[number] = Counted(value.bytes, first, last, slot)
            for place in bits(first):
                self.made[place].append(each)
            for place in bits(last & self.all):
                self.read[place].append(each)
        self.slots = [self._slot(problem.slots[slot], chosen) for slot in slots]
        return found

    def _slot(self, slot: Slot, chosen: int) -> CountedSlot:
        if slot.opener is None:
            return CountedSlot(slot.bytes, True, 0, False)
        known = self.positions((self.problem.descendants[slot.opener] | 1 << slot.opener) & chosen)
        return CountedSlot(slot.bytes, False, self._first(known), slot.opener not in self.position)

    def _first(self, known: int) -> int:
        """Those of some positions that none of the others precedes."""
        return union(1 << place for place in bits(known) if not self.before[place] & known)

    def _saved(self, call: int) -> list[list[tuple[int, list[Counted]]]]:
        """By result that may be written in place: its bytes, and what it may be written over.

        What is read by a call that follows this one in every order is left out.
        """
        by_result: dict[int, list[tuple[int, list[Counted]]]] = {}
        behind = self.problem.descendants[call]
        for pair in self.problem.calls[call].inplace:
            over = [
                self.counted[value]
                for value in pair.over
                if value in self.counted and not any(behind >> each & 1 for each in self.problem.values[value].readers)
            ]
            by_result.setdefault(pair.result, []).append((pair.bytes, over))
        return list(by_result.values())

    def start(self) -> State:
        """The state before all calls of the window."""
        return State(0, 0, (0,) * len(self.slots))

    def step(self, place: int, state: State) -> Step:
        """Runs a call that is ready."""
        done, live = state.done, state.live
        then = done | 1 << place
        grown = most = 0
        held = [*state.held] if self.slots else []
        most_held = [*state.held] if self.slots else []
        for value in self.made[place]:
            if not value.makers & done and value.readers & ~done:
                most += value.bytes
                if value.slot >= 0:
                    most_held[value.slot] += value.bytes
                if value.readers & ~then:
                    grown += value.bytes
                    if value.slot >= 0:
                        held[value.slot] += value.bytes
        for value in self.read[place]:
            if value.makers & done and not value.readers & ~then:
                grown -= value.bytes
                if value.slot >= 0:
                    held[value.slot] -= value.bytes
        most += live + self.problem.calls[self.calls[place]].scratch - self._saving(place, then)
        released = 0
        for slot, memory in enumerate(self.slots):
            if memory.is_open_at(done, then):
                most -= min(memory.bytes, most_held[slot])
            released += max(0, state.held[slot] - held[slot])
        return Step(self.problem.rounded(most), State(then, live + grown, tuple(held)), grown + released <= 0)

    def _saving(self, place: int, then: int) -> int:
        """The most bytes of results that may lie where operands do that nobody is sure to read later."""
        saving = 0
        dead: dict[int, int] = {}
        for pairs in self.saved[place]:
            best = 0
            for size, over in pairs:
                dying = 0
                for value in over:
                    if not value.readers & ~then:
                        dying += value.bytes
                        dead[id(value)] = value.bytes
                best = max(best, min(size, dying))
            saving += best
        return min(saving, sum(dead.values())) if saving else 0

    def ready_after(self, place: int, ready: Sequence[int], done: int) -> list[int]:
        """The calls that are ready once a call has run, ascending; `done` includes it."""
        left = [each for each in ready if each != place]
        left += [each for each in bits(self.behind[place]) if not self.before[each] & ~done]
        return sorted(left)
