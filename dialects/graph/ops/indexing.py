"""Gathers and scatters: movement by index operands. Negative indices count from the end.

An index out of range is an error: InvalidModelError if it is known at compile time, InvalidInputError at run time, by
the interpreter or as machine code. A kernel can't stop others that run concurrently: it checks its indices before it
uses them and records a wrong one, and the context raises the error after the run (insert-checks). The index is clamped,
so no memory outside of the buffers is accessed. docs/errors.md states the cost: nothing for gathers of rows, a tenth
for gathers of single elements.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import cast

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr, IntegerType, LocationAttr, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ...errors import out_of_range
from ...sizes.sizes import equal_shapes, now, pinned
from ..axes import Axes, Labels, Placed, Repeated, Whole
from ..base import MovementOp, describe, require, require_axis, require_numbers, require_same_element_type
from ..narrow_types import is_narrow
from ..values import AnyTensor, Array, element_type_of_value, is_bool, shape_of, tensor, type_of

REDUCTIONS = ("none", "add", "mul", "min", "max")


class IndexedOp(MovementOp, ABC):
    """An op with an index operand into dimensions of x."""

    x = operand_def()
    indices = operand_def()

    @abstractmethod
    def indexed(self) -> tuple[int, ...]:
        """The sizes of the indexed dimensions: one, or one for each entry of the indices' last dimension."""

    def require_indexed(self) -> None:
        """Raises VerifyException unless the index operand holds integers."""
        _require_indices(self.indices)
        if not all(self.indexed()):
            require(not all(shape_of(self.indices)), "indices into an empty dimension")

    def check_indices(self, indices: Array) -> None:
        """Raises InvalidInputError where an index is out of range."""
        sizes = self.indexed()
        for column, size in zip(indices.reshape(-1, len(sizes)).T, sizes, strict=True):
            if column.size and not (int(column.min()) >= -size and int(column.max()) < size):
                wrong = next(int(i) for i in column if not -size <= int(i) < size)
                raise out_of_range(describe(self), wrong, now(size))


def _require_indices(value: SSAValue) -> None:
    element_type = element_type_of_value(value)
    good = not is_bool(element_type) and not is_narrow(element_type) and isinstance(element_type, IntegerType)
    require(good, f"indices must be integers, got {element_type}")


class GatheringOp(IndexedOp, ABC):
    """Takes elements of x, or slices: of x no more is read than comes out."""


class GatherAlongOp(GatheringOp, ABC):
    """Gathers elements or slices of x by indices along an axis."""

    axis = prop_def(IntegerAttr[IntegerType])
    result = result_def()

    def __init__(
        self,
        x: SSAValue | Operation,
        indices: SSAValue | Operation,
        axis: int = 0,
        location: LocationAttr | None = None,
    ):
        self._build((x, indices), location, axis=axis)

    @override
    def indexed(self) -> tuple[int, ...]:
        return (shape_of(self.x)[self.axis.value.data],)


@irdl_op_definition
class GatherOp(GatherAlongOp):
    """Slices of x along an axis, one for each index; the indices' shape replaces the axis."""

    name = "graph.gather"

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        shape, axis = shape_of(self.x), self.axis.value.data
        require_axis(axis, len(shape))
        self.require_indexed()
        return [tensor(element_type_of_value(self.x), (*shape[:axis], *shape_of(self.indices), *shape[axis + 1 :]))]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        x, axis = range(len(shape_of(self.x))), self.axis.value.data
        places = [f"place {number}" for number in range(len(shape_of(self.indices)))]
        return self.labelled_axes([x, places], [*x[:axis], *places, *x[axis + 1 :]], {axis: Whole})

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x, indices = arrays
        self.check_indices(indices)
        return (np.take(x, indices.astype(np.int64), self.axis.value.data),)


