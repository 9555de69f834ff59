"""Reductions over axes: sums, extrema and their indices, scans, softmax."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, LocationAttr, UnitAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from ..base import ReductionOp, require, require_axis, require_float, require_number, require_numbers
from ..values import AnyTensor, Array, ints, shape_of, tensor, type_of, widened


def reduced_shape(shape: Sequence[int], axes: Sequence[int], keepdims: bool) -> tuple[int, ...]:
    """`shape` with each of `axes` removed, or of size 1."""
    if keepdims:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


Kind: TypeAlias = Literal["sum", "prod", "max", "min"]
"""What elements are combined by."""


class ReduceOp(ReductionOp, ABC):
    """Reduces over `axes` (sorted, non-negative); `keepdims` keeps them as dimensions of size 1."""

    KIND: ClassVar[Kind]

    x = operand_def()
    axes = prop_def(DenseArrayBase[IntegerType])
    keepdims = opt_prop_def(UnitAttr)
    result = result_def()

    def __init__(
        self,
        x: SSAValue | Operation,
        axes: Sequence[int],
        keepdims: bool = False,
        location: LocationAttr | None = None,
    ):
        self._build((x,), location, axes=axes, keepdims=keepdims)

    @abstractmethod
    def compute(self, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        """The reduction of an array."""

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        type, axes = type_of(self.x), ints(self.axes)
        require_number(type.element_type)
        require(list(axes) == sorted(set(axes)), f"axes {list(axes)} are not sorted or not distinct")
        for axis in axes:
            require_axis(axis, len(type.get_shape()))
        return [tensor(type.element_type, reduced_shape(type.get_shape(), axes, self.keepdims is not None))]

    @property
    @override
    def whole_axes(self) -> Sequence[int]:
        return ints(self.axes)

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x = widened(arrays[0])
        with np.errstate(all="ignore"):
            result = self.compute(x, ints(self.axes), self.keepdims is not None)
        return (np.asarray(result).astype(arrays[0].dtype),)


@irdl_op_definition
class ReduceSumOp(ReduceOp):
    """The sum; 0 for no elements."""

    name = "graph.reduce_sum"
    KIND: ClassVar[Kind] = "sum"

    @override
    def compute(self, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        return np.sum(x, axis=axes, keepdims=keepdims, dtype=x.dtype)


@irdl_op_definition
class ReduceMeanOp(ReduceOp):
    """The arithmetic mean; truncated toward zero for integers."""

    name = "graph.reduce_mean"
    KIND: ClassVar[Kind] = "sum"

    @override
    def compute(self, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        return np.mean(x, axis=axes, keepdims=keepdims)


@irdl_op_definition
class ReduceProdOp(ReduceOp):
    """The product; 1 for no elements."""

    name = "graph.reduce_prod"
    KIND: ClassVar[Kind] = "prod"

    @override
    def compute(self, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        return np.prod(x, axis=axes, keepdims=keepdims, dtype=x.dtype)


@irdl_op_definition
class ReduceMaxOp(ReduceOp):
    """The maximum, propagating NaN; for no elements, the type's minimum."""

    name = "graph.reduce_max"
    KIND: ClassVar[Kind] = "max"

    @override
    def compute(self, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        least = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
        return np.max(x, axis=axes, keepdims=keepdims, initial=least)


@irdl_op_definition
class ReduceMinOp(ReduceOp):
    """The minimum, propagating NaN; for no elements, the type's maximum."""

    name = "graph.reduce_min"
    KIND: ClassVar[Kind] = "min"

    @override
    def compute(self, x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
        greatest = np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).max
        return np.min(x, axis=axes, keepdims=keepdims, initial=greatest)


class ArgExtremumOp(ReductionOp, ABC):
    """The index (i64) of an extremum along an axis: the first one, or with `select_last` the last one."""

    KIND: ClassVar[Kind]
    FUNCTION: ClassVar[Callable[..., Array]]
    """The first place in an array along an axis, which stays as a dimension of size 1 with `keepdims`."""

    x = operand_def()
    axis = prop_def(IntegerAttr[IntegerType])
    keepdims = opt_prop_def(UnitAttr)
    select_last = opt_prop_def(UnitAttr)
    result = result_def()

    def __init__(
        self,
        x: SSAValue | Operation,
        axis: int,
        keepdims: bool = False,
        select_last: bool = False,
        location: LocationAttr | None = None,
    ):
        self._build((x,), location, axis=axis, keepdims=keepdims, select_last=select_last)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        shape, axis = shape_of(self.x), self.axis.value.data
        require_numbers(self.x)
        require_axis(axis, len(shape))
        require(shape[axis] > 0, "there is no extremum along an empty axis")
        return [tensor(i64, reduced_shape(shape, (axis,), self.keepdims is not None))]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x, axis = widened(arrays[0]), self.axis.value.data
        last = self.select_last is not None
        places = type(self).FUNCTION(np.flip(x, axis) if last else x, axis, keepdims=True)
        places = x.shape[axis] - 1 - places if last else places
        places = places.astype(np.int64)
        return (places if self.keepdims is not None else np.squeeze(places, axis),)


@irdl_op_definition
class ArgMaxOp(ArgExtremumOp):
    """The index of the largest element."""

    name = "graph.arg_max"
    KIND: ClassVar[Kind] = "max"
    FUNCTION: ClassVar[Callable[..., Array]] = np.argmax


@irdl_op_definition
class ArgMinOp(ArgExtremumOp):
    """The index of the smallest element."""

    name = "graph.arg_min"
    KIND: ClassVar[Kind] = "min"
    FUNCTION: ClassVar[Callable[..., Array]] = np.argmin


class CumulativeOp(ReductionOp, ABC):
    """An inclusive scan along an axis; `exclusive` excludes the element itself, `reverse` starts at the end."""

    KIND: ClassVar[Kind]
    FUNCTION: ClassVar[Callable[..., Array]]
    """The combinations of an array along an axis, none left out, from the start."""

    x = operand_def()
    axis = prop_def(IntegerAttr[IntegerType])
    exclusive = opt_prop_def(UnitAttr)
    reverse = opt_prop_def(UnitAttr)
    result = result_def()

    def __init__(
        self,
        x: SSAValue | Operation,
        axis: int,
        exclusive: bool = False,
        reverse: bool = False,
        location: LocationAttr | None = None,
    ):
        self._build((x,), location, axis=axis, exclusive=exclusive, reverse=reverse)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        type = type_of(self.x)
        require_number(type.element_type)
        require_axis(self.axis.value.data, len(type.get_shape()))
        return [type]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x, axis = widened(arrays[0]), self.axis.value.data
        x = np.flip(x, axis) if self.reverse is not None else x
        with np.errstate(all="ignore"):
            results = type(self).FUNCTION(x, axis, dtype=x.dtype)
        if self.exclusive is not None:
            results = np.roll(results, 1, axis)
            np.moveaxis(results, axis, 0)[:1] = 1 if self.KIND == "prod" else 0
        results = np.flip(results, axis) if self.reverse is not None else results
        return (np.ascontiguousarray(results).astype(arrays[0].dtype),)


@irdl_op_definition
class CumsumOp(CumulativeOp):
    """Prefix sums."""

    name = "graph.cumsum"
    KIND: ClassVar[Kind] = "sum"
    FUNCTION: ClassVar[Callable[..., Array]] = np.cumsum


@irdl_op_definition
class CumprodOp(CumulativeOp):
    """Prefix products."""

    name = "graph.cumprod"
    KIND: ClassVar[Kind] = "prod"
    FUNCTION: ClassVar[Callable[..., Array]] = np.cumprod


class SoftmaxLikeOp(ReductionOp, ABC):
    """A function along an axis that keeps the operand's shape."""

    x = operand_def()
    axis = prop_def(IntegerAttr[IntegerType])
    result = result_def()

    def __init__(self, x: SSAValue | Operation, axis: int, location: LocationAttr | None = None):
        self._build((x,), location, axis=axis)

    @abstractmethod
    def compute(self, x: Array, axis: int) -> Array:
        """The function on an array."""

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_float(self.x)
        require_axis(self.axis.value.data, len(shape_of(self.x)))
        return [type_of(self.x)]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        if arrays[0].size == 0:
            return (arrays[0],)
        with np.errstate(all="ignore"):
            return (self.compute(widened(arrays[0]), self.axis.value.data).astype(arrays[0].dtype),)


@irdl_op_definition
class SoftmaxOp(SoftmaxLikeOp):
    """exp(x) / sum(exp(x)) along an axis, shifted so that it never overflows."""

    name = "graph.softmax"
    INSTRUCTIONS: ClassVar[int] = 16

    @override
    def compute(self, x: Array, axis: int) -> Array:
        powers = np.exp(x - np.max(x, axis, keepdims=True))
        return powers / np.sum(powers, axis, keepdims=True)


@irdl_op_definition
class LogSoftmaxOp(SoftmaxLikeOp):
    """The logarithm of softmax, computed without exp of large numbers."""

    name = "graph.log_softmax"
    INSTRUCTIONS: ClassVar[int] = 16

    @override
    def compute(self, x: Array, axis: int) -> Array:
        shifted = x - np.max(x, axis, keepdims=True)
        return shifted - np.log(np.sum(np.exp(shifted), axis, keepdims=True))
