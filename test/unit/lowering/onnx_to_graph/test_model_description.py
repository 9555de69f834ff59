"""What a model says of itself: types as text, outputs completed by inference, inputs with a default."""

from __future__ import annotations

import onnxruntime_models as models
import pytest
from onnx import TensorProto, TypeProto, ValueInfoProto, helper

from mini_infer.dialects.errors import InvalidModelError, UnsupportedError
from mini_infer.lowering.onnx_to_graph.model_description import describe, type_text, with_inferred_shapes

FLOATS = helper.make_tensor_type_proto(TensorProto.FLOAT, None)


@pytest.mark.parametrize(
    ("type", "text"),
    [
        (FLOATS, "tensor(float)"),
        (helper.make_tensor_type_proto(TensorProto.BFLOAT16, [1]), "tensor(bfloat16)"),
        (helper.make_sequence_type_proto(FLOATS), "seq(tensor(float))"),
        (helper.make_optional_type_proto(helper.make_sequence_type_proto(FLOATS)), "optional(seq(tensor(float)))"),
        (helper.make_map_type_proto(TensorProto.INT64, FLOATS), "map(int64,tensor(float))"),
        (helper.make_sparse_tensor_type_proto(TensorProto.DOUBLE, [2]), "sparse_tensor(double)"),
        (TypeProto(), ""),
    ],
)
def test_types_are_texts(type: TypeProto, text: str) -> None:
    assert type_text(type) == text


def test_an_unknown_element_type_is_refused() -> None:
    with pytest.raises(InvalidModelError, match="there is no element type 99"):
        type_text(helper.make_tensor_type_proto(99, None))


def test_a_description_tells_inputs_outputs_and_defaults() -> None:
    found = describe(models.product())
    assert [(each["name"], each["shape"]) for each in found["inputs"]] == [("x", ["batch", 4])]
    assert [(each["name"], each["shape"]) for each in found["outputs"]] == [("y", ["batch", 3]), ("z", ["batch", 3])]
    assert [(each["name"], each["type"]) for each in found["defaults"]] == [("w", "tensor(float)")]
    assert (found["version"], found["custom"]) == (3, {"author": "nobody"})
    assert found["metadata"]["producer_name"] == "the tests" and found["metadata"]["graph_name"] == "small"


def test_names_that_inference_makes_up_are_left_out() -> None:
    assert [each["shape"] for each in describe(models.reshape())["outputs"]] == [[None, None]]


def test_sizes_that_are_inferred_stand_in_place_of_names() -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    made = models.model([node], {"x": (models.FLOAT, [2, 4])}, {"y": (models.FLOAT, ["Relu_dim_0", 4])})
    assert [each["shape"] for each in describe(made)["outputs"]] == [[2, 4]]


def test_classical_operators_whose_input_has_no_known_type() -> None:
    """ONNX's own inference ends the process at each, and knows the shapes of everything else."""
    splits = helper.make_tensor("splits", TensorProto.FLOAT, [1], [0.5])
    nodes = [
        helper.make_node("Foo", ["x"], ["v"], domain="unknown"),
        helper.make_node("TreeEnsemble", ["v"], ["y"], domain="ai.onnx.ml", nodes_splits=splits),
        helper.make_node("LabelEncoder", ["v"], ["l"], domain="ai.onnx.ml", keys_floats=[1.0], values_floats=[2.0]),
        helper.make_node("Transpose", ["w"], ["z"]),
    ]
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in ("x", "w")]
    outputs = [ValueInfoProto(name=name) for name in ("y", "z")]
    opsets = [helper.make_opsetid(domain, version) for domain, version in (("", 22), ("ai.onnx.ml", 5), ("unknown", 1))]
    proto = helper.make_model(helper.make_graph(nodes, "trees", given, outputs), opset_imports=opsets)
    found = with_inferred_shapes(proto)
    assert [node.op_type for node in found.graph.node] == ["Foo", "TreeEnsemble", "LabelEncoder", "Transpose"]
    assert [each.dim_value for each in found.graph.output[1].type.tensor_type.shape.dim] == [3, 2]


def test_classical_operators_whose_input_has_a_known_type() -> None:
    """They are known to ONNX's inference as soon as what is before them is."""
    nodes = [
        helper.make_node("LabelEncoder", ["x"], ["l"], domain="ai.onnx.ml", keys_floats=[1.0], values_floats=[2.0]),
        helper.make_node("Binarizer", ["l"], ["b"], domain="ai.onnx.ml"),
        helper.make_node("Transpose", ["b"], ["z"]),
    ]
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])]
    opsets = [helper.make_opsetid(domain, version) for domain, version in (("", 22), ("ai.onnx.ml", 4))]
    graph = helper.make_graph(nodes, "labels", given, [ValueInfoProto(name="z")])
    found = with_inferred_shapes(helper.make_model(graph, opset_imports=opsets))
    assert [node.op_type for node in found.graph.node] == ["LabelEncoder", "Binarizer", "Transpose"]
    assert [each.dim_value for each in found.graph.output[0].type.tensor_type.shape.dim] == [3, 2]


def test_unsupported_operators_are_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"operators that are not supported: Foo in opset 17 \(Foo_0\)"):
        describe(models.broken(helper.make_node("Foo", ["x"], ["y"])))
