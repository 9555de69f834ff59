"""Processes that compile parts of a model beside this one: the same code whatever becomes of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from import_cases import model_of
from models.build import SMALL_MODELS, example_inputs
from onnx import helper
from xdsl.ir import Operation

import mini_infer as mi
from mini_infer.dialects.errors import CompileError
from mini_infer.dialects.kernel.calls import AS_WRITTEN
from mini_infer.dialects.sizes.guards import Guards
from mini_infer.lowering import pipelines
from mini_infer.lowering.loops_to_llvm import split_module
from mini_infer.runtime.compile import module_to_plan as compiling
from mini_infer.runtime.compile.source import source_of
from mini_infer.runtime.devices.cpu.cpu_device import DEVICE
from mini_infer.runtime.native import llvm_processes as compilers
from mini_infer.runtime.native import llvm_worker
from mini_infer.runtime.native.llvm_processes import Compilers
from mini_infer.runtime.native.llvmlite_calls import Machine, part_of

ANSWER = "define i32 @{name}() {{\n  ret i32 42\n}}"


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small models have several parts too, and are worth processes."""
    monkeypatch.setattr(split_module, "PART_OPS", 400)
    monkeypatch.setattr(compiling, "WORTH_COMPILERS", 0)


def parts(count: int) -> list[llvm_worker.Part]:
    return [part_of(ANSWER.format(name=f"f{index}"), Machine()) for index in range(count)]


def compiled_with(team: Compilers, count: int = 5) -> list[bytes]:
    for part in parts(count):
        team.add(part)
    return [result.code for result in team.results()]


def objects(monkeypatch: pytest.MonkeyPatch, model: Any, **options: Any) -> tuple[tuple[bytes, ...], mi.Engine]:
    loaded: list[tuple[bytes, ...]] = []
    load = DEVICE.load

    def noting(codes: Sequence[bytes]) -> Any:
        loaded.append(tuple(codes))
        return load(codes)

    with monkeypatch.context() as patched:
        patched.setattr(DEVICE, "load", noting)
        engine = mi.compile(model, **options)
    return loaded[0], engine


def has_loops(function: Operation) -> bool:
    return any(op.name in ("scf.for", "scf.while") for op in function.walk())


def test_loops_that_are_as_they_should_run_are_apart(small_parts: None) -> None:
    """The pools and sums of a network are LLVM's to improve, its register tiles are not."""
    config = mi.EngineConfig(threads=1)
    module, ctx = source_of(SMALL_MODELS["resnet"]()).load(config)
    pipelines.run_phases(ctx, module, pipelines.remaining_phases(module, "loops"), verify=False)
    first, *others = split_module.split_module(module)
    assert not first.as_written
    assert {part.as_written for part in others} == {True, False}
    for part in others:
        looping = [op for op in part.module.ops if has_loops(op)]
        assert looping
        assert {AS_WRITTEN in op.attributes for op in looping} == {part.as_written}


@pytest.mark.parametrize(
    ("shape", "options", "as_written"),
    [
        ((4, 50), {}, True),
        ((400, 50), {}, False),
        ((4, 50), {"enable_dynamic_shapes": True}, False),  # who knows how long that takes
    ],
)
def test_llvm_looks_for_little_in_what_is_soon_done(
    shape: tuple[int, ...], options: dict[str, Any], as_written: bool
) -> None:
    softmax = helper.make_node("Softmax", ["x"], ["y"], axis=0)
    model = model_of([softmax], {"x": np.zeros(shape, np.float32)}, {}, ["y"])
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "rows" if options else ""
    if not options:
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = shape[0]
    with Guards().collecting():
        module, ctx = source_of(model).load(mi.EngineConfig(threads=1, **options), {"x": shape})
        module.attributes["kernel.target"] = DEVICE.target(mi.EngineConfig(threads=1))
        pipelines.run_phases(ctx, module, pipelines.remaining_phases(module, "loops"), verify=False)
        assert any(has_loops(op) for op in module.ops)
        assert [part.as_written for part in split_module.split_module(module)] == [as_written]


