"""Code for other CPUs than this one, run: as C programs, on an emulator where this machine can't.

What ops mean, and small models, must come out right with other vectors, other instructions and another system's library
of maths. Debian has what it takes: qemu-user, gcc-aarch64-linux-gnu, libc6-dev-arm64-cross.
"""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

import pytest
from c_programs import CProgram, Tools, c_program
from models.build import SMALL_MODELS
from models.judging import Judge, assert_same_bits
from onnx import ModelProto

from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.lowering.module_text import read_module
from mini_infer.lowering.onnx_to_graph import import_onnx
from mini_infer.runtime.compile.module_to_plan import build_plan
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.native.cpu_targets import host_target
from mini_infer.tools.mini_opt.check_results import agree, expected_values, given_values

CPUS = {
    "x86-64": 128,
    "x86-64-v2": 128,
    "x86-64-v3": 256,
    "x86-64-v4": 512,
    "generic": 128,
    "neoverse-n1": 128,
    "neoverse-v1": 128,
}
"""The bits of their vectors."""
MEANINGS = sorted(path for path in (Path(__file__).parents[1] / "meaning").glob("*.mlir") if path.stem != "refused")
STEP = 9


def target_of(cpu: str) -> str:
    return f"{'x86_64' if cpu.startswith('x86') else 'aarch64'}-linux-gnu:{cpu}"


def runs_here(cpu: str) -> bool:
    """Whether this machine has what the CPU has."""
    return platform.machine() == target_of(cpu).partition("-")[0] and CPUS[cpu] <= host_target().vector_bits


def tools_for(cpu: str) -> Tools:
    architecture = target_of(cpu).partition("-")[0]
    same = platform.machine() == architecture
    if CPUS[cpu] == 512 and not runs_here(cpu):
        pytest.skip("no emulator has AVX-512")
    compiler = "cc" if same else f"{architecture}-linux-gnu-gcc"
    return Tools(compiler, () if runs_here(cpu) else (f"qemu-{architecture}",))


def program(model: ModelProto | Path, folder: Path, cpu: str) -> CProgram:
    return c_program(model, folder, "-static", tools=tools_for(cpu), cpu=target_of(cpu))


@cache
def judge(name: str) -> Judge:
    return Judge.of(SMALL_MODELS[name]())


def check_meaning(path: Path, folder: Path, cpu: str) -> None:
    module, _ = read_module(path)
    found = program(path, folder, cpu)(given_values(module))
    for name, (expected, tolerance) in expected_values(module).items():
        assert agree(found[name], expected, tolerance), f"{name} is {found[name].tolist()}, not {expected.tolist()}"


def check_model(name: str, folder: Path, cpu: str) -> None:
    judge(name).check(program(SMALL_MODELS[name](), folder, cpu)(judge(name).inputs))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("cpu", CPUS)
def test_a_spread_on_each_cpu(cpu: str, tmp_path: Path) -> None:
    number = [*CPUS].index(cpu)
    check_model([*SMALL_MODELS][number], tmp_path / "model", cpu)
    for path in MEANINGS[number :: 8 * STEP]:
        check_meaning(path, tmp_path / path.stem, cpu)


@pytest.mark.slow
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_every_model_on_each_cpu(name: str, cpu: str, tmp_path: Path) -> None:
    check_model(name, tmp_path, cpu)


@pytest.mark.slow
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("start", range(STEP))
def test_every_meaning_on_each_cpu(start: int, cpu: str, tmp_path: Path) -> None:
    for path in MEANINGS[start::STEP]:
        check_meaning(path, tmp_path / path.stem, cpu)


@pytest.mark.parametrize("cpu", ["x86-64-v2", "x86-64-v3"])
def test_the_bits_are_those_of_python_on_that_cpu(cpu: str, tmp_path: Path) -> None:
    if not runs_here(cpu):
        pytest.skip(f"this machine has not all of {cpu}")
    model, ctx = SMALL_MODELS["transformer"](), MiniContext()
    plan = build_plan(import_onnx(model, ctx=ctx), ctx, EngineConfig(threads=1), machine=target_of(cpu))
    given = judge("transformer").inputs
    assert_same_bits(program(model, tmp_path, cpu)(given), plan.create_execution_context().run(given))
