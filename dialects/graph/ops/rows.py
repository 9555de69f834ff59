"""Rows of a value at a place known at run time, in the memory of the value itself.

Rows are the elements along one axis in front of which all sizes are 1, so that they lie in one piece. The number of the
first one is a host scalar, such as a multiple of a loop's turn. Neither op copies: bufferize makes both windows of the
whole value's buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, LocationAttr
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def

from ..axes import Axes, Kept, Whole
from ..base import GraphOp, require, require_axis, require_same_element_type
from ..values import AnyTensor, Array, element_type_of_value, numpy_dtype, shape_of, tensor, type_of


@irdl_op_definition
class EmptyOp(GraphOp):
    """A value of any elements, for others that replace them. Two are not the same value: each has bytes of its own."""

    name = "graph.empty"

    result = result_def()
    traits = traits_def()

    def __init__(self, type: AnyTensor, location: LocationAttr | None = None):
        self._build((), location, [type])

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        return [type_of(self.result)]

    @override
    def is_cheap(self) -> bool:
        return False

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        return (np.zeros(shape_of(self.result), numpy_dtype(element_type_of_value(self.result))),)


@irdl_op_definition
class ExtractRowsOp(GraphOp):
    """`size` rows of x along an axis, from number `row` on, which must be there."""

    name = "graph.extract_rows"

    x = operand_def()
    row = operand_def(IndexType)
    axis = prop_def(IntegerAttr[IntegerType])
    size = prop_def(IntegerAttr[IntegerType])
    result = result_def()

    def __init__(self, x: SSAValue, row: SSAValue, axis: int, size: int, location: LocationAttr | None = None):
        self._build((x, row), location, axis=axis, size=size)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        shape, axis, size = shape_of(self.x), self.axis.value.data, self.size.value.data
        _require_rows(shape, axis)
        require(0 < size <= shape[axis], f"{size} of {shape[axis]} rows")
        return [tensor(element_type_of_value(self.x), [*shape[:axis], size, *shape[axis + 1 :]])]

    @override
    def is_cheap(self) -> bool:
        return False

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        return [_along(self.x, self.axis.value.data), ()]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x, row = arrays
        first, axis, size = int(row), self.axis.value.data, self.size.value.data
        require(0 <= first <= x.shape[axis] - size, f"rows from {first} on of {x.shape[axis]}")
        return (np.take(x, range(first, first + size), axis),)


@irdl_op_definition
class InsertRowsOp(GraphOp):
    """A value with the rows of `new` from number `row` on, in the place of those that it had.

    It is changed in place: nothing else may use the value as it was before, but for graph.extract_rows of rows that are
    not replaced, which bufferize checks.
    """

    name = "graph.insert_rows"

    into = operand_def()
    new = operand_def()
    row = operand_def(IndexType)
    axis = prop_def(IntegerAttr[IntegerType])
    result = result_def()

    def __init__(self, into: SSAValue, new: SSAValue, row: SSAValue, axis: int, location: LocationAttr | None = None):
        self._build((into, new, row), location, axis=axis)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_same_element_type(self.into, self.new)
        shape, new, axis = shape_of(self.into), shape_of(self.new), self.axis.value.data
        _require_rows(shape, axis)
        same = len(new) == len(shape) and (*new[:axis], *new[axis + 1 :]) == (*shape[:axis], *shape[axis + 1 :])
        require(same, f"shapes {list(shape)} and {list(new)} differ outside of axis {axis}")
        require(0 < new[axis] <= shape[axis], f"{new[axis]} of {shape[axis]} rows")
        return [tensor(element_type_of_value(self.into), shape)]

    @override
    def verify_(self) -> None:
        super().verify_()
        others = [use.operation for use in self.into.uses if use.operation is not self]
        fine = all(isinstance(other, ExtractRowsOp) and other.parent is self.parent for other in others)
        require(fine, "the value that rows are inserted into has another user")

    @override
    def is_cheap(self) -> bool:
        return False

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        axis = self.axis.value.data
        return [_along(self.into, axis), _along(self.new, axis), ()]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        into, new, row = arrays
        first, axis = int(row), self.axis.value.data
        count = new.shape[axis]
        require(0 <= first <= into.shape[axis] - count, f"rows from {first} on of {into.shape[axis]}")
        made = into.copy()
        made[(slice(None),) * axis + (slice(first, first + count),)] = new
        return (made,)


def _require_rows(shape: Sequence[int], axis: int) -> None:
    require_axis(axis, len(shape))
    require(prod(shape[:axis]) == 1, f"rows along axis {axis} of shape {list(shape)} don't lie in one piece")


def _along(value: SSAValue, axis: int) -> tuple[Kept | Whole, ...]:
    """How the axes of a value go into the result: all but that of the rows."""
    return tuple(Whole(axis) if dim == axis else Kept(dim) for dim in range(len(shape_of(value))))
