"""Contractions and reductions of no elements, compiled: zeros, a bias, or what ONNX says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models.builder import ModelBuilder
from onnx import helper, numpy_helper

import mini_infer as mi
from mini_infer.dialects.graph.values import Array


def zeros(*shape: int, dtype: Any = np.float32) -> Array:
    return np.zeros(shape, dtype)


def bias(count: int) -> Array:
    return np.arange(1, count + 1, dtype=np.float32)


AXES, LAST = np.array([1]), np.array([-1])
KNOWN = (AXES, LAST)
LEAST, MOST = np.iinfo(np.int32).min, np.iinfo(np.int32).max
# operator, operands, attributes, result
CASES: list[tuple[str, list[Array], dict[str, Any], Any]] = [
    ("MatMul", [zeros(3, 0), zeros(0, 4)], {}, zeros(3, 4)),
    ("MatMul", [zeros(2, 3, 0), zeros(2, 0, 4)], {}, zeros(2, 3, 4)),
    ("MatMul", [zeros(0), zeros(0)], {}, zeros()),
    ("Gemm", [zeros(3, 0), zeros(0, 4), bias(4)], {"alpha": 0.5, "beta": 2.0}, np.tile(2 * bias(4), (3, 1))),
    ("Gemm", [zeros(3, 0), zeros(0, 4)], {}, zeros(3, 4)),
    ("Einsum", [zeros(2, 0), zeros(0, 3)], {"equation": "ij,jk->ki"}, zeros(3, 2)),
    ("Einsum", [zeros(2, 0, 3)], {"equation": "ijk->ik"}, zeros(2, 3)),
    ("Einsum", [zeros(0), zeros(0)], {"equation": "i,i->"}, zeros()),
    ("Conv", [zeros(1, 0, 4, 4), zeros(2, 0, 3, 3)], {}, zeros(1, 2, 2, 2)),
    ("Conv", [zeros(1, 0, 2, 2), zeros(2, 0, 2, 2), bias(2)], {}, bias(2).reshape(1, 2, 1, 1)),
    ("Conv", [zeros(0, 2, 4, 4), zeros(2, 2, 3, 3)], {}, zeros(0, 2, 2, 2)),
    ("ReduceSum", [zeros(2, 0), AXES], {}, zeros(2, 1)),
    ("ReduceProd", [zeros(2, 0), AXES], {}, zeros(2, 1) + 1),
    ("ReduceMax", [zeros(2, 0), AXES], {}, zeros(2, 1) - np.inf),
    ("ReduceMin", [zeros(2, 0), AXES], {}, zeros(2, 1) + np.inf),
    ("ReduceMax", [zeros(2, 0, dtype=np.int32), AXES], {}, np.full((2, 1), LEAST, np.int32)),
    ("ReduceMin", [zeros(2, 0, dtype=np.int32), AXES], {}, np.full((2, 1), MOST, np.int32)),
    ("ReduceMean", [zeros(2, 0), AXES], {}, zeros(2, 1) + np.nan),
    ("ReduceL2", [zeros(2, 0), AXES], {}, zeros(2, 1)),
    ("ReduceLogSum", [zeros(2, 0), AXES], {}, zeros(2, 1) - np.inf),
    ("ReduceLogSumExp", [zeros(2, 0), AXES], {}, zeros(2, 1) - np.inf),
    ("Softmax", [zeros(2, 0)], {}, zeros(2, 0)),
    ("Gather", [zeros(0, 5, 3), LAST], {"axis": 1}, zeros(0, 1, 3)),
    ("Slice", [zeros(0, 5, 3), AXES, LAST, AXES], {}, zeros(0, 3, 3)),
    ("LayerNormalization", [zeros(0, 3), bias(3)], {}, zeros(0, 3)),
    ("RNN", [zeros(0, 2, 3), zeros(1, 4, 3), zeros(1, 4, 4)], {"hidden_size": 4}, zeros(0, 1, 2, 4)),
    ("LSTM", [zeros(0, 2, 3), zeros(1, 16, 3), zeros(1, 16, 4)], {"hidden_size": 4}, zeros(0, 1, 2, 4)),
    ("LSTM", [zeros(2, 2, 0), zeros(1, 16, 0), zeros(1, 16, 4)], {"hidden_size": 4}, zeros(2, 1, 2, 4)),
    ("GRU", [zeros(2, 0, 3), zeros(1, 12, 3), zeros(1, 12, 4)], {"hidden_size": 4}, zeros(2, 1, 0, 4)),
    (
        "GRU",
        [zeros(0, 2, 3), zeros(2, 12, 3), zeros(2, 12, 4)],
        {"hidden_size": 4, "direction": "bidirectional"},
        zeros(0, 2, 2, 4),
    ),
]


@pytest.mark.parametrize("optimize", [True, False])
def test_of_no_elements(optimize: bool) -> None:
    nodes: list[Any] = []
    given: dict[str, Array] = {}
    for number, (operator, operands, attributes, _) in enumerate(CASES):
        names = [f"x{number}_{index}" for index in range(len(operands))]
        given |= dict(zip(names, operands, strict=True))
        nodes.append(helper.make_node(operator, names, [f"y{number}"], **attributes))
    tensors = {name: numpy_helper.from_array(array, name) for name, array in given.items()}
    known = [tensor for name, tensor in tensors.items() if any(given[name] is each for each in KNOWN)]
    inputs = {name: array for name, array in given.items() if not any(array is each for each in KNOWN)}
    declared = [helper.make_tensor_value_info(name, tensors[name].data_type, inputs[name].shape) for name in inputs]
    results = [helper.make_tensor_value_info(f"y{number}", 0, None) for number in range(len(CASES))]
    graph = helper.make_graph(nodes, "empty", declared, results, known)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    found = mi.compile(model, threads=1, enable_graph_optimization=optimize)(inputs)
    for number, (operator, _, _, expected) in enumerate(CASES):
        np.testing.assert_array_equal(found[f"y{number}"], expected, f"{number}: {operator}", strict=True)


SIZES = {"batch": 2, "heads": 4, "queries": 3, "depth": 5, "keys": 6, "width": 7}


@pytest.mark.parametrize("empty", SIZES)
@pytest.mark.parametrize("operator", ["Attention", "its pieces"])
def test_attention_of_no_elements(operator: str, empty: str) -> None:
    batch, heads, queries, depth, keys, width = (SIZES | {empty: 0}).values()
    q, k, v = (batch, heads, queries, depth), (batch, heads, keys, depth), (batch, heads, keys, width)
    given = {name: np.ones(shape, np.float32) for name, shape in (("q", q), ("k", k), ("v", v))}
    b = ModelBuilder("empty", opset=23)
    query, key, value = (b.input(name, array.shape) for name, array in given.items())
    if operator == "Attention":
        y = b.node("Attention", query, key, value, scale=1.0)
    else:
        scores = b.node("MatMul", query, b.node("Transpose", key, perm=[0, 1, 3, 2]))
        y = b.node("MatMul", b.node("Softmax", scores), value)
    expected = np.full((batch, heads, queries, width), 1 if keys else 0, np.float32)
    found = mi.compile(b.model([y]), threads=1)(given)[y]
    np.testing.assert_allclose(found, expected, rtol=1e-6, strict=True)
