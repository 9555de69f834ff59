"""Memory checking finds what it is there for, and plans without code are those of the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_cases import MODELS, engine, inputs
from everything_shared import everything_shared
from models.build import ModelBuilder, example_inputs
from models.small import SMALL_MODELS
from typing_extensions import override
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import FloatAttr, IndexType, MemRefType, ModuleOp, f32

import mini_infer as mi
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.lowering.kernels_to_loops.lower_kernels import KERNEL
from mini_infer.lowering.module_text import read_module
from mini_infer.lowering.pipelines import Observer, PassRun
from mini_infer.passes.geometry.boxes import Box
from mini_infer.passes.memory.analysis.buffers import cast_to
from mini_infer.runtime.compile.checking import memory_check
from mini_infer.runtime.compile.checking.memory_check import CheckedEngine, run_poisoned
from mini_infer.runtime.compile.checking.watched_plan import WatchedPlan
from mini_infer.runtime.compile.plan_builder import Builder
from mini_infer.runtime.compile.source import Best, Source
from mini_infer.runtime.devices.cpu.cpu_device import CpuSession
from mini_infer.runtime.native.cpu_targets import target_attribute


def checked(name: str, **options: Any) -> CheckedEngine:
    found = engine(name, check_memory=True, **options)
    assert isinstance(found, CheckedEngine)
    return found


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_checked_engine_answers_as_any_other(name: str, threads: int) -> None:
    given = inputs(name)
    for output, array in engine(name, threads=threads)(given).items():
        np.testing.assert_array_equal(checked(name, threads=threads)(given)[output], array)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", ["resnet", "mobilenet", "mlp"])
def test_small_models_pass_the_check(name: str) -> None:
    model = SMALL_MODELS[name]()
    with everything_shared():
        run = mi.compile(model, threads=2, check_memory=True)
    outputs = run(example_inputs(model))
    assert all(np.isfinite(array).all() for array in outputs.values())


def test_planning_may_be_switched_off_and_still_be_checked() -> None:
    assert checked("perceptron", enable_memory_planning=False)(inputs("perceptron"))


def test_what_is_chosen_for_the_plan_is_not_for_the_one_without_reuse() -> None:
    assert checked("perceptron", planner="beam", beam_width=3, disable_inplace=("add",))(inputs("perceptron"))


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


def bound_to(context: mi.ExecutionContext, index: int) -> Any:
    """What a context writes an output to: it tells nobody, and that is where harm shows."""
    session = context._session  # pyright: ignore[reportPrivateUsage]
    assert isinstance(session, CpuSession)
    return session._bound[index]  # pyright: ignore[reportPrivateUsage]


def test_an_answer_that_depends_on_garbage_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def harm(context: mi.ExecutionContext) -> None:
        bound_to(context, -1)[1, 2] = context.arena.data[-1]

    broken = sabotaged("perceptron", monkeypatch, harm)
    with pytest.raises(mi.PlanError, match=r"output 'perceptron/gemm_4' is another as planned.*element \[1, 2\] is "):
        broken(inputs("perceptron"))


def test_an_output_that_is_not_written_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def harm(context: mi.ExecutionContext) -> None:
        bound_to(context, -1)[3, 7] = np.nan

    broken = sabotaged("perceptron", monkeypatch, harm)
    with pytest.raises(mi.PlanError, match=r"element \[3, 7\] is nan instead of "):
        broken(inputs("perceptron"))


def test_an_inference_that_fails_by_the_plan_alone_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def harm(context: mi.ExecutionContext) -> None:
        raise mi.InvalidInputError("node (graph.gather): index 9 is outside of a dimension of 3 elements")

    broken = sabotaged("perceptron", monkeypatch, harm)
    with pytest.raises(mi.PlanError, match=r"memory check: node .* 3 elements, as planned, in an arena full of 0xFF"):
        broken(inputs("perceptron"))


@pytest.mark.parametrize("behind", [False, True])
def test_writing_beside_the_arena_is_found(behind: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def harm(context: mi.ExecutionContext) -> None:
        arena = context.arena.data
        if behind:
            np.lib.stride_tricks.as_strided(arena, (context.plan.arena_bytes + 8,))[-1] = 0
        else:
            np.lib.stride_tricks.as_strided(arena, (2,), (-1,))[-1] = 0

    broken = sabotaged("perceptron", monkeypatch, harm)
    with pytest.raises(mi.PlanError, match="bytes outside of the arena were written"):
        broken(inputs("perceptron"))


def test_writing_beside_an_output_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def harm(context: mi.ExecutionContext) -> None:
        array = bound_to(context, -1)
        np.lib.stride_tricks.as_strided(array.reshape(-1), (array.size + 1,))[-1] = 0

    broken = sabotaged("perceptron", monkeypatch, harm)
    with pytest.raises(mi.PlanError, match="bytes outside of output 'perceptron/gemm_4' were written"):
        broken(inputs("perceptron"))


def test_changing_an_input_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def harm(context: mi.ExecutionContext) -> None:
        bound_to(context, 0)[0, 0] += 1

    broken = sabotaged("perceptron", monkeypatch, harm)
    with pytest.raises(mi.PlanError, match="input 'x' was changed"):
        broken({"x": inputs("perceptron")["x"].copy()})


# Bytes [0, 64) are live in steps 0 and 1, and again from 5 on; [64, 128) from step 1 on; in a round of the loop,
# [128, 192) from step 2, and [192, 256) from step 3.
LIVES = (
    """
