"""A few of the random graphs of planning.py, and that it would tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fuzz import planning
from fuzz.planning import differences, judged, same, steps_of

from mini_infer.dialects.graph.values import Array
from mini_infer.passes.memory import plan_arena
from mini_infer.passes.memory.analysis.liveness import Lifetime
from mini_infer.passes.memory.verify_arena import VerifyArena

SEEDS = range(1, 9)
WRONG = (15, 33)  # seeds of graphs with a value that is read again when others have been written


@pytest.mark.thinned(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_planning_changes_no_bit(seed: int) -> None:
    assert differences(seed, steps_of(seed)) == []


def test_a_wrong_plan_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if liveness forgot all reads, and nobody checked it: only the plan without reuse stays right."""
    problem_of = plan_arena.problem_of

    def forgetful(allocations: Any, lifetimes: dict[Any, Lifetime], *rest: Any) -> Any:
        short = {key: Lifetime(life.birth, life.birth + 1) for key, life in lifetimes.items()}
        return problem_of(allocations, short, *rest)

    def no_check(self: VerifyArena, ctx: Any, op: Any) -> None:
        del self, ctx, op

    monkeypatch.setattr(plan_arena, "problem_of", forgetful)
    monkeypatch.setattr(VerifyArena, "apply", no_check)
    assert [each for seed in WRONG for each in differences(seed, steps_of(seed))]


def test_every_output_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    right, other = ([np.array([1, 2]), np.array([last])] for last in (3, 4))
    found = [right, right]

    def compiled(*_: object) -> tuple[None, None]:
        return None, None

    def run(*_: object) -> list[list[Array]]:
        return found

    monkeypatch.setattr(planning, "_compiled", compiled)
    monkeypatch.setattr(planning, "_run", run)
    assert differences(1, 2) == []
    found[1] = other
    assert differences(1, 2) == [f"{planning.Options.of(1).plan}: output 1"]


def test_a_seed_is_named_with_the_fewest_steps_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(seed: int) -> int:
        return seed // 2

    def differ(seed: int, steps: int) -> list[str]:
        if seed == 9:
            raise IndexError("no such thing")
        return ["output 0"] if steps > 1 else []

    monkeypatch.setattr(planning, "steps_of", steps)
    monkeypatch.setattr(planning, "differences", differ)
    assert judged(8) == "seed 8, 2 steps: output 0"
    assert judged(8, reduce=False) == "output 0"
    assert judged(3) == ""
    assert judged(9) == "seed 9: IndexError: no such thing"


def floats(*bits: int) -> Array:
    return np.array(bits, np.uint32).view(np.float32)


def test_bits_are_the_same_but_for_the_kind_of_nan() -> None:
    nan, zero, one = 0x7FC00000, 0, 0x3F800000
    assert same(floats(nan, one), floats(nan, one)) and same(floats(nan, one), floats(0xFFC00001, one))
    assert not same(floats(nan, one), floats(zero, one)) and not same(floats(zero, one), floats(nan, one))
    assert not same(floats(zero), floats(0x80000000))
    assert not same(np.array([1, 2]), np.array([1, 3]))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1200, 20))
def test_planning_changes_no_bit_of_many(first: int) -> None:
    told = [judged(seed) for seed in range(first, first + 20)]
    assert [each for each in told if each] == []
