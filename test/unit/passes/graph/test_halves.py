"""Operators of several steps on 16-bit floats: only their results are rounded, so that nothing in between overflows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import helper, numpy_helper

import mini_infer as mi
from mini_infer.dialects.graph.values import Array

LARGE = np.random.default_rng(0).uniform(300, 60000, (1, 2, 3, 9))
SMALL = np.random.default_rng(1).uniform(1, 3000, (1, 2, 3, 9))


def _rooted(x: Array, scale: Any = 1) -> Array:
    return np.sqrt(np.sum(x * x, axis=(2, 3), keepdims=True)) * scale


# operator, attributes, operand (a second one for Mean), what it gives in float64
CASES: dict[str, tuple[dict[str, Any], Array, Callable[[Any], Any]]] = {
    "ReduceL1": ({"axes": [-1]}, SMALL, lambda x: np.sum(x, -1, keepdims=True)),
    "ReduceL2": ({"axes": [-1]}, SMALL, lambda x: np.sqrt(np.sum(x * x, -1, keepdims=True))),
    "ReduceSumSquare": ({"axes": [-1]}, SMALL / 40, lambda x: np.sum(x * x, -1, keepdims=True)),
    "ReduceLogSum": ({"axes": [-1]}, LARGE, lambda x: np.log(np.sum(x, -1, keepdims=True))),
    "ReduceLogSumExp": ({"axes": [-1]}, SMALL / 300, lambda x: np.log(np.sum(np.exp(x), -1, keepdims=True))),
    "ReduceMean": ({"axes": [-1]}, LARGE, lambda x: np.mean(x, -1, keepdims=True)),
    "ReduceSum": ({}, SMALL / 10, lambda x: np.sum(x, keepdims=True)),
    "Mean": ({}, LARGE, lambda x: x),
    "GlobalAveragePool": ({}, LARGE, lambda x: np.mean(x, (2, 3), keepdims=True)),
    "GlobalLpPool": ({}, SMALL, _rooted),
    "AveragePool": ({"kernel_shape": [3, 9]}, LARGE, lambda x: np.mean(x, (2, 3), keepdims=True)),
    "LpPool": ({"kernel_shape": [3, 9]}, SMALL, _rooted),
    "LpNormalization": ({"axis": -1}, LARGE, lambda x: x / np.sqrt(np.sum(x * x, -1, keepdims=True))),
    "Sinh": ({}, np.linspace(-11.7, 11.7, 100), np.sinh),
    "Asinh": ({}, np.linspace(-60000, 60000, 100), np.arcsinh),
    "Acosh": ({}, np.linspace(1, 60000, 100), np.arccosh),
}


@pytest.mark.thinned(5)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("optimize", [True, False])
def test_nothing_in_between_is_rounded(dtype: Any, optimize: bool) -> None:
    given = {name: case[1].astype(dtype) for name, case in CASES.items()}
    tensors = {name: numpy_helper.from_array(array) for name, array in given.items()}
    nodes = [
        helper.make_node(name, [f"x{name}"] * (3 if name == "Mean" else 1), [name], **case[0])
        for name, case in CASES.items()
    ]
    expected: dict[str, Array] = {name: case[2](given[name].astype(np.float64)) for name, case in CASES.items()}
    inputs = [helper.make_tensor_value_info(f"x{name}", t.data_type, t.dims) for name, t in tensors.items()]
    outputs = [
        helper.make_tensor_value_info(name, tensors[name].data_type, array.shape) for name, array in expected.items()
    ]
    graph = helper.make_graph(nodes, "halves", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=8)
    engine = mi.compile(model, threads=1, enable_graph_optimization=optimize)
    found = engine({f"x{name}": array for name, array in given.items()})
    half = 2.0**-11 if dtype == np.float16 else 2.0**-8
    for name, exact in expected.items():
        np.testing.assert_allclose(found[name].astype(np.float64), exact, rtol=1.01 * half, err_msg=name)
