"""Validates a plan by comparing every pair of buffers. Shares no code with the planners, on purpose.

It recomputes everything that a plan claims from the problem alone: liveness, bytes occupied, the lower bound.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from ...dialects.errors import PlanError
from .problem import Buffer, Plan, Problem


def check(problem: Problem, plan: Plan) -> None:
    """Raises PlanError at the first error of the plan; O(n^2) in the number of buffers.

    Checked: each buffer has one offset, which is not negative, aligned and, where pinned, the pinned one; buffers that
    are live together share no byte; the height is that of the highest end and within the capacity; the lower bound is
    the peak of live bytes; and `optimal` is claimed exactly where the proven bound equals the height.
    """
    _check_placement(problem, plan)
    _check_height(problem, plan)
    _check_pairs(problem, plan)
    _check_bound(problem, plan)


def _check_placement(problem: Problem, plan: Plan) -> None:
    if len(plan.offsets) != len(problem.buffers):
        raise PlanError(f"the plan places {len(plan.offsets)} buffers, the problem has {len(problem.buffers)}")
    for buffer in problem.buffers:
        offset = plan.offsets.get(buffer.id)
        if offset is None:
            raise PlanError(f"{buffer.name} has no offset", [buffer.name])
        if offset < 0:
            raise PlanError(f"{buffer.name} starts at {offset}, before the arena", [buffer.name])
        if offset % problem.alignment or offset % buffer.alignment:
            raise PlanError(f"{buffer.name} starts at {offset}, which is not aligned", [buffer.name])
        if buffer.offset is not None and offset != buffer.offset:
            raise PlanError(f"{buffer.name} starts at {offset}, but is pinned to {buffer.offset}", [buffer.name])


def _check_height(problem: Problem, plan: Plan) -> None:
    unit = problem.alignment
    highest, owner = 0, None
    for buffer in problem.buffers:
        if buffer.size:
            end = (plan.offsets[buffer.id] + buffer.size + unit - 1) // unit * unit
            if end > highest:
                highest, owner = end, buffer
    if owner is not None and highest > plan.height:
        raise PlanError(f"{owner.name} ends at {highest}, above the height {plan.height} of the plan", [owner.name])
    if highest < plan.height:
        raise PlanError(f"the plan claims height {plan.height}, its highest end is {highest}")
    if problem.capacity is not None and highest > problem.capacity:
        raise PlanError(f"the plan's height {highest} exceeds the capacity {problem.capacity}")


def _check_bound(problem: Problem, plan: Plan) -> None:
    """Checks the certificate: the binding step has the most live bytes, and the height is no less."""
    times: list[int] = []
    changes: list[int] = []
    pinned_end = 0
    for buffer in problem.buffers:
        taken = (buffer.size + problem.alignment - 1) // problem.alignment * problem.alignment
        times += [buffer.birth, buffer.death]
        changes += [taken, -taken]
        for low, high in buffer.gaps:
            times += [low, high]
            changes += [-taken, taken]
        if buffer.offset is not None and taken:
            pinned_end = max(pinned_end, buffer.offset + taken)
    order = np.lexsort((changes, times))  # at one step, deaths come before births
    level = np.cumsum(np.array(changes, dtype=np.int64)[order])
    most = max(int(level.max(initial=0)), pinned_end)
    if plan.lower_bound != most:
        raise PlanError(f"the plan claims the lower bound {plan.lower_bound}, the most bytes live are {most}")
    if not most <= plan.proven_bound <= plan.height:
        raise PlanError(f"the plan claims to prove {plan.proven_bound}, which is not in [{most}, {plan.height}]")
    if plan.optimal != (plan.height == plan.proven_bound):
        raise PlanError(f"the plan has height {plan.height} and proves {plan.proven_bound}: optimal is wrong")


def _check_pairs(problem: Problem, plan: Plan) -> None:
    """Compares each live interval, in order of birth, with all later ones born before it ends.

    A buffer's own intervals are disjoint in time, so every conflict is between two buffers.
    """
    owners: list[Buffer] = []
    rows: list[tuple[int, int, int, int]] = []  # birth, death, start, end
    for buffer in problem.buffers:
        if not buffer.size:
            continue
        start = plan.offsets[buffer.id]
        edges = [buffer.birth]
        for low, high in buffer.gaps:
            edges += [low, high]
        edges.append(buffer.death)
        for position in range(0, len(edges), 2):
            owners.append(buffer)
            rows.append((edges[position], edges[position + 1], start, start + buffer.size))
    order = sorted(range(len(rows)), key=lambda row: rows[row][0])
    births = [rows[row][0] for row in order]
    start = np.array([rows[row][2] for row in order], dtype=np.int64)
    end = np.array([rows[row][3] for row in order], dtype=np.int64)
    for row in range(len(rows)):
        rest = slice(row + 1, bisect_left(births, rows[order[row]][1]))
        clash = (start[rest] < end[row]) & (start[row] < end[rest])
        if clash.any():
            other = row + 1 + int(np.flatnonzero(clash)[0])
            a, b = owners[order[row]], owners[order[other]]
            raise PlanError(
                f"{a.name} [{start[row]}, {end[row]}) and {b.name} [{start[other]}, {end[other]}) "
                f"are live together at step {births[other]} and share bytes",
                [a.name, b.name],
            )
