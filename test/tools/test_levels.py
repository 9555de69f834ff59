"""Every level can be written down, read back, and taken on to the same code."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from mini_infer.dialects.graph import BlobStore
from mini_infer.lowering.levels import LEVELS
from mini_infer.tools.mini_opt import main

MODEL = """
func.func @main(%x: tensor<4x16xf32> {{graph.name = "x"}}) -> (tensor<4x8xf32> {{graph.name = "y"}}) {{
  %w = graph.weight #graph.blob<"w.bin", 0, 512, "{digest}"> : tensor<16x8xf32>
  %a = graph.matmul %x, %w : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32> loc("layer1/matmul")
  %b = graph.relu %a : tensor<4x8xf32> loc("layer1/relu")
  %c = graph.exp %b : tensor<4x8xf32> loc("layer2/exp")
  %d = graph.transpose %c {{permutation = array<i64: 1, 0>}} : (tensor<4x8xf32>) -> tensor<8x4xf32> loc("t")
  %e = graph.reshape %d {{shape = array<i64: 4, 8>}} : (tensor<8x4xf32>) -> tensor<4x8xf32> loc("flat")
  %f = graph.neg %e : tensor<4x8xf32> loc("layer3/neg")
  func.return %f : tensor<4x8xf32>
}}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    weight = np.linspace(-1, 1, 128, dtype=np.float32).reshape(16, 8)
    weight.tofile(tmp_path / "w.bin")
    path = tmp_path / "model.mlir"
    path.write_text(MODEL.format(digest=BlobStore().add(weight).digest.data))
    return path


def lowered(source: Path, level: str, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    output = folder / f"{level}.mlir"
    assert main([str(source), "--to", level, "-o", str(output)]) == 0
    return output


def without_file_names(path: Path) -> str:
    return re.sub(r'"[^"]*(\.weights|w\.bin)"', '"weights"', path.read_text())


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_goes_on_to_the_same_code(level: str, model: Path, tmp_path: Path) -> None:
    direct = lowered(model, "llvm", tmp_path / "direct")
    stopped = lowered(model, level, tmp_path / "stopped")
    resumed = lowered(stopped, "llvm", tmp_path / "resumed")
    assert without_file_names(resumed) == without_file_names(direct)


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_is_recognised(level: str, model: Path, tmp_path: Path) -> None:
    stopped = lowered(model, level, tmp_path)
    again = lowered(stopped, level, tmp_path / "again")
    assert without_file_names(again) == without_file_names(stopped)


def test_there_is_no_way_up(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stopped = lowered(model, "arena", tmp_path)
    assert main([str(stopped), "--to", "kernels"]) == 1
    assert capsys.readouterr().err == "mini-opt: error: the module is at the arena level already, below kernels\n"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("llvm-ir", r"^define void @main\("),
        ("asm", r"^main:$"),
        ("memory-plan", r"\barena\b"),
    ],
)
def test_targets_bring_the_module_to_their_level(
    target: str, expected: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(model), "-t", target]) == 0
    assert re.search(expected, capsys.readouterr().out, re.MULTILINE)


def test_a_target_needs_its_level(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(model), "--to", "graph", "-t", "asm"]) == 1
    errors = capsys.readouterr().err
    assert errors == "mini-opt: error: -t asm needs a module at the llvm level; this one is at the graph level\n"


def test_host_is_written_on_the_module(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(model), "--host", "-p", ""]) == 0
    assert "kernel.target = #kernel.target<" in capsys.readouterr().out
