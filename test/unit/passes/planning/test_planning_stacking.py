"""Places of buffers of other sizes, one above the other as in a known plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from planning_problems import problem_of, problems

from mini_infer.passes.planning import Buffer, Problem, Stacks, check, lower_bound, solve


def resized(problem: Problem, sizes: Sequence[int]) -> Problem:
    buffers = zip(problem.buffers, sizes, strict=True)
    return replace(problem, buffers=tuple(replace(buffer, size=size) for buffer, size in buffers))


@given(problems(8), st.lists(st.integers(0, 30), min_size=8, max_size=8), st.sampled_from(("auto", "first-fit")))
def test_any_sizes_have_places(problem: Problem, sizes: list[int], strategy: str) -> None:
    problem = replace(problem, buffers=tuple(replace(each, offset=None) for each in problem.buffers))
    stacks = Stacks(problem)
    other = resized(problem, sizes[: len(problem.buffers)])
    plan, padded = solve(problem, strategy), stacks.padded([buffer.size for buffer in other.buffers])
    offsets, height = stacks.place(stacks.of(plan), padded)
    bound = lower_bound(other)
    assert stacks.peak(padded) == bound.height
    named = {buffer.id: offset for buffer, offset in zip(problem.buffers, offsets, strict=True)}
    proof = {"bound": bound, "proven_bound": bound.height, "optimal": height == bound.height}
    check(other, replace(plan, offsets=named, height=height, **proof))


@given(problems(8), st.lists(st.integers(0, 6), min_size=8, max_size=8))
def test_no_larger_sizes_are_no_higher(problem: Problem, less: list[int]) -> None:
    problem = replace(problem, buffers=tuple(replace(each, offset=None) for each in problem.buffers))
    stacks, plan = Stacks(problem), solve(problem)
    sizes = [max(0, each.size - by) for each, by in zip(problem.buffers, less, strict=False)]
    assert stacks.place(stacks.of(plan), stacks.padded(sizes))[1] <= plan.height


def test_sizes_that_grow_alike_keep_the_height_of_the_best_plan() -> None:
    """c lies on b, and a, which meets b alone, beside it: 7 bytes, 21 where all are three times as large."""
    problem = problem_of(((2, 0, 2), (3, 1, 3), (4, 2, 4)))
    stacks = Stacks(problem)
    stacking = stacks.of(solve(problem, "greedy-by-size"))
    assert stacks.place(stacking, stacks.padded([6, 9, 12])) == ([0, 12, 0], 21)
    # Without c, b is as low as a lets it be.
    assert stacks.place(stacking, stacks.padded([6, 9, 0])) == ([0, 6, 0], 15)


def test_a_gap_holds_what_lay_in_it() -> None:
    """b lives in the gap of a and takes its bytes at any sizes."""
    problem = Problem((Buffer("a", 4, 0, 9, gaps=((2, 7),)), Buffer("b", 4, 3, 6)), alignment=1)
    stacks = Stacks(problem)
    assert stacks.place(stacks.of(solve(problem)), stacks.padded([5, 9])) == ([0, 0], 9)
