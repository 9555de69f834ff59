"""Models of a few nodes for tests of ONNX Runtime's interface, as bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
Shape = Sequence[int | str | None] | None


def model(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, tuple[int, Shape]],
    outputs: Mapping[str, tuple[int, Shape]],
    weights: Mapping[str, np.ndarray] | None = None,
) -> bytes:
    """A model's bytes: inputs and outputs by name, with element type and shape."""
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()],
        [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in outputs.items()],
        [numpy_helper.from_array(value, name) for name, value in (weights or {}).items()],
    )
    made = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="the tests", model_version=3
    )
    made.metadata_props.add(key="author", value="nobody")
    return made.SerializeToString()


def product() -> bytes:
    """y = x * w, z = relu(y) for any number of rows; w is an input with a default."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Relu", ["y"], ["z"])]
    weights = {"w": (np.arange(12, dtype=np.float32) - 5).reshape(4, 3)}
    inputs = {"x": (FLOAT, ["batch", 4]), "w": (FLOAT, [4, 3])}
    return model(nodes, inputs, {"y": (FLOAT, ["batch", 3]), "z": (FLOAT, None)}, weights)


def reshape() -> bytes:
    """y = x in a shape that is an input."""
    node = helper.make_node("Reshape", ["x", "shape"], ["y"])
    return model([node], {"x": (FLOAT, ["n", 4]), "shape": (INT64, [2])}, {"y": (FLOAT, None)})


def gather() -> bytes:
    """y = the rows of x at places."""
    node = helper.make_node("Gather", ["x", "places"], ["y"])
    return model([node], {"x": (FLOAT, ["n", 4]), "places": (INT64, [2])}, {"y": (FLOAT, None)})


def relu() -> bytes:
    """y = relu(x), [2, 4]."""
    return model([helper.make_node("Relu", ["x"], ["y"])], {"x": (FLOAT, [2, 4])}, {"y": (FLOAT, [2, 4])})


def scaled() -> bytes:
    """y = x * factor, [2, 4]; the factor is a number."""
    node = helper.make_node("Mul", ["x", "factor"], ["y"])
    return model([node], {"x": (FLOAT, [2, 4]), "factor": (FLOAT, [])}, {"y": (FLOAT, [2, 4])})


def unnamed() -> bytes:
    """y = relu(x) for any numbers of rows and columns, which have no names."""
    return model([helper.make_node("Relu", ["x"], ["y"])], {"x": (FLOAT, [None, None])}, {"y": (FLOAT, [None, None])})


def softmax_rows() -> bytes:
    """Two products with a softmax between them, for any batch and length: y, [batch, length, 4]."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Transpose", ["a"], ["b"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["a", "b"], ["c"]),
        helper.make_node("Softmax", ["c"], ["d"], axis=-1),
        helper.make_node("MatMul", ["d", "x"], ["y"]),
    ]
    weights = {"w": np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)}
    shape: Shape = ["batch", "length", 4]
    return model(nodes, {"x": (FLOAT, shape)}, {"y": (FLOAT, shape)}, weights)


def broken(node: NodeProto, opset: int = 17) -> bytes:
    """A model of one node, for errors."""
    graph = helper.make_graph(
        [node],
        "broken",
        [helper.make_tensor_value_info("x", FLOAT, [2, 4])],
        [helper.make_tensor_value_info("y", FLOAT, [2, 4])],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("test.domain", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def decoder(total: str) -> bytes:
    """y = the past and x, side by side, with a mask added whose columns are named `total`."""
    nodes = [helper.make_node("Concat", ["past", "x"], ["p"], axis=1), helper.make_node("Add", ["p", "mask"], ["y"])]
    inputs: Mapping[str, tuple[int, Shape]] = {
        "x": (FLOAT, ["b", "t"]),
        "past": (FLOAT, ["b", "p"]),
        "mask": (FLOAT, ["b", total]),
    }
    return model(nodes, inputs, {"y": (FLOAT, None)})


def added() -> bytes:
    """y = x + z for any numbers of rows and columns, which may be 1 in either."""
    node = helper.make_node("Add", ["x", "z"], ["y"])
    return model([node], {"x": (FLOAT, ["n", "m"]), "z": (FLOAT, ["p", "q"])}, {"y": (FLOAT, None)})
