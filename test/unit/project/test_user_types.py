"""Type checkers see the package, as `make` installs it, from a user's program: types, and mistakes in options."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """\
from typing import assert_type
from typing_extensions import Unpack
import numpy as np
import mini_infer as mi

engine = mi.compile("m.onnx", 2, dims={"batch": 1}, specialize={"axes": [1]}, planner="greedy-by-size")
assert_type(engine, mi.Engine)
assert_type(engine.plan, mi.InferencePlan)
assert_type(engine.plan.memory.tensors, tuple[mi.TensorRecord, ...])
assert_type(engine.plan.inputs, tuple[mi.TensorSpec, ...])
assert_type(mi.plan_memory("m.onnx", disable_inplace=["add"]), mi.MemoryPlan)
assert_type(mi.emit_c("m.onnx", "folder", winograd="off").sizes["m.o"], int)
assert_type(mi.allocate([mi.Buffer("a", 8, 0, 1)]).height, int)
with mi.load("m.mi") as loaded, loaded.plan.create_execution_context() as context:
    assert_type(loaded, mi.Engine)
    assert_type(context, mi.ExecutionContext)

def serve(path: str, **options: Unpack[mi.CompileOptions]) -> mi.Engine:
    return mi.compile(path, threads=1, cache=False, **options)

serve("m.onnx", profile=mi.OptimizationProfile(dims={"batch": (1, 2, 4)}))
serve("m.onnx", plannner="auto")  # wrong: misspelt
mi.compile("m.onnx", plannner="auto")  # wrong: misspelt
mi.compile("m.onnx", memory_alignment="64")  # wrong: of another type
mi.plan_memory("m.onnx", dims=["batch"])  # wrong: of another type
mi.build("m.onnx", "m.mi", tuned=None)  # wrong: of another type
mi.emit_c("m.onnx", "folder", tread=1)  # wrong: misspelt
mi.EngineConfig.of(threads="all")  # wrong: of another type
mi.compile(7)  # wrong: no model
engine.memory  # wrong: there is no such attribute
mi.complie  # wrong: there is no such name
"""
WRONG = {number for number, line in enumerate(PROGRAM.splitlines(), 1) if "# wrong" in line}


@pytest.mark.parametrize(
    "checker",
    [
        pytest.param(["pyright", "--pythonpath", sys.executable], id="pyright"),
        pytest.param(["mypy", "--cache-dir", "cache"], id="mypy", marks=pytest.mark.slow),
    ],
)
def test_a_users_program_is_checked(checker: list[str], tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    installed = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    command = [sys.executable, "-m", *checker, "program.py"]
    done = subprocess.run(command, cwd=tmp_path, env=installed, capture_output=True, text=True, check=False)
    found = {int(line) for line in re.findall(r"program\.py:(\d+):(?:\d+ -)? error: ", done.stdout)}
    assert found == WRONG, done.stdout + done.stderr
