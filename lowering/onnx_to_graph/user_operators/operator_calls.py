"""Calls of operators by the function of a composition: each is imported like a node of the model."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from onnx import AttributeProto, NodeProto, defs, helper, numpy_helper
from xdsl.ir import SSAValue

from ....dialects.arguments import shown
from ....dialects.errors import OperatorError
from ....dialects.graph.values import Array
from ....dialects.operators.operator_registry import OPERATORS
from ....dialects.operators.signature import OperatorSignature
from ..node import Node
from ..non_tensors import Held
from ..scope import Scope

OPSET = 23
"""The version of ONNX's operators that compositions call, whatever the model's."""
_VERSIONS = {"": OPSET, "com.microsoft": 1, "ai.onnx.ml": 5}
_LATEST = 2**31 - 1
"""Of a domain that the model doesn't import: the largest version that onnx takes."""
_KINDS = {
    "int": AttributeProto.INT,
    "bool": AttributeProto.INT,
    "float": AttributeProto.FLOAT,
    "str": AttributeProto.STRING,
    "ints": AttributeProto.INTS,
    "floats": AttributeProto.FLOATS,
    "strings": AttributeProto.STRINGS,
    "array": AttributeProto.TENSOR,
}


@dataclass
class Composition:
    """The node whose operator is being composed."""

    node: Node
    _names: dict[str, int] = field(default_factory=dict[str, int])

    def fresh(self, op_type: str) -> str:
        """The name of a node inside: `MyOp_0/Relu`, then `MyOp_0/Relu_1`."""
        count = self._names.get(op_type, 0)
        self._names[op_type] = count + 1
        return f"{self.node.name}/{op_type}{f'_{count}' if count else ''}"

    def constant(self, array: Array) -> SSAValue:
        """A constant value."""
        return self.node.array(array)

    def call(
        self,
        domain: str,
        op_type: str,
        operands: Sequence[SSAValue | None],
        attributes: Mapping[str, Any],
        outputs: int | None,
    ) -> list[Held | None]:
        """The results of an operator. Raises OperatorError for an unknown one, and as the import of a node does."""
        versions = {**self.node.scope.opsets, **_VERSIONS}
        versions.setdefault(domain, _LATEST)
        registered = OPERATORS.find(domain, op_type, versions[domain])
        schema = _schema(op_type, domain, versions[domain])
        if registered is None and schema is None:
            raise OperatorError(f"there is no operator {f'{domain}.' if domain else ''}{op_type}")
        count = outputs if outputs is not None else 1 if schema is None else max(1, schema.min_output)
        names = [f"x{index}" if operand is not None else "" for index, operand in enumerate(operands)]
        proto = NodeProto(op_type=op_type, domain=domain, input=names, output=[f"y{index}" for index in range(count)])
        signature = None if registered is None else registered.signature
        for name, value in attributes.items():
            if value is not None:
                kind = _kind(signature, name)
                if kind is None and schema is not None and name in schema.attributes:
                    kind = int(cast("Any", schema.attributes[name]).type.value)
                proto.attribute.append(_attribute(f"{op_type}: attribute {name}", name, value, kind))
        scope = Scope(versions)
        for name, operand in zip(names, operands, strict=True):
            if operand is not None:
                scope.define(name, operand)
        return list(self.node.host.call(proto, self.fresh(op_type), scope))


_CURRENT: ContextVar[Composition | None] = ContextVar("composition", default=None)


@contextmanager
def composing(node: Node) -> Generator[Composition]:
    """The context in which a node's function is called."""
    token = _CURRENT.set(made := Composition(node))
    try:
        yield made
    finally:
        _CURRENT.reset(token)


def current() -> Composition:
    """The composition that is being written. Raises OperatorError outside of an operator's function."""
    found = _CURRENT.get()
    if found is None:
        raise OperatorError("graph values exist only while the function of an operator runs, which the import calls")
    return found


def _schema(op_type: str, domain: str, version: int) -> defs.OpSchema | None:
    try:
        return defs.get_schema(op_type, version, domain)
    except defs.SchemaError:
        return None


def _kind(signature: OperatorSignature | None, name: str) -> int | None:
    known = None if signature is None else signature.attribute(name)
    return None if known is None else _KINDS[known.kind]


def _attribute(what: str, name: str, value: Any, kind: int | None) -> AttributeProto:
    """The attribute of a Python value, as the kind that the operator wants. Raises OperatorError."""
    given = cast("Any", value.item() if isinstance(value, np.generic) else value)
    try:
        if kind == AttributeProto.TENSOR or isinstance(given, np.ndarray):
            given = numpy_helper.from_array(np.asarray(cast("Any", given)), name)
        elif kind == AttributeProto.FLOATS:
            given = [float(each) for each in given]
        elif kind == AttributeProto.FLOAT and isinstance(given, int):
            given = float(given)
        elif isinstance(given, bool):
            given = int(given)
        return helper.make_attribute(name, given, attr_type=kind)
    except (TypeError, ValueError):
        raise OperatorError(f"{what} can't be {shown(cast('object', value))}") from None
