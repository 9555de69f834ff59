"""Memory checking finds what it is there for, and plans without code are those of the engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from engine_cases import MODELS, engine, inputs
from everything_shared import everything_shared
from models.build import ModelBuilder, example_inputs
from models.small import SMALL_MODELS

import mini_infer as mi
from mini_infer.runtime import memory_check
from mini_infer.runtime.memory_check import CheckedEngine, run_poisoned


def checked(name: str, **options: Any) -> CheckedEngine:
    found = engine(name, check_memory=True, **options)
    assert isinstance(found, CheckedEngine)
    return found


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_checked_engine_answers_as_any_other(name: str, threads: int) -> None:
    given = inputs(name)
    for output, array in engine(name, threads=threads)(given).items():
        np.testing.assert_array_equal(checked(name, threads=threads)(given)[output], array)


@pytest.mark.parametrize("name", ["resnet", "mobilenet", "mlp"])
def test_small_models_pass_the_check(name: str) -> None:
    model = SMALL_MODELS[name]()
    with everything_shared():
        run = mi.compile(model, threads=2, check_memory=True)
    outputs = run(example_inputs(model))
    assert all(np.isfinite(array).all() for array in outputs.values())


def test_planning_may_be_switched_off_and_still_be_checked() -> None:
    assert checked("perceptron", enable_memory_planning=False)(inputs("perceptron"))


def sabotaged(name: str, monkeypatch: pytest.MonkeyPatch, harm: Any) -> CheckedEngine:
    """A checked engine in whose runs by the plan `harm(context)` happens after the inference."""
    found = mi.compile(MODELS[name](), threads=1, check_memory=True)
    assert isinstance(found, CheckedEngine)
    execute = mi.ExecutionContext.execute

    def harmful(context: mi.ExecutionContext) -> None:
        execute(context)
        if context.plan is found.plan:
            harm(context)

    monkeypatch.setattr(mi.ExecutionContext, "execute", harmful)
    return found


def output_of(context: mi.ExecutionContext) -> Any:
    return context._bound[-1]  # pyright: ignore[reportPrivateUsage]


def test_an_answer_that_depends_on_garbage_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def harm(context: mi.ExecutionContext) -> None:
        output_of(context)[1, 2] = context.arena.data[-1]

    broken = sabotaged("perceptron", monkeypatch, harm)
    with pytest.raises(mi.PlanError, match=r"output 'perceptron/gemm_4' is another as planned.*element \[1, 2\] is "):
        broken(inputs("perceptron"))


def test_an_output_that_is_not_written_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def harm(context: mi.ExecutionContext) -> None:
        output_of(context)[3, 7] = np.nan

    broken = sabotaged("perceptron", monkeypatch, harm)
    with pytest.raises(mi.PlanError, match=r"element \[3, 7\] is nan instead of "):
        broken(inputs("perceptron"))


def test_writing_beside_the_arena_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def harm(context: mi.ExecutionContext) -> None:
        base = context.arena.data.base
        assert base is not None
        np.lib.stride_tricks.as_strided(context.arena.data, (context.plan.arena_bytes + 8,))[-1] = 0

    broken = sabotaged("perceptron", monkeypatch, harm)
    with pytest.raises(mi.PlanError, match="bytes beside the arena were written"):
        broken(inputs("perceptron"))


def test_writing_beside_an_output_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def harm(context: mi.ExecutionContext) -> None:
        array = output_of(context)
        np.lib.stride_tricks.as_strided(array.reshape(-1), (array.size + 1,))[-1] = 0

    broken = sabotaged("perceptron", monkeypatch, harm)
    with pytest.raises(mi.PlanError, match="bytes beside output 'perceptron/gemm_4' were written"):
        broken(inputs("perceptron"))


def test_changing_an_input_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def harm(context: mi.ExecutionContext) -> None:
        context._bound[0][0, 0] += 1  # pyright: ignore

    broken = sabotaged("perceptron", monkeypatch, harm)
    with pytest.raises(mi.PlanError, match="input 'x' was changed"):
        broken({"x": inputs("perceptron")["x"].copy()})


def test_writing_to_dead_bytes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody reads these bytes again, and they are a buffer's: only what they were filled with tells."""

    def harm(context: mi.ExecutionContext) -> None:
        context.arena.data[context.plan.memory.buffers[0].offset] = 1

    broken = sabotaged("perceptron", monkeypatch, harm)
    with pytest.raises(mi.PlanError, match="bytes of the arena were written after the death of all buffers there"):
        broken(inputs("perceptron"))


