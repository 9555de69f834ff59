"""Checks a proof of the order of calls without trusting, or sharing code with, the search that found it.

Everything is computed from the problem anew, for each set of the proof: the work is linear in sets times calls that are
ready times values. See `calls_and_values.OrderProof` for what a proof says.
"""

from __future__ import annotations

from ...dialects.errors import PlanError
from .calls_and_values import OrderProblem, OrderProof


def check_order_proof(problem: OrderProblem, proof: OrderProof) -> None:
    """Raises PlanError for a proof that does not prove its bound."""
    if not proof.bound and not proof.window:
        return
    _OrderChecker(problem, proof).run()


class _OrderChecker:
    def __init__(self, problem: OrderProblem, proof: OrderProof) -> None:
        calls = range(len(problem.calls))
        if not set(proof.window) <= set(calls) or len(set(proof.window)) != len(proof.window):
            raise PlanError("the proof of the order names calls that there are not, or some twice")
        self.problem, self.bound, self.sets = problem, proof.bound, proof.sets
        self.window = proof.window
        self.before: list[set[int]] = []
        for call in problem.calls:
            self.before.append(set(call.after).union(*(self.before[other] for other in call.after)))
        self.behind = {call: {other for other in calls if call in self.before[other]} for call in self.window}

    def run(self) -> None:
        """Follows every step from every set."""
        self.expect(self.settled(frozenset()))
        for mask in self.sets:
            done = frozenset(call for place, call in enumerate(self.window) if mask >> place & 1)
            if mask >> len(self.window) or any(self.before[c] & set(self.window) - done for c in done):
                raise PlanError(f"the proof of the order has a set {mask:x} that no order reaches")
            for call in self.ready(done):
                if self.during(done, call) < self.bound:
                    self.expect(self.settled(done | {call}))

    def expect(self, done: frozenset[int]) -> None:
        mask = sum(1 << place for place, call in enumerate(self.window) if call in done)
        if len(done) == len(self.window):
            raise PlanError(f"the proof of the order fails: there is an order with fewer than {self.bound} live bytes")
        if mask not in self.sets:
            raise PlanError(f"the proof of the order lacks the set {mask:x}, which is reached below {self.bound} bytes")

    def settled(self, done: frozenset[int]) -> frozenset[int]:
        """The set once no call is free, the first of several having run first."""
        for call in self.ready(done):
            if self.is_free(done, call) and self.during(done, call) < self.bound:
                return self.settled(done | {call})
        return done

    def ready(self, done: frozenset[int]) -> list[int]:
        inside = set(self.window)
        return [c for c in self.window if c not in done and not (self.before[c] & inside) - done]

    def is_before(self, call: int, run: frozenset[int]) -> bool:
        """Whether a call precedes one of these in every order."""
        return any(call in self.before[other] for other in run)

    def is_live(self, value: int, run: frozenset[int], left: set[int]) -> bool:
        """Whether a value is made by a call that has run by then, and read by one that hasn't."""
        each = self.problem.values[value]
        made = each.maker in run or self.is_before(each.maker, run)
        ends = each.readers or (each.maker,)
        return made and (each.kept or any(e in left or self.before[e] & left for e in ends))

    def live_after(self, done: frozenset[int]) -> set[int]:
        left = set(self.window) - done
        return {value for value in range(len(self.problem.values)) if self.is_live(value, done, left)}

    def is_free(self, done: frozenset[int], call: int) -> bool:
        values = self.problem.values
        before, after = self.live_after(done), self.live_after(done | {call})
        growth = self.bytes(after) - self.bytes(before)
        for slot in range(len(self.problem.slots)):
            lost = sum(values[v].bytes for v in before if values[v].slot == slot)
            lost -= sum(values[v].bytes for v in after if values[v].slot == slot)
            growth += max(0, lost)
        return growth <= 0

    def bytes(self, values: set[int]) -> int:
        return sum(self.problem.values[value].bytes for value in values)

    def during(self, done: frozenset[int], call: int) -> int:
        """Bytes that are live while the call runs, at least."""
        problem, left = self.problem, set(self.window) - done
        live = {v for v in range(len(problem.values)) if self.is_live(v, done | {call}, left)}
        found = self.bytes(live) + problem.calls[call].scratch
        for number, slot in enumerate(problem.slots):
            if slot.opener is None or slot.opener in done or self.is_before(slot.opener, done | {call}):
                held = sum(problem.values[v].bytes for v in live if problem.values[v].slot == number)
                found -= min(slot.bytes, held)
        best: dict[int, int] = {}
        dead: set[int] = set()
        for pair in problem.calls[call].inplace:
            over = {v for v in pair.over if v in live and self.may_die(v, done, call)}
            dead |= over
            best[pair.result] = max(best.get(pair.result, 0), min(pair.bytes, self.bytes(over)))
        found -= min(sum(best.values()), self.bytes(dead))
        return -(-found // problem.alignment) * problem.alignment

    def may_die(self, value: int, done: frozenset[int], call: int) -> bool:
        """Whether no call is sure to read the value after this one."""
        each, left = self.problem.values[value], set(self.window) - done - {call}
        if each.kept or any(end in self.behind[call] for end in each.readers):
            return False
        return not any(end in left or self.before[end] & left for end in each.readers)
