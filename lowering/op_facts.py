"""What those who write code ask of ops, whatever the code is; and the error for an op that there is no code for."""

from __future__ import annotations

from typing import NoReturn, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    StringAttr,
)
from xdsl.ir import Attribute, Operation

from ..dialects.errors import CompileError
from ..dialects.graph.base import describe
from ..dialects.graph.values import ints


def fail(op: Operation, fact: str) -> NoReturn:
    """Raises a CompileError that names the node, the operation, its function and the fact."""
    parent, place = op.parent_op(), ""
    while parent is not None and not place:
        name = parent.properties.get("sym_name", parent.attributes.get("sym_name"))  # gpu.func has it as an attribute
        place = f" in @{name.data}" if isinstance(name, StringAttr) else ""
        parent = parent.parent_op()
    raise CompileError(f"{describe(op)}{place}: {fact}")


def integers_of(op: Operation, name: str) -> tuple[int, ...]:
    """A property of `op` that is a list of integers."""
    return ints(cast("DenseArrayBase[IntegerType]", op.properties[name]))


def first_element(op: Operation, source: MemRefType[Attribute]) -> int:
    """How many elements lie in front of a buffer's first one, where the offsets of a reinterpret_cast count from.

    Of a buffer that doesn't say where it lies they count from its first element, which is all its pointer tells. Raises
    CompileError for a layout that is no list of strides.
    """
    layout = source.layout
    if isinstance(layout, NoneAttr):
        return 0
    if not isinstance(layout, StridedLayoutAttr):
        fail(op, f"the layout of its source {source} must be strided")
    return layout.offset.data if isinstance(layout.offset, IntAttr) else 0
