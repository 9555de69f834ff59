"""Models of which an integer attribute of a node is what it should not be: zero, negative, beyond all sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from onnx import AttributeProto, ModelProto, NodeProto, defs, helper

STRANGE = (0, -1, 2**31, -(2**63))


def strange_attributes(model: ModelProto, operator: str) -> Iterator[tuple[str, ModelProto]]:
    """What is changed, and the model, for each integer attribute of an operator's first node, given or not.

    Of a list that is given each number is changed by itself, of a long one some are.
    One that isn't becomes two equal numbers.
    """
    index = next(number for number, node in enumerate(model.graph.node) if node.op_type == operator)
    node = model.graph.node[index]
    for name, values in _integers(node).items():
        for value in values:
            changed = ModelProto()
            changed.CopyFrom(model)
            attributes = changed.graph.node[index].attribute
            kept = [each for each in attributes if each.name != name]
            del attributes[:]
            attributes.extend([*kept, helper.make_attribute(name, value)])
            yield f"{operator} {name}={value}", changed


def _integers(node: NodeProto) -> dict[str, list[int] | list[list[int]]]:
    """Strange values of each attribute that is an integer or lists integers."""
    found: dict[str, list[int] | list[list[int]]] = {}
    if not node.domain and defs.has(node.op_type):
        for name, known in defs.get_schema(node.op_type).attributes.items():
            if known.type == defs.OpSchema.AttrType.INT:
                found[name] = [*STRANGE]
            elif known.type == defs.OpSchema.AttrType.INTS:
                found[name] = [[value] * 2 for value in STRANGE]
    for attribute in node.attribute:
        if attribute.type == AttributeProto.INT:
            found[attribute.name] = [*STRANGE]
        elif attribute.type == AttributeProto.INTS:
            numbers = cast("Sequence[int]", attribute.ints)
            found[attribute.name] = [
                [*numbers[:place], value, *numbers[place + 1 :]]
                for place in range(0, len(numbers), max(1, len(numbers) // 4))
                for value in STRANGE
            ]
    return found
