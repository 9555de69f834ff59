"""The device "cuda-emulated": the runtime end to end on memory that numpy can't see, without a GPU."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gpu_runs import EMULATORS
from models.build import SMALL_MODELS, ModelBuilder
from models.judging import Judge
from text_models import model_of

import mini_infer as mi
from mini_infer.dialects.errors import ConfigError, InvalidInputError, KernelError, UnsupportedError
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.gpu_to_cuda.device_program import Argument
from mini_infer.runtime.devices.emulated.emulated_device import EmulatedMemory
from mini_infer.runtime.plan import InferencePlan

EMULATED = "cuda-emulated"


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge.of(SMALL_MODELS["mlp"]())


@pytest.fixture(scope="module", params=EMULATORS)
def plan(judge: Judge, request: pytest.FixtureRequest) -> InferencePlan:
    return mi.compile(judge.model, device=EMULATED, emulator=request.param).plan


def single(judge: Judge) -> tuple[Array, Array]:
    """The only input and the exact output."""
    ((_, given),), ((_, exact),) = judge.inputs.items(), judge.exact.items()
    return given, exact


def test_a_plan_lists_launches(plan: InferencePlan) -> None:
    assert plan.launches
    assert [call.kernel for call in plan.calls] == [launch.kernel for launch in plan.launches]
    assert all(launch.nodes for launch in plan.launches)


@pytest.mark.parametrize("emulator", EMULATORS)
@pytest.mark.parametrize("operator", ["Gather", "GatherElements", "GatherND", "ScatterND", "ScatterElements"])
def test_indices_of_64_bits_are_checked_as_such(operator: str, emulator: str) -> None:
    """An index of a GPU's code has 32 bits, in which these would be 1 and -1."""
    b = ModelBuilder("far")
    x, ids = b.input("x", [4, 4]), b.input("ids", [1, 1], np.int64)
    ones = np.ones((1, 4) if operator == "ScatterND" else (1, 1), np.float32)
    updates = [b.constant(ones)] if "Scatter" in operator else []
    engine = mi.compile(b.model([b.node(operator, x, ids, *updates)]), device=EMULATED, emulator=emulator)
    engine(np.zeros((4, 4), np.float32), np.array([[1]]))
    for far in (2**32 + 1, -(2**32) - 1, 2**31, 2**63 - 1):
        with pytest.raises(InvalidInputError, match=rf"index {far} is outside of a dimension of 4 elements"):
            engine(np.zeros((4, 4), np.float32), np.array([[far]]))


@pytest.mark.parametrize("emulator", EMULATORS)
def test_parts_of_3xtf32_are_what_tensor_cores_read(emulator: str) -> None:
    """Whatever the last bits of a rounded number are: only the compiled text sets them, as PTX leaves them open."""
    b, rng = ModelBuilder("product"), np.random.default_rng(7)
    x, w = rng.standard_normal((64, 64), np.float32), rng.standard_normal((64, 32), np.float32)
    model = b.model([b.node("MatMul", b.input("x", [64, 64]), b.constant(w))])
    (y,) = mi.compile(model, device=EMULATED, emulator=emulator, precision="3xtf32")({"x": x}).values()
    exact = x.astype(np.float64) @ w.astype(np.float64)
    assert np.abs(y - exact).max() < 2e-6 * np.abs(exact).max()


def test_contexts_run_in_threads(judge: Judge, plan: InferencePlan) -> None:
    given, exact = single(judge)

    def run(factor: int) -> Array:
        context = plan.create_execution_context()
        (result,) = context.run({plan.input_names[0]: given * np.float32(factor)}).values()
        return result

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(run, [1, 2, 3, 1])
    np.testing.assert_allclose(first, exact, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(others[-1], first)
    assert not np.array_equal(others[0], first)


def test_tensors_on_the_device_are_bound(judge: Judge, plan: InferencePlan) -> None:
    given, exact = single(judge)
    context = plan.create_execution_context()
    source = mi.Tensor.from_array(given).to(EMULATED)
    target = mi.Tensor.empty(exact.shape, np.float32, device=EMULATED)
    assert source.storage.address % 256 == 0
    context.bind_input(plan.input_names[0], source)
    context.bind_output(plan.output_names[0], target)
    context.execute()
    np.testing.assert_allclose(target.to("cpu").numpy(), exact, rtol=1e-5, atol=1e-6)
    with pytest.raises(InvalidInputError, match="must be a tensor on 'cuda-emulated'"):
        context.bind_input(plan.input_names[0], given)


def test_memory_is_out_of_sight() -> None:
    memory = EmulatedMemory(100, 512)
    assert memory.host is None
    assert memory.address % 512 == 0
    data = np.arange(10, dtype=np.uint8)
    memory.write(5, data)
    found = np.zeros(10, np.uint8)
    memory.read(5, found)
    np.testing.assert_array_equal(found, data)


def test_an_arena_offset_that_moved_is_found(judge: Judge) -> None:
    """A kernel reads bytes of the arena that no kernel wrote; the error names it and its node."""
    plan = mi.compile(judge.model, device=EMULATED).plan
    arena = len(plan.inputs) + len(plan.outputs)
    number, launch = next((n, each) for n, each in enumerate(plan.launches) if each.arguments[0].root == arena)
    moved = replace(launch, arguments=(Argument(arena, launch.arguments[0].offset + 256), *launch.arguments[1:]))
    launches = (*plan.launches[:number], moved, *plan.launches[number + 1 :])
    program = replace(plan.program, launches=launches)
    with pytest.raises(
        KernelError, match=f"^{launch.kernel}: .*mlp/.* reads bytes of global memory that are uninitialised"
    ):
        replace(plan, program=program).create_execution_context().run(judge.inputs)


def test_what_is_refused(judge: Judge) -> None:
    with pytest.raises(ConfigError, match="there is no cuda device 1, only 0"):
        mi.compile(judge.model, device=EMULATED, device_id=1)
    with pytest.raises(UnsupportedError, match="enable_profiling is not supported by the emulator 'compiled', which c"):
        mi.compile(judge.model, device=EMULATED, emulator="compiled", enable_profiling=True)


def test_a_profile_counts_what_kernels_load_and_store(tmp_path: Path) -> None:
    """Of each launch, as there is no clock: each number is loaded once, and each result stored once."""
    x = np.arange(4096, dtype=np.float32).reshape(64, 64) / 4096
    model = model_of("g (float[64,64] x) => (float[64,64] y) { a = Exp(x) y = Transpose(a) }")
    options: dict[str, Any] = {"device": EMULATED, "enable_graph_optimization": False}
    context = mi.compile(model, enable_profiling=True, **options).plan.create_execution_context()
    assert {(each.runs, each.loaded_bytes, each.stored_bytes) for each in context.profile()} == {(0, 0, 0)}
    for _ in range(2):
        context.run({"x": x})
        found = [(each.kernel, each.runs, each.loaded_bytes, each.stored_bytes) for each in context.profile()]
        assert found == [("exp_0", 1, x.nbytes, x.nbytes), ("transpose_0", 1, x.nbytes, x.nbytes)]
    assert {each.nanoseconds for each in context.profile()} == {0} and context.timeline() == []
    with pytest.raises(InvalidInputError, match="the device 'cuda-emulated' has no clock, and no times to write"):
        context.write_trace(tmp_path / "trace.json")
    context = mi.compile(model, **options).plan.create_execution_context()
    context.run({"x": x})
    assert context.profile() == []