builtin.module attributes {mini_infer.level = "arena"} {
func.func @main(
    %x: memref<16xf32> {graph.name = "x", graph.role = "input"},
    %y: memref<16xf32> {graph.name = "y", graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}
  ) attributes {kernel.plan = {strategy = "naive", method = "naive", alignment = 64, arena_bytes = 256,
    original_bytes = 256, total_bytes = 256, lower_bound = 192,
    proven_bound = 192, optimal = false, binding_step = 3}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c192 = arith.constant 192 : index
  %g = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 7, gaps = [[2, 5]], name = "g"}
    : memref<256xi8> to memref<16xf32>
  %b = memref.view %arena[%c64][] {buffer = 1, birth = 1, death = 6, name = "b"} : memref<256xi8> to memref<16xf32>
  kernel.call @one ins(%x : memref<16xf32>) outs(%g : memref<16xf32>)
  kernel.call @two ins(%g : memref<16xf32>) outs(%b : memref<16xf32>)
  scf.for %i = %c0 to %c2 step %c1 {
    %c = memref.view %arena[%c128][] {buffer = 2, birth = 2, death = 4, name = "c"} : memref<256xi8> to memref<16xf32>
    %d = memref.view %arena[%c192][] {buffer = 3, birth = 3, death = 5, name = "d"} : memref<256xi8> to memref<16xf32>
    kernel.call @three ins(%b : memref<16xf32>) outs(%c : memref<16xf32>)
    kernel.call @four ins(%c : memref<16xf32>) outs(%d : memref<16xf32>)
    kernel.call @five ins(%d : memref<16xf32>) outs(%b : memref<16xf32>)
  }
  kernel.call @six ins(%b : memref<16xf32>) outs(%g : memref<16xf32>)
  kernel.call @seven ins(%g : memref<16xf32>) outs(%y : memref<16xf32>)
  func.return
}
"""
    + "".join(
        f"""
graph.kernel @{name}(%x: tensor<16xf32>) -> tensor<16xf32>
    attributes {{schedule = #kernel.schedule<"elements">, interface = #kernel.interface<>}} {{
  %r = graph.neg %x : tensor<16xf32>
  graph.yield %r : tensor<16xf32>
}}
"""
        for name in ("one", "two", "three", "four", "five", "six", "seven")
    )
    + "}"
)


def stray(kernel: str, distance: int) -> Observer:
    """Has the code of a kernel write one more element, so many behind the first of its result."""

    def observer(run: PassRun, module: ModuleOp) -> None:
        for op in module.ops if run.name == "lower-kernels" else ():
            if isinstance(op, func.FuncOp) and op.sym_name.data == KERNEL + kernel:
                (_, result) = (argument for argument in op.args if isinstance(argument.type, MemRefType))
                place = cast_to(result, Box(distance, (1,), (1,)))
                zero, number = (
                    arith.ConstantOp.from_int_and_width(0, IndexType()),
                    arith.ConstantOp(FloatAttr(7.0, f32)),
                )
                store = memref.StoreOp.get(number.result, place.result, [zero.result])
                last = op.body.block.last_op
                assert last is not None
                op.body.block.insert_ops_before([place, zero, number, store], last)

    return observer


class Scheduled(Source):
    """A module whose kernels take any number of threads."""

    @override
    def load(self, config: mi.EngineConfig, best: Best | None = None) -> tuple[ModuleOp, MiniContext]:
        assert self.path is not None and not best
        module, ctx = read_module(self.path)
        module.attributes["kernel.target"] = target_attribute(config)
        return module, ctx


@pytest.mark.thinned(3)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("kernel", "distance", "place"),
    [
        pytest.param("one", 16, "from byte 64 to 67", id="before another is born there"),
        pytest.param("three", -32, "from byte 0 to 3", id="in a gap of another's life"),
        pytest.param("six", 48, "from byte 192 to 195", id="where nobody is born again"),
        pytest.param("three", 31, "from byte 252 to 255", id="in a loop, before another is born there"),
        pytest.param("seven", 0, "", id="none"),
    ],
)
def test_a_write_to_dead_bytes_is_found(kernel: str, distance: int, place: str, threads: int, tmp_path: Path) -> None:
    """No answer shows it: somebody else overwrites the bytes before they are read."""
    path = tmp_path / "lives.mlir"
    path.write_text(LIVES)
    config = mi.EngineConfig(threads=threads, check_memory=True)
    watched, _ = WatchedPlan.build(Builder(Scheduled(path), config, observer=stray(kernel, distance)))
    x = np.arange(16, dtype=np.float32)
    for pattern in memory_check.PATTERNS:
        if place:
            message = rf"^memory check: kernel '{kernel}' wrote 4 bytes of the arena that are not its own, {place}$"
            with pytest.raises(mi.PlanError, match=message):
                run_poisoned(watched, [x], pattern)
        else:
            np.testing.assert_array_equal(run_poisoned(watched, [x], pattern)[0][1:], x[1:])
    (y,) = watched.plan.create_execution_context().run({"x": x}).values()
    np.testing.assert_array_equal(y[1:], x[1:])


def test_a_wrong_plan_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if liveness forgot all reads: what is read next is overwritten meanwhile."""
    from mini_infer.passes.memory import plan_arena
    from mini_infer.passes.memory.analysis.liveness import Lifetime
    from mini_infer.passes.memory.verify_arena import VerifyArena

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


@pytest.mark.thinned(5)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("options", [{}, {"planner": "pools"}, {"enable_graph_optimization": False}])
def test_the_plan_without_code_is_the_engines(name: str, options: dict[str, Any]) -> None:
    alone = mi.plan_memory(MODELS[name](), threads=1, **options)
    assert alone == engine(name, **options).plan.memory


def test_planning_alone_builds_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    from mini_infer.runtime.native import machine_code

    monkeypatch.setattr(machine_code, "start_compiling", None)
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
