"""Malformed problems, and problems that have no plan: what is said about them."""

from __future__ import annotations

import pytest
from planning_problems import GAP, problem_of

from mini_infer.dialects.errors import PlanError
from mini_infer.passes.planning import STRATEGIES, Buffer, Problem, live_at, lower_bound, solve


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": -1}, "t: size -1 is negative"),
        ({"death": 0}, r"t: lifetime \[0, 0\) is empty"),
        ({"alignment": 0}, "t: alignment 0 is not a power of two"),
        ({"offset": -4}, "t: pinned offset -4 is negative"),
        ({"alignment": 24}, "t: alignment 24 is not a power of two"),
        ({"offset": 6, "alignment": 4}, "t: pinned offset 6 is not a multiple of 4"),
        ({"gaps": ((0, 2),)}, r"t: gap \[0, 2\) is empty, out of order or not inside \[0, 9\)"),
        ({"gaps": ((3, 3),)}, r"t: gap \[3, 3\) is empty"),
        ({"gaps": ((5, 6), (2, 3))}, r"t: gap \[2, 3\) is empty, out of order"),
        ({"gaps": ((2, 4), (4, 6))}, r"t: gap \[4, 6\) is empty, out of order"),
        ({"gaps": ((3, 9),)}, r"t: gap \[3, 9\) is empty, out of order or not inside"),
    ],
)
def test_malformed_buffers(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(PlanError, match=message) as caught:
        Buffer(**{"id": 1, "size": 4, "birth": 0, "death": 9, "name": "t", **arguments})  # type: ignore[arg-type]
    assert caught.value.buffers == ("t",)


def test_malformed_problems() -> None:
    buffer = Buffer("a", 4, 0, 1)
    for alignment in (0, -8, 48):
        with pytest.raises(PlanError, match=f"alignment {alignment} is not a power of two"):
            Problem((buffer,), alignment=alignment)
    with pytest.raises(PlanError, match="capacity -1 is negative"):
        Problem((buffer,), capacity=-1)
    with pytest.raises(PlanError, match="a: another buffer has the same id 'a'"):
        Problem((buffer, buffer))
    with pytest.raises(PlanError, match="b: pinned offset 4 is not a multiple of 256"):
        Problem((Buffer("b", 4, 0, 1, offset=4),))


def test_names_default_to_ids() -> None:
    assert Buffer(7, 1, 0, 1).name == "7"
    assert Buffer(7, 1, 0, 1, name="conv").name == "conv"


def test_live_intervals_leave_out_the_gaps() -> None:
    assert Buffer("a", 1, 0, 9).live == ((0, 9),)
    assert Buffer("a", 1, 0, 9, gaps=((2, 3), (5, 8))).live == ((0, 2), (3, 5), (8, 9))


def test_the_lower_bound_is_the_fullest_step() -> None:
    """Step 1: a and b, 2 + 3 bytes. At step 2 a is dead and b with c takes 4."""
    problem = problem_of(((2, 0, 2), (3, 1, 3), (1, 2, 4)))
    bound = lower_bound(problem)
    assert (bound.height, bound.step, bound.live) == (5, 1, ("a", "b"))
    assert [b.id for b in live_at(problem.buffers, 2)] == ["b", "c"]


def test_the_end_of_a_pinned_buffer_is_a_bound_too() -> None:
    problem = Problem((Buffer("a", 4, 0, 2), Buffer("b", 2, 2, 5, offset=10)), alignment=1)
    bound = lower_bound(problem)
    assert (bound.height, bound.step, bound.live) == (12, 2, ("b",))


def test_gaps_lower_the_bound() -> None:
    problem = Problem((Buffer("a", 4, 0, 4, gaps=((1, 3),)), Buffer("b", 4, 1, 3)), alignment=1)
    assert lower_bound(problem).height == 4


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_fewest_buffers_above_the_capacity_are_named(strategy: str) -> None:
    """Step 0 holds 3 + 3 + 3 > 8, three buffers; step 2 holds 5 + 4 > 8 with two, whatever else is live there."""
    problem = problem_of(((3, 0, 1), (3, 0, 1), (3, 0, 1), (5, 2, 3), (4, 2, 3), (1, 2, 3)), capacity=8)
    expected = r"^d \(5\), e \(4\) are live together at step 2: 9 bytes, the capacity is 8$"
    with pytest.raises(PlanError, match=expected) as caught:
        solve(problem, strategy)
    assert caught.value.buffers == ("d", "e") and caught.value.proven


def test_one_buffer_may_be_too_large_by_itself() -> None:
    with pytest.raises(PlanError, match=r"^a \(512\) is live at step 0: 512 bytes, the capacity is 300$"):
        solve(Problem((Buffer("a", 300, 0, 1),), capacity=300))


def test_pinned_buffers_that_collide() -> None:
    rows = (Buffer("a", 4, 0, 2, offset=0), Buffer("b", 4, 1, 2, offset=2))
    with pytest.raises(PlanError, match="a and b are pinned to the same bytes and live together") as caught:
        solve(Problem(rows, alignment=1))
    assert caught.value.buffers == ("a", "b")
    apart = (rows[0], Buffer("b", 4, 2, 3, offset=2))
    assert solve(Problem(apart, alignment=1)).height == 6
    in_a_gap = (Buffer("a", 4, 0, 4, offset=0, gaps=((1, 3),)), Buffer("b", 4, 1, 3, offset=2))
    assert solve(Problem(in_a_gap, alignment=1)).height == 6


def test_a_pinned_buffer_above_the_capacity() -> None:
    with pytest.raises(PlanError, match=r"a: pinned to \[8, 12\), the capacity is 10") as caught:
        solve(Problem((Buffer("a", 4, 0, 2, offset=8),), capacity=10, alignment=1))
    assert caught.value.buffers == ("a",)


def test_a_heuristic_that_misses_the_capacity_proves_nothing() -> None:
    """First fit leaves holes: 15 bytes, though 14 are live at most."""
    rows = ((4, 0, 2), (1, 1, 9), (5, 2, 9))
    assert solve(problem_of(rows), "first-fit").height == 10
    expected = "strategy first-fit found no plan below 10 bytes, the capacity is 9; at step 2 6 bytes are live: b, c"
    with pytest.raises(PlanError, match=expected) as caught:
        solve(problem_of(rows, capacity=9), "first-fit")
    assert not caught.value.proven
    assert solve(problem_of(rows, capacity=9), "auto").height == 6


@pytest.mark.parametrize("strategy", ["auto", "exact"])
def test_search_proves_that_nothing_fits_and_names_who_is_to_blame(strategy: str) -> None:
    """No step holds more than 5 bytes, and yet 6 are needed. j only stands by and is not named."""
    problem = problem_of((*GAP, (1, 7, 9)), capacity=5)
    with pytest.raises(PlanError, match="no plan of at most 5 bytes exists, although no step has more live") as caught:
        solve(problem, strategy)
    assert caught.value.proven
    assert "j" not in caught.value.buffers
    kept = tuple(b for b in problem.buffers if b.name in caught.value.buffers)
    for left_out in kept:
        rest = tuple(b for b in kept if b is not left_out)
        assert solve(Problem(rest, 5, 1), strategy).height <= 5, "any one less, and they fit"
