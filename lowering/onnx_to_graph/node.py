"""One ONNX node as its handler sees it: operands, attributes, and the builder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Protocol, TypeAlias

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto
from xdsl.dialects.builtin import LocationAttr, bf16, f16, f32, i1
from xdsl.ir import Attribute, SSAValue

from ...dialects.errors import InvalidModelError, UnknownValueError, UnsupportedError
from ...dialects.graph.base import GraphOp, named_location
from ...dialects.graph.ops.conversion import CastOp
from ...dialects.graph.ops.movement import BroadcastToOp, ReshapeOp, SliceOp
from ...dialects.graph.values import Array, element_type_of_value, numpy_dtype, shape_of
from ...dialects.sizes.sizes import equal, equal_shapes, is_fixed
from .element_types import element_type
from .emitter import MADE_BYTES, Emitter
from .non_tensors import Held, TensorSequence
from .scope import Scope

Result: TypeAlias = Held | Sequence[Held | None]
Handler: TypeAlias = "Callable[[Node], Result]"


class Host(Protocol):
    """What a node needs from the importer."""

    @property
    def emitter(self) -> Emitter:
        """The builder of ops."""
        ...

    def tensor_value(self, tensor: TensorProto, location: LocationAttr) -> SSAValue:
        """The value of a tensor attribute."""
        ...

    def branch(self, node: Node, graph: GraphProto, operands: Sequence[Held] = ()) -> list[Held]:
        """The results of a subgraph of the node for its inputs, inlined at the node."""
        ...

    def call(self, proto: NodeProto, name: str, scope: Scope) -> Sequence[Held | None]:
        """The results of an operator that a user's function calls, for the operands in the scope."""
        ...

    def function(self, node: Node) -> list[Held | None]:
        """The results of the node, by inlining ONNX's function definition of its operator."""
        ...


