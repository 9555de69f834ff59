"""Nine graphs of real architectures that come with the onnx package, with seeded weights of a sensible scale.

Their own weights are all 0.02 (a ConstantOfShape for each), which makes every image give the same answer: `light_case`
is the model with these, as ONNX's suite runs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

from mini_infer.dialects.graph.values import Array

from .builder import rng

_FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"

LIGHT_MODELS = sorted(path.stem.removeprefix("light_") for path in _FOLDER.glob("light_*.onnx"))

# What an operand is, by operator and position; operators that only reshape are looked through.
_ROLES = {
    ("Conv", 1): "weight",
    ("Conv", 2): "bias",
    ("Gemm", 1): "matrix",
    ("Gemm", 2): "bias",
    ("BatchNormalization", 1): "scale",
    ("BatchNormalization", 2): "bias",
    ("BatchNormalization", 3): "bias",
    ("BatchNormalization", 4): "variance",
    ("Mul", 1): "scale",
    ("Add", 1): "bias",
}
_LOOKED_THROUGH = ("Unsqueeze", "Reshape")


def light_case(name: str) -> tuple[ModelProto, list[Array], list[Array], float, float]:
    """One of LIGHT_MODELS as it is, with the inputs and outputs of ONNX's suite and its tolerances: rtol, atol."""
    (case,) = [each for each in load_model_tests(kind="real") if each.model_name == name]
    model = ModelProto.FromString((_FOLDER / f"light_{name}.onnx").read_bytes())
    known = {tensor.name for tensor in model.graph.initializer}
    given = [value for value in model.graph.input if value.name not in known]
    inputs: list[Array] = [Runner.generate_dummy_data(value, seed=0, name=name, random=False) for value in given]
    output = TensorProto.FromString((_FOLDER / f"light_{name}_output_0.pb").read_bytes())
    return model, inputs, [numpy_helper.to_array(output)], case.rtol, case.atol


def seeded_light_model(name: str, seed: int = 0) -> ModelProto:
    """One of LIGHT_MODELS with every constant weight replaced by an initialiser."""
    model = ModelProto.FromString((_FOLDER / f"light_{name}.onnx").read_bytes())
    graph = model.graph
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    kept: list[NodeProto] = []
    shapes: dict[str, list[int]] = {}
    for node in graph.node:
        if node.op_type == "ConstantOfShape":
            shapes[node.output[0]] = [int(size) for size in values[node.input[0]]]
        else:
            kept.append(node)
    shapes |= {name: list(value.shape) for name, value in values.items() if value.dtype == np.float32}
    readers = _readers(kept)
    weights = [
        numpy_helper.from_array(_values(weight, shape, _role(weight, readers), seed, readers), weight)
        for weight, shape in shapes.items()
        if weight in readers
    ]
    weights += [tensor for tensor in graph.initializer if tensor.name not in shapes and tensor.name in readers]
    _replace(graph, kept, weights)
    return model


def _replace(graph: GraphProto, nodes: list[NodeProto], weights: list[onnx.TensorProto]) -> None:
    given = {name for node in nodes for name in node.input}
    inputs = [value for value in graph.input if value.name in given]
    del graph.node[:], graph.initializer[:], graph.input[:]
    graph.node.extend(nodes)
    graph.initializer.extend(weights)
    graph.input.extend(inputs)


Readers = dict[str, list[tuple[NodeProto, int]]]


def _readers(nodes: list[NodeProto]) -> Readers:
    readers: Readers = {}
    for node in nodes:
        for index, name in enumerate(node.input):
            readers.setdefault(name, []).append((node, index))
    return readers


def _uses(name: str, readers: Readers) -> Iterator[tuple[NodeProto, int]]:
    for node, index in readers.get(name, []):
        if node.op_type in _LOOKED_THROUGH:
            yield from _uses(node.output[0], readers)
        else:
            yield node, index


def _role(name: str, readers: Readers) -> str:
    node, index = next(_uses(name, readers))
    return _ROLES[node.op_type, index]


def _values(name: str, shape: list[int], role: str, seed: int, readers: Readers) -> Array:
    numbers = rng(seed, name)
    match role:
        case "weight":
            spread = np.sqrt(2 / np.prod(shape[1:]))
            result = numbers.standard_normal(shape, np.float32) * np.float32(spread)
        case "matrix":
            result = numbers.standard_normal(shape, np.float32) * np.float32(0.3 / np.sqrt(shape[-1]))
        case "scale":
            # What is added to a residual is made small, or the sums would grow with depth.
            node, _ = next(_uses(name, readers))
            added = any(reader.op_type == "Sum" for reader, _ in readers.get(node.output[0], []))
            result = numbers.uniform(0.3, 0.5, shape) if added else numbers.uniform(0.8, 1.2, shape)
        case "variance":
            result = numbers.uniform(0.6, 1.4, shape)
        case _:
            result = numbers.uniform(-0.1, 0.1, shape)
    return result.astype(np.float32)
