"""How many nodes a model is once its functions and branches stand in the place of the nodes that call them.

A file of some kilobytes can ask for any number of nodes in this way, and for no end of it. So they are counted first,
each function once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from onnx import FunctionProto, NodeProto

from ...dialects.errors import UnsupportedError
from .check import subgraphs
from .functions import FunctionKey, function_key

MAX_NODES = 50_000  # in functions and branches; those of the graph itself are as many as the file holds
MAX_DEPTH = 64  # calls and branches within each other; Python's own stack allows some 150


class Inlining:
    """Counts nodes: (how many, how deep) for each of the model's functions, found when it is first called."""

    def __init__(self, functions: Mapping[FunctionKey, FunctionProto]) -> None:
        self._functions = functions
        self._known: dict[FunctionKey, tuple[int, int]] = {}

    def check(self, nodes: Iterable[tuple[str, NodeProto]]) -> None:
        """Raises UnsupportedError, naming the node that goes too far."""
        total = 0
        for name, node in nodes:
            subject = f"{name} ({node.op_type}): functions and branches"
            count, depth = self._node(node, 1)
            total += count
            if depth > MAX_DEPTH:
                raise UnsupportedError(f"{subject} lie more than {MAX_DEPTH} deep within each other")
            if total > MAX_NODES:
                raise UnsupportedError(f"{subject} hold more than {MAX_NODES} nodes in all")

    def _node(self, node: NodeProto, depth: int) -> tuple[int, int]:
        """Nodes that stand for a node, and how deep they lie; a branch too many is looked at no further."""
        if depth > MAX_DEPTH:
            return 0, depth
        key = function_key(node)
        if key in self._known:
            count, height = self._known[key]
            return count, height + depth
        counts, deepest = 0, depth - 1
        for body in self._bodies(node):
            count = len(body)
            for inner in body:
                more, reached = self._node(inner, depth + 1)
                count, deepest = count + more, max(deepest, reached)
                if deepest > MAX_DEPTH:
                    return count, deepest
            counts += count  # both branches stand there, unless import knows which is taken
        if key in self._functions:
            self._known[key] = counts, deepest - depth
        return counts, deepest

    def _bodies(self, node: NodeProto) -> Iterator[Sequence[NodeProto]]:
        function = self._functions.get(function_key(node))
        if function is not None:
            yield function.node
        for attribute in node.attribute:
            for graph in subgraphs(attribute):
                yield graph.node