class Node:
    """A node; handlers read it and emit ops through it."""

    def __init__(self, proto: NodeProto, name: str, scope: Scope, host: Host) -> None:
        self.proto = proto
        self.name = name
        self.scope = scope
        self.host = host
        self.emitter = host.emitter
        self.location: LocationAttr = named_location(name)
        self._attributes: Mapping[str, AttributeProto] = {entry.name: entry for entry in proto.attribute}
        self._read: set[str] = set()

    # Identity and errors.

    @property
    def op_type(self) -> str:
        """The operator's name."""
        return self.proto.op_type

    @property
    def opset(self) -> int:
        """The opset version of the operator's domain for which the node was written."""
        return self.scope.opsets.get(self.proto.domain, self.scope.opsets.get("", 0))

    def unsupported(self, fact: str) -> UnsupportedError:
        """The error for valid ONNX that the import doesn't support."""
        return UnsupportedError(f"{self.name} ({self.op_type}): {fact}")

    def unknown(self, what: str, value: SSAValue) -> UnknownValueError:
        """The error for a value that must be known at import and isn't; `what` is its name in the message."""
        inputs = self.emitter.inputs_of(value)
        why = f"depends on {', '.join(inputs)}: bind with specialize" if inputs else "is too large to be computed then"
        fact = f"{what} must be known when the model is imported, but it {why}"
        return UnknownValueError(f"{self.name} ({self.op_type}): {fact}", inputs)

    def invalid(self, fact: str) -> InvalidModelError:
        """The error for operands of invalid shapes, types or values."""
        return InvalidModelError(f"{self.name} ({self.op_type}): {fact}", contradiction=True)

    def malformed(self, fact: str) -> InvalidModelError:
        """The error for a node that is invalid ONNX, whatever its operands are."""
        return InvalidModelError(f"{self.name} ({self.op_type}): {fact}")

    # Operands.

    def has_operand(self, index: int) -> bool:
        """Whether the optional operand is given."""
        return index < len(self.proto.input) and bool(self.proto.input[index])

    def operand(self, index: int = 0) -> SSAValue:
        """A required tensor operand."""
        if not self.has_operand(index):
            raise self.malformed(f"operand {index} is missing")
        return self.scope.value(
            self.proto.input[index], f"{self.name} ({self.op_type}): operand {index} ({self.proto.input[index]})"
        )

    def held(self, index: int) -> Held:
        """A required operand that may be a sequence, or an optional without a value."""
        if not self.has_operand(index):
            raise self.malformed(f"operand {index} is missing")
        return self.scope.held(self.proto.input[index])

    def sequence(self, index: int) -> TensorSequence:
        """A required operand that is a sequence."""
        held = self.held(index)
        if not isinstance(held, TensorSequence):
            raise self.invalid(f"operand {index} ({self.proto.input[index]}) is no sequence of tensors")
        return held

    def branch(self, graph: GraphProto, operands: Sequence[Held] = ()) -> list[SSAValue]:
        """The results of a subgraph with tensor results, inlined at the node."""
        results: list[SSAValue] = []
        for value, held in zip(graph.output, self.host.branch(self, graph, operands), strict=True):
            if not isinstance(held, SSAValue):
                raise self.unsupported(f"result {value.name} of its graph {graph.name} is {held}")
            results.append(held)
        return results

    def optional(self, index: int) -> SSAValue | None:
        """An optional operand."""
        return self.operand(index) if self.has_operand(index) else None

    def operands(self) -> list[SSAValue]:
        """All operands of an operator that takes any number of them."""
        return [self.operand(index) for index in range(len(self.proto.input))]

    def constant(self, index: int) -> Array:
        """The array of an operand that must be known at import."""
        operand = self.operand(index)
        value = self.known(operand)
        if value is None:
            value = self.emitter.now(operand)
        if value is None:
            raise self.unknown(f"operand {index} ({self.proto.input[index]})", operand)
        return value

    def known(self, value: SSAValue) -> Array | None:
        """The value's array if it is known at import, else None."""
        return self.emitter.known(value)

    def ints_operand(self, index: int) -> list[int]:
        """A required integer operand, as a list."""
        value = self.constant(index)
        if value.dtype == object:
            return list(value.flat)
        if value.dtype.kind not in "iu":
            raise self.invalid(f"operand {index} ({self.proto.input[index]}) must hold integers, got {value.dtype}")
        return [int(item) for item in value.reshape(-1)]

    def truth(self, index: int) -> SSAValue:
        """A required boolean operand of one element, as rank 0."""
        value = self.operand(index)
        if element_type_of_value(value) != i1 or not equal(prod(shape_of(value)), 1):
            raise self.invalid(f"operand {index} ({self.proto.input[index]}) must be one boolean, got {value.type}")
        return self.reshape(value, ())

    def scalar_operand(self, index: int, default: float) -> float:
        """An optional operand of one number."""
        if not self.has_operand(index):
            return default
        value = self.constant(index)
        if value.size != 1:
            raise self.invalid(f"operand {index} ({self.proto.input[index]}) must hold one number, got {value.size}")
        return value.item()

    def wants(self, index: int) -> bool:
        """Whether this result is used."""
        return index < len(self.proto.output) and bool(self.proto.output[index])

    # Attributes.

    def has(self, name: str) -> bool:
        """Whether the attribute is given."""
        self._read.add(name)
        return name in self._attributes

    def ignore(self, *names: str) -> None:
        """Marks attributes as read that have no effect, for example those for training."""
        self._read.update(names)

    def unread(self) -> list[AttributeProto]:
        """The attributes that the handler hasn't read, which the import refuses."""
        return [entry for name, entry in self._attributes.items() if name not in self._read]

    def integer(self, name: str, default: int) -> int:
        """An integer attribute."""
        return self._typed(name, AttributeProto.INT).i if self.has(name) else default

    def flag(self, name: str, default: bool = False) -> bool:
        """An integer attribute that is a boolean."""
        return bool(self.integer(name, int(default)))

    def number(self, name: str, default: float) -> float:
        """A float attribute, rounded to float32, as is its default."""
        return self._typed(name, AttributeProto.FLOAT).f if self.has(name) else float(np.float32(default))

    def text(self, name: str, default: str) -> str:
        """A string attribute."""
        return self._typed(name, AttributeProto.STRING).s.decode("utf-8", "replace") if self.has(name) else default

    def integers(self, name: str) -> list[int] | None:
        """An attribute that lists integers, or None where it isn't given."""
        return list(self._typed(name, AttributeProto.INTS).ints) if self.has(name) else None

    def numbers(self, name: str) -> list[float] | None:
        """An attribute that lists floats, or None where it isn't given."""
        return list(self._typed(name, AttributeProto.FLOATS).floats) if self.has(name) else None

    def texts(self, name: str) -> list[str] | None:
        """An attribute that lists strings, or None where it isn't given."""
        if not self.has(name):
            return None
        return [item.decode("utf-8", "replace") for item in self._typed(name, AttributeProto.STRINGS).strings]

    def tensor(self, name: str) -> TensorProto:
        """A tensor attribute."""
        return self._typed(name, AttributeProto.TENSOR).t

    def element_type(self, name: str, default: int = TensorProto.UNDEFINED) -> Attribute:
        """An attribute that is one of ONNX's element types."""
        return element_type(self.integer(name, default), f"{self.name} ({self.op_type}): attribute {name}")

    def graph(self, name: str) -> GraphProto:
        """A subgraph attribute."""
        return self._typed(name, AttributeProto.GRAPH).g

    def _typed(self, name: str, kind: AttributeProto.AttributeType.ValueType) -> AttributeProto:
        attribute = self._attributes.get(name)
        self._read.add(name)
        if attribute is None:
            raise self.malformed(f"attribute {name} is missing")
        if attribute.type != kind:
            kinds = AttributeProto.AttributeType
            raise self.malformed(f"attribute {name} must be {kinds.Name(kind)}, got {kinds.Name(attribute.type)}")
        return attribute

    def ints_attribute_or_operand(self, name: str, index: int) -> list[int] | None:
        """Integers that are an attribute in old opsets and an operand in new ones."""
        return self.ints_operand(index) if self.has_operand(index) else self.integers(name)

    def axis(self, default: int, rank: int, name: str = "axis") -> int:
        """The `axis` attribute as an index in [0, rank)."""
        return self.normal_axis(self.integer(name, default), rank)

    def normal_axis(self, axis: int, rank: int) -> int:
        """`axis` as an index in [0, rank); negative ones count from the end."""
        if not -rank <= axis < rank:
            raise self.invalid(f"axis {axis} is outside of a tensor of rank {rank}")
        return axis % rank

    # Writing.

    def emit(self, op: GraphOp) -> SSAValue:
        """Emits an op; returns its first result."""
        return self.emitter.emit(op, self.location)[0]

    def emit_all(self, op: GraphOp) -> Sequence[SSAValue]:
        """Emits an op; returns all results."""
        return self.emitter.emit(op, self.location)

    def reserve(self, elements: int) -> None:
        """Raises UnsupportedError if a constant of that many integers is too large; call it before creating one."""
        if not self.emitter.reserve(elements):
            raise self.unsupported(
                f"a constant of {elements} elements is too much: import makes {MADE_BYTES} bytes in all"
            )

    def array(self, array: Array) -> SSAValue:
        """A constant tensor."""
        return self.emitter.constant(array, self.location)

    def tensor_value(self, tensor: TensorProto) -> SSAValue:
        """The value of a tensor attribute."""
        return self.host.tensor_value(tensor, self.location)

    def zeros(self, element_type: Attribute, shape: Sequence[int]) -> SSAValue:
        """A tensor of zeros."""
        return self.broadcast(self.scalar(0, element_type), shape)

    def scalar(self, number: float | int | bool, like: SSAValue | Attribute) -> SSAValue:
        """A rank-0 constant of an element type, or that of a value; a symbolic size stays symbolic."""
        element_type = element_type_of_value(like) if isinstance(like, SSAValue) else like
        if not isinstance(number, float) and not is_fixed(number):
            return self.cast(self.array(np.array(number, object)), element_type)
        return self.array(np.array(number, numpy_dtype(element_type)))

    def cast(self, value: SSAValue, to: Attribute) -> SSAValue:
        """The value converted to another element type; itself if it has that type already.

        If this rounds to 16 bits a result that a handler computed in f32, later ops may use the unrounded one.
        """
        given = element_type_of_value(value)
        return value if given == to else self.emit(CastOp(value, to, loose=given == f32 and to in (f16, bf16)))

    def widened(self, value: SSAValue) -> SSAValue:
        """A 16-bit float in float32, for computations of several steps; other types unchanged."""
        return self.cast(value, f32) if element_type_of_value(value) in (f16, bf16) else value

    def bound(self, value: SSAValue, axis: int, count: SSAValue) -> SSAValue:
        """Marks the value as bounded: only the first `count` elements along the axis are valid."""
        known = self.known(count)
        if known is None:
            self.emitter.bound(value, axis, count)
            return value
        stops = list(shape_of(value))
        stops[axis] = int(known)
        return self.emit(SliceOp(value, [0] * len(stops), stops))

    def extents(self, value: SSAValue) -> list[int | SSAValue]:
        """The sizes of a value; those of bounded axes are i64 values of rank 0."""
        bounds = self.emitter.bounds_of(value)
        return [bounds.get(axis, size) for axis, size in enumerate(shape_of(value))]

    def is_alike(self, value: SSAValue, other: SSAValue) -> bool:
        """Whether two values have the same type."""
        same = element_type_of_value(value) == element_type_of_value(other)
        return same and equal_shapes(shape_of(value), shape_of(other))

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The value in another shape; itself if it has that shape already."""
        if shape_of(value) == tuple(shape):
            return value
        return self.emit(ReshapeOp(value, shape))

    def broadcast(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """The value broadcast to a shape; itself if it has that shape already."""
        if shape_of(value) == tuple(shape):
            return value
        return self.emit(BroadcastToOp(value, shape))


def in_single(handler: Callable[[Node, SSAValue], SSAValue]) -> Handler:
    """A handler that computes a 16-bit operand in float32 and rounds the result."""

    def single(node: Node) -> SSAValue:
        x = node.operand()
        return node.cast(handler(node, node.widened(x)), element_type_of_value(x))

    return single
