"""Where a kernel's buffers lie changes no bit: in place, with gaps between rows, whichever share comes first.

The target is a small one, on which sizes up to 17 leave over everything that can be left over behind two whole tiles:
two lanes of f64, wide vectors of four registers, tiles of two rows by four columns.
"""

from __future__ import annotations

from itertools import cycle

import pytest
from kernel_cases import CACHES, CASES
from kernel_variants import Memory, every, on_other_memory, small_target, some

from mini_infer.lowering.kernels_to_loops import lower_kernels
from mini_infer.passes.kernels.schedules import schedules_of

LARGEST = 17
FEW = ("bands", "panels", "computed_panels", "prologue_panels", "pooled_panels", "depthwise")
SPREAD = {schedule: (5, 3, 7) if schedule in FEW else (17, 11, 3, 14) for schedule in CASES}
NEVER_IN_PLACE = {
    "attention",
    "attention_blocks",
    "bands",
    "linear_attention",
    "one_row",
    "pool",
    "pooled_panels",
    "recurrence",
    "resize",
    "selection",
    "suppression",
    "tree_ensemble",
}


ALWAYS_DENSE = {"pool", "recurrence", "resize"}


def test_every_schedule_has_cases_and_code() -> None:
    names = schedules_of("cpu")
    assert {*CASES, "rows_before_panels", "external"} == {
        *names
    }  # for which test_candidates.py, test_user_kernels.py are
    assert all(callable(lower_kernels.code_of(name)) for name in names)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("schedule", CASES)
def test_some_sizes(schedule: str) -> None:
    cases = [case(size) for case, size in zip(CASES[schedule].values(), cycle(SPREAD[schedule]))]
    calls = on_other_memory(cases, small_target(l2=CACHES.get(schedule, 64), threads=3), some)
    for call in calls:
        call.check()
    mine = [call for call in calls if call.schedule == schedule]
    assert mine
    assert any(call.memory.inplace for call in mine) != (schedule in NEVER_IN_PLACE)
    assert {call.memory != Memory() for call in mine} == {False, True} or schedule in ALWAYS_DENSE


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("schedule", "name"), [(schedule, name) for schedule in CASES for name in CASES[schedule]])
def test_every_size(schedule: str, name: str, threads: int) -> None:
    for first in range(1, LARGEST + 1, 6):
        sizes = range(first, min(first + 6, LARGEST + 1))
        target = small_target(l2=CACHES.get(schedule, 64), threads=threads)
        for call in on_other_memory([CASES[schedule][name](size) for size in sizes], target, every):
            call.check()
