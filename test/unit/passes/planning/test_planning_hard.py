"""Problems that are hard or large: the benchmark suite of MiniMalloc, and generated models."""

from __future__ import annotations

from pathlib import Path

import pytest

from mini_infer.passes.planning import Problem, check, solve
from mini_infer.passes.planning.budget import Budget
from mini_infer.passes.planning.exact import luby
from mini_infer.passes.planning.greedy import place
from mini_infer.passes.planning.planning_instance import instance_of, most_live
from mini_infer.passes.planning.random_greedy import improve_at_random
from mini_infer.passes.planning.repeated_greedy import improve
from mini_infer.tools.bench.planning_scale import model_like
from mini_infer.tools.memory.problem_csv import read_problem

SUITE = Path(__file__).parents[3] / "data" / "minimalloc"
CAPACITY = 1 << 20  # bytes: what each of the suite's problems is known to fit into


@pytest.mark.parametrize("name", ["B", "C", "H"])
def test_some_problems_of_the_suite_fit(name: str) -> None:
    assert_fits(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["A", "D", "E", "F", "G", "I", "J", "K"])
def test_all_problems_of_the_suite_fit(name: str) -> None:
    assert_fits(name)


def assert_fits(name: str) -> None:
    """Greedy planners need 12 to 41 per cent more than the capacity."""
    problem = Problem(read_problem(SUITE / f"{name}.csv").buffers, CAPACITY, alignment=1)
    plan = solve(problem, "exact", target=CAPACITY)
    check(problem, plan)
    assert plan.height <= CAPACITY


@pytest.mark.slow
@pytest.mark.parametrize(("name", "height"), [("C", 1039360), ("D", 1017856), ("J", 1031168)])
def test_below_the_capacity_the_search_goes_on(name: str, height: int) -> None:
    """Bytes that `auto` gets to without a capacity, where the most that is live is less than the capacity."""
    problem = Problem(read_problem(SUITE / f"{name}.csv").buffers, alignment=1)
    assert solve(problem).height <= height


def test_random_greedy_placement_gains_where_equal_pushes_stop() -> None:
    """D: its rounds get below 1.2 of the bound in a fraction of a second, those that all aim at the bound don't."""
    problem = Problem(read_problem(SUITE / "D.csv").buffers, alignment=1)
    instance = instance_of(problem)
    bound, start = most_live(instance), place(instance, "greedy-by-size")
    found = improve_at_random(instance, start, bound, Budget(10_000), 10_000)
    assert instance.height(found) < 1.2 * bound < instance.height(improve(instance, start, bound, Budget(10**6), 10**6))
    assert found == improve_at_random(instance, start, bound, Budget(10_000), 10_000)
    assert start == place(instance, "greedy-by-size")


@pytest.mark.parametrize("seed", range(6))
def test_model_like_problems_meet_their_bound(seed: int) -> None:
    problem = model_like(1000, seed)
    plan = solve(problem)
    check(problem, plan)
    assert plan.optimal and plan.height == plan.lower_bound


@pytest.mark.slow
@pytest.mark.parametrize("count", [10_000, 100_000])
def test_large_problems_stay_near_their_bound(count: int) -> None:
    problem = model_like(count)
    plan = solve(problem)
    check(problem, plan)
    assert plan.ratio <= 1.05


def test_restarts_come_in_lubys_order() -> None:
    assert [luby(number) for number in range(1, 16)] == [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]
