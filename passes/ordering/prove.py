"""Proves how few live bytes any order of calls may have, and finds better orders on the way.

Three steps, until the bound meets the peak of the best order known:

1. Each call by itself: what is live with it in every order. This takes time linear in calls times values.
2. Windows around the step where most is live, each twice as large as the one before. A small proof is tried first.
3. The whole part of the graph between two calls that every other call precedes or follows: cuts that lose nothing.

In 2 and 3 the question is whether an order stays below the known peak. An order that does so for a whole part is a
better one; otherwise the bound is raised by bisection as far as the allowance of steps goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .calls_and_values import OrderProblem, OrderProof, bits, union
from .reach import Allowance, peak, reach
from .window import Window

STEPS = 400_000
"""Steps that may be tried, in place of a time limit: equal problems get equal proofs. About 10 us each."""


@dataclass(frozen=True)
class OrderResult:
    """A proven bound of all orders, and the best order that is known with its peak; bytes."""

    proof: OrderProof
    order: tuple[int, ...]
    peak: int
    steps: int  # tried

    @property
    def bound(self) -> int:
        """No order has fewer live bytes at every step."""
        return self.proof.bound


def bound_of_calls(problem: OrderProblem) -> OrderProof:
    """The best bound by what is live with one call in every order."""
    best = OrderProof(0, (), frozenset())
    most = [call.scratch for call in problem.calls]  # without what may be saved
    for value in problem.values:
        made = problem.descendants[value.maker] | 1 << value.maker
        read = union(problem.ancestors[end] | 1 << end for end in value.readers or (value.maker,))
        for call in bits(made if value.kept else made & read):
            most[call] += value.bytes
    for call in sorted(range(len(most)), key=lambda call: -most[call]):
        if problem.rounded(most[call]) <= best.bound:
            break
        window = Window(problem, (call,))
        found = window.step(0, window.start()).bytes
        if found > best.bound:
            best = OrderProof(found, (call,))
    return best


def prove(problem: OrderProblem, order: Sequence[int], steps: int = STEPS) -> OrderResult:
    """The largest bound that so many steps find, and the best order, starting from a known one."""
    return _Prover(problem, order, steps).run()


def improve(problem: OrderProblem, order: Sequence[int], steps: int = STEPS) -> tuple[int, ...]:
    """The best order that so many steps find, starting from a known one."""
    return _Prover(problem, order, steps, bisects=False).run().order


class _Prover:
    def __init__(self, problem: OrderProblem, order: Sequence[int], steps: int, *, bisects: bool = True) -> None:
        self.problem = problem
        self.bisects = bisects
        self.allowance = Allowance(steps)
        self.steps = steps
        self.whole = Window(problem, range(len(problem.calls)))
        self.order = list(order)
        self.proof = bound_of_calls(problem)
        self.parts = _parts(problem)

    def run(self) -> OrderResult:
        while True:
            profile = peak(self.whole, self.order)
            top = max(profile, default=0)
            if self.proof.bound >= top or not self.attack(profile, top):
                return OrderResult(self.proof, tuple(self.order), top, self.steps - self.allowance.steps)

    def attack(self, profile: Sequence[int], top: int) -> bool:
        """Raises the bound, towards the peak; True where a better order was found instead."""
        step = profile.index(max(profile))
        part = next(part for part in self.parts if self.order[step] in part)
        places = [place for place, call in enumerate(self.order) if call in part]
        start, end = places[0], places[-1] + 1
        size, tried = 2, list[Window]()
        while True:
            low = max(start, min(step - size // 2, end - size))
            calls = self.order[low : min(end, low + size)]
            window = Window(self.problem, calls)
            found = reach(window, top, self.allowance)
            if isinstance(found, OrderProof):
                self.proof = found
                return False
            if found is not None and len(calls) == len(places):
                self.order[start:end] = found
                return True
            tried.append(window)
            if found is None or len(calls) == len(places):
                break
            size *= 2
        for window in tried[-3:] if self.bisects else ():
            self.bisect(window, top)
        return False

    def bisect(self, window: Window, above: int) -> None:
        """Raises the bound by a window that has an order below `above`, or is too large to be decided there."""
        unit = self.problem.alignment
        while above - self.proof.bound > unit and self.allowance.steps > 0:
            limit = self.problem.rounded((above + self.proof.bound) // 2)
            if limit >= above:
                limit = above - unit
            found = reach(window, limit, self.allowance)
            if isinstance(found, OrderProof):
                self.proof = found
            else:
                above = limit
                if above - self.proof.bound <= above // 2000:
                    return


def _parts(problem: OrderProblem) -> list[frozenset[int]]:
    """The calls split behind each call that every other one precedes or follows."""
    count, parts, seen = len(problem.calls), list[frozenset[int]](), 0
    gates = [
        call for call in range(count) if (problem.ancestors[call] | problem.descendants[call]).bit_count() == count - 1
    ]
    for gate in gates:
        up_to = problem.ancestors[gate] | 1 << gate
        parts.append(frozenset(bits(up_to & ~seen)))
        seen = up_to
    rest = frozenset(bits((1 << count) - 1 & ~seen))
    return [*parts, rest] if rest else parts
