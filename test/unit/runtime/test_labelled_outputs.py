"""Outputs with labels: arrays of texts, and a dictionary for each row; compiled, kept, loaded and for many shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper, parser
from user_operators import own_registry

import mini_infer as mi
from mini_infer import onnxruntime
from mini_infer.dialects.errors import UnsupportedError
from mini_infer.runtime.cluster.batched_rows import Rows

LABELS = ["cat", "dog", "émeu"]
X = np.array([[3.0, 1.0, 2.0], [0.0, -1.0, 4.0]], np.float32)
TEXTS, ROWS = ["cat", "émeu"], [dict(zip(LABELS, row, strict=True)) for row in X.tolist()]


def model(texts: bool = True, **more: Any) -> ModelProto:
    """The label of the largest of three scores, by places of an initialiser's texts, and the scores by label."""
    table = np.array(LABELS, object) if texts else np.array([7, -1, 4])
    labels: dict[str, Any] = {"classlabels_strings": LABELS} if texts else {"classlabels_int64s": [7, -1, 4]}
    kind = TensorProto.STRING if texts else TensorProto.INT64
    nodes = [
        helper.make_node("ArgMax", ["x"], ["place"], axis=1, keepdims=0),
        helper.make_node("ArrayFeatureExtractor", ["table", "place"], ["found"], domain="ai.onnx.ml"),
        helper.make_node("Cast", ["found"], ["cast"], to=kind),
        helper.make_node("Reshape", ["cast", "flat"], ["label"]),
        helper.make_node("ZipMap", ["x"], ["scores"], domain="ai.onnx.ml", **labels),
    ]
    rows = helper.make_sequence_type_proto(
        helper.make_map_type_proto(kind, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    )
    graph = helper.make_graph(
        [*nodes, *more.get("nodes", [])],
        "labels",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 3])],
        more.get("outputs")
        or [helper.make_tensor_value_info("label", kind, ["rows"]), helper.make_value_info("scores", rows)],
        [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.array([-1]), "flat")],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def check(engine: mi.Engine, x: np.ndarray[Any, Any] = X) -> None:
    texts, rows = engine(x)
    assert texts.dtype == object and texts.tolist() == TEXTS
    assert rows == ROWS and type(rows[0]["cat"]) is float
    assert [*engine({"x": x})] == ["label", "scores"]
    assert engine({"x": x})["scores"] == ROWS
    assert engine.run(x, time_limit=60.0)[1] == engine.submit(x).result()[1] == ROWS
    tensors = engine.tensors({"x": x})
    assert tensors["label"].tolist() == [0, 2]
    np.testing.assert_array_equal(tensors["scores"], x)


@pytest.mark.usefixtures("with_cache")
def test_compiled_and_found_in_the_cache() -> None:
    for found in (False, True):
        engine = mi.compile(model(), dims={"rows": 2})
        assert (not engine.statistics.seconds) == found
        check(engine)
        assert [spec.labels for spec in engine.outputs] == [tuple(LABELS), ()]
        assert [spec.keys for spec in engine.outputs] == [(), tuple(LABELS)]


def test_a_compiled_file(tmp_path: Path) -> None:
    mi.build(model(), tmp_path / "labels.mi", dims={"rows": 2})
    check(mi.load(tmp_path / "labels.mi"))


def test_a_queue() -> None:
    engine = mi.compile(model(), profile=mi.OptimizationProfile(dims={"rows": (1, 2, 8)}))
    with engine.batched() as queue:
        texts, rows = queue(X)
        assert texts.tolist() == TEXTS and rows == ROWS
        assert queue.submit({"x": X[1:]}).result()["scores"] == ROWS[1:]


def test_a_queue_for_a_server_has_tensors() -> None:
    engine = mi.compile(model(), profile=mi.OptimizationProfile(dims={"rows": (1, 2, 8)}))
    with Rows(engine).queue(0.0) as queue:
        found = queue({"x": X})
        assert found["label"].tolist() == [0, 2]
        np.testing.assert_array_equal(found["scores"], X)


def test_many_shapes() -> None:
    engine = mi.compile(model(), profile=mi.OptimizationProfile(dims={"rows": (1, 2, 8)}))
    check(engine)
    assert engine(X[:1])[1] == ROWS[:1]
    assert [spec.keys for spec in engine.outputs] == [(), tuple(LABELS)]


def test_a_session_of_the_interface_of_onnx_runtime() -> None:
    session = onnxruntime.InferenceSession(model().SerializeToString())
    for _ in range(3):
        texts, rows = session.run(None, {"x": X})
        assert (texts.tolist(), rows) == (TEXTS, ROWS)


def test_labels_that_are_numbers() -> None:
    labels, rows = mi.compile(model(texts=False), dims={"rows": 2})(X)
    assert labels.dtype == np.int64 and labels.tolist() == [7, 4]
    assert rows == [dict(zip([7, -1, 4], row, strict=True)) for row in X.tolist()]


@pytest.mark.parametrize(
    ("op_type", "operand", "message"),
    [
        ("Abs", "label", "operand 0 .label. is a tensor of texts"),
        ("Abs", "scores", "operand 0 .scores. is a sequence of"),
    ],
)
def test_only_outputs_have_labels(op_type: str, operand: str, message: str) -> None:
    nodes = [helper.make_node(op_type, [operand], ["y"], name="after")]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    with pytest.raises(UnsupportedError, match=rf"after \({op_type}\): {message}"):
        mi.compile(model(nodes=nodes, outputs=outputs), dims={"rows": 2})


def test_a_users_operator_gets_no_places_of_texts() -> None:
    """Not even one that has the name of an operator of ONNX that moves texts."""
    with own_registry():
        mi.operator("my.domain", "Gather")(lambda x, i: x)  # pyright: ignore
        table = parser.parse_model(
            """<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 4, "my.domain" : 1]>
            g (int64[3] x) => (y) {
                texts = ai.onnx.ml.LabelEncoder<keys_int64s = [1, 2], values_strings = ["a", "b"]>(x)
                y = my.domain.Gather (texts, x)
            }"""
        )
        with pytest.raises(UnsupportedError, match=r"operand 0 .texts. is a tensor of texts"):
            mi.compile(table)
