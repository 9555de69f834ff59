"""Records the nodes and tensors of an ONNX graph while it is imported, as the module's #graph.model_nodes.

Nodes inside of functions, branches and loops are named after the node that holds them, and so are their tensors. A name
for a value that has one already (of an Identity, of a Dropout, of a function's argument) is recorded as the same.
`asked_tensors` finds those of the main graph by their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod

from onnx import GraphProto, NodeProto, TensorProto
from xdsl.ir import SSAValue

from ...dialects.arguments import check_kind, checked_sequence, nearest, shown
from ...dialects.errors import InvalidInputError, UnsupportedError
from ...dialects.graph.model_nodes import Fate, ModelNode, ModelNodesAttr, ModelTensor
from ...dialects.graph.narrow_types import packed_bits
from ...dialects.graph.values import element_type_of_value, numpy_dtype, shape_of
from ...dialects.sizes.sizes import is_fixed
from .check import named_nodes, ordered_nodes, subgraphs
from .element_types import element_type
from .emitter import Emitter
from .node import Node
from .scope import Scope


class ModelTensors:
    """The nodes imported so far, and the first name of each value."""

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter
        self._names: dict[SSAValue, str] = {}
        self._nodes: list[ModelNode] = []

    def name(self, value: SSAValue, name: str) -> None:
        """Names a value that no node makes: an input, or an argument of a subgraph."""
        self._names.setdefault(value, name)

    def record(self, node: Node) -> None:
        """Records a node whose results are defined in its scope."""
        scope = node.scope
        inputs = tuple(self._canonical(scope, name) for name in node.proto.input if name)
        outputs = tuple(self._tensor(scope, name) for name in node.proto.output if name)
        self._nodes.append(ModelNode(node.name, node.op_type, inputs, outputs))

    def attribute(self, graph: GraphProto, nodes: Iterable[tuple[str, NodeProto]]) -> ModelNodesAttr:
        """The module's attribute; `nodes` are those of the graph, of which some may not have been imported."""
        known = {tensor.name for each in self._nodes for tensor in each.outputs}
        unused = [
            ModelNode(name, proto.op_type, tuple(proto.input), tuple(ModelTensor(each, fate="unused") for each in made))
            for name, proto in nodes
            if (made := [each for each in proto.output if each and each not in known])
        ]
        return ModelNodesAttr((*map(_initializer, graph.initializer), *self._nodes, *unused))

    def _canonical(self, scope: Scope, name: str) -> str:
        held = scope.found(name)
        return self._names.get(held, scope.prefix + name) if isinstance(held, SSAValue) else name

    def _tensor(self, scope: Scope, name: str) -> ModelTensor:
        own, held = scope.prefix + name, scope.held(name)
        if not isinstance(held, SSAValue):
            return ModelTensor(own)  # a sequence, or texts
        first = self._names.setdefault(held, own)
        shape = shape_of(held)
        fixed = shape if is_fixed(*shape) else None
        nbytes = 0 if fixed is None else prod(fixed) * numpy_dtype(element_type_of_value(held)).itemsize
        fate: Fate = "constant" if self._emitter.is_constant(held) else ""
        return ModelTensor(own, fixed, nbytes, fate, first if first != own else "")


def _initializer(proto: TensorProto) -> ModelNode:
    """An initialiser as a node without an operator."""
    try:
        type = element_type(proto.data_type, "")
    except UnsupportedError:  # texts, and what no node reads
        nbytes = 0
    else:
        bits = packed_bits(type)
        nbytes = -(-prod(proto.dims) * bits // 8) if bits < 8 else prod(proto.dims) * numpy_dtype(type).itemsize
    return ModelNode(proto.name, "", (), (ModelTensor(proto.name, tuple(proto.dims), nbytes, "constant"),))


def asked_tensors(graph: GraphProto, names: Sequence[str] | None) -> tuple[str, ...]:
    """These names, each once; if None, those of all inputs and of all results of nodes that the outputs need.

    Raises InvalidInputError for a name that no tensor has, and UnsupportedError for one inside of a body.
    """
    if names is None:
        given = {each.name for each in graph.initializer}
        inputs = (each.name for each in graph.input if each.name not in given)
        made = (each for _, node in ordered_nodes(graph) for each in node.output if each)
        return (*inputs, *made)
    names = checked_sequence("names of tensors", names, "a sequence of names", InvalidInputError)
    values = (*graph.input, *graph.initializer)
    known = {*(each.name for each in values), *(each for node in graph.node for each in node.output if each)}
    for name in names:
        check_kind("a tensor's name", name, str, InvalidInputError)
        if name not in known:
            for node, prefixed, inner in _inside(graph):
                if name in (prefixed, inner):
                    raise UnsupportedError(
                        f"tensor '{inner}' is inside of a body of {node}: it has a value for each turn or call; "
                        "tensors of the main graph can be asked for, such as the node's results"
                    )
            raise InvalidInputError(f"the model's graph has no tensor {shown(name)}{nearest(name, known)}")
    return tuple(dict.fromkeys(names))


def _inside(graph: GraphProto) -> Iterator[tuple[str, str, str]]:
    """For each tensor in graphs of nodes: the node of the main graph, the name in memory plans, and the own name."""
    for name, node in named_nodes(graph.node):
        pending = [(name, each) for attribute in node.attribute for each in subgraphs(attribute)]
        for prefix, body in pending:
            for inner, each in named_nodes(body.node):
                yield from ((f"{name} ({node.op_type})", f"{prefix}/{made}", made) for made in each.output if made)
                pending += [
                    (f"{prefix}/{inner}", more) for attribute in each.attribute for more in subgraphs(attribute)
                ]
