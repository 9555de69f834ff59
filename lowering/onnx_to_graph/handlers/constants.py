"""Operators with results known at import: constants, and properties of shapes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ....dialects.graph.ops.elementwise import MulOp
from ....dialects.graph.ops.movement import ConcatOp
from ....dialects.graph.values import Array
from ....dialects.sizes.sizes import is_fixed
from ..node import Handler, Node


def _constant(node: Node) -> SSAValue:
    forms = [entry.name for entry in node.proto.attribute if entry.name != "doc_string"]
    if len(forms) != 1:
        raise node.malformed(f"needs exactly one value, got attributes {forms}")
    match forms[0]:
        case "value":
            return node.tensor_value(node.tensor("value"))
        case "value_float":
            return node.array(np.array(node.number("value_float", 0.0), np.float32))
        case "value_floats":
            return node.array(np.array(node.numbers("value_floats"), np.float32))
        case "value_int":
            return node.array(np.array(node.integer("value_int", 0), np.int64))
        case "value_ints":
            return node.array(np.array(node.integers("value_ints"), np.int64))
        case form:
            raise node.unsupported(f"a constant given as {form}")


def _constant_of_shape(node: Node) -> SSAValue:
    shape = node.ints_operand(0)
    if any(size < 0 for size in shape):
        raise node.invalid(f"shape {shape} has a negative dimension")
    if not node.has("value"):
        return node.broadcast(node.scalar(0, f32), shape)
    value = node.tensor("value")
    if prod(value.dims) != 1:
        raise node.invalid(f"the value must be one element, got shape {list(value.dims)}")
    number = node.known(node.tensor_value(value))
    assert number is not None, "a tensor attribute is a constant"
    return node.broadcast(node.array(number.reshape(())), shape)


def as_array(sizes: Sequence[int] | int) -> Array:
    """Sizes as an array of integers, or of objects where some are symbolic."""
    return np.array(sizes, np.int64 if is_fixed(*([sizes] if isinstance(sizes, int) else sizes)) else object)


def _shape(node: Node) -> SSAValue:
    extents = node.extents(node.operand())
    start, end = node.integer("start", 0), node.integer("end", len(extents))
    wanted = extents[start:end]
    sizes = [extent for extent in wanted if isinstance(extent, int)]
    if len(sizes) == len(wanted):
        return node.array(as_array(sizes))
    parts = [node.array(as_array(each)) if isinstance(each, int) else each for each in wanted]
    return node.emit(ConcatOp([node.reshape(each, (1,)) for each in parts], 0))


def _size(node: Node) -> SSAValue:
    extents = node.extents(node.operand())
    total = node.array(as_array(prod(each for each in extents if isinstance(each, int))))
    for each in extents:
        total = total if isinstance(each, int) else node.emit(MulOp(total, each))
    return total


HANDLERS: dict[str, Handler] = {
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Shape": _shape,
    "Size": _size,
}
