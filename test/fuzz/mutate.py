"""Model files with something broken: in their bytes, or in what the bytes say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, cast

import numpy as np
from fuzz.graphs import grown
from google.protobuf.message import Message
from models.small import SMALL_MODELS
from onnx import AttributeProto, ModelProto, TensorProto, helper

STRANGE = (-(2**63), -(2**40), -2, -1, 0, 1, 2, 3, 7, 64, 1000, 2**16, 2**31, 2**40, 2**63 - 1)
STRANGE_FLOATS = (float("nan"), float("inf"), -float("inf"), 0.0, -1.0, 1e-30, 1e30)


class Mutation:
    """A model on its way to ruin."""

    def __init__(self, model: ModelProto, random: np.random.Generator) -> None:
        self.model = model
        self.random = random

    def integer(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high))

    def choose(self, items: Sequence[Any]) -> Any:
        return items[self.integer(0, len(items))] if len(items) else None

    def node(self) -> Any:
        """A node, which may be one of a branch or of a loop's body."""
        node = self.choose(self.model.graph.node)
        inner = [each for attribute in node.attribute for each in attribute.g.node]
        return self.choose(inner) if inner and self.integer(0, 2) else node

    def names(self) -> list[str]:
        graph = self.model.graph
        made = [name for node in graph.node for name in node.output]
        return [*made, *(value.name for value in graph.input), *(tensor.name for tensor in graph.initializer), "", "?"]

    # What the model says.

    def drop_node(self) -> None:
        del self.model.graph.node[self.integer(0, len(self.model.graph.node))]

    def double_node(self) -> None:
        self.model.graph.node.add().CopyFrom(self.node())

    def swap_nodes(self) -> None:
        one, other = self.node(), self.node()
        kept = deepcopy((one, other))  # one may lie in a branch of the other, and would grow while it is copied
        one.CopyFrom(kept[1])
        other.CopyFrom(kept[0])

    def rename_operator(self) -> None:
        from mini_infer.lowering.onnx_to_graph.operators import HANDLERS

        self.node().op_type = self.choose([*HANDLERS, "Loop", "Scan", "TopK", "NoSuchThing", ""])

    def reconnect(self) -> None:
        names = self.choose([self.node().input, self.node().output])
        if len(names):
            names[self.integer(0, len(names))] = self.choose(self.names())

    def more_operands(self) -> None:
        self.choose([self.node().input, self.node().output]).append(self.choose(self.names()))

    def fewer_operands(self) -> None:
        names = self.choose([self.node().input, self.node().output])
        if len(names):
            del names[self.integer(0, len(names))]

    def drop_attribute(self) -> None:
        attributes = self.node().attribute
        if len(attributes):
            del attributes[self.integer(0, len(attributes))]

    def change_attribute(self) -> None:
        attribute = self.choose(self.node().attribute)
        if attribute is None:
            return
        match attribute.type:
            case AttributeProto.INT:
                attribute.i = self.choose(STRANGE)
            case AttributeProto.INTS:
                self.change_list(attribute.ints, STRANGE)
            case AttributeProto.FLOAT:
                attribute.f = self.choose(STRANGE_FLOATS)
            case AttributeProto.FLOATS:
                self.change_list(attribute.floats, STRANGE_FLOATS)
            case AttributeProto.STRING:
                attribute.s = self.choose([b"", b"\xff\xfe", attribute.s + b"x", attribute.s[:-1], b"NOTSET"])
            case AttributeProto.TENSOR:
                self.change_tensor(attribute.t)
            case _:
                attribute.type = self.integer(0, 15)

    def change_list(self, numbers: Any, strange: Sequence[Any]) -> None:
        if len(numbers) and self.integer(0, 3):
            numbers[self.integer(0, len(numbers))] = self.choose(strange)
        elif len(numbers) and self.integer(0, 2):
            del numbers[self.integer(0, len(numbers))]
        else:
            numbers.append(self.choose(strange))

    def add_attribute(self) -> None:
        name = self.choose(["axis", "axes", "kernel_shape", "pads", "to", "perm", "strange", "group", "value"])
        value = self.choose([0, -1, 2**40, [1, 2], [], 0.5, "text"])
        self.node().attribute.append(
            helper.make_attribute(name, value, attr_type=AttributeProto.INTS if value == [] else None)
        )

    def change_attribute_type(self) -> None:
        attribute = self.choose(self.node().attribute)
        if attribute is not None:
            attribute.type = self.integer(0, 15)

    def change_weight(self) -> None:
        tensor = self.choose(self.model.graph.initializer)
        if tensor is not None:
            self.change_tensor(tensor)

    def change_tensor(self, tensor: TensorProto) -> None:
        match self.integer(0, 6):
            case 0:
                tensor.data_type = self.integer(0, 24)
            case 1:
                self.change_list(tensor.dims, STRANGE)
            case 2:
                tensor.raw_data = tensor.raw_data[: self.integer(0, len(tensor.raw_data) + 1)]
            case 3 if tensor.raw_data:
                data = bytearray(tensor.raw_data)
                data[self.integer(0, len(data))] = self.integer(0, 256)
                tensor.raw_data = bytes(data)
            case 4:
                tensor.name = self.choose(self.names())
            case _:
                count = max(1, int(np.prod(tensor.dims)))
                if tensor.data_type == TensorProto.INT64 and 8 * count == len(tensor.raw_data):
                    numbers = np.frombuffer(tensor.raw_data, np.int64).copy()
                    numbers[self.integer(0, count)] = self.choose(STRANGE)
                    tensor.raw_data = numbers.tobytes()

    def change_input(self) -> None:
        value = self.choose([*self.model.graph.input, *self.model.graph.output])
        kind = value.type.tensor_type
        if self.integer(0, 3) == 0:
            kind.elem_type = self.integer(0, 24)
        elif len(kind.shape.dim) and self.integer(0, 3):
            dimension = self.choose(kind.shape.dim)
            if self.integer(0, 4):
                dimension.dim_value = self.choose(STRANGE)
            else:
                dimension.dim_param = "n"
        elif len(kind.shape.dim) and self.integer(0, 2):
            del kind.shape.dim[self.integer(0, len(kind.shape.dim))]
        else:
            kind.shape.dim.add().dim_value = self.choose(STRANGE)

    def change_opset(self) -> None:
        for used in self.model.opset_import[:1]:
            used.version = self.integer(-1, 32)

    def change_any_field(self) -> None:
        """Walks down a random path of the message and changes, empties or doubles what is there."""
        message: Message = self.model
        for _ in range(6):
            fields = message.ListFields()
            if not fields:
                return
            descriptor, value = fields[self.integer(0, len(fields))]
            if descriptor.message_type is None or self.integer(0, 6) == 0:
                message.ClearField(descriptor.name)
                return
            repeated = not isinstance(value, Message)
            message = cast(Message, self.choose(value) if repeated else value)

    def mutate(self) -> None:
        """One change."""
        changes: list[Callable[[], None]] = [
            self.drop_node,
            self.double_node,
            self.swap_nodes,
            self.rename_operator,
            self.reconnect,
            self.more_operands,
            self.fewer_operands,
            self.drop_attribute,
            *[self.change_attribute] * 5,
            self.add_attribute,
            self.change_attribute_type,
            *[self.change_weight] * 4,
            *[self.change_input] * 2,
            self.change_opset,
            self.change_any_field,
        ]
        if len(self.model.graph.node):
            self.choose(changes)()


