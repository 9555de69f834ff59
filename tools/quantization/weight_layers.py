"""What can be quantised in an ONNX model: weights of MatMul and Gemm, and the tables that Gather reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from onnx import GraphProto, NodeProto, TensorProto, helper

from ...dialects.errors import ConfigError
from ...dialects.graph.values import Array
from ...lowering.onnx_to_graph.check import named_nodes, subgraphs
from ...lowering.onnx_to_graph.model_file import ModelFile
from .model_writing import mapped

FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)


@dataclass(frozen=True)
class Use:
    """A node that reads a weight, by its place in a graph."""

    graph: GraphProto
    index: int
    name: str

    @property
    def node(self) -> NodeProto:
        """The node."""
        return self.graph.node[self.index]


@dataclass
class WeightLayer:
    """A weight of products, or a table of which rows are gathered; the product's weight may be that table.

    It is [rows, depth] if it is `transposed`, or else [depth, rows]: a row is a column of the product.
    """

    owner: GraphProto
    tensor: TensorProto
    transposed: bool
    products: list[Use] = field(default_factory=list[Use])
    gathers: list[Use] = field(default_factory=list[Use])

    @property
    def name(self) -> str:
        """The name of the first node that reads it."""
        return (self.products or self.gathers)[0].name

    @property
    def shape(self) -> tuple[int, int]:
        """rows and depth"""
        first, second = self.tensor.dims
        return (first, second) if self.transposed else (second, first)

    def matches(self, pattern: str) -> bool:
        """Whether a pattern is for a node that reads it, or for the weight."""
        names = (self.tensor.name, *(use.name for use in (*self.products, *self.gathers)))
        return any(fnmatchcase(name, pattern) for name in names)

    def matrix(self, file: ModelFile) -> Array:
        """The weight as [rows, depth], a view of the file where it lies there."""
        array = array_of(file, self.tensor)
        return array if self.transposed else array.T


def array_of(file: ModelFile, tensor: TensorProto) -> Array:
    """An initialiser's array, mapped where it lies in a file."""
    place = file.where(tensor, initializer=True)
    if place is None:
        return file.array(tensor)
    return mapped(place).view(helper.tensor_dtype_to_np_dtype(tensor.data_type)).reshape(tensor.dims)


def weight_layers(graph: GraphProto) -> list[WeightLayer]:
    """All weights of a graph and of those in its nodes, in order of the nodes that read them first."""
    found: dict[tuple[int, bool], WeightLayer] = {}
    for scope, inner in _graphs(graph, {}):
        _collect(inner, scope, found)
    return [*found.values()]


_Scope = Mapping[str, tuple[GraphProto, TensorProto]]


def _graphs(graph: GraphProto, outer: _Scope) -> Iterator[tuple[_Scope, GraphProto]]:
    """The graph and those in its nodes, each with the initialisers that it sees."""
    scope = {**outer, **{each.name: (graph, each) for each in graph.initializer}}
    yield scope, graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in subgraphs(attribute):
                yield from _graphs(inner, scope)


def _collect(graph: GraphProto, scope: _Scope, found: dict[tuple[int, bool], WeightLayer]) -> None:
    makers = {node.output[0]: node for node in graph.node if node.op_type == "Transpose" and node.output}
    for index, (name, node) in enumerate(named_nodes(graph.node)):
        if node.domain not in ("", "ai.onnx") or len(node.input) < 2:
            continue
        value, transposed = node.input[1], reads_rows(node)
        if node.op_type == "Gather":
            value, transposed = node.input[0], True
        elif node.op_type not in ("MatMul", "Gemm"):
            continue
        if node.op_type != "Gather" and value in makers and _swaps(makers[value]):
            value, transposed = makers[value].input[0], not transposed
        owner, tensor = scope.get(value, (graph, None))
        if tensor is None or tensor.data_type not in FLOATS or len(tensor.dims) != 2:
            continue
        if node.op_type == "Gather" and _integer(node, "axis") not in (0, -2):
            continue
        layer = found.setdefault((id(tensor), transposed), WeightLayer(owner, tensor, transposed))
        (layer.gathers if node.op_type == "Gather" else layer.products).append(Use(graph, index, name))


def reads_rows(node: NodeProto) -> bool:
    """Whether a product's weight is [rows, depth] where it reads it."""
    return node.op_type == "Gemm" and bool(_integer(node, "transB"))


def is_turned(node: NodeProto) -> bool:
    """Whether a product's left operand is transposed."""
    return node.op_type == "Gemm" and bool(_integer(node, "transA"))


def _integer(node: NodeProto, name: str) -> int:
    return next((each.i for each in node.attribute if each.name == name), 0)


def _swaps(node: NodeProto) -> bool:
    """Whether a Transpose of a matrix swaps its axes, as it does by default."""
    return next((list(each.ints) for each in node.attribute if each.name == "perm"), [1, 0]) == [1, 0]


def kept(layers: Iterable[WeightLayer], patterns: Iterable[str]) -> set[str]:
    """The weights that patterns say are to stay in floats. Raises ConfigError for a pattern that is for none."""
    layers, names = list(layers), set[str]()
    for pattern in patterns:
        matched = [each.tensor.name for each in layers if each.matches(pattern)]
        if not matched:
            there = ", ".join(each.name for each in layers[:5]) + (", ..." if len(layers) > 5 else "")
            raise ConfigError(f"--keep {pattern}: there is no such product; there are {there or 'none'}")
        names.update(matched)
    return names
