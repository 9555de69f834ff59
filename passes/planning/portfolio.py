"""What `auto` does: quick planners first, search only for what they leave above the bound.

Buffers that share no step are planned apart, and a part is done as soon as it fits below the highest bound of all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import greedy
from .budget import Budget
from .instance import Instance, components, part


@dataclass(frozen=True)
class Outcome:
    """A planner's answer for one instance."""

    offsets: list[int]  # units
    method: str
    proven: int = 0  # units: a search proved that nothing lower exists; 0 where none did


Planner = Callable[[Instance, int, Budget], Outcome]  # instance, height that is good enough (units), budget

QUICK: tuple[tuple[str, Callable[[Instance], list[int]], greedy.Fit], ...] = (
    ("greedy-by-size", greedy.by_size, greedy.best_fit),
    ("greedy-by-breadth", greedy.by_breadth, greedy.best_fit),
    ("greedy-by-area", greedy.by_area, greedy.first_fit),
    ("greedy-by-length", greedy.by_length, greedy.first_fit),
    ("best-fit", Instance.free_by_birth, greedy.best_fit),
    ("first-fit", Instance.free_by_birth, greedy.first_fit),
)


def plan_parts(instance: Instance, goal: int, budget: Budget, planner: Planner) -> Outcome:
    """Plan each component by itself. `goal` is a height in units below which nothing is gained."""
    offsets = [0] * len(instance)
    method, proven = "", 0
    for members in components(instance):
        piece = part(instance, members)
        outcome = planner(piece, goal, budget)
        for index, offset in zip(members, outcome.offsets, strict=True):
            offsets[index] = offset
        height = piece.height(outcome.offsets)
        if not method or height > goal:
            method = outcome.method
        proven = max(proven, outcome.proven)
        goal = max(goal, height)
    return Outcome(offsets, method, proven)


def quick(instance: Instance, goal: int, budget: Budget) -> Outcome:
    """The best of the greedy planners; stops at the first that reaches the goal."""
    best: Outcome | None = None
    best_height = 0
    for name, order, fit in QUICK:
        offsets = greedy.place_in_order(instance, order(instance), fit)
        budget.spend(len(instance))
        height = instance.height(offsets)
        if best is None or height < best_height:
            best, best_height = Outcome(offsets, name), height
        if best_height <= goal:
            break
    assert best is not None
    return best
