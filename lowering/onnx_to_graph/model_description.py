"""What a model declares about itself: inputs, outputs and metadata, as plain values that JSON can hold."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TypedDict

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto

from ...dialects.errors import InvalidModelError
from .check import opset_versions, ordered_nodes
from .functions import model_functions
from .inlining import Inlining
from .model_file import ModelSource, load_model
from .operators import OperatorCheck


class ValueDescription(TypedDict):
    """An input, output or initialiser of a model."""

    name: str
    type: str
    """As ONNX writes it, such as "tensor(float)" or "seq(tensor(int64))"; "" if none is declared."""
    shape: list[int | str | None] | None
    """Sizes, names of dynamic dimensions, None for unnamed ones; None as a whole for an unknown rank."""
    denotations: list[str]
    """What the dimensions are said to be, such as "DATA_BATCH"; "" for those of which nothing is said."""


class ModelDescription(TypedDict):
    """A model's interface and metadata."""

    inputs: list[ValueDescription]
    outputs: list[ValueDescription]
    defaults: list[ValueDescription]
    """Inputs with an initialiser, which callers may leave out."""
    metadata: dict[str, str]
    version: int | None
    custom: dict[str, str]


_HIDDEN = "hidden:"


def describe(model: ModelSource) -> ModelDescription:
    """The description of a model, whose operators are checked, too.

    Outputs whose declared shapes are open have the sizes that ONNX infers. Raises InvalidModelError for a broken model
    and UnsupportedError naming all unsupported operators.
    """
    proto = load_model(model).proto
    functions, nodes = model_functions(proto), ordered_nodes(proto.graph)
    OperatorCheck(functions).check(nodes, opset_versions(proto))
    Inlining(functions).check(nodes)
    graph = proto.graph
    initialized = {each.name for each in graph.initializer}
    inferred = _inferred(proto)
    named = {dim.dim_param for each in graph.input for dim in each.type.tensor_type.shape.dim}
    metadata = {
        "producer_name": proto.producer_name,
        "graph_name": graph.name,
        "domain": proto.domain,
        "description": proto.doc_string,
        "graph_description": graph.doc_string,
    }
    return {
        "inputs": [_described(each) for each in graph.input if each.name not in initialized],
        "outputs": [_described(_completed(each, inferred.get(each.name), named)) for each in graph.output],
        "defaults": [_described(each) for each in graph.input if each.name in initialized],
        "metadata": metadata,
        "version": proto.model_version if proto.HasField("model_version") else None,
        "custom": {each.key: each.value for each in proto.metadata_props},
    }


def _inferred(proto: ModelProto) -> dict[str, ValueInfoProto]:
    """The outputs as ONNX's shape inference finds them, by name; none if all are numbers, or it fails."""
    if all(_has_sizes(each) for each in proto.graph.output):
        return {}
    from onnx import shape_inference

    bare = ModelProto()
    bare.CopyFrom(proto)
    for each in bare.graph.output:
        each.type.tensor_type.ClearField("shape")
    try:
        return {each.name: each for each in with_inferred_shapes(bare).graph.output}
    except (RuntimeError, ValueError, shape_inference.InferenceError):  # of a model that may be valid all the same
        return {}


def with_inferred_shapes(proto: ModelProto) -> ModelProto:
    """The model with the shapes that ONNX's inference finds. Raises RuntimeError, ValueError and InferenceError.

    ONNX 1.23 ends the process at operators of ai.onnx.ml whose input has no known type, such as TreeEnsemble and
    LabelEncoder: to the inference they are operators that nobody knows until their inputs have one.
    """
    from onnx import shape_inference

    inferred = ModelProto()
    inferred.CopyFrom(proto)
    hidden = [node for node in _nodes(inferred.graph) if node.domain == "ai.onnx.ml"]
    for node in hidden:
        node.op_type = _HIDDEN + node.op_type
    while True:
        inferred = shape_inference.infer_shapes(inferred)
        typed = set(_typed_names(inferred.graph))
        hidden = [node for node in _nodes(inferred.graph) if node.op_type.startswith(_HIDDEN)]
        ready = [node for node in hidden if typed.issuperset(filter(None, node.input))]
        for node in ready or hidden:
            node.op_type = node.op_type.removeprefix(_HIDDEN)
        if not ready:
            return inferred


def _typed_names(graph: GraphProto) -> Iterator[str]:
    """The names of a graph's values whose type is known, and of those within it."""
    yield from (tensor.name for tensor in graph.initializer)
    for value in (*graph.input, *graph.value_info, *graph.output):
        if value.type.tensor_type.elem_type or value.type.WhichOneof("value") not in ("tensor_type", None):
            yield value.name
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _typed_names(inner)


def _nodes(graph: GraphProto) -> Iterator[NodeProto]:
    """The nodes of a graph and of those within it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _nodes(inner)


def _has_sizes(value: ValueInfoProto) -> bool:
    """Whether a value is of a known shape, or no tensor."""
    tensor = value.type.tensor_type
    is_tensor = value.type.WhichOneof("value") in ("tensor_type", None)
    return not is_tensor or (tensor.HasField("shape") and all(each.HasField("dim_value") for each in tensor.shape.dim))


def _completed(value: ValueInfoProto, found: ValueInfoProto | None, named: Container[str]) -> ValueInfoProto:
    """An output with its inferred sizes in place of names; names that the inference makes up are left out."""
    if found is None or _has_sizes(value) or not found.type.tensor_type.HasField("shape"):
        return value
    declared = value.type.tensor_type
    made = ValueInfoProto()
    made.CopyFrom(value)
    made.type.CopyFrom(found.type)
    dims = made.type.tensor_type.shape.dim
    if declared.HasField("shape") and len(declared.shape.dim) != len(dims):
        return value  # a run will tell
    for axis, each in enumerate(dims):
        if not each.HasField("dim_value"):
            if declared.HasField("shape"):
                each.CopyFrom(declared.shape.dim[axis])
            elif each.dim_param not in named:
                each.ClearField("dim_param")
    return made


def _described(value: ValueInfoProto) -> ValueDescription:
    tensor = value.type.tensor_type
    has_shape = value.type.WhichOneof("value") == "tensor_type" and tensor.HasField("shape")
    shape: list[int | str | None] = [
        each.dim_value if each.HasField("dim_value") and each.dim_value >= 0 else each.dim_param or None
        for each in tensor.shape.dim
    ]
    return {
        "name": value.name,
        "type": type_text(value.type),
        "shape": shape if has_shape else None,
        "denotations": [each.denotation for each in tensor.shape.dim] if has_shape else [],
    }


def type_text(type: TypeProto) -> str:
    """A type as ONNX's own texts write it: "tensor(float)", "seq(map(int64,tensor(float)))"; "" for none.

    Raises InvalidModelError for an element type that ONNX doesn't have.
    """
    kind = type.WhichOneof("value")
    if kind == "tensor_type":
        return f"tensor({_element_text(type.tensor_type.elem_type)})"
    if kind == "sparse_tensor_type":
        return f"sparse_tensor({_element_text(type.sparse_tensor_type.elem_type)})"
    if kind == "sequence_type":
        return f"seq({type_text(type.sequence_type.elem_type)})"
    if kind == "optional_type":
        return f"optional({type_text(type.optional_type.elem_type)})"
    if kind == "map_type":
        return f"map({_element_text(type.map_type.key_type)},{type_text(type.map_type.value_type)})"
    return ""


def _element_text(element: int) -> str:
    if element not in TensorProto.DataType.values():
        raise InvalidModelError(f"there is no element type {element}")
    return TensorProto.DataType.Name(element).lower()
