"""tools/bench/tree_speed.py: trees timed beside other engines, and mistakes in one line."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from mini_infer.dialects.errors import ConfigError
from mini_infer.tools.bench.tree_speed import random_ensemble, tree_speed


def test_random_trees_and_those_of_a_file_are_timed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "trees.onnx"
    file.write_bytes(random_ensemble(2, 2, 3).SerializeToString())
    for model in (None, str(file)):
        tree_speed(trees=2, depth=2, features=3, seconds=0.001, model=model)
        lines = capsys.readouterr().out.splitlines()
        assert [int(line.split()[0]) for line in lines] == [1, 10, 100, 1_000, 10_000]
        assert all(re.search(r"mini_infer +[\d.]+ us   onnxruntime +[\d.]+ us, +[\d.]+ times", line) for line in lines)


def test_mistakes_are_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken, open_width = tmp_path / "broken.onnx", tmp_path / "open.onnx"
    broken.write_text("abc")
    model = random_ensemble(1, 1, 3)
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "features"
    open_width.write_bytes(model.SerializeToString())
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"model": str(broken)}, "broken.onnx is no ONNX model"),
        ({"model": str(open_width)}, "input x declares no number of features"),
        ({"lightgbm": "model.txt"}, "lightgbm.*: pip install lightgbm onnxmltools"),
        ({"model": "a.onnx", "lightgbm": "b.txt"}, "--model and --lightgbm are two models"),
    ]
    for options, message in cases:
        with pytest.raises(ConfigError, match=message):
            tree_speed(**options)
