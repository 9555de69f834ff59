"""Checks a proof of the order of calls without trusting, or sharing code with, the search that found it.

Everything is computed from the problem anew, for each set of the proof: the work is linear in sets times calls that are
ready times values. See `calls_and_values.OrderProof` for what a proof says. Sets of calls are bit sets by position in
the proof's window.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...dialects.errors import PlanError
from .calls_and_values import OrderProblem, OrderProof


def check_order_proof(problem: OrderProblem, proof: OrderProof) -> None:
    """Raises PlanError for a proof that does not prove its bound."""
    if not proof.bound and not proof.window:
        return
    _OrderChecker(problem, proof).run()


@dataclass(frozen=True)
class _Seen:
    """A value that is sure to be live between some calls of the window."""

    number: int
    bytes: int
    slot: int | None
    made: int  # the calls that follow its maker in every order, or are it
    read: int  # the calls that precede one of its readers in every order, or are it
    kept: bool


class _OrderChecker:
    def __init__(self, problem: OrderProblem, proof: OrderProof) -> None:
        calls = range(len(problem.calls))
        if not set(proof.window) <= set(calls) or len(set(proof.window)) != len(proof.window):
            raise PlanError("the proof of the order names calls that there are not, or some twice")
        self.problem, self.bound, self.sets = problem, proof.bound, proof.sets
        self.window = proof.window
        self.all = (1 << len(proof.window)) - 1
        self.before: list[set[int]] = []  # by call of the problem
        for call in problem.calls:
            self.before.append(set(call.after).union(*(self.before[other] for other in call.after)))
        self.waits_for = [self.mask(other in self.before[call] for other in self.window) for call in self.window]
        self.values = [
            _Seen(number, value.bytes, value.slot, made, read, value.kept)
            for number, value in enumerate(problem.values)
            if (made := self.followers(value.maker))
            and ((read := self.leaders(value.readers or (value.maker,))) or value.kept)
        ]

    def mask(self, chosen: Iterable[bool]) -> int:
        return sum(1 << place for place, is_in in enumerate(chosen) if is_in)

    def followers(self, call: int) -> int:
        """The calls that follow a call of the problem in every order, or are it."""
        return self.mask(call == other or call in self.before[other] for other in self.window)

    def leaders(self, ends: Sequence[int]) -> int:
        """The calls that precede one of these in every order, or are one."""
        before = set(ends).union(*(self.before[end] for end in ends))
        return self.mask(other in before for other in self.window)

    def run(self) -> None:
        """Follows every step from every set."""
        self.expect(self.settled(0))
        for done in self.sets:
            if done > self.all or any(self.waits_for[place] & ~done for place in self.places(done)):
                raise PlanError(f"the proof of the order has a set {done:x} that no order reaches")
            for place in self.ready(done):
                if self.during(done, place) < self.bound:
                    self.expect(self.settled(done | 1 << place))

    def expect(self, done: int) -> None:
        if done == self.all:
            raise PlanError(f"the proof of the order fails: there is an order with fewer than {self.bound} live bytes")
        if done not in self.sets:
            raise PlanError(f"the proof of the order lacks the set {done:x}, which is reached below {self.bound} bytes")

    def settled(self, done: int) -> int:
        """The set once no call is free, the first of several having run first."""
        for place in self.ready(done):
            if self.is_free(done, place) and self.during(done, place) < self.bound:
                return self.settled(done | 1 << place)
        return done

    def places(self, chosen: int) -> list[int]:
        return [place for place in range(len(self.window)) if chosen >> place & 1]

    def ready(self, done: int) -> list[int]:
        return [place for place in self.places(self.all & ~done) if not self.waits_for[place] & ~done]

    def live(self, run: int, left: int) -> list[_Seen]:
        """The values that are made by a call that has run by then, and read by one that hasn't."""
        return [value for value in self.values if value.made & run and (value.kept or value.read & left)]

    def is_free(self, done: int, place: int) -> bool:
        then = done | 1 << place
        before, after = self.live(done, self.all & ~done), self.live(then, self.all & ~then)
        growth = _bytes(after) - _bytes(before)
        for slot in _slots(before):
            lost = _bytes(value for value in before if value.slot == slot)
            growth += max(0, lost - _bytes(value for value in after if value.slot == slot))
        return growth <= 0

    def during(self, done: int, place: int) -> int:
        """Bytes that are live while a call runs, at least."""
        problem, then, call = self.problem, done | 1 << place, self.window[place]
        live = self.live(then, self.all & ~done)
        found = _bytes(live) + problem.calls[call].scratch
        for slot in _slots(live):
            opener = problem.slots[slot].opener
            if opener is None or self.has_run(opener, done, then):
                found -= min(problem.slots[slot].bytes, _bytes(value for value in live if value.slot == slot))
        by_number = {value.number: value for value in live if self.may_die(value, then, call)}
        best: dict[int, int] = {}
        dead: dict[int, int] = {}
        for pair in problem.calls[call].inplace:
            over = {each: by_number[each].bytes for each in pair.over if each in by_number}
            dead |= over
            best[pair.result] = max(best.get(pair.result, 0), min(pair.bytes, sum(over.values())))
        found -= min(sum(best.values()), sum(dead.values()))
        return -(-found // problem.alignment) * problem.alignment

    def has_run(self, call: int, done: int, then: int) -> bool:
        """Whether a call of the problem has run before a step that leads from one set to another in every order."""
        behind = self.followers(call)
        return bool(behind & (done if call in self.window else then))

    def may_die(self, value: _Seen, then: int, call: int) -> bool:
        """Whether no call is sure to read the value after this one."""
        readers = self.problem.values[value.number].readers
        return not (value.kept or value.read & self.all & ~then or any(call in self.before[end] for end in readers))


def _bytes(values: Iterable[_Seen]) -> int:
    return sum(value.bytes for value in values)


def _slots(values: Iterable[_Seen]) -> set[int]:
    return {value.slot for value in values if value.slot is not None}
