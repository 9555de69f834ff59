"""mini-infer demo: what it builds, and the commands that it ends with."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_runs import ENVIRONMENT, told

import mini_infer as mi
from mini_infer.tools.command_names import shell_name
from mini_infer.tools.demos import resnet50 as demo_model


def test_demo_builds_and_runs_a_resnet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_model, "STAGES", ((1, 8), (2, 16)))
    path = tmp_path / "build" / "resnet.onnx"
    text = told("demo", "--model", path, "--image", "32", "-j", "1")
    assert re.search(r"built .*resnet\.onnx, [\d.]+ kB, in [\d.]+ s", text.replace("\n", ""))
    assert re.search(r"rewrites: .*fold-batch-norm 12", text)
    assert re.search(r"softmax/out +float32 +1x1000 +[\d.e-]+ +0\.001 +[\d.]+", text)
    assert "without reuse" in text
    x = np.zeros((1, 3, 32, 32), np.float32)
    np.testing.assert_allclose(mi.compile(path, threads=1)(x).sum(), 1, rtol=1e-5)


def test_the_demos_last_words_are_commands_that_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_model, "STAGES", ((1, 8),))
    text = told("demo", "--model", tmp_path / "my model.onnx", "--image", "32", "-j", "1")
    found = re.search(r"\nNow yours: (.*)\nLook inside: (.*)\n$", text)
    assert found is not None
    run, look = (shlex.split(words) for words in found.groups())
    assert run[1:] == ["run", "YOUR.onnx"] and shutil.which(run[0])
    shown = subprocess.run(look, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert shown.returncode == 0 and "graph.kernel @" in shown.stdout
    assert re.fullmatch(r"mini-opt: note: [\d,]+ bytes of new weights are left out; .*\n", shown.stderr)


def test_a_command_is_named_so_that_the_shell_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "my env" / "bin"
    programs.mkdir(parents=True)
    (programs / "tool").write_text("#!/bin/sh\n")
    (programs / "tool").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(programs / "python"))
    assert shell_name("tool") == f"'{programs}/tool'"
    monkeypatch.chdir(tmp_path)
    assert shell_name("tool") == "'my env/bin/tool'"
    assert shell_name("other-tool") == "other-tool"
    monkeypatch.setenv("PATH", str(programs))
    assert shell_name("tool") == "tool"


def test_the_demos_model_is_a_resnet50() -> None:
    graph = demo_model.resnet50().graph
    assert sum(node.op_type == "Conv" for node in graph.node) == 53
    assert 25e6 < sum(np.prod(weight.dims) for weight in graph.initializer) < 26e6
