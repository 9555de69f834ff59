"""`mini-infer operators`, and operators that installed packages register by an entry point."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from command_runs import complaint, told
from user_operators import SCALED_ADD, model_with, written

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = """
import mini_infer as mi
from mini_infer import ops


@mi.operator("my.domain", "Swish", since=2)
def swish(x, *, beta: float = 1.0):
    return x * ops.sigmoid(beta * x)


@mi.operator("my.domain", "ScaledAdd", kernel="scaled_add.c", scratch=1024)
def scaled_add(a, b, *, scale: float = 1.0):
    return a
"""


def installed(folder: Path, *entries: str) -> None:
    """A package with operators, and its metadata."""
    written(folder, "my_operators.py", PACKAGE)
    written(folder, "scaled_add.c", SCALED_ADD)
    info = folder / "my_operators-1.0.dist-info"
    info.mkdir()
    written(info, "METADATA", "Metadata-Version: 2.1\nName: my-operators\nVersion: 1.0\n")
    written(info, "entry_points.txt", "\n".join(["[mini_infer.operators]", *entries, ""]))


BOTH = """
from mini_infer.tools.mini_infer import app

for words in ("operators --users --json listed.json", "run m.onnx -i x.npz -o y.npz"):
    try:
        app(words.split())
    except SystemExit as end:
        assert not end.code, words
"""


def test_operators_of_this_package_are_listed() -> None:
    text = told("operators", "ai.onnx")
    assert "Relu" in text and "built in" in text and "com.microsoft" not in text
    assert "FusedMatMul" in told("operators", "com.microsoft")


def test_a_package_registers_operators_when_a_model_needs_them(tmp_path: Path) -> None:
    installed(tmp_path, "broken = no_such_module", "mine = my_operators")
    text = "g (float[4] x) => (float[4] y) { a = my.domain.Swish (x) y = my.domain.ScaledAdd <scale = 2.0> (a, x) }"
    (tmp_path / "m.onnx").write_bytes(model_with(text, 2).SerializeToString())
    x = np.linspace(-1, 1, 4, dtype=np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}", "MINI_INFER_CACHE": "off"}
    command = [sys.executable, "-c", BOTH]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "operators of broken (no_such_module) can't be imported: ModuleNotFoundError" in ran.stderr
    found = json.loads((tmp_path / "listed.json").read_text())["operators"]
    assert [(each["domain"], each["name"], each["since"], each["kind"]) for each in found] == [
        ("my.domain", "ScaledAdd", 1, "C"),
        ("my.domain", "Swish", 2, "composed"),
    ]
    assert all(each["where"].startswith(f"{tmp_path}/my_operators.py:") for each in found)
    np.testing.assert_allclose(np.load(tmp_path / "y.npz")["y"], x / (1 + np.exp(-x)) + 2 * np.exp(x), rtol=1e-6)


def test_a_model_without_its_operator_names_it(tmp_path: Path) -> None:
    model = model_with("g (float[4] x) => (float[4] y) { y = my.domain.Nowhere (x) }")
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    message = complaint("run", tmp_path / "m.onnx")
    assert "operators that are not supported: my.domain.Nowhere (Nowhere_0)" in message