def with_broken_bytes(data: bytes, random: np.random.Generator) -> bytes:
    """Bytes changed, cut off, taken out, doubled or put in."""
    broken = bytearray(data)
    for _ in range(int(random.integers(1, 4))):
        if not broken:
            break
        at, count = int(random.integers(0, len(broken))), int(random.integers(1, 16))
        match int(random.integers(0, 6)):
            case 0 | 1:
                broken[at] ^= 1 << int(random.integers(0, 8))
            case 2:
                del broken[at:]
            case 3:
                del broken[at : at + count]
            case 4:
                broken[at:at] = broken[at : at + count]
            case _:
                broken[at : at + count] = random.integers(0, 256, count, dtype=np.uint8).tobytes()
    return bytes(broken)


def mutated(seed: int) -> bytes:
    """The broken model file of a seed."""
    random = np.random.default_rng(seed)
    if random.random() < 0.15:
        model = SMALL_MODELS[sorted(SMALL_MODELS)[int(random.integers(0, len(SMALL_MODELS)))]]()
    else:
        model = grown(int(random.integers(0, 2**31))).model
    if random.random() < 0.3:
        return with_broken_bytes(model.SerializeToString(), random)
    mutation = Mutation(model, random)
    for _ in range(int(random.integers(1, 5))):
        mutation.mutate()
    return model.SerializeToString()
