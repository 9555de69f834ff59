"""Solves planning problems: the table of strategies, and the certificate of each answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, get_args

from ...dialects.errors import PlanError
from . import greedy, pools
from .beam import beam
from .bound import lower_bound, refuse_hopeless
from .budget import Budget, Goal
from .planning_instance import Instance, instance_of
from .portfolio import Outcome, auto, exact, improved, plan_parts
from .problem import Bound, Plan, Pool, Problem
from .refusal import does_not_fit

Strategy = Literal[
    "naive",
    "pools",
    "pools-first-fit",
    "first-fit",
    "best-fit",
    "worst-fit",
    "greedy-by-size",
    "greedy-by-breadth",
    "beam",
    "exact",
    "auto",
]
STRATEGIES: tuple[str, ...] = get_args(Strategy)
"""Names of the planning strategies: for `allocate`, and for EngineConfig's `planner`."""

BEAM_WIDTH = 8
BUDGETS = {"auto": 2_000_000, "exact": 50_000_000}  # steps; hard searches take 20,000 to 100,000 in a second

_POOLS: dict[str, Callable[[Instance], list[pools.Colour]]] = {
    "pools": pools.colour_by_size,
    "pools-first-fit": pools.first_free_pool,
}


def solve(
    problem: Problem,
    strategy: str = "auto",
    *,
    alignment: int | None = None,
    width: int = BEAM_WIDTH,
    budget: int | None = None,
    time_limit: float | None = None,
    target: int | None = None,
    search: bool = True,
) -> Plan:
    """Places every buffer of the problem.

    alignment: bytes, in place of the problem's.
    width: partial plans that `beam` keeps.
    budget: search steps that `auto` and `exact` may take, in place of their default.
    time_limit: seconds after which these two stop early. Only a safeguard: a plan cut short depends on the machine, and
        says so in `exhausted`.
    target: bytes; a plan of this height is good enough, so that their search ends there.
    search: whether `auto` goes on to exact search, for which compiled code is loaded.

    Raises PlanError for a problem without a plan, or if none was found within its capacity.
    """
    if strategy not in STRATEGIES:
        raise PlanError(f"unknown strategy {strategy!r}; there are {', '.join(STRATEGIES)}")
    if width < 1:
        raise PlanError(f"beam width {width} is not positive")
    if budget is not None and budget < 0:
        raise PlanError(f"budget {budget} is negative")
    if alignment is not None:
        problem = replace(problem, alignment=alignment)
    refuse_hopeless(problem)
    bound = lower_bound(problem)
    instance = instance_of(problem)
    allowance = Budget(BUDGETS.get(strategy, 0) if budget is None else budget, time_limit)
    found_pools: tuple[Pool, ...] = ()
    if strategy in _POOLS:
        outcome, found_pools = _pooled(problem, instance, strategy, allowance)
    elif strategy in BUDGETS:
        limit = None if problem.capacity is None else problem.capacity // instance.unit
        goal = Goal(max(bound.height, target or 0) // instance.unit, limit)
        planner = exact if strategy == "exact" else auto if search else improved
        outcome = plan_parts(instance, goal, allowance, planner)
    else:
        outcome = _placed(instance, strategy, width, allowance)
    plan = _certified(problem, bound, instance, outcome, strategy, allowance)
    if problem.capacity is not None and plan.height > problem.capacity:
        raise does_not_fit(problem, problem.capacity, plan)
    return replace(plan, pools=found_pools)


def _placed(instance: Instance, strategy: str, width: int, budget: Budget) -> Outcome:
    if strategy == "beam":
        offsets, steps = beam(instance, width)
        budget.spend(steps)
        return Outcome(offsets, strategy)
    budget.spend(len(instance))
    if strategy == "naive":
        return Outcome(greedy.naive(instance), strategy)
    return Outcome(greedy.place(instance, strategy), strategy)


def _pooled(problem: Problem, instance: Instance, strategy: str, budget: Budget) -> tuple[Outcome, tuple[Pool, ...]]:
    found = _POOLS[strategy](instance)
    offsets, starts = pools.stack(instance, found)
    budget.spend(len(instance))
    unit = instance.unit
    described = tuple(
        Pool(number, start * unit, pool.size * unit, tuple(problem.buffers[i].id for i in pool.members))
        for number, (pool, start) in enumerate(zip(found, starts, strict=True))
    )
    return Outcome(offsets, strategy), described


def _certified(
    problem: Problem, bound: Bound, instance: Instance, outcome: Outcome, strategy: str, budget: Budget
) -> Plan:
    unit = instance.unit
    height = instance.height(outcome.offsets) * unit
    proven = max(bound.height, outcome.proven * unit)
    return Plan(
        offsets={b.id: o * unit for b, o in zip(problem.buffers, outcome.offsets, strict=True)},
        height=height,
        bound=bound,
        optimal=height == proven,
        strategy=strategy,
        method=outcome.method,
        steps=budget.used,
        proven_bound=proven,
        exhausted=budget.exhausted if height > proven and strategy in BUDGETS else "",
    )
