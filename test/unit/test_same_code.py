"""A compile for ranges of sizes gives the same loops whichever sizes it is made for: no present number is left in them.

Where which schedule is best hangs on the sizes, the best ones here are near each other.
"""

from __future__ import annotations

import re
from difflib import unified_diff

import pytest
from models.dynamic import DYNAMIC_MODELS, Build, planned, reflected

from mini_infer.dialects.symbolic.guards import Guards
from mini_infer.dialects.symbolic.sizes import spelled_out
from mini_infer.lowering.pipelines import remaining_phases, run_phases
from mini_infer.runtime.build import engine_phases

# How large the arena is now, and the plan of it.
_ARENA = re.compile(r"memref<\d+xi8>|kernel\.plan = {.*?}")


def loops_of(build: Build, best: tuple[int, int]) -> tuple[list[str], list[str]]:
    """The loops that a model becomes, sizes spelled out, and the guards."""
    guards = Guards()
    module, ctx, config = planned(build, {name: (9, size, 200) for name, size in zip("nm", best, strict=True)}, guards)
    with guards.collecting():
        run_phases(ctx, module, remaining_phases(module, "loops", engine_phases(config)))
    del module.attributes["kernel.target"]
    with spelled_out():
        lines = [_ARENA.sub("", line) for line in str(module).splitlines()]
    return lines, sorted(map(str, guards.noted.values()))


FOR_ONE_SHAPE = {reflected}
"""What is made for the present sizes only, so far; a guard says so."""


@pytest.mark.thinned(3)
@pytest.mark.parametrize("build", DYNAMIC_MODELS, ids=lambda build: build.__name__)
def test_the_same_loops_whatever_they_are_made_for(build: Build) -> None:
    (first, guards), (other, others) = (loops_of(build, best) for best in ((64, 96), (80, 112)))
    if build in FOR_ONE_SHAPE:
        assert "m + -96 == 0" in guards
        assert "m + -112 == 0" in others
        return
    different = [line for line in unified_diff(first, other, n=0, lineterm="") if line[:1] in "+-"]
    assert not different, "\n".join(different[:12])
    assert guards == others
