"""The nodes of the ONNX graph that a module was imported from, and which of its tensors an op computes.

    module attributes {graph.model = #graph.model_nodes<
        ["conv1", "Conv", ["x", "w"], [["conv1_out", [1, 8, 4, 4], 512, "", ""]]], ...>}

    %1 = graph.call @conv_relu_0(%x, %w) loc("conv1"(fused[fused["relu1_out"], "conv1", "relu1"]))

The import writes the table. Patterns keep locations: an op that replaces another takes over its node (`value_node`).
form-kernels reads both, and writes to the location of each call what its results are called in the model, and which
nodes are computed inside; memory passes copy locations, so that a plan can tell where each tensor of the model is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from typing_extensions import override
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FusedLoc,
    LocationAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
)
from xdsl.ir import Attribute, Data, Operation
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from .base import named_location, node_name
from .values import ints, ints_attr

MODEL = "graph.model"
"""Attribute of a module: the nodes of its ONNX graph."""
ORDERS = "graph.orders"
"""Attribute of a module: the ONNX tensors whose axes lie in another order than the model's, see `record_orders`."""

Fate: TypeAlias = Literal["", "constant", "unused"]
FATES: tuple[Fate, ...] = ("", "constant", "unused")


@dataclass(frozen=True)
class ModelTensor:
    """A tensor of the ONNX graph."""

    name: str
    shape: tuple[int, ...] | None = None  # None where sizes are symbolic
    bytes: int = 0  # in the model; 0 where sizes are symbolic
    fate: Fate = ""  # known when the model was imported, or needed by no output
    same: str = ""  # the tensor that it equals, if the import makes one value of both


@dataclass(frozen=True)
class ModelNode:
    """A node of the ONNX graph, or an initialiser: a node without operator and inputs that has the tensor's name."""

    name: str
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[ModelTensor, ...]


@irdl_attr_definition
class ModelNodesAttr(Data[tuple[ModelNode, ...]]):
    """The nodes in topological order: name, operator, inputs, and outputs with shape, bytes, fate and equal tensor."""

    name = "graph.model_nodes"

    @classmethod
    @override
    def parse_parameter(cls, parser: AttrParser) -> tuple[ModelNode, ...]:
        with parser.in_angle_brackets():
            return tuple(parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: _parse_node(parser)))

    @override
    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_list(self.data, lambda node: _print_node(printer, node))


def _parse_node(parser: AttrParser) -> ModelNode:
    parser.parse_punctuation("[")
    name = parser.parse_str_literal()
    parser.parse_punctuation(",")
    operator = parser.parse_str_literal()
    parser.parse_punctuation(",")
    inputs = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_str_literal)
    parser.parse_punctuation(",")
    outputs = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_tensor(parser))
    parser.parse_punctuation("]")
    return ModelNode(name, operator, tuple(inputs), tuple(outputs))


def _parse_tensor(parser: AttrParser) -> ModelTensor:
    parser.parse_punctuation("[")
    name = parser.parse_str_literal()
    parser.parse_punctuation(",")
    shape = None
    if parser.parse_optional_keyword("unknown") is None:
        shape = tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))
    parser.parse_punctuation(",")
    nbytes = parser.parse_integer()
    parser.parse_punctuation(",")
    fate = parser.parse_str_literal()
    if fate not in FATES:
        parser.raise_error(f"a tensor's fate is one of {', '.join(map(repr, FATES))}, and not {fate!r}")
    parser.parse_punctuation(",")
    same = parser.parse_str_literal()
    parser.parse_punctuation("]")
    return ModelTensor(name, shape, nbytes, fate, same)


def _print_node(printer: Printer, node: ModelNode) -> None:
    with printer.in_square_brackets():
        printer.print_list((node.name, node.operator), printer.print_string_literal)
        printer.print_string(", ")
        with printer.in_square_brackets():
            printer.print_list(node.inputs, printer.print_string_literal)
        printer.print_string(", ")
        with printer.in_square_brackets():
            printer.print_list(node.outputs, lambda tensor: _print_tensor(printer, tensor))