@pytest.mark.thinned(5)
@pytest.mark.parametrize("name", ["resnet", "transformer"])
@pytest.mark.parametrize("threads", [2, 1])
def test_the_code_is_the_same_however_many_compile(
    name: str, threads: int, small_parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = SMALL_MODELS[name]()
    inputs = example_inputs(model)
    alone, engine = objects(monkeypatch, model, threads=threads, compile_threads=1)
    assert len(alone) > 3
    for count in (2, 4):
        assert objects(monkeypatch, model, threads=threads, compile_threads=count)[0] == alone
    monkeypatch.setattr(split_module, "PART_OPS", 10**9)
    whole, undivided = objects(monkeypatch, model, threads=threads)
    assert len(whole) == 1
    for name, array in engine(inputs).items():
        np.testing.assert_array_equal(array, undivided(inputs)[name])


def test_memory_is_checked_of_code_in_parts(small_parts: None) -> None:
    model = SMALL_MODELS["mlp"]()
    mi.compile(model, 1, compile_threads=2, check_memory=True)(example_inputs(model))


def test_small_models_are_compiled_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilers, "_start", lambda: pytest.fail("a process was started"))
    mi.compile(SMALL_MODELS["mlp"](), 1, compile_threads=4)


def no_executable(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sys, "executable", "")


def another_program(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sys, "executable", "/usr/bin/editor")


def nothing_there(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sys, "executable", "/nowhere/python")


def no_worker(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(llvm_worker, "__file__", "/nowhere/worker.py")


@pytest.mark.parametrize("obstacle", [no_executable, another_program, nothing_there, no_worker])
def test_where_there_can_be_no_process_this_one_compiles(
    obstacle: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Compilers(1) as alone:
        expected = compiled_with(alone)
    obstacle(monkeypatch)
    with Compilers(3) as team:
        assert compiled_with(team) == expected


@pytest.mark.skipif(os.name != "posix", reason="kills processes")
def test_the_parts_of_a_process_that_was_killed_are_compiled_here() -> None:
    with Compilers(3) as team:
        team.processes[0].kill()
        assert len(compiled_with(team, 8)) == 8


@pytest.mark.skipif(os.name != "posix", reason="kills processes")
def test_a_crash_of_llvm_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crashing = tmp_path / "worker.py"
    crashing.write_text(f"import os, sys; sys.stdin.buffer.read(8); os.kill(os.getpid(), {int(signal.SIGSEGV)})")
    monkeypatch.setattr(llvm_worker, "__file__", str(crashing))
    with Compilers(2) as team, pytest.raises(CompileError, match="LLVM came to an end with signal 11"):
        team.ask(parts(1)[0])


def test_what_llvm_refuses_is_told_by_any_process() -> None:
    part = part_of("define void @f( {", Machine())
    told: list[str] = []
    with Compilers(2) as team:
        for _ in range(4):
            team.add(part)
        told = [result.error for result in team.results()]
    assert len(set(told)) == 1
    assert "expected type" in told[0]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, None])
def test_no_process_is_left(error: type[BaseException] | None) -> None:
    team = Compilers(3)
    assert len(team.processes) == 2
    try:
        with team:
            for part in parts(20):
                team.add(part)
            if error is not None:
                raise error
            team.results()
    except (KeyboardInterrupt, ValueError):
        pass
    assert all(process.returncode is not None for process in team.processes)


SCRIPT = """
import os
from pathlib import Path
import mini_infer as mi
from mini_infer.lowering.loops_to_llvm import split_module
from mini_infer.runtime.compile import module_to_plan
from mini_infer.runtime.native import llvm_processes
split_module.PART_OPS, module_to_plan.WORTH_COMPILERS = 400, 0
team = []
start = llvm_processes._start
llvm_processes._start = lambda: team.append(start()) or team[-1]
mi.compile({model!r}, 1, compile_threads=3)
print(len(team), *(each.returncode for each in team))
"""


def test_a_script_without_a_guard_may_come_from_standard_input(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(SMALL_MODELS["resnet"]().SerializeToString())
    environment = {**os.environ, "PYTHONPATH": str(Path(mi.__file__).parents[1])}
    found = subprocess.run(
        [sys.executable, "-"],
        input=SCRIPT.format(model=str(path)),
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        check=False,
    )
    assert (found.stdout.split(), found.stderr) == (["2", "-9", "-9"], "")


@pytest.mark.parametrize("count", [0, -1, "two"])
def test_a_wrong_number_of_compilers_is_refused(count: Any) -> None:
    with pytest.raises(mi.ConfigError, match="compile_threads is"):
        mi.compile(SMALL_MODELS["mlp"](), compile_threads=count)
