"""Records the nodes and tensors of an ONNX graph while it is imported, as the module's #graph.model_nodes.

Nodes inside of functions, branches and loops are named after the node that holds them, and so are their tensors. A name
for a value that has one already (of an Identity, of a Dropout, of a function's argument) is recorded as the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from onnx import GraphProto, NodeProto, TensorProto
from xdsl.ir import SSAValue

from ...dialects.errors import UnsupportedError
from ...dialects.graph.model_nodes import Fate, ModelNode, ModelNodesAttr, ModelTensor
from ...dialects.graph.narrow_types import packed_bits
from ...dialects.graph.values import element_type_of_value, numpy_dtype, shape_of
from ...dialects.sizes.sizes import is_fixed
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
