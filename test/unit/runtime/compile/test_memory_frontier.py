"""A model fits the memory that it is given, by the fastest plan that does; else it is refused with a reason."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from models.build import example_inputs
from text_models import pictures

import mini_infer as mi
from mini_infer.dialects.errors import ConfigError, PlanError
from mini_infer.lowering.module_text import module_context, parse_module
from mini_infer.lowering.pipelines import remaining_phases, run_phases
from mini_infer.passes.model_time import CALL_SECONDS, estimated_seconds
from mini_infer.runtime.compile.checking.memory_check import CheckedEngine
from mini_infer.runtime.compile.memory_frontier import MemoryFrontier

ALONE: dict[str, Any] = {"threads": 1, "tuned": False, "cache": False}


@cache
def frontier() -> MemoryFrontier:
    return mi.memory_frontier(pictures(), threads=1, tuned=False)


@cache
def output(memory: int | None) -> tuple[int, Any]:
    """The bytes of the arena, and the model's output."""
    engine = mi.compile(pictures(), memory=memory, **ALONE)
    return engine.plan.memory.arena_bytes, engine(example_inputs(pictures()))["y"]


def test_of_two_points_none_is_smaller_and_as_fast() -> None:
    points = frontier().points
    assert len(points) >= 5
    for smaller, larger in pairwise(points):
        assert smaller.arena_bytes < larger.arena_bytes
        assert smaller.seconds > larger.seconds
    assert points[0].band and not points[-1].band, "the smallest goes by bands, the fastest does not"
    assert points[0].arena_bytes < 0.4 * points[-1].arena_bytes
    assert frontier().tried >= len(points)


@pytest.mark.parametrize("place", [0, 2, -1])
def test_what_a_point_says_is_what_a_compile_gives(place: int) -> None:
    point = frontier().points[place]
    nbytes, found = output(point.arena_bytes)
    assert nbytes <= point.arena_bytes
    np.testing.assert_allclose(found, output(None)[1], rtol=1e-4, atol=1e-5)


def test_with_room_for_it_the_fastest_plan_is_taken() -> None:
    assert frontier().fastest_within(10**9) == frontier().points[-1]
    assert output(10**9)[0] == frontier().points[-1].arena_bytes


def test_a_byte_less_than_the_smallest_is_refused_with_what_binds() -> None:
    least, binding = frontier().points[0].arena_bytes, frontier().points[0].binding
    plan = mi.plan_memory(pictures(), threads=1, tuned=False, memory=least)
    assert binding in plan.step_nodes[plan.binding_step]
    told = (
        rf"no plan of the model fits in {least - 1:,} bytes: the smallest of \d+ has an arena of {least:,} "
        rf"\(bands of [^;]*\), with most live at {binding};"
    )
    with pytest.raises(PlanError, match=told):
        mi.compile(pictures(), memory=least - 1, **ALONE)
    with pytest.raises(PlanError, match=told):
        frontier().fastest_within(least - 1)


def test_a_call_that_no_plan_can_do_without_is_named() -> None:
    step = frontier().least_step
    assert step.bytes == step.operands + step.results + step.scratch
    with pytest.raises(PlanError, match=f"in each of them a call needs more: {step.node} alone needs {step.bytes:,} "):
        frontier().fastest_within(step.bytes - 1)


def test_a_plan_that_fits_is_checked_against_one_without_reuse_by_the_same_bands() -> None:
    point = frontier().points[0]
    engine = mi.compile(pictures(), memory=point.arena_bytes, check_memory=True, **ALONE)
    assert isinstance(engine, CheckedEngine)
    np.testing.assert_array_equal(engine(example_inputs(pictures()))["y"], output(point.arena_bytes)[1])


def test_a_gpus_frontier_has_its_schedules_and_bands_whose_loops_the_host_counts() -> None:
    device: dict[str, Any] = {"device": "cuda-emulated", "gpu": "sm_80"}
    smallest, *_, fastest = mi.memory_frontier(pictures(), **device).points
    assert smallest.band and not fastest.band and smallest.arena_bytes < 0.4 * fastest.arena_bytes
    assert smallest.seconds > 2 * fastest.seconds  # of many more launches
    engine = mi.compile(pictures(), memory=smallest.arena_bytes, emulator="compiled", cache=False, **device)
    assert engine.plan.arena_bytes == smallest.arena_bytes and not engine.plan.program.reads
    found = engine(example_inputs(pictures()))["y"]
    np.testing.assert_allclose(found, output(None)[1], rtol=1e-4, atol=1e-5)


def test_plans_of_memory_are_those_of_a_compile() -> None:
    point = frontier().points[1]
    plan = mi.plan_memory(pictures(), threads=1, tuned=False, memory=point.arena_bytes)
    assert plan.arena_bytes == output(point.arena_bytes)[0]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"memory": "much"}, "memory is a number of bytes such as 500M or 20G, not 'much'"),
        ({"memory": "1M", "enable_memory_planning": False}, "memory does nothing with enable_memory_planning=False"),
        ({"memory": "1M", "enable_dynamic_shapes": True}, "memory is for one shape"),
    ],
)
def test_options_that_do_not_go_together(options: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        mi.EngineConfig(**options)


@pytest.mark.parametrize("options", [{"memory": "1M"}, {"enable_graph_optimization": False}])
def test_a_frontier_is_of_one_shape(options: Any) -> None:
    with pytest.raises(ConfigError, match="the frontier is of"):
        mi.memory_frontier(pictures(), **options)


LOOP = """
builtin.module attributes {
    kernel.target = #kernel.cpu<"generic", vector_bits = 256, registers = 16, l2 = 65536, threads = 1>} {
  func.func @main(%x: tensor<1000xf32>) -> tensor<1000xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %turns = arith.constant TURNS : index
    %y = scf.for %i = %c0 to %turns step %c1 iter_args(%state = %x) -> (tensor<1000xf32>) {
      %next = graph.relu %state : tensor<1000xf32>
      scf.yield %next : tensor<1000xf32>
    }
    func.return %y : tensor<1000xf32>
  }
}"""


def looped(turns: int) -> float:
    ctx = module_context()
    module = parse_module(ctx, LOOP.replace("TURNS", str(turns)).encode(), "loop")
    run_phases(ctx, module, remaining_phases(module, "arena"))
    return estimated_seconds(module)


def test_a_loop_takes_as_long_as_its_turns() -> None:
    one, three = looped(2) - looped(1), looped(4) - looped(1)
    assert one > CALL_SECONDS
    assert three == pytest.approx(3 * one)