@irdl_op_definition
class GatherElementsOp(GatherAlongOp):
    """result[.., i, ..] = x[.., indices[.., i, ..], ..] along an axis; the result has the indices' shape."""

    name = "graph.gather_elements"

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        shape, indices, axis = shape_of(self.x), shape_of(self.indices), self.axis.value.data
        require_axis(axis, len(shape))
        self.require_indexed()
        _require_inside(indices, shape, axis)
        return [tensor(element_type_of_value(self.x), indices)]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        dims, axis = range(len(shape_of(self.x))), self.axis.value.data
        return self.labelled_axes([[*dims[:axis], "any", *dims[axis + 1 :]], dims], dims, {"any": Whole})

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x, indices = arrays
        self.check_indices(indices)
        return (x[_places(x, indices, self.axis.value.data)],)


def _require_inside(indices: tuple[int, ...], shape: tuple[int, ...], axis: int) -> None:
    """Raises VerifyException unless indices of this shape are valid for x along the axis."""
    inside = len(indices) == len(shape) and all(
        count <= size or dimension == axis for dimension, (count, size) in enumerate(zip(indices, shape, strict=True))
    )
    require(inside, f"indices of shape {list(indices)} exceed shape {list(shape)} beside axis {axis}")


def _grid(shape: tuple[int, ...]) -> Array:
    """For each axis of `shape`, along the first dimension, the index of each element on that axis."""
    return cast(Array, np.indices(shape))


def _places(x: Array, indices: Array, axis: int) -> tuple[Array, ...]:
    """A numpy index of the elements that `indices` select along the axis."""
    places = list(_grid(indices.shape))
    places[axis] = np.where(indices < 0, indices + x.shape[axis], indices).astype(np.int64)
    return tuple(places)


@irdl_op_definition
class GatherNdOp(GatheringOp):
    """The last dimension of the indices is an index of a slice of x, after `batch_dims` shared leading dimensions."""

    name = "graph.gather_nd"

    batch_dims = prop_def(IntegerAttr[IntegerType])
    result = result_def()

    def __init__(
        self,
        x: SSAValue | Operation,
        indices: SSAValue | Operation,
        batch_dims: int = 0,
        location: LocationAttr | None = None,
    ):
        self._build((x, indices), location, batch_dims=batch_dims)

    @override
    def indexed(self) -> tuple[int, ...]:
        batch = self.batch_dims.value.data
        return shape_of(self.x)[batch : batch + pinned(shape_of(self.indices)[-1])]

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        shape, indices, batch = shape_of(self.x), shape_of(self.indices), self.batch_dims.value.data
        require(len(indices) >= 1, "indices need at least one dimension")
        require(0 <= batch < len(indices), f"{batch} batch dimensions of indices of rank {len(indices)}")
        require(
            equal_shapes(shape[:batch], indices[:batch]),
            f"batches {list(shape[:batch])} and {list(indices[:batch])} differ",
        )
        depth = batch + pinned(indices[-1])
        require(depth <= len(shape), f"indices name {indices[-1]} dimensions, but x has {len(shape) - batch}")
        self.require_indexed()
        return [tensor(element_type_of_value(self.x), (*indices[:-1], *shape[depth:]))]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        outer, batch, rank = len(shape_of(self.indices)) - 1, self.batch_dims.value.data, len(shape_of(self.x))
        depth = batch + len(self.indexed())
        named = ["any"] * (depth - batch)
        rest = range(outer, outer + rank - depth)
        return self.labelled_axes(
            [[*range(batch), *named, *rest], [*range(outer), "entry"]], range(outer + len(rest)), {"any": Whole}
        )

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        self.check_indices(arrays[1])
        x, indices = arrays[0], arrays[1].astype(np.int64)
        batch = self.batch_dims.value.data
        leading = _grid(indices.shape[:-1])[:batch]
        return (np.asarray(x[(*leading, *np.moveaxis(indices, -1, 0))]).reshape(shape_of(self.result)),)


