"""A few of the random graphs of planning.py, and that it would tell."""

from __future__ import annotations

import pytest
from fuzz.planning import differences, judged, steps_of

SEEDS = range(1, 9)


@pytest.mark.parametrize("seed", SEEDS)
def test_planning_changes_no_bit(seed: int) -> None:
    assert differences(seed, steps_of(seed)) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1200, 20))
def test_planning_changes_no_bit_of_many(first: int) -> None:
    told = [judged(seed) for seed in range(first, first + 20)]
    assert [each for each in told if each] == []
