"""Commands on models whose outputs are texts and maps: they tell of the tensors behind these."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_runs import saved, told
from onnx import ModelProto, TensorProto, helper


def animals() -> ModelProto:
    """A label and scores of two animals."""
    labels: dict[str, Any] = {"classlabels_strings": ["cat", "dog"]}
    weights: dict[str, Any] = {"coefficients": [1.0, 0.5, -1.0, 2.0], "intercepts": [0.0, 0.1]}
    rows = helper.make_sequence_type_proto(
        helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    )
    nodes = [
        helper.make_node("LinearClassifier", ["x"], ["label", "p"], domain="ai.onnx.ml", **weights, **labels),
        helper.make_node("ZipMap", ["p"], ["scores"], domain="ai.onnx.ml", **labels),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 2])]
    outputs = [
        helper.make_tensor_value_info("label", TensorProto.STRING, [3]),
        helper.make_value_info("scores", rows),
    ]
    graph = helper.make_graph(nodes, "animals", inputs, outputs)
    opsets = [helper.make_opsetid("ai.onnx.ml", 1), helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def test_run_writes_tensors(tmp_path: Path) -> None:
    text = told("run", saved(animals(), tmp_path), "-o", tmp_path / "out.npz")
    assert "label     int64" in text
    with np.load(tmp_path / "out.npz") as found:
        assert (found["label"].dtype, found["scores"].shape) == (np.int64, (3, 2))


def test_compare_leaves_the_peer_out(tmp_path: Path) -> None:
    text = told("compare", saved(animals(), tmp_path), "-j", "1")
    assert "every node of the unfused pipeline is right" in text
    assert text.count("has labels") == 2


@pytest.mark.slow
def test_bench_compares_no_labels(tmp_path: Path) -> None:
    text = told("bench", saved(animals(), tmp_path), "-j", "1", "--rounds", "1", "--against", "onnxruntime")
    assert "onnxruntime" in text