def test_writing_where_no_buffer_lies_is_found() -> None:
    plan = engine("perceptron").plan
    memory = plan.memory
    smaller = replace(memory, buffers=tuple(replace(each, bytes=each.bytes - 4) for each in memory.buffers))
    with pytest.raises(mi.PlanError, match="belong to no buffer"):
        run_poisoned(replace(plan, memory=smaller), list(inputs("perceptron").values()), 0xFF)


def test_a_wrong_plan_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if liveness forgot all reads: what is read next is overwritten meanwhile."""
    from mini_infer.passes import plan_arena
    from mini_infer.passes.liveness import Lifetime
    from mini_infer.passes.verify_arena import VerifyArena

    problem_of = plan_arena.problem_of

    def forgetful(allocations: Any, lifetimes: dict[Any, Lifetime], *rest: Any) -> Any:
        return problem_of(
            allocations, {key: Lifetime(life.birth, life.birth + 1) for key, life in lifetimes.items()}, *rest
        )

    def no_check(self: VerifyArena, ctx: Any, op: Any) -> None:
        del self, ctx, op

    monkeypatch.setattr(plan_arena, "problem_of", forgetful)
    monkeypatch.setattr(VerifyArena, "apply", no_check)
    b = ModelBuilder("chain")
    x = b.input("x", [16, 64])
    for _ in range(4):
        x = b.node("LogSoftmax", b.node("Gemm", x, b.weight(64, 64), b.weight(64)))
    model = b.model([x])
    with pytest.raises(mi.PlanError, match="is another as planned"):
        mi.compile(model, threads=1, check_memory=True)(example_inputs(model))


def test_in_place_can_be_forbidden_by_op() -> None:
    model = SMALL_MODELS["resnet"]()
    options: dict[str, Any] = {"threads": 1, "enable_graph_optimization": False}
    kernels = {each.kernel for each in mi.plan_memory(model, **options).tensors if each.inplace}
    assert any("add" in kernel for kernel in kernels)
    kept = {each.kernel for each in mi.plan_memory(model, disable_inplace=("add",), **options).tensors if each.inplace}
    assert kept == {kernel for kernel in kernels if "add" not in kernel}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"planner": "best"}, "planner is 'best'; it must be one of naive, pools, pools-first-fit, first-fit, "),
        ({"disable_inplace": "add"}, "disable_inplace is 'add'; it must be a sequence of graph ops"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(mi.ConfigError, match=f"^{message}"):
        mi.EngineConfig(**options)
    with pytest.raises(mi.ConfigError, match=r"there is no op graph\.addition to disable"):
        mi.plan_memory(MODELS["perceptron"](), disable_inplace=("addition",))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("options", [{}, {"planner": "pools"}, {"enable_graph_optimization": False}])
def test_the_plan_without_code_is_the_engines(name: str, options: dict[str, Any]) -> None:
    alone = mi.plan_memory(MODELS[name](), threads=1, **options)
    assert alone == engine(name, **options).plan.memory


def test_planning_alone_builds_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    from mini_infer.runtime import build

    monkeypatch.setattr(build, "compile_to_object", None)
    assert mi.plan_memory(MODELS["perceptron"](), threads=1).arena_bytes > 0


def test_a_workspace_that_is_too_small_is_refused_with_what_is_too_large() -> None:
    plan = mi.plan_memory(SMALL_MODELS["resnet"](), threads=1)
    live = [each.name for each in plan.live_at(plan.binding_step) if each.role != "view"]
    with pytest.raises(mi.PlanError) as caught:
        mi.plan_memory(SMALL_MODELS["resnet"](), threads=1, max_workspace_size=plan.lower_bound_bytes - 1)
    assert f"the capacity is {plan.lower_bound_bytes - 1}" in str(caught.value)
    assert any(name in str(caught.value) for name in live)


def test_garbage_is_nan_and_something_else() -> None:
    assert np.isnan(np.full(4, memory_check.PATTERNS[0], np.uint8).view(np.float32)).all()
    assert len(set(memory_check.PATTERNS)) == 2