def _print_tensor(printer: Printer, tensor: ModelTensor) -> None:
    with printer.in_square_brackets():
        printer.print_string_literal(tensor.name)
        sizes = "unknown" if tensor.shape is None else f"[{', '.join(map(str, tensor.shape))}]"
        printer.print_string(f", {sizes}, {tensor.bytes}, ")
        printer.print_list((tensor.fate, tensor.same), printer.print_string_literal)


def model_nodes(module: ModuleOp) -> tuple[ModelNode, ...]:
    """The nodes of the graph that a module was imported from; none of one that was written as text."""
    found = module.attributes.get(MODEL)
    return found.data if isinstance(found, ModelNodesAttr) else ()


def record_orders(module: ModuleOp, orders: Mapping[str, tuple[int, ...]]) -> None:
    """Records in which order axes lie of the values of nodes: axis `order[i]` of the model's tensor comes i-th."""
    made = {node.name: node.outputs[0].name for node in model_nodes(module) if len(node.outputs) == 1}
    known = [(made[node], order) for node, order in orders.items() if node in made]
    if known:
        found = {**tensor_orders(module), **dict(known)}
        entries = [ArrayAttr([StringAttr(name), ints_attr(order)]) for name, order in found.items()]
        module.attributes[ORDERS] = ArrayAttr(entries)


def tensor_orders(module: ModuleOp) -> dict[str, tuple[int, ...]]:
    """The recorded orders of axes by ONNX tensor; those that are not in it have the model's order."""
    found: dict[str, tuple[int, ...]] = {}
    match module.attributes.get(ORDERS):
        case ArrayAttr(data=entries):
            for entry in entries:
                match entry:
                    case ArrayAttr(data=(StringAttr(data=name), DenseArrayBase() as order)):
                        found[name] = ints(order)
                    case _:
                        pass
        case _:
            pass
    return found


def value_node(op: Operation) -> str:
    """The ONNX node whose result the op's value is, or "".

    Not that of `node_name` where the op stands for more than its own node: a convolution with a batch norm folded into
    it is named after the convolution, and its value is the batch norm's.
    """
    location = op.location
    inner = location.location if isinstance(location, NameLoc) else None
    return inner.desc.data if isinstance(inner, NameLoc) else node_name(op)


def take_over(new: Operation, old: Operation) -> None:
    """Records in the location of an op that its value is that of the node of an op which it replaces."""
    node = value_node(old)
    if node and node != value_node(new):
        own = node_name(new)
        new.location = NameLoc(StringAttr(own), named_location(node)) if own else named_location(node)


def computing(location: LocationAttr, nodes: Sequence[str], tensors: Sequence[str]) -> LocationAttr:
    """The location of a call that computes ONNX nodes; `tensors` are its results' names, "" for what is no tensor."""
    name = location.desc if isinstance(location, NameLoc) else StringAttr("")
    results = FusedLoc(tuple(map(named_location, tensors)), NoneAttr())
    return NameLoc(name, FusedLoc((results, *map(named_location, nodes)), NoneAttr()))


def of_result(op: Operation, index: int) -> LocationAttr:
    """The location of an op that hands on one result of a call."""
    names = tensor_names(op)
    return op.location if names is None else computing(op.location, (), names[index : index + 1])


def tensor_names(op: Operation) -> tuple[str, ...] | None:
    """The ONNX tensors that the results of a call are, "" for what is none; None if the location doesn't say."""
    found = _fused(op)
    return _names(found[0]) if found and isinstance(found[0], FusedLoc) else None


def computed_nodes(op: Operation) -> tuple[str, ...]:
    """The ONNX nodes that a call computes."""
    return tuple(each.desc.data for each in _fused(op)[1:] if isinstance(each, NameLoc))


def _names(fused: FusedLoc) -> tuple[str, ...]:
    return tuple(each.desc.data for each in _locations(fused) if isinstance(each, NameLoc))


def _fused(op: Operation) -> Sequence[Attribute]:
    """The locations from which a call's location is made."""
    location = op.location
    inner = location.location if isinstance(location, NameLoc) else None
    return _locations(inner) if isinstance(inner, FusedLoc) else ()


def _locations(fused: FusedLoc) -> Sequence[Attribute]:
    return cast("ArrayAttr[Attribute]", fused.locations).data
