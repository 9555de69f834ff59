"""What is supported, as trying it tells: operators by the table of handlers and the suite's cases, types by compiling.

An operator is tried in an element type by a case of the suite, of one node, whose operands get that type instead.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from backend.cases import Case, load, nodes
from backend.listed import refused
from onnx import ModelProto, NodeProto, TensorProto, defs, helper

import mini_infer as mi
from mini_infer.lowering.onnx_to_graph.operators import HANDLERS, OperatorCheck, handler_of
from mini_infer.runtime.backend import PreparedModel

SEEDS = 12  # cases that are tried in another type, until one compiles


@dataclass
class Operator:
    """An operator of ONNX's own."""

    name: str
    opsets: list[int]  # since which it is as it is, oldest first
    how: str  # "handler", "definition", or why it is not supported
    types: list[str]  # of the operand that its first is, as ONNX allows them
    passed: list[str] = field(default_factory=list[str])
    refused: dict[str, str] = field(default_factory=dict[str, str])  # cases and reasons


def operators() -> dict[str, Operator]:
    """The operators of ONNX's own domain that are not deprecated, with the suite's cases that are about them."""
    found: dict[str, Operator] = {}
    for schema in sorted(defs.get_all_schemas_with_history(), key=lambda each: (each.name, each.since_version)):
        if schema.domain == "" and not defs.get_schema(schema.name).deprecated:
            found.setdefault(schema.name, Operator(schema.name, [], _how(schema.name), _types(schema.name)))
            found[schema.name].opsets.append(schema.since_version)
    reasons = refused()
    for case in single_nodes():
        operator = found.get(case.model.graph.node[0].op_type)
        if operator is None:
            continue
        if case.name in reasons:
            operator.refused[case.name] = reasons[case.name]
        else:
            operator.passed.append(case.name)
    return found


def single_nodes() -> Iterator[Case]:
    """The cases of one node that is ONNX's own."""
    for case in nodes():
        if len(case.model.graph.node) == 1 and case.model.graph.node[0].domain in ("", "ai.onnx"):
            yield case


def foreign() -> dict[str, list[str]]:
    """Operators with handlers that are not ONNX's own, by domain."""
    domains: dict[str, list[str]] = {}
    for name in sorted(HANDLERS):
        domain, dot, operator = name.rpartition(".")
        if dot or not defs.has(name):
            domains.setdefault(domain, []).append(operator)
    return domains


def _how(name: str) -> str:
    schema = defs.get_schema(name)
    node = helper.make_node(name, ["x"] * schema.min_input, ["y"] * schema.min_output)
    try:
        OperatorCheck({}).check([("node", node)], {"": defs.onnx_opset_version()})
    except mi.UnsupportedError as error:
        return plain(str(error))
    return "handler" if handler_of(node) is not None else "definition"


def plain(reason: str) -> str:
    """A reason without what only this node or this run is called."""
    reason = re.sub(r" \([^()]*\)(?=$|;)", "", reason)
    return re.sub(r"^\S+ \((\w+)\): ", "", reason)


def _types(name: str) -> list[str]:
    schema = defs.get_schema(name)
    return _allowed(schema, [*schema.inputs, *schema.outputs][0].type_str)


def _allowed(schema: Any, given: str) -> list[str]:
    """The element types that a type, or a name of types, of a schema stands for."""
    named = {each.type_param_str: each.allowed_type_strs for each in schema.type_constraints}
    texts = named.get(given, [given])
    return [text.removeprefix("tensor(").removesuffix(")") for text in texts if text.startswith("tensor(")]


def number_of(type: str) -> int:
    """ONNX's number of an element type that its schemas call by such a name."""
    return TensorProto.DataType.Value({"float": "FLOAT", "double": "DOUBLE"}.get(type, type.upper()))


def tried(operator: Operator) -> dict[str, str]:
    """For each of the operator's types: "" where it compiles, or why it does not."""
    seeds = [load(name) for name in operator.passed[:SEEDS]]
    return {type: _tried(seeds, number_of(type)) for type in operator.types}


def _tried(seeds: list[Case], number: int) -> str:
    reason = "no case of the suite passes"
    for case in seeds:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _compile(*retyped(case, number))
        except mi.MiniInferError as error:
            reason = plain(str(error))
        else:
            return ""
    return reason


def _compile(model: ModelProto, inputs: Mapping[str, Any]) -> None:
    PreparedModel(model, {"threads": 1, "compile_threads": 1}).engine_for(inputs)


def retyped(case: Case, number: int) -> tuple[ModelProto, dict[str, Any]]:
    """The case's model and inputs, with another element type for its first operand, and all of its type that may."""
    model = ModelProto.FromString(case.model.SerializeToString())
    node, dtype = model.graph.node[0], helper.tensor_dtype_to_np_dtype(number)
    schema = _schema(model, node)
    formal = list(schema.inputs)
    infos = {info.name: info for info in model.graph.input}
    values = dict(zip(infos, case.data[0][0], strict=True))
    first = node.input[0] if node.input else ""
    was = infos[first].type.tensor_type.elem_type if first in infos else number
    for index, name in enumerate(node.input):
        allowed = _allowed(schema, formal[min(index, len(formal) - 1)].type_str)
        if name in infos and infos[name].type.tensor_type.elem_type == was and number in map(number_of, allowed):
            given = np.asarray(values[name])
            between = np.float64 if given.dtype.kind == "V" else given.dtype  # narrow types know floats only
            values[name] = given.astype(between).astype(dtype)
            infos[name].type.tensor_type.elem_type = number
    for info in model.graph.output:
        info.type.tensor_type.elem_type = TensorProto.UNDEFINED
    return model, values


def _schema(model: ModelProto, node: NodeProto) -> Any:
    version = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
    return defs.get_schema(node.op_type, version)
