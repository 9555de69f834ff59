"""Loops and branches in main, in each other: every pass keeps the answer, to the bit.

Random programs run at the kernels level in the reference interpreter, byte by byte on what the memory passes made
(buffer_interpreter.py), and compiled, on one thread and two, with all reuse of memory and without any.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from everything_shared import everything_shared
from graph_runs import execute
from memory_programs import MEMORY, assert_same, random_program, run_memory
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

from mini_infer.dialects.graph.blobs import blob_store
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering import pipelines
from mini_infer.passes.memory.analysis.buffer_interpreter import run_module
from mini_infer.passes.statistics import pass_statistics
from mini_infer.runtime.compile.module_to_plan import build_plan
from mini_infer.runtime.engine import EngineConfig
from mini_infer.runtime.native.cpu_targets import target_attribute

SEEDS = [*range(25), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(25, 1000))]
QUICK = (0, 1, 54)  # 54 computes nothing but loops: it looks the same with kernels formed as without
COMPILED = [*QUICK, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(200) if seed not in QUICK)]


def judge(seed: int, passes: Sequence[str], whiles: bool = False) -> dict[str, int]:
    """Runs a program after some passes; how often each op with regions stands in it, and what passes counted."""
    ctx, module, inputs = random_program(seed, length=5, regions=True, whiles=whiles)
    wanted = interpret(module, inputs, blob_store(ctx))
    run_memory(ctx, module, passes)
    assert_same(run_module(module, blob_store(ctx), inputs), wanted)
    found = {what: times for _, what, times in pass_statistics(ctx).rows()}
    for op in module.walk():
        if isinstance(op, scf.ForOp | scf.WhileOp | scf.IfOp):
            found[op.name] = found.get(op.name, 0) + 1
    return found


@pytest.mark.thinned(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_answers_are_the_same_to_the_bit(seed: int) -> None:
    judge(seed, MEMORY)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("seed", SEEDS[:12] + SEEDS[25:])
def test_loops_that_end_early_keep_the_answer(seed: int) -> None:
    judge(seed, MEMORY, whiles=True)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("left_out", MEMORY[:2] + MEMORY[3:4])
def test_every_pass_can_be_left_out(left_out: str) -> None:
    for seed in range(8):
        judge(seed, [name for name in MEMORY if name != left_out])


def test_buffers_without_an_arena_are_right_too() -> None:
    for seed in range(8):
        judge(seed, MEMORY[:4])


def test_what_is_made_in_a_loops_buffer_is_not_overwritten_too_early() -> None:
    """max(r, r) may not be made where r lies, which was written over what the turn began with."""
    judge(92, MEMORY)


def test_the_passes_have_something_to_do() -> None:
    done: dict[str, int] = {}
    for seed in range(40):
        for what, times in judge(seed, MEMORY, whiles=seed % 2 == 0).items():
            done[what] = done.get(what, 0) + times
    assert done["scf.for"] > 20 and done["scf.while"] > 10 and done["scf.if"] > 20
    assert done["in-place-result"] > 20
    assert done["vanished-copy"] > 20
    assert done["moved-calls"] > 0


def compiled(module: ModuleOp, threads: int, reuse: bool, ctx: object, inputs: dict[str, Array]) -> dict[str, Array]:
    """The results of machine code; kernels are the same whether memory is reused or not."""
    module = module.clone()
    config = EngineConfig.of(threads=threads, enable_memory_planning=reuse)
    module.attributes["kernel.target"] = target_attribute(config)
    with everything_shared():
        return execute(build_plan(module, ctx, config), inputs)  # pyright: ignore[reportArgumentType]


@pytest.mark.thinned(5)
@pytest.mark.parametrize("whiles", [False, True])
@pytest.mark.parametrize("seed", COMPILED)
def test_code_keeps_the_answer(seed: int, whiles: bool) -> None:
    ctx, module, inputs = random_program(seed, length=3, regions=True, plain=True, whiles=whiles)
    pipelines.run_passes(ctx, module, pipelines.parse_passes("dce"))
    wanted = interpret(module, inputs, blob_store(ctx))
    runs = [compiled(module, threads, reuse, ctx, inputs) for threads in (1, 2) for reuse in (False, True)]
    for found in runs:
        for name, array in wanted.items():
            np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-5, err_msg=name)
        assert_same(found, runs[0])
