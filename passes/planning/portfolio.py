"""The strategies `auto` and `exact`: greedy planners first, search only where they leave a gap to the bound.

Components (groups of buffers with no step in common) are planned separately, and one is done as soon as it fits below
the highest bound of all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from . import greedy
from .budget import Budget, Goal
from .planning_instance import Instance, components, most_live, part
from .repeated_greedy import improve


@dataclass(frozen=True)
class Outcome:
    """A planner's result for one instance."""

    offsets: list[int]  # units
    method: str
    proven: int = 0  # units: a lower bound that search has proven; 0 for none


Planner = Callable[[Instance, Goal, Budget], Outcome]

LARGEST = 5000  # buffers of a component that `auto` still searches: each search step looks at all of them
IMPROVING = 4  # fraction of the remaining steps that repeated greedy placement may take in `auto`
RANDOM = 2  # fraction of what then remains that random greedy placement may take

# Each of them is the only best one for some problems.
QUICK = ("greedy-by-size", "greedy-by-breadth", "greedy-by-area", "greedy-by-length", "best-fit", "first-fit")


def plan_parts(instance: Instance, goal: Goal, budget: Budget, planner: Planner) -> Outcome:
    """Plans each component separately and reports the planner of the highest, the most expensive one among equals."""
    offsets = [0] * len(instance)
    method, most, proven = "", (-1, -1), 0
    for members in components(instance):
        piece = part(instance, members)
        before = budget.used
        outcome = planner(piece, goal, budget)
        for index, offset in zip(members, outcome.offsets, strict=True):
            offsets[index] = offset
        height = piece.height(outcome.offsets)
        if (height, budget.used - before) > most:
            method, most = outcome.method, (height, budget.used - before)
        proven = max(proven, outcome.proven)
        goal = replace(goal, enough=max(goal.enough, height))
    return Outcome(offsets, method, proven)


def quick(instance: Instance, goal: Goal, budget: Budget) -> Outcome:
    """The best result of the greedy planners; stops at the first that reaches the goal."""
    best: Outcome | None = None
    for name in QUICK:
        offsets = greedy.place(instance, name)
        budget.spend(len(instance))
        if best is None or instance.height(offsets) < instance.height(best.offsets):
            best = Outcome(offsets, name)
        if instance.height(best.offsets) <= goal.enough:
            break
    assert best is not None
    return best


def improved(instance: Instance, goal: Goal, budget: Budget, share: int = 1) -> Outcome:
    """Greedy planners, then repeated greedy placement with 1 / `share` of the remaining steps."""
    best = quick(instance, goal, budget)
    if instance.height(best.offsets) > goal.enough and not budget.exhausted:
        offsets = improve(instance, best.offsets, goal.enough, budget, budget.left // share)
        if offsets is not best.offsets:
            best = Outcome(offsets, "improved greedy")
    return best


def auto(instance: Instance, goal: Goal, budget: Budget) -> Outcome:
    """Greedy planners, repeated greedy placement, the same at random, exact search; stops where the goal is reached."""
    best = improved(instance, goal, budget, IMPROVING)
    if len(instance) > LARGEST or _ended(instance, goal, budget, best):
        return best
    from .random_greedy import improve_at_random  # imported here because it loads numba, which most problems don't need

    offsets = improve_at_random(instance, best.offsets, goal.enough, budget, budget.left // RANDOM)
    if offsets is not best.offsets:
        best = Outcome(offsets, "random greedy")
    return _searched(instance, goal, budget, best)


def exact(instance: Instance, goal: Goal, budget: Budget) -> Outcome:
    """Exact search from the best result of the greedy planners."""
    return _searched(instance, goal, budget, quick(instance, goal, budget))


def _searched(instance: Instance, goal: Goal, budget: Budget, best: Outcome) -> Outcome:
    if _ended(instance, goal, budget, best):
        return best
    from .exact import minimise  # imported here because it loads numba, which most problems don't need

    offsets, proven = minimise(instance, best.offsets, goal, most_live(instance), budget)
    return Outcome(offsets, best.method if offsets is best.offsets else "exact", proven)


def _ended(instance: Instance, goal: Goal, budget: Budget, best: Outcome) -> bool:
    """Whether the goal is reached or the budget spent."""
    return instance.height(best.offsets) <= goal.enough or bool(budget.exhausted)
