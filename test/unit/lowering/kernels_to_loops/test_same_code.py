"""A compile for ranges of sizes gives the same loops whichever sizes it is made for: no present number is left in them.

Where which schedule is best hangs on the sizes, the best ones here are near each other.
"""

from __future__ import annotations

import re
from difflib import unified_diff

import pytest
from models.dynamic import DYNAMIC_MODELS, Build, planned, reflected

from mini_infer.dialects.sizes.size_attributes import guards_of_module
from mini_infer.lowering.pipelines import remaining_phases, run_phases
from mini_infer.runtime.compile.engine_phases import engine_phases

# How large the arena is now, the plan of it, and what the symbols are.
_NOW = re.compile(r"memref<\d+xi8>|kernel\.plan = {.*?}|(?<= )= \d+ in")


def loops_of(build: Build, best: tuple[int, int]) -> tuple[list[str], list[str]]:
    """The loops that a model becomes, sizes spelled out, and the guards."""
    module, ctx, config = planned(build, {name: (9, size, 200) for name, size in zip("nm", best, strict=True)})
    run_phases(ctx, module, remaining_phases(module, "loops", engine_phases(config)))
    del module.attributes["kernel.target"]
    lines = [_NOW.sub("", line) for line in str(module).splitlines()]
    return lines, sorted(map(str, guards_of_module(module).noted.values()))


FOR_ONE_SHAPE = {reflected}
"""What is made for the present sizes only, so far; a guard says so."""


@pytest.mark.thinned(3)
@pytest.mark.parametrize("build", DYNAMIC_MODELS, ids=lambda build: build.__name__)
def test_the_same_loops_whatever_they_are_made_for(build: Build) -> None:
    (first, guards), (other, others) = (loops_of(build, best) for best in ((64, 96), (80, 112)))
    if build in FOR_ONE_SHAPE:
        assert "m - 96 == 0" in guards
        assert "m - 112 == 0" in others
        return
    different = [line for line in unified_diff(first, other, n=0, lineterm="") if line[:1] in "+-"]
    assert not different, "\n".join(different[:12])
    assert guards == others
