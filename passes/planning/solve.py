"""From a problem to a plan: the strategies by name, and the certificate on every answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, get_args

from . import greedy, pools
from .beam import beam
from .bound import lower_bound, refuse_hopeless
from .budget import Budget
from .instance import Instance, instance_of
from .portfolio import Outcome, plan_parts, quick
from .problem import Bound, Plan, PlanError, Pool, Problem

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

BEAM_WIDTH = 8
BUDGET = 2_000_000  # steps

_GREEDY: dict[str, tuple[Callable[[Instance], list[int]], greedy.Fit]] = {
    "first-fit": (Instance.free_by_birth, greedy.first_fit),
    "best-fit": (Instance.free_by_birth, greedy.best_fit),
    "worst-fit": (Instance.free_by_birth, greedy.worst_fit),
    "greedy-by-size": (greedy.by_size, greedy.best_fit),
    "greedy-by-breadth": (greedy.by_breadth, greedy.best_fit),
}
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
    budget: int = BUDGET,
    time_limit: float | None = None,
    target: int | None = None,
) -> Plan:
    """Place every buffer of the problem.

    alignment: bytes, in place of the problem's. width: of `beam`. budget: search steps that `exact` and `auto` may
    take. time_limit: seconds after which they stop early (a guard: the plan then depends on the machine, and says
    so in `exhausted`). target: bytes; a plan of this height is good enough, so that the search ends there.

    Raises PlanError for a problem that has no plan, or for which none was found within its capacity.
    """
    if strategy not in STRATEGIES:
        raise PlanError(f"unknown strategy {strategy!r}; there are {', '.join(STRATEGIES)}")
    if width < 1 or budget < 0:
        raise PlanError(f"beam width {width} must be positive and the budget {budget} not negative")
    if alignment is not None:
        problem = replace(problem, alignment=alignment)
    refuse_hopeless(problem)
    bound = lower_bound(problem)
    instance = instance_of(problem)
    allowance = Budget(budget, time_limit)
    goal = max(bound.height, target or 0) // instance.unit
    found_pools: list[pools.Colour] = []
    starts: list[int] = []
    if strategy in _GREEDY:
        order, fit = _GREEDY[strategy]
        outcome = Outcome(greedy.place_in_order(instance, order(instance), fit), strategy)
        allowance.spend(len(instance))
    elif strategy in _POOLS:
        found_pools = _POOLS[strategy](instance)
        offsets, starts = pools.stack(instance, found_pools)
        outcome = Outcome(offsets, strategy)
        allowance.spend(len(instance))
    elif strategy == "naive":
        outcome = Outcome(greedy.naive(instance), strategy)
        allowance.spend(len(instance))
    elif strategy == "beam":
        offsets, steps = beam(instance, width)
        outcome = Outcome(offsets, strategy)
        allowance.spend(steps)
    else:
        outcome = plan_parts(instance, goal, allowance, quick)
    plan = _certified(problem, bound, instance, outcome, strategy, allowance)
    if found_pools:
        plan = replace(plan, pools=_pools_of(problem, instance, found_pools, starts))
    if problem.capacity is not None and plan.height > problem.capacity:
        raise _does_not_fit(problem, plan)
    return plan


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
        exhausted=budget.exhausted if height > proven else "",
    )


def _pools_of(
    problem: Problem, instance: Instance, found: Sequence[pools.Colour], starts: Sequence[int]
) -> tuple[Pool, ...]:
    unit = instance.unit
    return tuple(
        Pool(number, start * unit, pool.size * unit, tuple(problem.buffers[i].id for i in pool.members))
        for number, (pool, start) in enumerate(zip(found, starts, strict=True))
    )


def _does_not_fit(problem: Problem, plan: Plan) -> PlanError:
    """The capacity is above the lower bound, yet the plan found is higher."""
    live = set(plan.bound.live)
    names = [b.name for b in problem.buffers if b.id in live]
    return PlanError(
        f"strategy {plan.strategy} needs {plan.height} bytes, the capacity is {problem.capacity}; "
        f"at step {plan.bound.step} {plan.lower_bound} bytes are live: {', '.join(names)}",
        names,
        proven=False,
    )
