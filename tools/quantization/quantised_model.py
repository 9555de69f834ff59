"""ONNX models with weights in blocks: MatMulNBits and GatherBlockQuantized, or DequantizeLinear before the products."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper

from ...dialects.errors import ConfigError
from ...dialects.graph.narrow_types import packed
from ...dialects.graph.values import Array
from ...lowering.onnx_to_graph.check import reads, subgraphs
from ...lowering.onnx_to_graph.model_file import ModelFile
from ...passes.graph.quantization.block_quantiser import BlockNumbers
from .weight_layers import Use, WeightLayer, reads_rows, weight_layers

BITS = (2, 4, 8)
"""Bits of a number that ONNX Runtime's operators, or ONNX's types, have."""
FORMS = ("matmulnbits", "qdq")
DOMAIN = "com.microsoft"
_OPSETS = {2: 25, 4: 21, 8: 21}  # that have DequantizeLinear for so many bits, in blocks
_LEAST_OPSET = 10  # with Slice as it is written here


@dataclass(frozen=True)
class QuantisedForm:
    """How quantised weights are written: the block size, the operators, and whether activations may be rounded."""

    block: int
    form: str
    rounded: bool

    def has_tables(self, layer: WeightLayer, bits: int) -> bool:
        """Whether gathers can read a layer's numbers: by an operator for it, if its rows are whole bytes."""
        return self.form == "matmulnbits" and layer.shape[1] * bits % 8 == 0

    def check(self, proto: ModelProto, bits: int) -> None:
        """Raises ConfigError for a model whose opset has no operator for it."""
        opset = next((each.version for each in proto.opset_import if each.domain in ("", "ai.onnx")), 0)
        least = _OPSETS[bits] if self.form == "qdq" else _LEAST_OPSET
        if opset < least:
            raise ConfigError(f"--format {self.form}: blocks of {bits} bits need opset {least}; the model has {opset}")


def quantised_model(file: ModelFile, numbers: Mapping[int, BlockNumbers], how: QuantisedForm) -> ModelProto:
    """A copy of a model with some of its weight layers, by their number, quantised; tensors in files stay there."""
    proto = ModelProto()
    proto.CopyFrom(file.proto)
    layers, new = weight_layers(proto.graph), _NewNodes(proto, how)
    for index, found in numbers.items():
        new.replace(layers[index], found)
    new.finish()
    return proto


