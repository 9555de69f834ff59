"""Building ONNX models for tests, with seeded weights."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, cast

import ml_dtypes
import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from mini_infer.dialects.graph.values import Array

Dims = Sequence[int | str]  # sizes, and names of dynamic dimensions


def rng(*key: object) -> np.random.Generator:
    """A random generator that depends on nothing but the key."""
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


class ModelBuilder:
    """Collects inputs, weights and nodes; values are their names."""

    def __init__(self, name: str, seed: int = 0, opset: int = 20) -> None:
        self.name = name
        self.opset = opset
        self._seed = seed
        self._inputs: list[ValueInfoProto] = []
        self._weights: list[TensorProto] = []
        self._nodes: list[NodeProto] = []

    def input(self, name: str, shape: Dims, dtype: Any = np.float32) -> str:
        """A graph input."""
        self._inputs.append(helper.make_tensor_value_info(name, onnx_type(dtype), shape))
        return name

    def constant(self, array: Array, name: str = "") -> str:
        """An initialiser with raw data."""
        name = name or f"{self.name}.constant{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, *shape: int, gain: float = 1.0) -> str:
        """Normal numbers that keep the scale of sums over all dimensions but the first."""
        name = f"{self.name}.weight{len(self._weights)}"
        spread = gain / np.sqrt(max(1, int(np.prod(shape[1:]))))
        return self.constant(rng(self._seed, name).normal(0, spread, shape).astype(np.float32), name)

    def uniform(self, low: float, high: float, *shape: int) -> str:
        """Uniform numbers in [low, high)."""
        name = f"{self.name}.weight{len(self._weights)}"
        return self.constant(rng(self._seed, name).uniform(low, high, shape).astype(np.float32), name)

    def number(self, value: float) -> str:
        """A float of rank 0."""
        return self.constant(np.array(value, np.float32))

    def ints(self, *values: int) -> str:
        """A vector of int64."""
        return self.constant(np.array(values, np.int64))

    def node(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """The result of a node with one result; its name is the node's."""
        return self.nodes(op_type, 1, *inputs, **attributes)[0]

    def nodes(self, op_type: str, results: int, *inputs: str, **attributes: Any) -> list[str]:
        """The results of a node with several."""
        name = f"{self.name}/{op_type.lower()}_{len(self._nodes)}"
        outputs = [name if index == 0 else f"{name}.{index}" for index in range(results)]
        self._nodes.append(helper.make_node(op_type, inputs, outputs, name=name, **attributes))
        return outputs

    def model(self, outputs: Sequence[str], dtypes: Sequence[Any] | None = None) -> ModelProto:
        """The model that gives these values, checked."""
        results = [
            helper.make_tensor_value_info(name, onnx_type(dtype), None)
            for name, dtype in zip(outputs, dtypes or [np.float32] * len(outputs), strict=True)
        ]
        graph = helper.make_graph(self._nodes, self.name, self._inputs, results, self._weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        model.ir_version = 10  # the newest that every onnxruntime in use reads
        model = onnx.shape_inference.infer_shapes(model)
        del model.graph.value_info[:]
        cast(Any, onnx.checker).check_model(model)
        return model


def in_halves(model: ModelProto, dtype: Any) -> ModelProto:
    """The model with all its floats in a 16-bit type: weights are rounded, and limited to the type's range."""
    half = ModelProto()
    half.CopyFrom(model)
    largest = float(cast(Any, ml_dtypes).finfo(dtype).max)
    for tensor in half.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            array = np.clip(numpy_helper.to_array(tensor), -largest, largest).astype(dtype)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    for value in (*half.graph.input, *half.graph.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = onnx_type(dtype)
    return half


def onnx_type(dtype: Any) -> int:
    """The ONNX element type of a numpy type."""
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def open_dimensions(model: ModelProto) -> list[str]:
    """The names of the dimensions of inputs that a model leaves open."""
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = (value for value in model.graph.input if value.name not in weights)
    return sorted({dim.dim_param for value in inputs for dim in value.type.tensor_type.shape.dim if dim.dim_param})


def example_inputs(model: ModelProto, seed: int = 0, **dims: int) -> dict[str, Array]:
    """Seeded inputs: normal floats, truth values, integers in [0, 8); `dims` binds dynamic dimensions."""
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs: dict[str, Array] = {}
    for value in model.graph.input:
        if value.name in weights:
            continue
        described = value.type.tensor_type
        shape = [dims[size.dim_param] if size.dim_param else size.dim_value for size in described.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(described.elem_type)
        numbers = rng("input", seed, value.name)
        if dtype.kind in "biu":
            inputs[value.name] = numbers.integers(0, 2 if dtype.kind == "b" else 8, shape).astype(dtype)
        else:
            inputs[value.name] = numbers.standard_normal(shape).astype(dtype)
    return inputs
