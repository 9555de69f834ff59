"""Operators defined by a function body: the model's own functions, and ONNX's composite operators."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Protocol, cast

from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, TypeProto, defs, helper
from xdsl.ir import SSAValue

from ...dialects.errors import InvalidModelError
from ...dialects.graph.values import element_type_of_value, shape_of
from ...dialects.sizes.sizes import is_fixed
from .element_types import onnx_type_of
from .non_tensors import Held

FunctionKey = tuple[str, str, str]  # domain, name, overload


class _Default(Protocol):
    @property
    def default_value(self) -> AttributeProto: ...


class Schema(Protocol):
    """The parts of onnx.defs.OpSchema that are used; its type stubs are incomplete."""

    @property
    def domain(self) -> str: ...
    @property
    def since_version(self) -> int: ...
    @property
    def min_input(self) -> int: ...
    @property
    def max_input(self) -> int: ...
    @property
    def min_output(self) -> int: ...
    @property
    def max_output(self) -> int: ...
    @property
    def attributes(self) -> Mapping[str, _Default]: ...
    @property
    def has_function(self) -> bool: ...
    @property
    def has_context_dependent_function(self) -> bool: ...
    @property
    def function_opset_versions(self) -> Sequence[int]: ...
    @property
    def context_dependent_function_opset_versions(self) -> Sequence[int]: ...
    def get_function_with_opset_version(self, version: int, /) -> bytes: ...
    def get_context_dependent_function_with_opset_version(
        self, version: int, node: bytes, types: Sequence[bytes], /
    ) -> bytes: ...


def model_functions(model: ModelProto) -> dict[FunctionKey, FunctionProto]:
    """The functions that the model defines."""
    functions: dict[FunctionKey, FunctionProto] = {}
    for entry in model.functions:
        key = (entry.domain, entry.name, entry.overload)
        if key in functions:
            raise InvalidModelError(f"function {entry.domain}.{entry.name} is defined twice")
        functions[key] = entry
    return functions


def function_key(node: NodeProto) -> FunctionKey:
    """The key of the model function that the node would call."""
    return node.domain, node.op_type, node.overload


def function_opsets(function: FunctionProto) -> dict[str, int]:
    """The operator versions by domain for which a body is written."""
    return {("" if entry.domain == "ai.onnx" else entry.domain): entry.version for entry in function.opset_import}


def schema_of(node: NodeProto, opsets: Mapping[str, int]) -> Schema | None:
    """ONNX's schema of the node's operator, in the opset version that the model imports."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    if domain not in opsets or not defs.has(node.op_type, domain):
        return None
    try:
        return cast(Schema, defs.get_schema(node.op_type, opsets[domain], domain))
    except defs.SchemaError:
        return None


def plain_body(schema: Schema, opset: int) -> FunctionProto | None:
    """ONNX's definition of an operator as a function, if it is the same for all operands."""
    versions = [version for version in schema.function_opset_versions if version <= opset]
    if not schema.has_function or not versions:
        return None
    return FunctionProto.FromString(schema.get_function_with_opset_version(max(versions)))


def schema_body(node: NodeProto, schema: Schema, opset: int, operands: Iterable[Held | None]) -> FunctionProto | None:
    """ONNX's definition of the operator as a function, for these operands."""
    versions = [version for version in schema.context_dependent_function_opset_versions if version <= opset]
    if not schema.has_context_dependent_function or not versions:
        return plain_body(schema, opset)
    types = [_type_proto(operand).SerializeToString() for operand in operands]
    return FunctionProto.FromString(
        schema.get_context_dependent_function_with_opset_version(max(versions), node.SerializeToString(), types)
    )


def _type_proto(operand: Held | None) -> TypeProto:
    if not isinstance(operand, SSAValue):
        return TypeProto()
    shape = [size if is_fixed(size) else None for size in shape_of(operand)]
    return helper.make_tensor_type_proto(onnx_type_of(element_type_of_value(operand)), shape)


def given_attributes(node: NodeProto, function: FunctionProto, schema: Schema | None) -> dict[str, AttributeProto]:
    """The values of the body's attribute references: the node's attributes, or defaults."""
    given = {entry.name: entry for entry in function.attribute_proto}
    if schema is not None:
        given |= {name: entry.default_value for name, entry in schema.attributes.items() if entry.default_value.name}
    return given | {entry.name: entry for entry in node.attribute}


def bound_node(node: NodeProto, given: Mapping[str, AttributeProto], absent: Container[str]) -> NodeProto:
    """A node of a body with attribute references substituted, and absent operands left out."""
    bound = NodeProto()
    bound.CopyFrom(node)
    del bound.input[:]
    bound.input.extend("" if name in absent else name for name in node.input)
    del bound.attribute[:]
    for entry in node.attribute:
        if entry.ref_attr_name and entry.ref_attr_name not in given:
            continue
        value = bound.attribute.add()
        value.CopyFrom(given[entry.ref_attr_name] if entry.ref_attr_name else entry)
        value.name = entry.name
        if entry.HasField("g"):
            del value.g.node[:]
            value.g.node.extend(bound_node(inner, given, absent) for inner in entry.g.node)
    return bound
