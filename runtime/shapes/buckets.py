"""Buckets of dynamic shapes that share one arena plan.

Births and deaths of buffers are the same at all shapes, only their sizes differ, and offsets for larger buffers are
valid for smaller ones. So the values of symbols are rounded up, and a plan for the rounded values serves all shapes of
the bucket.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...dialects.sizes.formulas import Formulas, formulas, grows
from ...dialects.sizes.polynomials import Symbol, constant
from ...dialects.sizes.sizes import bounds_of, terms_of
from ...passes.planning import Bound, Plan, Problem, lower_bound, solve
from ..device import Array
from ..forks import ForkSafeLock

MOST_PLACES = 256  # that are kept; those used longest ago go
PLANNING_STEPS = 2000  # of the search for a plan that is no higher than that of the largest shapes


@dataclass(frozen=True)
class BucketPlan:
    """A plan, and its offsets in the order of the problem's buffers."""

    plan: Plan
    offsets: Array  # int64, bytes


class BucketPlans:
    """Offsets of a problem's buffers, whose sizes are symbolic."""

    def __init__(self, problem: Problem, symbols: Sequence[Symbol], bounded: bool) -> None:
        """With `bounded`, there is a largest size, under which all plans stay."""
        self.problem, self.symbols, self.bounded = problem, tuple(symbols), bounded
        self._known: OrderedDict[tuple[int, ...], BucketPlan] = OrderedDict()
        self._lock = ForkSafeLock()

    @cached_property
    def largest(self) -> Plan | None:
        """A plan that is valid at all shapes, if they are bounded: no buffer is larger at any.

        Most buffers are largest at the largest shapes, but not all: not one of n - 1 - m rows, for example.
        """
        if not self.bounded:
            return None
        return solve(self._sized([bounds_of(buffer.size)[1] for buffer in self.problem.buffers]), "auto")

    @property
    def bytes_of_all(self) -> int:
        """Bytes of an arena for all shapes; 0 if they are unbounded."""
        return 0 if self.largest is None else self.largest.height

    def at(self, values: tuple[int, ...]) -> BucketPlan:
        """The places of the buffers at these values of the symbols."""
        rounded = self._rounded(values)
        with self._lock:
            known = self._known.get(rounded)
            if known is not None:
                self._known.move_to_end(rounded)
                return known
        plan = self._plan(self._sized(self._limits(*rounded)))
        placed = BucketPlan(plan, np.array([plan.offsets[buffer.id] for buffer in self.problem.buffers], np.int64))
        with self._lock:
            self._known[rounded] = placed
            if len(self._known) > MOST_PLACES:
                self._known.popitem(last=False)
        return placed

    def bound(self, values: tuple[int, ...]) -> Bound:
        """The lower bound for buffers of exactly these sizes."""
        return lower_bound(self._sized(self._sizes(*values)))

    @cached_property
    def _sizes(self) -> Formulas:
        return formulas((terms_of(buffer.size) for buffer in self.problem.buffers), self.symbols)

    @cached_property
    def _limits(self) -> Formulas:
        """Upper bounds of the buffers' sizes at any smaller values."""
        sizes = [(buffer.size, terms_of(buffer.size)) for buffer in self.problem.buffers]
        kept = (terms if grows(terms) or not self.bounded else constant(bounds_of(size)[1]) for size, terms in sizes)
        return formulas(kept, self.symbols)

    @cached_property
    def _all_grow(self) -> bool:
        return all(grows(terms_of(buffer.size)) for buffer in self.problem.buffers)

    def _rounded(self, values: tuple[int, ...]) -> tuple[int, ...]:
        """The representative of the values' bucket: powers of two, or eighths of one if the arena is to be tight.

        If sizes are bounded, contexts have an arena for the largest anyway.
        """
        if self.bounded:
            pairs = zip(values, self.symbols, strict=True)
            return tuple(min(_next(value, 0), symbol.high) for value, symbol in pairs)
        return tuple(_next(value, 3) for value in values) if self._all_grow else values

    def _sized(self, sizes: Sequence[int]) -> Problem:
        buffers = zip(self.problem.buffers, sizes, strict=True)
        return replace(self.problem, buffers=tuple(replace(buffer, size=size) for buffer, size in buffers))

    def _plan(self, problem: Problem) -> Plan:
        """The buffers' places: any plan no higher than that for all shapes will do."""
        largest = self.largest
        if largest is None:
            return solve(problem, "auto")
        found = solve(problem, "auto", budget=PLANNING_STEPS, target=largest.height)
        # No buffer is larger than there, so that the same places will always do.
        if found.height <= largest.height:
            return found
        return replace(found, offsets=largest.offsets, height=largest.height)


def _next(value: int, bits: int) -> int:
    """The smallest number >= `value` with at most `bits` + 1 significant bits."""
    step = 1 << max(0, (value - 1).bit_length() - 1 - bits) if value > 1 else 1
    return -(-value // step) * step
