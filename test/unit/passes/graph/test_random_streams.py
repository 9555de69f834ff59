"""Random layers that are run by bands of rows: what they mean, their bits, and every judge of a plan on their plans.

The judges: verify-arena finds lifetimes, overlaps, bounds and sharing again; the interpreter of buffers runs the plan
on garbage, lets buffers become garbage where they die, and finds who wrote each byte that is read; plans with a
fault in them are refused; problems that are turned around, scaled or made easier have the answers that they must have;
texts are the same whatever the seed of hashes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from graph_runs import Model, Target, compiled, execute
from memory_faults import move_a_buffer, shorten_a_lifetime
from memory_programs import MEMORY, assert_same, run_memory
from stream_models import random_layers
from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

from mini_infer.dialects.errors import PlanError
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.kernel.targets import CpuAttr
from mini_infer.lowering.pipelines import parse_passes, run_passes
from mini_infer.passes.memory import plan_arena
from mini_infer.passes.memory.analysis.buffer_interpreter import run_module
from mini_infer.passes.memory.verify_arena import VerifyArena
from mini_infer.passes.planning import Plan, Problem, solve

BATCH = 25
SLOW = [pytest.param(batch, marks=pytest.mark.slow) for batch in range(1, 200)]


def stream(m: Model, seed: int) -> int:
    """Runs the layers of a model by bands of some size; the number of loops."""
    band = Random(seed).choice([1, 200, 800, 3000])
    run_passes(m.ctx, m.module, parse_passes(f"stream-rows{{band={band}}},dce"))
    return sum(isinstance(op, scf.ForOp) for op in m.main.walk())


def model_of(seed: int) -> Model:
    """Random layers without those that nothing reads."""
    m = random_layers(seed)
    run_passes(m.ctx, m.module, parse_passes("dce"))
    return m


@pytest.mark.parametrize("batch", [0, *SLOW])
def test_bands_mean_what_whole_values_mean(batch: int) -> None:
    loops = 0
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        m = model_of(seed)
        wanted = interpret(m.module, m.inputs, m.ctx.blobs, precision=np.float64)
        loops += stream(m, seed) > 0
        found = interpret(m.module, m.inputs, m.ctx.blobs, precision=np.float64)
        for name, array in wanted.items():
            np.testing.assert_allclose(found[name], array, rtol=1e-11, atol=1e-12, err_msg=f"{seed}: {name}")
    assert loops > BATCH // 5


@pytest.mark.parametrize("seed", [4, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1000, 1200))])
def test_bits_of_machine_code(seed: int) -> None:
    """Bits are promised where they don't hang on LLVM's choice of what to fuse, which goes by a loop's size."""
    m, target = model_of(seed), Target(threads=Random(seed).choice([1, 2]), winograd="off", reproducible=True)
    whole = execute(compiled(m, target)[0], m.inputs)
    stream(m, seed)
    assert_same(execute(compiled(m, target)[0], m.inputs), whole)


def planned(seed: int) -> tuple[Model, dict[str, np.ndarray]]:
    """Layers by bands on an arena, verified, and what they give in the interpreter."""
    m = model_of(seed)
    stream(m, seed)
    m.module.attributes["kernel.target"] = CpuAttr.of(threads=1 + seed % 2)
    run_passes(m.ctx, m.module, parse_passes("form-kernels,choose-schedule"))
    wanted = interpret(m.module, m.inputs, m.ctx.blobs)
    run_memory(m.ctx, m.module)
    return m, wanted


@pytest.mark.parametrize("seed", [1, 4, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(10, 60))])
def test_no_byte_is_read_that_another_has_written(seed: int) -> None:
    m, wanted = planned(seed)
    assert_same(run_module(m.module, m.ctx.blobs, m.inputs), wanted)


@pytest.mark.parametrize("fault", [shorten_a_lifetime, move_a_buffer])
def test_faults_of_a_plan_are_noticed(fault: Callable[[ModuleOp, Random], bool]) -> None:
    m, _ = planned(4)
    for seed in range(6):
        module = m.module.clone()
        assert fault(module, Random(seed))
        with pytest.raises(PlanError):
            VerifyArena().apply(Context(), module)


def problem_of(seed: int) -> Problem:
    """The planning problem of layers by bands."""
    found: list[Problem] = []

    def kept(problem: Problem, strategy: str, *, budget: int) -> Plan:
        found.append(problem)
        return solve(problem, strategy, budget=budget)

    m = model_of(seed)
    stream(m, seed)
    m.module.attributes["kernel.target"] = CpuAttr.of(threads=1)
    run_passes(m.ctx, m.module, parse_passes("form-kernels,choose-schedule"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan_arena, "solve", kept)
        run_memory(m.ctx, m.module, MEMORY[:5])
    (problem,) = found
    return problem


@pytest.mark.parametrize("seed", [1, 4])
def test_changed_problems_have_the_answers_that_they_must_have(seed: int) -> None:
    problem = problem_of(seed)
    plan = solve(problem)
    assert plan.optimal
    last = max(buffer.death for buffer in problem.buffers)
    mirrored = [
        replace(b, birth=last - b.death, death=last - b.birth, gaps=tuple((last - y, last - x) for x, y in b.gaps))
        for b in problem.buffers
    ]
    assert solve(replace(problem, buffers=tuple(mirrored))).height == plan.height
    scaled = [replace(b, size=8 * b.size, alignment=8 * b.alignment) for b in problem.buffers]
    assert solve(Problem(tuple(scaled), alignment=8 * problem.alignment)).height == 8 * plan.height
    for left_out in Random(seed).sample(problem.buffers, 4):
        rest = tuple(b for b in problem.buffers if b is not left_out)
        assert solve(replace(problem, buffers=rest)).height <= plan.height


PROGRAM = """
from test_random_streams import planned
for seed in (1, 4, 7):
    print(planned(seed)[0].module)
"""


@pytest.mark.slow
def test_plans_do_not_depend_on_hashes() -> None:
    texts: set[str] = set()
    for seed in ("0", "1"):
        path = os.pathsep.join([os.path.dirname(__file__), *sys.path])
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        run = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        texts.add(run.stdout)
    assert len(texts) == 1