class _NewNodes:
    """Nodes and initialisers that take the place of others in a model."""

    def __init__(self, proto: ModelProto, how: QuantisedForm) -> None:
        self._proto, self._how = proto, how
        self._nodes: dict[int, tuple[GraphProto, dict[int, list[NodeProto]]]] = {}
        self._weights = set[str]()
        self._names = {name for graph in _all_graphs(proto.graph) for name in _names_in(graph)}

    def replace(self, layer: WeightLayer, found: BlockNumbers) -> None:
        """Makes a layer's nodes read its quantised weight."""
        self._weights.add(layer.tensor.name)
        if self._how.form == "qdq":
            self._dequantise(layer, found)
        else:
            self._multiply(layer, found)

    def finish(self) -> None:
        """Puts the nodes in, and leaves out what nothing reads any more."""
        for graph, replaced in self._nodes.values():
            for index in sorted(replaced, reverse=True):
                del graph.node[index]
                for node in reversed(replaced[index]):
                    graph.node.insert(index, node)
        for graph in _all_graphs(self._proto.graph):
            _drop_unread(graph, self._weights)
        if self._how.form == "matmulnbits" and not any(each.domain == DOMAIN for each in self._proto.opset_import):
            self._proto.opset_import.append(helper.make_opsetid(DOMAIN, 1))
        if self._how.form == "qdq":
            self._proto.ir_version = max(self._proto.ir_version, 10)

    def _name(self, wanted: str) -> str:
        """A name that no value has yet."""
        name, number = wanted, 2
        while name in self._names:
            name, number = f"{wanted}_{number}", number + 1
        self._names.add(name)
        return name

    def _put(self, use: Use, nodes: Sequence[NodeProto]) -> None:
        self._nodes.setdefault(id(use.graph), (use.graph, {}))[1][use.index] = [*nodes]

    def _add(self, layer: WeightLayer, name: str, array: Array, type: int | None = None, bits: int = 8) -> str:
        """A new initialiser beside the layer's; its name. Elements of less than 8 bits are packed."""
        name = self._name(f"{layer.tensor.name}_{name}")
        type = helper.np_dtype_to_tensor_dtype(array.dtype) if type is None else type
        data = array if bits == 8 else packed(np.ascontiguousarray(array), bits)
        layer.owner.initializer.append(helper.make_tensor(name, type, array.shape, data.tobytes(), raw=True))
        return name

    # com.microsoft's operators

    def _multiply(self, layer: WeightLayer, found: BlockNumbers) -> None:
        (rows, depth), bits = layer.shape, found.bits
        blocks, width = found.scales.shape[1], depth * bits // 8
        weight = found.bytes.reshape(rows, blocks, -1) if layer.products else found.bytes[:, :width]
        operands = [self._add(layer, f"Q{bits}", weight), self._add(layer, "scales", found.scales)]
        if found.zeros is not None:
            operands.append(self._add(layer, "zero_points", np.stack([packed(row, bits) for row in found.zeros])))
        shared: dict[str, Any] = {"bits": bits, "block_size": self._how.block, "domain": DOMAIN}
        for use in layer.products:
            more = {"accuracy_level": 4} if self._how.rounded else {}
            self._put(use, self._product(layer, use, operands, N=rows, K=depth, **shared, **more))
        for use in layer.gathers if self._how.has_tables(layer, bits) else ():
            nodes = list[NodeProto]()
            table = self._table(layer, use, nodes, operands[0], width) if layer.products else operands[0]
            inputs = [table, use.node.input[1], *operands[1:]]
            self._made(nodes, use, "GatherBlockQuantized", inputs, gather_axis=0, quantize_axis=1, **shared)
            nodes[-1].output[0] = use.node.output[0]
            self._put(use, nodes)

    def _table(self, layer: WeightLayer, use: Use, nodes: list[NodeProto], weight: str, width: int) -> str:
        """The bytes of a product's weight [rows, blocks, bytes] as a table of so many columns, without padding."""
        shape = self._add(layer, "shape", np.array([layer.shape[0], -1]))
        table = self._made(nodes, use, "Reshape", [weight, shape])
        if layer.shape[1] % self._how.block == 0:
            return table
        ends = [self._add(layer, name, np.array([at])) for name, at in (("start", 0), ("stop", width), ("axis", 1))]
        return self._made(nodes, use, "Slice", [table, *ends])

    def _product(self, layer: WeightLayer, use: Use, operands: Sequence[str], **attributes: Any) -> list[NodeProto]:
        """The nodes of a MatMul, or of a Gemm: alpha * x' w + beta * c."""
        node, nodes = use.node, list[NodeProto]()
        given = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        x, c = node.input[0], node.input[2] if len(node.input) > 2 else ""
        if given.get("transA"):
            x = self._made(nodes, use, "Transpose", [x], perm=[1, 0])
        inputs, biases = [x, *operands], {each.name: each for each in layer.owner.initializer}
        alpha, beta = given.get("alpha", 1.0), given.get("beta", 1.0)
        if c in biases and alpha == beta == 1 and list(biases[c].dims) == [attributes["N"]]:
            inputs, c = [*inputs, *[""] * (5 - len(inputs)), c], ""
        value = self._made(nodes, use, "MatMulNBits", inputs, **attributes)
        if alpha != 1:
            value = self._made(nodes, use, "Mul", [value, self._scalar(layer, alpha)])
        if c and beta != 0:
            c = c if beta == 1 else self._made(nodes, use, "Mul", [c, self._scalar(layer, beta)])
            self._made(nodes, use, "Add", [value, c])
        nodes[-1].output[0] = node.output[0]
        return nodes

    def _made(self, nodes: list[NodeProto], use: Use, op_type: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Adds a node; the name of its result."""
        result, name = self._name(f"{use.node.output[0]}_{op_type}"), self._name(f"{use.name}_{op_type}")
        nodes.append(helper.make_node(op_type, inputs, [result], name, **attributes))
        return result

    def _scalar(self, layer: WeightLayer, value: float) -> str:
        dtype = helper.tensor_dtype_to_np_dtype(layer.tensor.data_type)
        return self._add(layer, "factor", np.asarray(value).astype(dtype))

    # ONNX's DequantizeLinear

    def _dequantise(self, layer: WeightLayer, found: BlockNumbers) -> None:
        (rows, depth), bits = layer.shape, found.bits
        signed, half = found.zeros is None, 2 ** (bits - 1)
        type = int(getattr(TensorProto, f"{'' if signed else 'U'}INT{bits}"))

        def laid(array: Array) -> Array:
            return array if layer.transposed else array.T

        numbers = found.numbers.reshape(rows, -1)[:, :depth]
        flipped = (numbers ^ np.uint8(half if signed else 0)) & np.uint8(2**bits - 1)
        operands = [
            self._add(layer, f"Q{bits}", laid(flipped), type, bits),
            self._add(layer, "scales", laid(found.scales)),
        ]
        if found.zeros is not None:
            operands.append(self._add(layer, "zero_points", laid(found.zeros), type, bits))
        axis = 1 if layer.transposed else 0
        for use in layer.products:
            nodes, product = list[NodeProto](), _copy(use.node)
            value = self._made(nodes, use, "DequantizeLinear", operands, axis=axis, block_size=self._how.block)
            if layer.transposed != reads_rows(product):
                value = self._made(nodes, use, "Transpose", [value], perm=[1, 0])
            product.input[1] = value
            self._put(use, [*nodes, product])


def _copy(node: NodeProto) -> NodeProto:
    copied = NodeProto()
    copied.CopyFrom(node)
    return copied


def _all_graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """The graph and those in its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in subgraphs(attribute):
                yield from _all_graphs(inner)


def _names_in(graph: GraphProto) -> Iterator[str]:
    for node in graph.node:
        yield from (node.name, *node.output)
    yield from (each.name for each in (*graph.input, *graph.initializer))


def _drop_unread(graph: GraphProto, weights: Container[str]) -> None:
    """Leaves out transposes that nothing reads any more, and weights, which old models have among the inputs, too."""
    outputs = {each.name for each in graph.output}

    def unread() -> set[str]:
        read = {name for node in graph.node for name in reads(node)} | outputs
        return {node.output[0] for node in graph.node if node.op_type == "Transpose" and node.output[0] not in read}

    while dead := unread():
        for index in reversed(range(len(graph.node))):
            if graph.node[index].output[0] in dead:
                del graph.node[index]
    read = {name for node in graph.node for name in reads(node)} | outputs
    for values in (graph.initializer, graph.input):
        for index in reversed(range(len(values))):
            if values[index].name in weights and values[index].name not in read:
                del values[index]
