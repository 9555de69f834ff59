"""Plans of the arena at each shape of a profile.

Births and deaths of buffers are the same at all shapes, only their sizes differ. So a shape's buffers are placed as in
a plan that is known, one above the other (passes/planning/stacking.py), and are planned anew only where that leaves
too much room. Plans have a little room to grow: the next shapes share one whose buffers are large enough for theirs,
and not much larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...dialects.sizes.formulas import Formulas, formulas
from ...dialects.sizes.polynomials import Symbol
from ...dialects.sizes.sizes import bounds_of, terms_of
from ...passes.planning import MOST_BYTES, Bound, Plan, Problem, Stacking, Stacks, lower_bound, refuse_hopeless, solve
from ..device import Array
from ..forks import ForkSafeLock

MOST_KNOWN = 8  # plans that others share or are placed as; those used longest ago go
CLOSE = 1.05
"""Height of a plan that is low enough, as a multiple of what is live at once.

Convolutional networks of 28 to 86 buffers, placed at half to double their height and width as at another shape, came to
1.00 to 1.02, and in few cases to 1.14.
"""
NEAR = 1.04  # what is live at once in a plan that is shared, as a multiple of the shape's own
BITS = 6  # of the significant bits of a rounded value beside the first: it is at most 1/64 larger
PLANNING_STEPS = 20  # for each buffer: six greedy planners, and some rounds of repeated placement


@dataclass(frozen=True)
class BucketPlan:
    """A plan for buffers that are no larger than some; its offsets in the order of the problem's buffers."""

    plan: Plan
    offsets: Array  # int64, bytes
    padded: Array = field(repr=False)  # int64, bytes that each buffer may occupy
    peak: int  # of these bytes
    stacking: Stacking = field(repr=False)


class BucketPlans:
    """Offsets of a problem's buffers, whose sizes are symbolic."""

    def __init__(self, problem: Problem, symbols: Sequence[Symbol], bounded: bool) -> None:
        """With `bounded`, there is a largest size, under which all plans stay."""
        self.problem, self.symbols, self.bounded = problem, tuple(symbols), bounded
        self._stacks = Stacks(problem)
        self._known: tuple[BucketPlan, ...] = ()  # the last used first
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
        sizes = self._sizes(*values)
        if sum(sizes) > MOST_BYTES:
            refuse_hopeless(self._sized(sizes))
        padded = self._stacks.padded(sizes)
        peak, known = self._stacks.peak(padded), self._known
        found = next((each for each in known if each.peak <= NEAR * peak and (padded <= each.padded).all()), None)
        if found is None:
            found = self._planned(self._with_room(values, padded), known)
            if (largest := self.largest) is not None and found.plan.height > largest.height:
                found = self._placed(largest, self._stacks.of(largest), padded)
        with self._lock:
            others = [each for each in self._known if each is not found]
            self._known = (found, *others[: MOST_KNOWN - 1])
        return found

    def bound(self, values: tuple[int, ...]) -> Bound:
        """The lower bound for buffers of exactly these sizes."""
        return lower_bound(self._sized(self._sizes(*values)))

    @cached_property
    def _sizes(self) -> Formulas:
        return formulas((terms_of(buffer.size) for buffer in self.problem.buffers), self.symbols)

    def _sized(self, sizes: Sequence[int]) -> Problem:
        buffers = zip(self.problem.buffers, sizes, strict=True)
        return replace(self.problem, buffers=tuple(replace(buffer, size=size) for buffer, size in buffers))

    def _with_room(self, values: tuple[int, ...], padded: Array) -> Array:
        """What buffers occupy at these values, or at slightly larger ones if that is more."""
        rounded = tuple(map(_next, values))
        if self.bounded:
            rounded = tuple(min(value, symbol.high) for value, symbol in zip(rounded, self.symbols, strict=True))
        try:
            larger = self._sizes(*rounded)
        except ZeroDivisionError:  # no shape has these values, which are rounded one by one
            return padded
        return padded if sum(larger) > MOST_BYTES else np.maximum(padded, self._stacks.padded(larger))

    def _planned(self, padded: Array, known: Sequence[BucketPlan]) -> BucketPlan:
        """A plan for buffers that occupy so many bytes: as in a known one, or of their own."""
        enough = int(CLOSE * self._stacks.peak(padded))
        best: BucketPlan | None = None
        for each in known:
            made = self._placed(each.plan, each.stacking, padded)
            if best is None or made.plan.height < best.plan.height:
                best = made
            if made.plan.height <= enough:
                return made
        steps = PLANNING_STEPS * len(padded)
        plan = solve(self._sized(padded.tolist()), "auto", budget=steps, target=enough, search=False)
        made = self._placed(plan, self._stacks.of(plan), padded)  # may be lower
        return made if best is None or made.plan.height < best.plan.height else best

    def _placed(self, like: Plan, stacking: Stacking, padded: Array) -> BucketPlan:
        """The plan of buffers that are placed as in another plan."""
        offsets, height = self._stacks.place(stacking, padded)
        named = {buffer.id: offset for buffer, offset in zip(self.problem.buffers, offsets, strict=True)}
        plan = replace(like, offsets=named, height=height)
        return BucketPlan(plan, np.array(offsets, np.int64), padded, self._stacks.peak(padded), stacking)


def _next(value: int) -> int:
    """The smallest number >= `value` of at most `BITS` + 1 significant bits."""
    step = 1 << max(0, (value - 1).bit_length() - 1 - BITS) if value > 1 else 1
    return -(-value // step) * step
