"""Plans against brute force, against changed problems whose answer is known, and against each other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planning_problems import least_height, perfect_packing, problems

from mini_infer.dialects.errors import PlanError
from mini_infer.passes.planning import STRATEGIES, Buffer, Plan, Problem, check, solve

HARD = perfect_packing(4, height=1000, steps=40, cuts=60)  # greedy planners need 1220 bytes


def exactly(problem: Problem) -> Plan:
    plan = solve(problem, "exact")
    check(problem, plan)
    assert plan.optimal and not plan.exhausted
    return plan


@given(problems(6))
@settings(max_examples=200)
def test_exact_meets_brute_force(problem: Problem) -> None:
    expected = least_height(problem)
    if expected is None:
        with pytest.raises(PlanError, match="pinned to the same bytes"):
            solve(problem, "exact")
        return
    assert exactly(problem).height == expected


@pytest.mark.slow
@given(problems(8))
@settings(max_examples=1000)
def test_exact_meets_brute_force_on_eight_buffers(problem: Problem) -> None:
    expected = least_height(problem)
    if expected is not None:
        assert exactly(problem).height == expected


def test_an_empty_buffer_pinned_high_up_takes_no_room() -> None:
    """c and d fit into 5 bytes, but greedy planners put d on a and need 6: the search must look, and b not stop it."""
    a, b = Buffer("a", 1, 0, 5, offset=0, gaps=((1, 4),)), Buffer("b", 0, 0, 1, offset=8)
    problem = Problem((a, b, Buffer("c", 2, 3, 4), Buffer("d", 3, 3, 5)), alignment=1)
    assert exactly(problem).height == least_height(problem) == 5


@given(problems(4, plain=True))
@settings(max_examples=50)
def test_a_beam_beyond_all_states_is_exhaustive(problem: Problem) -> None:
    assert solve(problem, "beam", width=10**6).height == least_height(problem)


@given(problems(16), st.sampled_from(STRATEGIES))
@settings(max_examples=100)
def test_every_strategy_gives_a_valid_plan(problem: Problem, strategy: str) -> None:
    assert_valid(problem, strategy)


@pytest.mark.slow
@given(problems(30), st.sampled_from(STRATEGIES))
@settings(max_examples=1000)
def test_every_strategy_gives_a_valid_plan_of_many_buffers(problem: Problem, strategy: str) -> None:
    assert_valid(problem, strategy)


def assert_valid(problem: Problem, strategy: str) -> None:
    try:
        plan = solve(problem, strategy, budget=3000)
    except PlanError as error:
        assert "pinned to the same bytes" in str(error)
        return
    check(problem, plan)


@given(problems(12, plain=True))
@settings(max_examples=50)
def test_no_strategy_beats_exact(problem: Problem) -> None:
    best = exactly(problem).height
    for strategy in STRATEGIES:
        assert solve(problem, strategy).height >= best, strategy
    assert solve(problem, "auto").height == best


@given(problems(10))
@settings(max_examples=50)
def test_time_may_run_backwards(problem: Problem) -> None:
    mirrored = [
        replace(b, birth=20 - b.death, death=20 - b.birth, gaps=tuple((20 - high, 20 - low) for low, high in b.gaps))
        for b in problem.buffers
    ]
    assert height_or_none(replace(problem, buffers=tuple(mirrored))) == height_or_none(problem)


@given(problems(10), st.sampled_from((2, 8, 32)))
@settings(max_examples=50)
def test_sizes_may_be_scaled(problem: Problem, factor: int) -> None:
    scaled = [
        replace(
            b,
            size=b.size * factor,
            alignment=b.alignment * factor,
            offset=None if b.offset is None else b.offset * factor,
        )
        for b in problem.buffers
    ]
    height = height_or_none(problem)
    bigger = height_or_none(Problem(tuple(scaled), alignment=problem.alignment * factor))
    assert bigger == (None if height is None else factor * height)


@given(problems(9))
@settings(max_examples=50)
def test_a_buffer_less_never_needs_more(problem: Problem) -> None:
    height = height_or_none(problem)
    for left_out in problem.buffers:
        rest = height_or_none(replace(problem, buffers=tuple(b for b in problem.buffers if b is not left_out)))
        assert height is None or (rest is not None and rest <= height)


def height_or_none(problem: Problem) -> int | None:
    try:
        return exactly(problem).height
    except PlanError:
        return None


@pytest.mark.parametrize("seed", range(12))
def test_perfect_packings_are_found_again(seed: int) -> None:
    """Rectangles cut into up to 56 buffers: a plan without any hole, and greedy planners miss most of them."""
    problem = perfect_packing(seed, height=1000, steps=40, cuts=20 + 3 * seed)
    assert exactly(problem).height == 1000


@pytest.mark.parametrize("seed", range(4))
def test_a_packing_that_leaves_no_hole_for_a_pinned_buffer_goes_around_it(seed: int) -> None:
    """One buffer is pinned where a perfect plan has it, the rest must be packed around it."""
    problem = perfect_packing(seed, height=64, steps=20, cuts=14)
    plan = exactly(problem)
    for pinned in problem.buffers[:3]:
        buffers = [replace(b, offset=plan.offsets[b.id]) if b is pinned else b for b in problem.buffers]
        assert exactly(replace(problem, buffers=tuple(buffers))).height == 64


def test_a_capacity_is_met_before_anything_lower_is_tried() -> None:
    """Greedy planners need more than 1000; with that as the capacity the search has one question to answer."""
    assert solve(HARD, "greedy-by-size").height > 1000
    plan = solve(replace(HARD, capacity=1000), "exact")
    assert plan.height == 1000


def test_a_target_ends_the_search() -> None:
    """What greedy planners find at once is good enough for a target of that height, and then nothing is searched."""
    quick = solve(HARD, "auto", budget=0)
    assert quick.height > 1000 and quick.exhausted == "budget" and not quick.optimal
    plan = solve(HARD, "auto", target=quick.height)
    assert plan.height <= quick.height and plan.exhausted == ""
    assert plan.steps <= quick.steps


def test_a_time_limit_is_reported() -> None:
    plan = solve(HARD, "exact", time_limit=0)
    assert plan.exhausted == "time limit" and not plan.optimal
    check(HARD, plan)


def test_a_long_trail_does_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The record of changes starts short here and must be made longer on the way."""
    from mini_infer.passes.planning import exact

    expected = solve(HARD, "exact")
    monkeypatch.setattr(exact, "TRAIL", 0)
    assert solve(HARD, "exact") == expected


def test_twins_are_exchangeable() -> None:
    """Twelve equal buffers that can't be packed into 11 of their size: refuted without trying their 12! orders."""
    problem = Problem(tuple(Buffer(k, 5, 0, 2) for k in range(12)), alignment=1)
    assert solve(problem, "exact").height == 60
