"""Validation of a model's graph before the import.

`ordered_nodes` returns the nodes that the graph's outputs depend on, in topological order, or raises InvalidModelError
for: a value defined twice, an undefined input, a missing graph output, a cycle. Nodes without effect on an output are
dead code and left out; a node connected to nothing at all is warned about.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, defs

from ...dialects.errors import InvalidModelError, UnsupportedError

# Older opsets are accepted for operators that have not changed since.
OLDEST_OPSET = 6
# Characters of a node's name that are kept, since ops, kernels and errors carry it.
MAX_NAME = 1000
# Nesting depth of subgraphs: protobuf parses at most 100 nested messages.
MAX_GRAPHS = 32


def opset_versions(model: ModelProto) -> dict[str, int]:
    """The imported version of each operator domain ("" is ONNX's own), validated for ONNX's own.

    A model all of whose nodes are of other domains needs no version of ONNX's own.
    """
    versions = {("" if entry.domain == "ai.onnx" else entry.domain): entry.version for entry in model.opset_import}
    own = any(node.domain in ("", "ai.onnx") for node in model.graph.node)
    if "" not in versions and versions and not own:
        return versions
    if "" not in versions:
        raise InvalidModelError("the model imports no version of the ONNX operators (opset_import)")
    newest = defs.onnx_opset_version()
    if not 1 <= versions[""] <= newest:
        raise UnsupportedError(f"opset {versions['']}: supported are {OLDEST_OPSET} to {newest}")
    return versions


def named_nodes(nodes: Iterable[NodeProto]) -> list[tuple[str, NodeProto]]:
    """Each node with a name: its own, truncated if overlong, or operator and position."""
    return [((node.name or f"{node.op_type}_{index}")[:MAX_NAME], node) for index, node in enumerate(nodes)]


def reads(node: NodeProto) -> list[str]:
    """Names of the values a node reads, including those that its subgraphs capture."""
    found = [name for name in node.input if name]
    for attribute in node.attribute:
        for graph in subgraphs(attribute):
            made = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
            for inner in graph.node:
                found += [name for name in reads(inner) if name not in made]
                made.update(inner.output)
            found += [value.name for value in graph.output if value.name not in made]
    return found


def ordered_nodes(graph: GraphProto, wanted: Sequence[str] | None = None) -> list[tuple[str, NodeProto]]:
    """(name, node) of every node that the tensors `wanted`, by default the graph's outputs, need, producers first."""
    names = [name for name, _ in named_nodes(graph.node)]
    given = _given_values(graph)
    makers = _makers(graph, names, given)
    _check_reads(graph, names, given, makers)
    needed = _needed(graph, makers, [value.name for value in graph.output] if wanted is None else wanted)
    return [(names[index], graph.node[index]) for index in _producers_first(graph, names, makers) if index in needed]


def check_nesting(model: ModelProto) -> None:
    """Refuses graphs nested deeper than protobuf's limit, since the import recurses into them."""
    level = [model.graph.node, *(function.node for function in model.functions)]
    for _ in range(MAX_GRAPHS + 1):
        attributes = (each for nodes in level for node in nodes for each in node.attribute)
        level = [graph.node for attribute in attributes for graph in subgraphs(attribute)]
    if level:
        raise UnsupportedError(f"the model: graphs are nested more than {MAX_GRAPHS} deep")


def check_text(model: ModelProto) -> None:
    """Refuses names that are not UTF-8, which protobuf returns as bytes: in the graph, subgraphs, and functions."""
    _check_names(_graph_names(model.graph))
    for function in model.functions:
        _check_names((function.name, function.domain, function.overload, *function.input, *function.output))
        _check_names(function.attribute)
        _check_names(name for node in function.node for name in _node_names(node))


def _check_names(names: Iterable[object]) -> None:
    for name in names:
        if not isinstance(name, str):
            raise InvalidModelError(f"a name in the model is not text: {name!r}")


def _graph_names(graph: GraphProto) -> Iterator[object]:
    for value in (*graph.input, *graph.output):
        yield value.name
        yield from (dimension.dim_param for dimension in value.type.tensor_type.shape.dim)
    for tensor in graph.initializer:
        yield from _tensor_names(tensor)
    for node in graph.node:
        yield from _node_names(node)


def _node_names(node: NodeProto) -> Iterator[object]:
    yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
    for attribute in node.attribute:
        yield from (attribute.name, attribute.ref_attr_name)
        for tensor in (attribute.t, *attribute.tensors):
            yield from _tensor_names(tensor)
        for inner in subgraphs(attribute):
            yield from _graph_names(inner)


def _tensor_names(tensor: TensorProto) -> Iterator[object]:
    yield tensor.name
    for entry in tensor.external_data:
        yield from (entry.key, entry.value)


def subgraphs(attribute: AttributeProto) -> Iterable[GraphProto]:
    """The graphs that an attribute holds."""
    if attribute.HasField("g"):
        yield attribute.g
    yield from attribute.graphs


def _given_values(graph: GraphProto) -> set[str]:
    given: set[str] = set()
    for kind, names in (
        ("input", [value.name for value in graph.input]),
        ("initialiser", [tensor.name for tensor in graph.initializer]),
    ):
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise InvalidModelError(f"{kind} {name} is given twice")
            seen.add(name)
        given |= seen
    if len(graph.sparse_initializer):
        raise UnsupportedError(f"initialiser {graph.sparse_initializer[0].values.name} is sparse")
    return given


def _makers(graph: GraphProto, names: Sequence[str], given: set[str]) -> dict[str, int]:
    """Value name -> index of the node that defines it."""
    makers: dict[str, int] = {}
    for index, node in enumerate(graph.node):
        for output in node.output:
            if not output:
                continue
            if output in makers or output in given:
                other = names[makers[output]] if output in makers else "the graph's inputs or initialisers"
                raise InvalidModelError(
                    f"{names[index]} ({node.op_type}): value {output} is defined twice, also by {other}"
                )
            makers[output] = index
    return makers


def _check_reads(graph: GraphProto, names: Sequence[str], given: set[str], makers: dict[str, int]) -> None:
    for index, node in enumerate(graph.node):
        for name in reads(node):
            if name not in makers and name not in given:
                raise InvalidModelError(f"{names[index]} ({node.op_type}): reads {name}, which is undefined")
    if not len(graph.output):
        raise InvalidModelError("the graph has no outputs")
    for value in graph.output:
        if value.name not in makers and value.name not in given:
            raise InvalidModelError(f"graph output {value.name} is defined by no node")


def isolated_nodes(graph: GraphProto) -> list[str]:
    """Nodes that read no input and no node's result, and whose results nobody reads."""
    fed = {value.name for value in graph.input}.union(*(node.output for node in graph.node))
    used = {value.name for value in graph.output}.union(*(reads(node) for node in graph.node))
    return [
        name
        for name, node in named_nodes(graph.node)
        if not used.intersection(node.output) and not fed.intersection(reads(node))
    ]


def _needed(graph: GraphProto, makers: dict[str, int], wanted: Sequence[str]) -> set[int]:
    needed: set[int] = set()
    pending = [*wanted]
    while pending:
        index = makers.get(pending.pop())
        if index is not None and index not in needed:
            needed.add(index)
            pending += reads(graph.node[index])
    return needed


def _producers_first(graph: GraphProto, names: Sequence[str], makers: dict[str, int]) -> list[int]:
    """A topological order of all nodes; the file's own order where that is one."""
    waits_for = [{makers[name] for name in reads(node) if name in makers} for node in graph.node]
    readers: list[list[int]] = [[] for _ in waits_for]
    for index, waits in enumerate(waits_for):
        for maker in waits:
            readers[maker].append(index)
    left = [len(waits) for waits in waits_for]
    ready = [index for index, count in enumerate(left) if count == 0]
    order: list[int] = []
    while ready:
        index = heapq.heappop(ready)
        order.append(index)
        for reader in readers[index]:
            left[reader] -= 1
            if left[reader] == 0:
                heapq.heappush(ready, reader)
    if len(order) < len(left):
        cycle = _cycle(waits_for, set(order))
        raise InvalidModelError(f"the graph has a cycle: {' -> '.join(names[index] for index in cycle)}")
    return order


def _cycle(waits_for: Sequence[set[int]], placed: set[int]) -> list[int]:
    """A cycle of nodes that depend on each other, in the direction of data flow."""
    path = [min(set(range(len(waits_for))) - placed)]
    while True:
        ahead = min(waits_for[path[-1]] - placed)
        if ahead in path:
            return [ahead, *reversed(path[path.index(ahead) :])]
        path.append(ahead)
