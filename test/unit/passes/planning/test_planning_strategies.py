"""What each strategy does on problems small enough to see why."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from planning_problems import GAP, problem_of, problems

from mini_infer.dialects.errors import PlanError
from mini_infer.passes.planning import STRATEGIES, Buffer, Plan, Problem, check, solve
from mini_infer.passes.planning.greedy import place
from mini_infer.passes.planning.planning_instance import instance_of
from mini_infer.passes.planning.portfolio import QUICK

# Six buffers born one after another stack up to 15 bytes; at step 6 a, c and e die and leave three holes:
# a [0, 4), c [5, 8), e [9, 14). Then g of 3 bytes is born.
HOLES = ((4, 0, 6), (1, 1, 9), (3, 2, 6), (1, 3, 9), (5, 4, 6), (1, 5, 9), (3, 6, 9))


def solved(rows: tuple[tuple[int, int, int], ...], strategy: str) -> Plan:
    problem = problem_of(rows)
    plan = solve(problem, strategy)
    check(problem, plan)
    return plan


@pytest.mark.parametrize(
    ("strategy", "offset", "reason"),
    [
        ("first-fit", 0, "the lowest hole, 4 bytes"),
        ("best-fit", 5, "the smallest hole, 3 bytes"),
        ("worst-fit", 9, "the largest hole, 5 bytes"),
    ],
)
def test_fits_by_birth_choose_among_holes(strategy: str, offset: int, reason: str) -> None:
    plan = solved(HOLES, strategy)
    assert [plan.offsets[name] for name in "abcdef"] == [0, 4, 5, 8, 9, 14], "one above the other"
    assert plan.offsets["g"] == offset, reason
    assert plan.height == 15


@pytest.mark.parametrize("strategy", ["first-fit", "best-fit", "worst-fit"])
def test_the_free_list_coalesces(strategy: str) -> None:
    """a and b die together and leave one hole of 5 bytes, which d fills; d does not fit into either part."""
    plan = solved(((2, 0, 3), (3, 1, 3), (1, 2, 9), (5, 3, 9)), strategy)
    assert plan.offsets == {"a": 0, "b": 2, "c": 5, "d": 0}
    assert plan.optimal, "6 bytes are live at step 3"


def test_naive_shares_nothing() -> None:
    plan = solved(((2, 0, 1), (3, 1, 2), (4, 2, 3)), "naive")
    assert plan.offsets == {"a": 0, "b": 2, "c": 5}
    assert (plan.height, plan.lower_bound, plan.optimal) == (9, 4, False)


def test_greedy_by_size_places_the_largest_first() -> None:
    """c of 4 bytes takes the floor, then b of 3 beside it, then a of 2, which meets b only: below b c is dead."""
    plan = solved(((2, 0, 2), (3, 1, 3), (4, 2, 4)), "greedy-by-size")
    assert plan.offsets == {"c": 0, "b": 4, "a": 0}
    assert plan.optimal and plan.height == 7


def test_greedy_by_breadth_starts_at_the_fullest_step() -> None:
    """Step 0 holds 8 bytes: a, b and c lie lowest, and d, the largest of all, goes on top of a at step 1."""
    rows = ((3, 0, 2), (3, 0, 1), (2, 0, 1), (4, 1, 3))
    plan = solved(rows, "greedy-by-breadth")
    assert plan.offsets == {"a": 0, "b": 3, "c": 6, "d": 3}
    assert plan.optimal
    by_size = solved(rows, "greedy-by-size")
    assert by_size.offsets == {"d": 0, "a": 4, "b": 0, "c": 7}, "d first: the hole below a is then cut to 3 + 1"
    assert by_size.height == 9


def test_pools_are_coloured_by_size() -> None:
    """A chain of five, each live with the next: two colours. c of 9 bytes opens pool 0, which a and e join."""
    plan = solved(((5, 0, 2), (8, 1, 3), (9, 2, 4), (6, 3, 5), (4, 4, 6)), "pools")
    assert [(pool.id, pool.offset, pool.size, pool.members) for pool in plan.pools] == [
        (0, 0, 9, ("c", "a", "e")),
        (1, 9, 8, ("b", "d")),
    ]
    assert plan.offsets == {"a": 0, "b": 9, "c": 0, "d": 9, "e": 0}
    assert plan.height == 17 == plan.lower_bound, "b and c are live together at step 2"


def test_first_fit_pools_take_only_what_is_large_enough() -> None:
    """By birth. c finds pool 0 free, but of 5 bytes: a new pool. d is smaller than pool 0, which is free again."""
    plan = solved(((5, 0, 2), (8, 1, 3), (9, 2, 4), (4, 3, 5)), "pools-first-fit")
    assert [(pool.size, pool.members) for pool in plan.pools] == [(5, ("a", "d")), (8, ("b",)), (9, ("c",))]
    assert plan.height == 22


def test_pools_of_half_open_lifetimes() -> None:
    """An operation's operand is dead only after the operation: a and b share step 1 and no pool; c reuses a's."""
    plan = solved(((4, 0, 2), (4, 1, 3), (4, 2, 4)), "pools-first-fit")
    assert [pool.members for pool in plan.pools] == [("a", "c"), ("b",)]


def test_exact_finds_the_best_plan_and_proves_it() -> None:
    plan = solved(GAP, "exact")
    assert (plan.height, plan.lower_bound, plan.proven_bound) == (6, 5, 6)
    assert plan.optimal and plan.ratio == 1.2 and not plan.exhausted


def test_auto_stops_at_the_first_planner_that_reaches_the_bound() -> None:
    plan = solved(((2, 0, 2), (3, 1, 3), (4, 2, 4)), "auto")
    assert (plan.method, plan.steps, plan.optimal) == ("greedy-by-size", 3, True), "one placement per buffer"


def test_auto_goes_on_to_exact_search() -> None:
    plan = solved(GAP, "auto")
    assert (plan.height, plan.optimal) == (6, True)


def test_repeated_placement_starts_from_the_fullest_step_too() -> None:
    """From the largest buffer on, no round reaches the 14 bytes that are live at once."""
    rows = ((3, 4, 8), (6, 0, 2), (2, 4, 7), (6, 3, 5), (4, 2, 3), (2, 2, 4), (4, 0, 3), (4, 1, 4))
    plan = solve(problem_of(rows), search=False)
    assert (plan.method, plan.height, plan.lower_bound) == ("improved greedy", 14, 14)


def test_beam_of_width_one_is_first_fit() -> None:
    for rows in (HOLES, GAP):
        assert solved(rows, "beam").strategy == "beam"
        assert solve(problem_of(rows), "beam", width=1).offsets == solve(problem_of(rows), "first-fit").offsets


@given(problems(20))
@settings(max_examples=40)
def test_beam_of_width_one_is_first_fit_on_any_problem(problem: Problem) -> None:
    try:
        expected = solve(problem, "first-fit").offsets
    except PlanError:
        return
    assert solve(problem, "beam", width=1).offsets == expected


def test_buffers_that_never_meet_are_planned_apart() -> None:
    """The method is that of the part that is highest."""
    rows = [(2, 0, 1), *((size, birth + 1, death + 1) for size, birth, death in GAP)]
    plan = solved(tuple(rows), "exact")
    assert plan.offsets["a"] == 0 and plan.height == 6


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_alignment_pads_sizes_and_offsets(strategy: str) -> None:
    """300 and 10 bytes take 512 and 256; the arena is the sum, since they meet."""
    problem = Problem((Buffer("a", 300, 0, 2), Buffer("b", 10, 1, 3)))
    plan = solve(problem, strategy)
    check(problem, plan)
    assert plan.height == plan.lower_bound == 768
    assert solve(problem, strategy, alignment=64).height == 320 + 64


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_buffer_may_be_aligned_more(strategy: str) -> None:
    problem = Problem((Buffer("a", 3, 0, 2), Buffer("b", 10, 0, 2, alignment=8)), alignment=1)
    plan = solve(problem, strategy)
    check(problem, plan)
    assert plan.offsets["b"] % 8 == 0


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_pinned_buffers_stay(strategy: str) -> None:
    """b is pinned above the floor and leaves 4 bytes below it."""
    problem = Problem((Buffer("a", 4, 0, 3), Buffer("b", 2, 1, 2, offset=4), Buffer("c", 5, 1, 3)), alignment=1)
    plan = solve(problem, strategy)
    check(problem, plan)
    assert plan.offsets["b"] == 4


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_gap_is_free_for_others(strategy: str) -> None:
    """a is dead in [1, 3), when b is live: 4 bytes hold both, except for naive planning."""
    problem = Problem((Buffer("a", 4, 0, 4, gaps=((1, 3),)), Buffer("b", 4, 1, 3)), alignment=1)
    plan = solve(problem, strategy)
    check(problem, plan)
    assert plan.height == (8 if strategy == "naive" else 4)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_empty_buffers_and_empty_problems(strategy: str) -> None:
    problem = Problem((Buffer("a", 0, 0, 2), Buffer("b", 4, 0, 2), Buffer("c", 0, 1, 2)), alignment=1)
    plan = solve(problem, strategy)
    check(problem, plan)
    assert plan.height == 4
    nothing = solve(Problem(()), strategy)
    check(Problem(()), nothing)
    assert (nothing.height, nothing.ratio, nothing.optimal) == (0, 1.0, True)


def test_unknown_options_are_refused() -> None:
    problem = problem_of(((1, 0, 1),))
    with pytest.raises(PlanError, match="unknown strategy 'best'; there are naive, pools,"):
        solve(problem, "best")
    with pytest.raises(PlanError, match="beam width 0 is not positive"):
        solve(problem, "beam", width=0)
    with pytest.raises(PlanError, match="budget -1 is negative"):
        solve(problem, "exact", budget=-1)


def test_every_quick_planner_is_the_only_best_somewhere() -> None:
    winners: set[str] = set()
    for seed in range(30):
        random = Random(seed)
        births = [random.randrange(60) for _ in range(60)]
        rows = [(random.randrange(1, 1000), birth, birth + random.randrange(1, 20)) for birth in births]
        buffers = [Buffer(number, *row) for number, row in enumerate(rows)]
        instance = instance_of(Problem(tuple(buffers), alignment=1))
        heights = {name: instance.height(place(instance, name)) for name in QUICK}
        best = [name for name, height in heights.items() if height == min(heights.values())]
        winners.update(best if len(best) == 1 else [])
    assert winners == {*QUICK}
