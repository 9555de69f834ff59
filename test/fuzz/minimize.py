"""Makes a failing graph smaller for as long as it fails: fewer outputs, fewer nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from fuzz.growth import Case
from onnx import ModelProto, NodeProto, TensorProto, helper

from mini_infer.dialects.graph.values import Array

TRIES = 80  # each compiles a graph


def minimized(case: Case, fails: Callable[[Case], bool], values: Mapping[str, Array] | None = None) -> Case:
    """The smallest graph found that still fails.

    `values`: what the graph's values are, where that is known; nodes are then replaced by inputs that hold them.
    """
    tries = TRIES
    smaller = True
    while smaller and tries:
        smaller = False
        for candidate in _smaller(case, values or {}):
            tries -= 1
            if fails(candidate):
                case, smaller = candidate, True
                break
            if not tries:
                break
    return case


def _smaller(case: Case, values: Mapping[str, Array]) -> Iterator[Case]:
    outputs = [value.name for value in case.model.graph.output]
    nodes = list(case.model.graph.node)
    if len(outputs) > 1:
        half = len(outputs) // 2
        for kept in (outputs[:half], outputs[half:], *([name] for name in outputs if len(outputs) > 2)):
            yield _with(case, nodes, kept)
    known = [index for index, node in enumerate(nodes) if all(name in values for name in node.output if name)]
    # The middle first: what is before it goes as a whole.
    for index in sorted(known, key=lambda index: abs(2 * index - len(nodes))):
        given = {name: values[name] for name in nodes[index].output if name}
        if given.keys() & set(outputs):
            continue
        yield _with(case, [*nodes[:index], *nodes[index + 1 :]], outputs, given)
    for node in reversed(nodes):
        # The last node goes, what it reads becomes the output.
        if set(node.output) & set(outputs) and (read := [name for name in node.input if _made(nodes, name)]):
            yield _with(case, [other for other in nodes if other is not node], read)


def _made(nodes: Sequence[NodeProto], name: str) -> bool:
    return any(name in node.output for node in nodes)


def _with(
    case: Case, nodes: Sequence[NodeProto], outputs: Sequence[str], given: Mapping[str, Array] | None = None
) -> Case:
    """The case with some nodes and outputs, without what those don't need."""
    wanted = set(outputs)
    kept: list[NodeProto] = []
    for node in reversed(nodes):
        if wanted & set(node.output):
            kept.insert(0, node)
            wanted |= {name for name in node.input if name}
            wanted |= {name for attribute in node.attribute for inner in attribute.g.node for name in inner.input}
    graph = case.model.graph
    inputs = {name: array for name, array in {**case.inputs, **(given or {})}.items() if name in wanted}
    described = {value.name: value for value in (*graph.input, *graph.output)}
    model = ModelProto()
    model.CopyFrom(case.model)
    del model.graph.node[:], model.graph.input[:], model.graph.output[:], model.graph.initializer[:]
    del model.graph.value_info[:]
    model.graph.node.extend(kept)
    for value in graph.input:
        if value.name in wanted:
            model.graph.input.append(value)
    for name, array in (given or {}).items():
        if name in wanted:
            model.graph.input.append(helper.make_tensor_value_info(name, _type(array), array.shape))
    for name in outputs:
        model.graph.output.append(
            described.get(name) or helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None)
        )
    model.graph.initializer.extend(tensor for tensor in graph.initializer if tensor.name in wanted)
    left = {dim.dim_param for value in model.graph.input for dim in value.type.tensor_type.shape.dim}
    ranges = {name: span for name, span in case.ranges.items() if name in left}
    others = [{name: array for name, array in each.items() if name in wanted} for each in case.others]
    caches = {past: present for past, present in case.caches.items() if past in inputs and present in outputs}
    return Case(model, inputs, ranges, others, case.is_fixed, caches)


def _type(array: Array) -> int:
    return helper.np_dtype_to_tensor_dtype(array.dtype)
