"""Counts a model's nodes after inlining of functions and branches, to refuse exponential growth.

A file of some kilobytes can expand to any number of nodes, even without end, so they are counted first, each function
once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from onnx import FunctionProto, NodeProto

from ...dialects.errors import UnsupportedError
from .check import subgraphs
from .functions import FunctionKey, function_key

MAX_NODES = 50_000  # in functions and branches; the graph itself has as many as the file holds
MAX_DEPTH = 64  # nested calls and branches; Python's own stack allows some 150


class Inlining:
    """Counts nodes: (number, nesting depth) for each model function, memoised at its first call."""

    def __init__(self, functions: Mapping[FunctionKey, FunctionProto]) -> None:
        self._functions = functions
        self._known: dict[FunctionKey, tuple[int, int]] = {}

    def check(self, nodes: Iterable[tuple[str, NodeProto]]) -> None:
        """Raises UnsupportedError, naming the node that exceeds a limit."""
        total = 0
        for name, node in nodes:
            subject = f"{name} ({node.op_type}): functions and branches"
            count, depth = self._node(node, 1)
            total += count
            if depth > MAX_DEPTH:
                raise UnsupportedError(f"{subject} are nested more than {MAX_DEPTH} deep")
            if total > MAX_NODES:
                raise UnsupportedError(f"{subject} hold more than {MAX_NODES} nodes in all")

    def _node(self, node: NodeProto, depth: int) -> tuple[int, int]:
        """The number of nodes that a node expands to, and their nesting depth; stops at a limit."""
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
            counts += count  # both branches are imported, unless the condition is known
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