class ScatterOp(IndexedOp, ABC):
    """x with some elements replaced by updates, or combined with them by `reduction`.

    The reduction is "none", "add", "mul", "min" or "max". With "none", the last of several updates to one element wins.
    """

    x = operand_def()
    indices = operand_def()
    updates = operand_def()
    reduction = prop_def(StringAttr)
    result = result_def()

    def check(self) -> None:
        """Raises VerifyException where operand types or the reduction are wrong."""
        require_same_element_type(self.x, self.updates)
        reduction = self.reduction.data
        require(reduction in REDUCTIONS, f'reduction is one of {", ".join(REDUCTIONS)}, got "{reduction}"')
        if reduction != "none":
            require_numbers(self.x)

    def scatter(self, x: Array, places: tuple[Array, ...], updates: Array) -> Array:
        """A copy of x with the updates applied at the places."""
        result = x.copy()
        match self.reduction.data:
            case "add":
                np.add.at(result, places, updates)
            case "mul":
                np.multiply.at(result, places, updates)
            case "min":
                np.minimum.at(result, places, updates)
            case "max":
                np.maximum.at(result, places, updates)
            case _:
                result[places] = updates
        return result


@irdl_op_definition
class ScatterNdOp(ScatterOp):
    """The last dimension of the indices is an index of a slice of x, which an update of the same shape replaces."""

    name = "graph.scatter_nd"

    def __init__(
        self,
        x: SSAValue | Operation,
        indices: SSAValue | Operation,
        updates: SSAValue | Operation,
        reduction: str = "none",
        location: LocationAttr | None = None,
    ):
        self._build((x, indices, updates), location, reduction=reduction)

    @override
    def indexed(self) -> tuple[int, ...]:
        return shape_of(self.x)[: pinned(shape_of(self.indices)[-1])]

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        self.check()
        shape, indices, updates = shape_of(self.x), shape_of(self.indices), shape_of(self.updates)
        require(len(indices) >= 1, "indices need at least one dimension")
        depth = pinned(indices[-1])
        require(depth <= len(shape), f"indices name {depth} dimensions, but x has {len(shape)}")
        self.require_indexed()
        wanted = (*indices[:-1], *shape[depth:])
        require(equal_shapes(updates, wanted), f"updates of shape {list(updates)} instead of {list(wanted)}")
        return [type_of(self.x)]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        dims, depth = range(len(shape_of(self.x))), len(self.indexed())
        outer: Labels = ["update"] * (len(shape_of(self.indices)) - 1)
        special = dict.fromkeys([*dims[:depth], "update"], Whole)
        return self.labelled_axes([dims, [*outer, "entry"], [*outer, *dims[depth:]]], dims, special)

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x, indices, updates = arrays
        self.check_indices(indices)
        places = tuple(np.moveaxis(indices.astype(np.int64), -1, 0))
        return (self.scatter(x, places, updates),)


@irdl_op_definition
class ScatterElementsOp(ScatterOp):
    """result[.., indices[.., i, ..], ..] = updates[.., i, ..] along an axis."""

    name = "graph.scatter_elements"

    axis = prop_def(IntegerAttr[IntegerType])

    def __init__(
        self,
        x: SSAValue | Operation,
        indices: SSAValue | Operation,
        updates: SSAValue | Operation,
        axis: int = 0,
        reduction: str = "none",
        location: LocationAttr | None = None,
    ):
        self._build((x, indices, updates), location, axis=axis, reduction=reduction)

    @override
    def indexed(self) -> tuple[int, ...]:
        return (shape_of(self.x)[self.axis.value.data],)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        self.check()
        shape, indices, updates = shape_of(self.x), shape_of(self.indices), shape_of(self.updates)
        axis = require_axis(self.axis.value.data, len(shape))
        require(
            equal_shapes(indices, updates), f"indices of shape {list(indices)}, but updates of shape {list(updates)}"
        )
        self.require_indexed()
        _require_inside(indices, shape, axis)
        return [type_of(self.x)]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        dims, axis = range(len(shape_of(self.x))), self.axis.value.data
        updates = [*dims[:axis], "update", *dims[axis + 1 :]]
        x, *others = self.labelled_axes([dims, updates, updates], dims, dict.fromkeys((axis, "update"), Whole))
        # One update is not repeated: it is for the first element.
        return [x, *(tuple(Placed(e.to, 0) if isinstance(e, Repeated) else e for e in each) for each in others)]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x, indices, updates = arrays
        self.check_indices(indices)
        return (self.scatter(x, _places(x, indices, self.axis.value.data), updates),)
