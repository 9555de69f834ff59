"""The checker fires on every kind of wrong plan, and on every lifetime that was taken too short."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from planning_problems import perfect_packing, problem_of, problems

from mini_infer.dialects.errors import PlanError
from mini_infer.passes.planning import Buffer, Problem, check, solve

PROBLEM = Problem((Buffer("a", 4, 0, 2), Buffer("b", 4, 1, 3, 4), Buffer("c", 4, 2, 4, offset=8)), alignment=1)


def wrong(offsets: Mapping[int | str, int] | None = None, **changes: Any) -> None:
    plan = solve(PROBLEM, "exact")
    assert plan.offsets == {"a": 0, "b": 4, "c": 8} and plan.height == 12
    check(PROBLEM, plan)
    check(PROBLEM, replace(plan, **changes, offsets={**plan.offsets, **(offsets or {})}))


@pytest.mark.parametrize(
    ("offsets", "changes", "message"),
    [
        ({"b": 0}, {}, r"a \[0, 4\) and b \[0, 4\) are live together at step 1 and share bytes"),
        ({"a": 1}, {}, r"a \[1, 5\) and b \[4, 8\) are live together at step 1"),
        ({"b": 3}, {}, "b starts at 3, which is not aligned"),
        ({"a": -1}, {}, "a starts at -1, before the arena"),
        ({"c": 9}, {}, "c starts at 9, but is pinned to 8"),
        ({"d": 0}, {}, "the plan places 4 buffers, the problem has 3"),
        ({"a": 20}, {}, "a ends at 24, above the height 12 of the plan"),
        ({}, {"height": 11}, "c ends at 12, above the height 11 of the plan"),
        ({}, {"height": 13}, "the plan claims height 13, its highest end is 12"),
        ({}, {"proven_bound": 13}, r"the plan claims to prove 13, which is not in \[12, 12\]"),
        ({}, {"optimal": False}, "the plan has height 12 and proves 12: optimal is wrong"),
        ({}, {"proven_bound": 11, "optimal": False}, r"the plan claims to prove 11, which is not in \[12, 12\]"),
    ],
)
def test_each_wrong_claim_is_found(offsets: dict[int | str, int], changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        wrong(offsets, **changes)


def test_a_missing_buffer_is_found() -> None:
    plan = solve(PROBLEM)
    with pytest.raises(PlanError, match="b has no offset"):
        check(PROBLEM, replace(plan, offsets={"a": 0, "c": 8, "x": 4}))


@pytest.mark.parametrize("claimed", [4, 6])
def test_a_wrong_lower_bound_is_found(claimed: int) -> None:
    problem = problem_of(((2, 0, 2), (3, 1, 3)))
    plan = solve(problem)
    with pytest.raises(PlanError, match=f"the plan claims the lower bound {claimed}, the most bytes live are 5"):
        check(problem, replace(plan, bound=replace(plan.bound, height=claimed)))


def test_a_plan_above_the_capacity_is_found() -> None:
    problem = problem_of(((2, 0, 2), (3, 1, 3)))
    plan = solve(problem)
    check(replace(problem, capacity=5), plan)
    with pytest.raises(PlanError, match="the plan's height 5 exceeds the capacity 4"):
        check(replace(problem, capacity=4), plan)


def test_a_plan_higher_than_what_is_proven_is_not_optimal() -> None:
    problem = problem_of(((2, 0, 1), (3, 1, 2)))
    apart = replace(solve(problem, "naive"), proven_bound=3, optimal=False)
    assert apart.height == 5
    check(problem, apart)
    with pytest.raises(PlanError, match="the plan has height 5 and proves 3: optimal is wrong"):
        check(problem, replace(apart, optimal=True))


def test_the_problems_alignment_holds_where_a_buffer_asks_for_less() -> None:
    problem = Problem((Buffer("a", 2, 0, 1), Buffer("b", 2, 0, 1)), alignment=4)
    plan = solve(problem)
    check(problem, plan)
    with pytest.raises(PlanError, match="b starts at 6, which is not aligned"):
        check(problem, replace(plan, offsets={"a": 0, "b": 6}))


@pytest.mark.parametrize("place", [2, 100])
def test_a_buffer_without_bytes_may_lie_anywhere(place: int) -> None:
    """Within another's bytes, and above all others; what it is pinned to is no height either."""
    problem = Problem((Buffer("a", 4, 0, 2), Buffer("none", 0, 0, 2, offset=place)), alignment=1)
    check(problem, replace(solve(problem), offsets={"a": 0, "none": place}))


@pytest.mark.parametrize("other", [Buffer("b", 4, 1, 4), Buffer("b", 4, 0, 3)])
def test_buffers_may_share_bytes_in_a_gap_only(other: Buffer) -> None:
    inside = Problem((Buffer("a", 4, 0, 4, gaps=((1, 3),)), Buffer("b", 4, 1, 3)), alignment=1)
    plan = solve(inside)
    check(inside, plan)
    beyond = Problem((inside.buffers[0], other), alignment=1)
    with pytest.raises(PlanError, match=r"are live together at step \d and share bytes"):
        check(beyond, plan)


@pytest.mark.parametrize("end", ["birth", "death"])
@pytest.mark.parametrize("seed", range(5))
def test_a_lifetime_taken_one_step_too_short_is_noticed(seed: int, end: str) -> None:
    """Every step is full, and another buffer fills what the shortening freed: only the wrong lifetime makes room."""
    packing = perfect_packing(seed, height=12, steps=12, cuts=14)
    tried = 0
    for victim in packing.buffers:
        if victim.death - victim.birth < 2:
            continue
        step = victim.birth if end == "birth" else victim.death - 1
        others = tuple(b for b in packing.buffers if b is not victim)
        filler = Buffer("filler", victim.size, step, step + 1)
        short = replace(victim, **({"birth": step + 1} if end == "birth" else {"death": step}))
        mistaken = Problem((*others, filler, short), alignment=1)
        plan = solve(mistaken, "exact")
        check(mistaken, plan)
        assert plan.height == 12
        with pytest.raises(PlanError, match="share bytes"):
            check(Problem((*others, filler, victim), alignment=1), plan)
        tried += 1
    assert tried


@given(problems(12))
def test_the_checker_agrees_with_its_definition(problem: Problem) -> None:
    """Byte by byte and step by step: no byte has two owners."""
    try:
        plan = solve(problem, "best-fit")
    except PlanError:
        return
    check(problem, plan)
    for step in range(12):
        owner: dict[int, str] = {}
        for buffer in problem.buffers:
            if any(low <= step < high for low, high in buffer.live):
                for byte in range(plan.offsets[buffer.id], plan.offsets[buffer.id] + buffer.size):
                    assert byte not in owner, (byte, buffer.name, owner[byte])
                    owner[byte] = buffer.name
