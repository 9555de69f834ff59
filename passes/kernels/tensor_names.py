"""Names the values between kernels after the ONNX tensors that they are, and lists the nodes that each kernel computes.

A value is the tensor of the node that its op stands for (`value_node`) if what reads it needs that node in the model,
and what it is computed from does not. Else it is a part of the node's work, such as an operand in another layout. Of a
node with several results it is the one that its readers read. It may have another order of axes than in the model,
never another number of elements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import prod

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects.graph.base import node_name
from ...dialects.graph.model_nodes import ModelNode, ModelTensor, computing, model_nodes, value_node
from ...dialects.graph.values import shape_of
from ...dialects.sizes.sizes import is_fixed


class TensorNames:
    """The ONNX tensors of the values of `main`, before its ops are taken apart into kernels."""

    def __init__(self, module: ModuleOp) -> None:
        nodes = [node for node in model_nodes(module) if node.operator]
        self.known = bool(nodes)
        often = Counter(node.name for node in nodes)
        self._nodes = {node.name: node for node in nodes if often[node.name] == 1}  # other names tell nothing
        self._order = {node.name: number for number, node in enumerate(nodes)}
        self._readers: dict[str, list[ModelNode]] = {}
        for node in nodes:
            for name in node.inputs:
                self._readers.setdefault(name, []).append(node)

    def location(self, op: Operation, ops: Sequence[Operation], results: Sequence[SSAValue]) -> LocationAttr:
        """The location of an op with the nodes that `ops` compute, and the tensors that their `results` are."""
        if not self.known:
            return op.location
        nodes = dict.fromkeys(name for each in ops for name in (node_name(each), value_node(each)) if name)
        return computing(op.location, [*nodes], [*map(self.of, results)])

    def of(self, value: SSAValue) -> str:
        """The ONNX tensor that a value of `main` is, or ""."""
        op = value.owner
        node = self._nodes.get(value_node(op)) if isinstance(op, Operation) else None
        if node is None or not isinstance(op, Operation):
            return ""
        users = [use.operation for use in value.uses]
        readers = {name for user in users for name in (node_name(user), value_node(user))} - {node.name}
        tensor = self._result(node, op, value, readers)
        if tensor is None or not _has_elements(tensor, value):
            return ""
        handed_on = any(not value_node(user) for user in users)  # returned, or yielded by a loop
        if not (handed_on or self._any_needs(tensor, readers)) or self._any_needs(tensor, self._sources(op, node.name)):
            return ""
        return tensor.same or tensor.name

    def _result(self, node: ModelNode, op: Operation, value: SSAValue, readers: set[str]) -> ModelTensor | None:
        """The result of a node that a value is, by who reads it."""
        if len(node.outputs) == 1:
            return node.outputs[0]
        direct = [
            each for each in node.outputs if any(reader.name in readers for reader in self._readers.get(each.name, ()))
        ]
        if len(direct) == 1:
            return direct[0]
        if len(op.results) == len(node.outputs):
            return node.outputs[op.results.index(value)]
        later = [each for each in node.outputs if any(name in readers for name in self._reached(each.name))]
        return later[0] if len(later) == 1 else None

    def _any_needs(self, tensor: ModelTensor, names: Iterable[str]) -> bool:
        """Whether a node of these needs a tensor in the model. Most are ruled out by the nodes' order."""
        first = min((self._order[each.name] for each in self._readers.get(tensor.name, ())), default=len(self._order))
        later = {name for name in names if self._order.get(name, -1) >= first}
        return bool(later) and any(name in later for name in self._reached(tensor.name))

    def _sources(self, op: Operation, node: str) -> set[str]:
        """The nodes whose values are read by an op, and by those before it that stand for the same node."""
        found, pending, seen = set[str](), [op], {op}
        for each in pending:
            for owner in (operand.owner for operand in each.operands):
                if isinstance(owner, Operation) and owner not in seen:
                    seen.add(owner)
                    if value_node(owner) == node:
                        pending.append(owner)
                    else:
                        found.add(value_node(owner))
        return found

    def _reached(self, tensor: str) -> Iterator[str]:
        """The nodes that need a tensor, nearest first."""
        pending, seen = [tensor], {tensor}
        for name in pending:
            for node in self._readers.get(name, ()):
                yield node.name
                pending += [each.name for each in node.outputs if each.name not in seen]
                seen.update(each.name for each in node.outputs)


def _has_elements(tensor: ModelTensor, value: SSAValue) -> bool:
    """Whether a value has as many elements as a tensor of the model; true where sizes are symbolic."""
    sizes = shape_of(value)
    return tensor.shape is None or not is_fixed(*sizes) or prod(tensor.shape) == prod(sizes)
