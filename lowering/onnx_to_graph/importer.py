"""Walks an ONNX graph in topological order and translates each node by its operator's handler."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from math import prod

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, helper
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects.errors import InvalidModelError, UnsupportedError
from ...dialects.graph.base import named_location
from ...dialects.graph.narrow_types import packed_bits, unpacked
from ...dialects.graph.ops.structure import WeightOp
from ...dialects.graph.values import element_type_of, numpy_dtype, shape_of, tensor, type_of
from .bounded import BoundError
from .check import MAX_NAME, named_nodes
from .element_types import element_type, tensor_of
from .emitter import BYTE, SMALL_ELEMENTS, UNPACKED_BITS, Emitter
from .functions import (
    bound_node,
    function_key,
    function_opsets,
    given_attributes,
    schema_body,
    schema_of,
)
from .inlining import MAX_NODES
from .model_file import ModelFile
from .model_tensors import ModelTensors
from .node import Node
from .non_tensors import Held, Texts
from .operators import OperatorCheck, domain_of, handler_of
from .scope import Scope

COUNTING = ("Shape", "Size")
"""Operators that compute with the number of elements that there are."""


MOVING = ("ai.onnx.ml.ArrayFeatureExtractor", "Cast", "Flatten", "Gather", "Reshape", "Squeeze", "Unsqueeze")
"""Operators that move texts without looking at them, whose places are moved in their place; with their domain."""


class Importer:
    """Imports nodes into the emitter's block. Implements the Host protocol for handlers."""

    def __init__(self, file: ModelFile, emitter: Emitter, check: OperatorCheck) -> None:
        self._file = file
        self._emitter = emitter
        self._check = check
        self._functions = check.functions
        self.tensors = ModelTensors(emitter)
        self._written = 0  # nodes of branches and of unrolled loops

    @property
    def emitter(self) -> Emitter:
        """The builder of ops."""
        return self._emitter

    def run(self, nodes: Sequence[tuple[str, NodeProto]], scope: Scope) -> None:
        """Imports nodes in topological order and defines their results in the scope."""
        for name, proto in nodes:
            node = Node(proto, (scope.prefix + name)[-MAX_NAME:], scope, self)
            results = self._results(node)
            for index, output in enumerate(proto.output):
                if not output:
                    continue
                value = results[index] if index < len(results) else None
                if value is None:
                    raise node.unsupported(f"result {index} ({output}) is not supported")
                scope.define(output, value)
            self.tensors.record(node)

    def _results(self, node: Node) -> Sequence[Held | None]:
        domain = domain_of(node.proto)
        moves = (f"{domain}.{node.op_type}" if domain else node.op_type) in MOVING
        texts = node.held(0) if moves and node.has_operand(0) else None
        if not isinstance(texts, Texts):
            return self._results_of_tensors(node)
        if node.op_type == "Cast":
            return [texts if node.integer("to", 0) == TensorProto.STRING else node.operand()]
        scope = Scope(node.scope.opsets, outer=node.scope, prefix=node.scope.prefix)
        scope.define(node.proto.input[0], texts.places)
        moved = self._results_of_tensors(Node(node.proto, node.name, scope, self))
        return [Texts(each, texts.labels) if isinstance(each, SSAValue) else each for each in moved]

    def _results_of_tensors(self, node: Node) -> Sequence[Held | None]:
        handler = None if function_key(node.proto) in self._functions else handler_of(node.proto, node.scope.opsets)
        try:
            result = self.function(node) if handler is None else handler(node)
        except (VerifyException, ValueError, OverflowError) as error:
            # The latter two come from numbers too large for any attribute or array.
            if self._takes_bounded(node):
                raise node.unsupported(f"the size of an operand is known at run time only: {error}") from error
            raise node.invalid(str(error)) from error
        except InvalidModelError as error:
            if self._takes_bounded(node):
                raise UnsupportedError(f"{error}: the number is known at run time only") from error
            raise
        except IndexError as error:
            raise node.invalid("an operand has fewer dimensions or elements than the operator needs") from error
        except BoundError as error:
            raise node.unsupported(f"{error}: the number is known at run time only") from error
        if unread := node.unread():
            self._check_unread(node, unread)
        results = [result] if isinstance(result, Held) else result
        if handler is not None and node.op_type not in COUNTING:
            self._check_bounds(node, results)
        return results

    def _takes_bounded(self, node: Node) -> bool:
        """Whether an operand of the node is bounded: its number of elements is known at run time only."""
        held = [node.held(index) for index, name in enumerate(node.proto.input) if name]
        return any(isinstance(each, SSAValue) and bool(self._emitter.bounds_of(each)) for each in held)

    def _check_bounds(self, node: Node, results: Sequence[Held | None]) -> None:
        """Refuses results computed from a bounded operand without regard to its count."""
        tensors = [each for each in results if isinstance(each, SSAValue)]
        if not self._emitter.has_bounds or all(map(self._emitter.bounds_of, tensors)):
            return
        for index, name in enumerate(node.proto.input):
            held = node.held(index) if name else None
            for axis in self._emitter.bounds_of(held) if isinstance(held, SSAValue) else ():
                assert isinstance(held, SSAValue)
                raise node.unsupported(
                    f"operand {index} ({name}) has at most {shape_of(held)[axis]} elements along axis {axis}: "
                    "the number is known at run time only"
                )

    def _check_unread(self, node: Node, unread: Iterable[AttributeProto]) -> None:
        """Refuses attributes that the handler didn't read, unless they have no effect."""
        schema = schema_of(node.proto, node.scope.opsets)
        for entry in unread:
            known = None if schema is None else schema.attributes.get(entry.name)
            if schema is None:
                raise node.unsupported(f"attribute {entry.name} is not supported here")
            if known is None:
                raise node.malformed(f"the operator has no attribute {entry.name}")
            if helper.get_attribute_value(known.default_value) != helper.get_attribute_value(entry):
                raise node.unsupported(f"attribute {entry.name} is not supported here")

    def initializers(self, graph: GraphProto) -> dict[str, Callable[[], Held]]:
        """For each initialiser's name, a function that creates its value at first use."""
        # Bound by default argument: the lambda must capture its own tensor.
        return {entry.name: lambda entry=entry: self._initializer(entry) for entry in graph.initializer}

    def _initializer(self, proto: TensorProto) -> Held:
        location = named_location(proto.name)
        if proto.data_type != TensorProto.STRING or not proto.string_data:
            return self._weight(proto, location, initializer=True)
        labels = tuple(each.decode("utf-8", "replace") for each in proto.string_data)
        if prod(proto.dims) != len(labels):
            raise InvalidModelError(f"initialiser {proto.name} has {len(labels)} texts for {list(proto.dims)}")
        return Texts(self._emitter.constant(np.arange(len(labels)).reshape(proto.dims), location), labels)

    def tensor_value(self, tensor: TensorProto, location: LocationAttr) -> SSAValue:
        """The value of a tensor attribute."""
        return self._weight(tensor, location, initializer=False)

    def _weight(self, proto: TensorProto, location: LocationAttr, *, initializer: bool) -> SSAValue:
        place = self._file.where(proto, initializer=initializer)
        external = proto.data_location == TensorProto.EXTERNAL
        small = prod(proto.dims) <= SMALL_ELEMENTS
        if place is None or (small and not external):
            array = self._file.array(proto)
            if initializer:
                tensor_of(
                    element_type_of(array.dtype), array.shape, f"initialiser {proto.name}"
                )  # refuses anything else
            return self._emitter.constant(array, location)
        store = self._emitter.store
        blob = store.add_file(place.path, place.range.offset, place.range.nbytes, place.inside)
        subject = f"initialiser {proto.name}"
        type = tensor_of(element_type(proto.data_type, subject), proto.dims, subject)
        bits = packed_bits(type.element_type)
        if bits < 8:
            stored = WeightOp(blob, tensor(BYTE, (place.range.nbytes,)), location=location).result
            if not small and bits in UNPACKED_BITS:
                return self._emitter.unpack(stored, type, location)
            array = unpacked(store.read(blob, type_of(stored)), bits, prod(proto.dims))
            return self._emitter.constant(array.view(numpy_dtype(type.element_type)).reshape(proto.dims), location)
        if small:
            return self._emitter.constant(store.read(blob, type), location)
        return WeightOp(blob, type, location=location).result

    def call(self, proto: NodeProto, name: str, scope: Scope) -> Sequence[Held | None]:
        """The results of an operator that a user's function calls, for the operands in the scope."""
        self._written += 1
        if self._written > MAX_NODES:
            raise UnsupportedError(f"{name} ({proto.op_type}): compositions have more than {MAX_NODES} nodes")
        self._check.check([(name, proto)], scope.opsets)
        return self._results(Node(proto, name, scope, self))

    def branch(self, node: Node, graph: GraphProto, operands: Sequence[Held] = ()) -> list[Held]:
        """The results of a subgraph of the node for its inputs, inlined at the node."""
        scope = Scope(node.scope.opsets, self.initializers(graph), node.scope, f"{node.name}/")
        if len(graph.input) != len(operands):
            raise node.malformed(f"its graph {graph.name} has {len(graph.input)} inputs instead of {len(operands)}")
        for value, operand in zip(graph.input, operands, strict=True):
            scope.define(value.name, operand)
        nodes = named_nodes(graph.node)
        self._written += len(nodes)
        if self._written > MAX_NODES:
            raise node.unsupported(f"unrolled loops and branches have more than {MAX_NODES} nodes")
        self._check.check(nodes, scope.opsets)
        self.run(nodes, scope)
        return [scope.held(value.name) for value in graph.output]

    def function(self, node: Node) -> list[Held | None]:
        """The results of the node, by inlining the function body of its operator."""
        function, schema = self._functions.get(function_key(node.proto)), None
        node.ignore(*(entry.name for entry in node.proto.attribute))  # the body refers to them
        operands = [node.held(index) if node.has_operand(index) else None for index in range(len(node.proto.input))]
        if function is None:
            schema = schema_of(node.proto, node.scope.opsets)
            function = None if schema is None else schema_body(node.proto, schema, node.opset, operands)
        if function is None:
            raise node.unsupported("the operator is not supported")
        for kind, given, most in (
            ("operands", node.proto.input, function.input),
            ("results", node.proto.output, function.output),
        ):
            if len(given) > len(most):
                raise node.malformed(f"{len(given)} {kind}, but the function has {len(most)}")
        scope = Scope(function_opsets(function), prefix=f"{node.name}/")
        for name, operand in zip(function.input, operands, strict=False):
            if operand is not None:
                scope.define(name, operand)
        absent = {name for name, operand in zip_longest(function.input, operands) if operand is None}
        given = given_attributes(node.proto, function, schema)
        nodes = [(name, bound_node(entry, given, absent)) for name, entry in named_nodes(function.node)]
        self.run(nodes, scope)
        wanted = zip(function.output, node.proto.output, strict=False)
        return [scope.held(name) if output else None for name, output in wanted]
