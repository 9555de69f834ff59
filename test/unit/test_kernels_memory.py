"""Where a kernel's buffers lie changes no bit: in place, with gaps between rows, whichever share comes first.

The target is a small one, on which sizes up to 17 leave over everything that can be left over behind two whole tiles:
two lanes of f64, wide vectors of four registers, tiles of two rows by four columns.
"""

from __future__ import annotations

from itertools import cycle

import pytest
from kernel_cases import CASES
from kernel_variants import Memory, every, on_other_memory, small_target, some

from mini_infer.lowering.kernels_to_loops import lower_kernels
from mini_infer.passes.kernels import choose_schedule

LARGEST = 17
FEW = ("contraction", "depthwise", "windows")
SPREAD = {family: (5, 3, 7) if family in FEW else (17, 11, 3, 14) for family in CASES}
NEVER_IN_PLACE = {"attention", "recurrence"}


def test_every_family_has_cases() -> None:
    assert set(CASES) == set(choose_schedule.FAMILIES) == set(lower_kernels.FAMILIES)


@pytest.mark.parametrize("family", CASES)
def test_some_sizes(family: str) -> None:
    cases = [case(size) for case, size in zip(CASES[family].values(), cycle(SPREAD[family]))]
    calls = on_other_memory(cases, small_target(threads=3), some)
    for call in calls:
        call.check()
    mine = [call for call in calls if call.family == family]
    assert mine
    assert any(call.memory.inplace for call in mine) != (family in NEVER_IN_PLACE)
    assert {call.memory != Memory() for call in mine} == {False, True} or family in NEVER_IN_PLACE


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("family", "name"), [(family, name) for family in CASES for name in CASES[family]])
def test_every_size(family: str, name: str, threads: int) -> None:
    for first in range(1, LARGEST + 1, 6):
        sizes = range(first, min(first + 6, LARGEST + 1))
        for call in on_other_memory(
            [CASES[family][name](size) for size in sizes], small_target(threads=threads), every
        ):
            call.check()
