"""The operators of nodes: this package's handlers, from the files that define them, users' operators, and a check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from onnx import FunctionProto, NodeProto, defs

from ...dialects.errors import InvalidModelError, UnsupportedError
from ...dialects.modules import modules_below
from ...dialects.operators.operator import Operator
from ...dialects.operators.operator_registry import BUILT_IN, OPERATORS
from . import handlers, microsoft, ml
from .check import OLDEST_OPSET, named_nodes
from .functions import FunctionKey, Schema, function_key, function_opsets, plain_body, schema_of
from .node import Handler
from .refusals import reason
from .user_operators.user_handlers import user_handler

# Operators that ONNX Runtime accepts in opsets older than the one in which ONNX introduced them.
_EARLY = ("LayerNormalization", "MeanVarianceNormalization", "ThresholdedRelu")
_Nodes: TypeAlias = Iterable[tuple[str, NodeProto]]

_MODULES = [file for folder in (handlers, microsoft, ml) for file in modules_below(folder.__name__)]
HANDLERS: dict[str, Handler] = {
    name: handler for module in _MODULES for name, handler in getattr(module, "HANDLERS", {}).items()
}
"""This package's handlers; a name has the domain in front, except for ONNX's own."""


def _register() -> None:
    """Registers HANDLERS, each for all versions of its domain: handlers tell versions apart themselves."""
    for module in _MODULES:
        for full_name, handler in getattr(module, "HANDLERS", {}).items():
            domain, _, name = full_name.rpartition(".")
            OPERATORS.add(
                Operator(domain=domain, name=name, since=0, kind=BUILT_IN, origin=module.__name__, handler=handler)
            )


_register()


def handler_of(node: NodeProto, opsets: Mapping[str, int] | None = None) -> Handler | None:
    """The handler of a node's operator in the versions of domains that are imported; None if there is none."""
    domain = domain_of(node)
    found = OPERATORS.find(domain, node.op_type, (opsets or {}).get(domain, 0))
    return None if found is None else found.handler or user_handler(found)


def domain_of(node: NodeProto) -> str:
    """The domain of a node's operator; "" is ONNX's own."""
    return "" if node.domain == "ai.onnx" else node.domain


def is_foreign(node: NodeProto, opsets: Mapping[str, int]) -> bool:
    """Whether the operator is of a known domain, and not in ONNX's schemas or in ONNX Runtime before ONNX."""
    domain = domain_of(node)
    known = domain in opsets or not domain
    return known and (not defs.has(node.op_type, domain) or node.op_type in _EARLY)


class OperatorCheck:
    """Collects the unsupported operators of a model, so that one error lists them all before anything is imported.

    Each of the model's functions is checked once, however often it is called.
    """

    def __init__(self, functions: Mapping[FunctionKey, FunctionProto]) -> None:
        self.functions = functions
        self._seen: set[FunctionKey] = set()
        self._missing: dict[tuple[str, str], list[str]] = {}  # operator and why -> nodes

    def check(self, nodes: Iterable[tuple[str, NodeProto]], opsets: Mapping[str, int]) -> None:
        """Raises UnsupportedError naming all unsupported operators of the nodes, and of functions that they call."""
        pending = [(nodes, opsets)]
        while pending:
            pending += self._look(*pending.pop())
        if self._missing:
            texts = [
                f"{operator} ({_some(names)}{f': {why}' if why else ''})"
                for (operator, why), names in sorted(self._missing.items())
            ]
            raise UnsupportedError(f"operators that are not supported: {'; '.join(texts)}")

    def _look(self, nodes: _Nodes, opsets: Mapping[str, int]) -> Iterator[tuple[_Nodes, Mapping[str, int]]]:
        """Checks nodes; yields the bodies of functions that must be checked too, each with its opsets."""
        for name, node in nodes:
            key = function_key(node)
            function = self.functions.get(key)
            if function is not None:
                if key not in self._seen:
                    self._seen.add(key)
                    inside = [(f"{name}/{inner}", entry) for inner, entry in named_nodes(function.node)]
                    yield inside, function_opsets(function)
                continue
            schema = schema_of(node, opsets)
            if schema is None and handler_of(node, opsets) is not None and is_foreign(node, opsets):
                continue
            if schema is None or _is_too_old(node, schema, opsets):
                own = domain_of(node) == ""
                self._add(name, node, f" in opset {opsets.get('', 'none')}" if own else _version_note(node, opsets))
                continue
            _check_arity(name, node, schema)
            if handler_of(node, opsets) is None:
                body = plain_body(schema, opsets.get("", 0))
                if body is None:
                    self._add(name, node, "")
                else:
                    yield [(name, entry) for entry in body.node], function_opsets(body)

    def _add(self, name: str, node: NodeProto, note: str) -> None:
        domain = "" if node.domain in ("", "ai.onnx") else f"{node.domain}."
        operator = f"{domain}{node.op_type}{note}", reason(node.domain, node.op_type)
        self._missing.setdefault(operator, []).append(name)


def _is_too_old(node: NodeProto, schema: Schema, opsets: Mapping[str, int]) -> bool:
    """Whether the node's opset is older than the oldest supported one, and the operator has changed in between."""
    if opsets.get("", OLDEST_OPSET) >= OLDEST_OPSET:
        return False
    oldest = schema_of(node, {**opsets, "": OLDEST_OPSET})
    return oldest is None or oldest.since_version != schema.since_version


def _check_arity(name: str, node: NodeProto, schema: Schema) -> None:
    for kind, count, least, most in (
        ("operands", len(node.input), schema.min_input, schema.max_input),
        ("results", len(node.output), schema.min_output, schema.max_output),
    ):
        if not least <= count <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise InvalidModelError(f"{name} ({node.op_type}): {count} {kind}, but the operator has {wanted}")


def _version_note(node: NodeProto, opsets: Mapping[str, int]) -> str:
    """Why an operator that is registered is not found; "" for one that isn't."""
    domain = domain_of(node)
    if not (versions := OPERATORS.versions(domain, node.op_type)):
        return ""
    if domain not in opsets:
        return f", as the model imports no version of {domain}"
    return f" in version {opsets[domain]} of {domain}; it is registered since {' and '.join(map(str, versions))}"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
