"""The arena planner for buffers of any program, from Python and as `mini-infer allocate`."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

from ...dialects.arguments import check_choice, check_integer, checked_seconds, checked_sequence
from ...dialects.atomic_file import atomic_file
from ...dialects.errors import ConfigError
from ...passes.memory.report.memory_plan import MemoryPlan
from ...passes.memory.report.memory_records import BufferRecord, TensorRecord
from ...passes.planning import BEAM_WIDTH, BUDGETS, STRATEGIES, Buffer, Plan, Problem, check, solve
from ..json_reports import Facts
from ..reports import write_report
from ..reports.figure_files import check_chart
from ..waiting import working
from .problem_csv import ProblemTable, read_problem, with_offsets


def allocate(
    problem: str | Path | Iterable[Buffer],
    *,
    strategy: str = "auto",
    capacity: int | None = None,
    alignment: int = 1,
    time_limit: float | None = None,
    beam_width: int | None = None,
) -> Plan:
    """Assigns every buffer of a problem an offset; buffers that are live together share no byte.

    problem: a CSV file in MiniMalloc's format, or of a memory plan (`mini-infer plan --csv`), or buffers.
    strategy: one of `mini_infer.STRATEGIES`.
    capacity: bytes; the first plan that fits is then good enough; without it the lowest plan is searched for.
    alignment: bytes of which every offset is a multiple.
    time_limit: seconds after which a search gives up.
    beam_width: partial plans that the strategy beam keeps, 8 if not given.

    The plan has `offsets` by id, `height`, `lower_bound` and whether it is `optimal`. It is checked before it is
    returned. Raises PlanError if none is found that fits, naming the buffers that exceed the capacity together if that
    is why; InvalidInputError for a malformed file; ConfigError for an unknown strategy.
    """
    check_choice("strategy", strategy, STRATEGIES)
    if time_limit is not None:
        checked_seconds("time_limit", time_limit)
        if strategy not in BUDGETS:
            raise ConfigError(f"time_limit does nothing with the strategy '{strategy}', which does not search")
    if beam_width is not None:
        check_integer("beam_width", beam_width, 1)
        if strategy != "beam":
            raise ConfigError(f"beam_width does nothing with the strategy '{strategy}'; it is for beam")
    if isinstance(problem, str | Path):
        buffers = read_problem(problem).buffers
    else:
        buffers = tuple(checked_sequence("problem", problem, "a file's path or buffers"))
    posed = Problem(buffers, capacity, alignment)
    plan = solve(posed, strategy, time_limit=time_limit, target=capacity, width=beam_width or BEAM_WIDTH)
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
    *,
    beam_width: int | None = None,
    plot: str | None = None,
) -> Facts:
    """Plans the problem of a CSV file, prints the result, and writes it with offsets; returns it for programs."""
    if plot is not None:
        check_chart(plot, "--plot")
    table = read_problem(path)
    start = time.perf_counter()
    with working(console, f"placing {len(table.buffers)} buffers"):
        plan = allocate(
            table.buffers,
            strategy=strategy,
            capacity=capacity,
            alignment=alignment,
            time_limit=time_limit,
            beam_width=beam_width,
        )
    seconds = time.perf_counter() - start
    for line in _told(table, plan, capacity, seconds):
        console.print(line)
    if output is not None:
        with atomic_file(output) as stream:
            stream.write(with_offsets(table, plan.offsets).encode())
        console.print(f"written: {output}")
    if plot is not None:
        write_report(_as_memory_plan(Problem(table.buffers, capacity, alignment), plan), plot, Path(path).stem)
        console.print(f"written: {plot}")
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


def _as_memory_plan(problem: Problem, plan: Plan) -> MemoryPlan:
    """A placed problem as a memory plan for its picture, with steps from 0 on."""
    first = min((each.birth for each in problem.buffers), default=0)
    last = max((each.death for each in problem.buffers), default=0)
    buffers: list[BufferRecord] = []
    tensors: list[TensorRecord] = []
    for number, each in enumerate(problem.buffers):
        birth, death, offset = each.birth - first, each.death - first, plan.offsets[each.id]
        gaps = tuple((low - first, high - first) for low, high in each.gaps)
        buffers.append(BufferRecord(number, each.name, each.size, offset, birth, death, gaps))
        for low, high in each.live:
            life = low - first, high - first
            tensors.append(TensorRecord(each.name, each.size, *life, False, each.role, offset, buffer=number))
    return MemoryPlan(
        plan.height,
        plan.lower_bound,
        tuple(tensors),
        plan.strategy,
        plan.optimal,
        plan.bound.step - first,
        method=plan.method,
        alignment=problem.alignment,
        total_bytes=sum(map(problem.padded, problem.buffers)),
        steps=tuple(str(step) for step in range(first, last)),
        buffers=tuple(buffers),
    )


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
