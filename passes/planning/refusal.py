"""The error for a problem that fits no plan although live bytes stay within the capacity: a minimal conflict set."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.errors import PlanError
from .budget import Budget
from .planning_instance import Instance, components, instance_of, part
from .problem import Plan, Problem

STEPS = 2_000  # search steps for each set while buffers are left out one by one
LARGEST = 500  # number of buffers up to which that is done


def does_not_fit(problem: Problem, capacity: int, plan: Plan) -> PlanError:
    """The error for a plan that exceeds the capacity, with a proof of infeasibility where there is one."""
    if plan.proven_bound <= capacity:
        by_name = {b.id: b.name for b in problem.buffers}
        names = [by_name[i] for i in plan.bound.live]
        return PlanError(
            f"strategy {plan.strategy} found no plan below {plan.height} bytes, the capacity is {capacity}; "
            f"at step {plan.bound.step} {plan.lower_bound} bytes are live: {', '.join(names)}",
            names,
            proven=False,
        )
    instance = instance_of(problem)
    names = [problem.buffers[i].name for i in _irreducible(instance, capacity // instance.unit, plan.steps)]
    return PlanError(
        f"no plan of at most {capacity} bytes exists, although no step has more live: "
        f"{', '.join(names)} can't be placed together",
        names,
    )


def _irreducible(instance: Instance, height: int, steps: int) -> list[int]:
    """A minimal infeasible set of buffers: it fits, as far as search can tell, if any one is left out."""
    parts = components(instance)
    members = next((m for m in parts if _refuted(instance, m, height, steps)), list(range(len(instance))))
    if len(members) > LARGEST:
        return members
    for index in sorted(members, key=lambda i: (instance.sizes[i], i)):
        fewer = [i for i in members if i != index]
        if _refuted(instance, fewer, height, STEPS):
            members = fewer
    return members


def _refuted(instance: Instance, members: Sequence[int], height: int, steps: int) -> bool:
    """Whether search proves that the members have no plan of that height."""
    from .exact import Searcher  # imported here because it loads numba, which few refusals need

    return Searcher(part(instance, members)).ask(height, Budget(steps), steps).refuted
