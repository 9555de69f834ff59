"""The programs print the same under ONNX Runtime and under mini_infer; those with models that tests can make."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from models.build import ModelBuilder
from onnx import ModelProto
from programs.printed import same

ROOT = Path(__file__).resolve().parents[2]


def encoder() -> ModelProto:
    """Vectors for tokens, with attention of each to all: ids int64 [batch, seq] -> [batch, seq, 16]."""
    b = ModelBuilder("encoder")
    x = b.node("Gather", b.weight(97, 16, gain=4.0), b.input("ids", ["batch", "seq"], np.int64))
    q, k, v = (b.node("MatMul", x, b.weight(16, 16)) for _ in range(3))
    scores = b.node("Softmax", b.node("MatMul", q, b.node("Transpose", k, perm=[0, 2, 1])), axis=-1)
    return b.model([b.node("Add", x, b.node("MatMul", scores, v))])


def classifier() -> ModelProto:
    """Scores of pictures in batches: [batch, 3, 8, 8] -> [batch, 5]."""
    b = ModelBuilder("classifier")
    x = b.node("Conv", b.input("image", ["batch", 3, 8, 8]), b.weight(8, 3, 3, 3), pads=[1, 1, 1, 1])
    x = b.node("Flatten", b.node("GlobalAveragePool", b.node("Relu", x)))
    return b.model([b.node("Gemm", x, b.weight(8, 5))])


@pytest.mark.parametrize(
    ("program", "model"),
    [pytest.param("text_encoder.py", encoder, marks=pytest.mark.slow), ("bound_batches.py", classifier)],
)
def test_a_program_prints_the_same(program: str, model: Callable[[], ModelProto], tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(model().SerializeToString())
    command = [str(Path(__file__).parent / program), str(path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MINI_INFER_CACHE": str(tmp_path / "kept")}

    def printed(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments, *command], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    expected, found = printed(), printed("-m", "mini_infer.onnxruntime")
    assert len(expected.splitlines()) > 5 and same(found, expected), f"{found}\n{expected}"
    assert printed("-m", "mini_infer.onnxruntime") == found


@pytest.mark.parametrize(
    ("text", "other", "equal"),
    [
        ("score 0.5001 of 3", "score 0.5002 of 3", True),
        ("score 0.5 of 3", "score 0.6 of 3", False),
        ("score 0.5 of 3", "score 0.5 of 4", False),
        ("a 0.5", "a 0.5 0.5", False),
        ("-1.5e-7 x", "1.5e-7  x\n", True),
    ],
)
def test_printed_numbers_may_differ_a_little(text: str, other: str, equal: bool) -> None:
    assert same(text, other) is equal
