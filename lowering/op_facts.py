"""Helpers for code generators of any device: properties of ops, and the error for an unsupported op."""

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
    """The offset in elements of a buffer's first element within the allocation that reinterpret_cast refers to.

    For a buffer with an unknown offset it is 0: a bare pointer refers to the first element. Raises CompileError for a
    layout that is not strided.
    """
    layout = source.layout
    if isinstance(layout, NoneAttr):
        return 0
    if not isinstance(layout, StridedLayoutAttr):
        fail(op, f"the layout of its source {source} must be strided")
    return layout.offset.data if isinstance(layout.offset, IntAttr) else 0
