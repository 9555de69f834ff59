"""The arena planner for buffers of any program, from Python and as `mini-infer allocate`."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

from ..dialects.arguments import check_choice, checked_seconds, checked_sequence
from ..dialects.atomic_file import atomic_file
from ..dialects.errors import ConfigError
from ..passes.planning import BUDGETS, STRATEGIES, Buffer, Plan, Problem, check, solve
from .json_reports import Facts
from .problem_csv import ProblemTable, read_problem, with_offsets
from .waiting import working


def allocate(
    problem: str | Path | Iterable[Buffer],
    *,
    strategy: str = "auto",
    capacity: int | None = None,
    alignment: int = 1,
    time_limit: float | None = None,
) -> Plan:
    """Assigns every buffer of a problem an offset; buffers that are live together share no byte.

    problem: a CSV file in MiniMalloc's format, or buffers.
    strategy: one of `mini_infer.STRATEGIES`.
    capacity: bytes; the first plan that fits is then good enough; without it the lowest plan is searched for.
    alignment: bytes of which every offset is a multiple.
    time_limit: seconds after which a search gives up.

    The plan has `offsets` by id, `height`, `lower_bound` and whether it is `optimal`. It is checked before it is
    returned. Raises PlanError if none is found that fits, naming the buffers that exceed the capacity together if that
    is why; InvalidInputError for a malformed file; ConfigError for an unknown strategy.
    """
    check_choice("strategy", strategy, STRATEGIES)
    if time_limit is not None:
        checked_seconds("time_limit", time_limit)
        if strategy not in BUDGETS:
            raise ConfigError(f"time_limit does nothing with the strategy '{strategy}', which does not search")
    if isinstance(problem, str | Path):
        buffers = read_problem(problem).buffers
    else:
        buffers = tuple(checked_sequence("problem", problem, "a file's path or buffers"))
    posed = Problem(buffers, capacity, alignment)
    plan = solve(posed, strategy, time_limit=time_limit, target=capacity)
    check(posed, plan)
    return plan


def show_allocation(
    path: str,
    strategy: str,
    capacity: int | None,
    time_limit: float | None,
    alignment: int,
    output: str | None,
    console: Console,
) -> Facts:
    """Plans the problem of a CSV file, prints the result, and writes it with offsets; returns it for programs."""
    table = read_problem(path)
    start = time.perf_counter()
    with working(console, f"placing {len(table.buffers)} buffers"):
        plan = allocate(table.buffers, strategy=strategy, capacity=capacity, alignment=alignment, time_limit=time_limit)
    seconds = time.perf_counter() - start
    for line in _told(table, plan, capacity, seconds):
        console.print(line)
    if output is not None:
        with atomic_file(output) as stream:
            stream.write(with_offsets(table, plan.offsets).encode())
        console.print(f"written: {output}")
    return {
        "problem": path,
        "buffers": len(table.buffers),
        "height_bytes": plan.height,
        "lower_bound_bytes": plan.lower_bound,
        "proven_bound_bytes": plan.proven_bound,
        "proven_minimal": plan.optimal,
        "strategy": plan.strategy,
        "method": plan.method,
        "exhausted": plan.exhausted,
        "seconds": seconds,
        "offsets": plan.offsets,
    }


def _told(table: ProblemTable, plan: Plan, capacity: int | None, seconds: float) -> list[str]:
    method = f"{plan.strategy}: {plan.method}" if plan.method != plan.strategy else plan.strategy
    proof = "proven minimal" if plan.optimal else "not proven minimal"
    if plan.proven_bound > plan.lower_bound and not plan.optimal:
        proof += f", at least {plan.proven_bound:,} are needed"
    if plan.exhausted:
        proof += f" (the {plan.exhausted} ended the search)"
    return [
        f"buffers      {len(table.buffers):>14,}",
        f"height       {plan.height:>14,} bytes, {proof}",
        f"lower bound  {plan.lower_bound:>14,} bytes at step {plan.bound.step}",
        f"ratio        {plan.ratio:>14.4f}",
        *([f"capacity     {capacity:>14,} bytes: it fits"] if capacity is not None else []),
        f"seconds      {seconds:>14.2f}, strategy {method}",
    ]
