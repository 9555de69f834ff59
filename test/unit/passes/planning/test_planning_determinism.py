"""Equal problems get equal plans: in one process, in processes that hash differently, and on slow machines."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from planning_problems import perfect_packing

from mini_infer.passes.planning import STRATEGIES, Buffer, Problem, solve
from mini_infer.tools.bench.planning_scale import model_like

PROGRAM = """
from planning_problems import perfect_packing
from mini_infer.passes.planning import STRATEGIES, Buffer, Problem, solve
from mini_infer.tools.bench.planning_scale import model_like

packing = perfect_packing(4, height=1000, steps=40, cuts=60)
named = Problem(tuple(Buffer(f"t{b.id}", b.size, b.birth, b.death) for b in packing.buffers), alignment=1)
for problem in (named, model_like(60)):
    for strategy in STRATEGIES:
        print(solve(problem, strategy, budget=2000))
"""


@pytest.mark.slow
def test_plans_do_not_depend_on_hashes() -> None:
    outputs: set[str] = set()
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        outputs.add(run.stdout)
    assert len(outputs) == 1


@pytest.mark.thinned(3)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_same_problem_again_is_the_same_plan(strategy: str) -> None:
    problem = perfect_packing(4, height=1000, steps=40, cuts=60)
    assert solve(problem, strategy, budget=500) == solve(problem, strategy, budget=500)


def test_a_time_limit_that_is_not_reached_changes_nothing() -> None:
    problem = perfect_packing(4, height=1000, steps=40, cuts=60)
    assert solve(problem, "exact", time_limit=1e6) == solve(problem, "exact")


def test_generated_problems_are_the_same_again() -> None:
    assert model_like(500) == model_like(500) != model_like(500, seed=1)
    assert len(model_like(500).buffers) == 500
    assert any(b.role == "scratch" for b in model_like(500).buffers)
    assert all(isinstance(b, Buffer) and b.size for b in model_like(500).buffers)
    assert isinstance(model_like(1), Problem)
