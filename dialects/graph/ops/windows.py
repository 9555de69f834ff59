"""Reductions over windows: pools, and normalisation over neighbouring channels."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from functools import partial
from math import prod
from typing import ClassVar, TypedDict

import numpy as np
from typing_extensions import Unpack, override
from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from ..axes import Axes, Kept, Numbered, Windowed
from ..base import Property, ReductionOp, require, require_float, require_numbers
from ..values import AnyTensor, Array, element_type_of_value, ints, is_float_dtype, shape_of, tensor, type_of, widened
from ..window_sizes import (
    Window,
    channel_axis,
    channels_first,
    from_channels_first,
    full_shape,
    spatial_shape,
    usual_window,
)


class PoolOptions(TypedDict, total=False):
    """Optional arguments of a pool. Absent strides and dilations are ones, absent pads are zeros."""

    strides: Sequence[int] | None
    pads: Sequence[int] | None
    dilations: Sequence[int] | None
    ceil_mode: bool
    layout: str
    location: LocationAttr | None


class PoolOp(ReductionOp, ABC):
    """A reduction over a spatial window, per channel."""

    FORM: ClassVar[str] = "windows"
    LINEAR: ClassVar[bool] = False

    x = operand_def()
    kernel = prop_def(DenseArrayBase[IntegerType])
    strides = prop_def(DenseArrayBase[IntegerType])
    pads = prop_def(DenseArrayBase[IntegerType])
    dilations = prop_def(DenseArrayBase[IntegerType])
    ceil_mode = opt_prop_def(UnitAttr)
    layout = prop_def(StringAttr)
    result = result_def()

    def _pool(self, x: SSAValue | Operation, kernel: Sequence[int], options: PoolOptions, **more: Property) -> None:
        self._build(
            (x,),
            options.get("location"),
            kernel=kernel,
            **usual_window(len(kernel), options.get("strides"), options.get("pads"), options.get("dilations")),
            ceil_mode=options.get("ceil_mode", False),
            layout=options.get("layout", "NCHW"),
            **more,
        )

    @property
    def window(self) -> Window:
        """The kernel's geometry."""
        return Window.of(ints(self.kernel), ints(self.strides), ints(self.pads), ints(self.dilations))

    @property
    @override
    def instructions(self) -> int:
        return 2 * prod(shape_of(self.result)) * prod(self.kernel.get_values())  # loaded and compared

    def positions(self) -> tuple[int, ...]:
        """The spatial sizes of the result."""
        return self.window.positions(spatial_shape(shape_of(self.x), self.layout.data), self.ceil_mode is not None)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_numbers(self.x)
        x, layout = shape_of(self.x), self.layout.data
        rank = len(x) - 2
        require(rank >= 1, "a pool needs a batch, a channel and at least one spatial dimension")
        require(
            len(ints(self.kernel)) == rank,
            f"{rank} spatial dimensions, but a kernel of {len(ints(self.kernel))}",
        )
        channels = x[channel_axis(layout, len(x))]
        return [tensor(element_type_of_value(self.x), full_shape(x[0], channels, self.positions(), layout))]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        space = range(len(ints(self.kernel)))
        dims = full_shape("n", "c", space, self.layout.data)
        return self.labelled_axes([dims], dims, self.window.axes(ceil_mode=self.ceil_mode is not None))


@irdl_op_definition
class MaxPoolOp(PoolOp):
    """The largest element under each window, propagating NaN; padding is ignored."""

    name = "graph.max_pool"

    def __init__(self, x: SSAValue | Operation, kernel: Sequence[int], **options: Unpack[PoolOptions]):
        self._pool(x, kernel, options)

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x = channels_first(arrays[0], self.layout.data)
        lowest = -np.inf if is_float_dtype(x.dtype) else np.iinfo(x.dtype).min
        positions = self.positions()
        padded = self.window.padded(x, positions, lowest)
        result = np.full((*x.shape[:2], *positions), lowest, x.dtype)
        for _, slices in self.window.taps(positions):
            result = np.maximum(result, padded[:, :, *slices])
        return (from_channels_first(result, self.layout.data),)


@irdl_op_definition
class MaxPoolIndexOp(PoolOp):
    """The flat index, in x [N, C, spatial...], of the largest element under each window.

    The first of several; the first NaN if there is one. With `column_major` the first spatial dimension varies fastest.
    -1 for a window that covers only padding.
    """

    name = "graph.max_pool_index"

    column_major = opt_prop_def(UnitAttr)

    def __init__(
        self,
        x: SSAValue | Operation,
        kernel: Sequence[int],
        *,
        column_major: bool = False,
        **options: Unpack[PoolOptions],
    ):
        self._pool(x, kernel, options, column_major=column_major)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        return [tensor(i64, pooled.get_shape()) for pooled in super().infer_types()]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        (axes,) = super().operand_axes()  # its numbers count through all of x
        return [tuple(Numbered(axis.to) if isinstance(axis, Kept) else axis for axis in axes)]

    def spatial_strides(self) -> tuple[int, ...]:
        """The strides of the flat index along the spatial dimensions."""
        sizes = spatial_shape(shape_of(self.x), self.layout.data)
        if self.column_major is None:
            return tuple(prod(sizes[axis + 1 :]) for axis in range(len(sizes)))
        return tuple(prod(sizes[:axis]) for axis in range(len(sizes)))

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x = channels_first(arrays[0], self.layout.data)
        positions, spatial = self.positions(), range(2, x.ndim)
        fastest_last = spatial if self.column_major is None else reversed(spatial)
        order = (0, 1, *fastest_last)
        counted = np.arange(x.size).reshape([x.shape[axis] for axis in order])
        numbers = counted.transpose(order)  # an order that is its own inverse
        padded = self.window.padded(x, positions, 0)
        places = self.window.padded(numbers, positions, -1)
        best = np.zeros((*x.shape[:2], *positions), x.dtype)
        found = np.full(best.shape, -1, np.int64)
        for _, slices in self.window.taps(positions):
            value, place = padded[:, :, *slices], places[:, :, *slices]
            better = (found < 0) | (value > best) | ((value != value) & (best == best))
            better &= place >= 0
            best, found = np.where(better, value, best), np.where(better, place, found)
        return (from_channels_first(found, self.layout.data),)


@irdl_op_definition
class AvgPoolOp(PoolOp):
    """The mean of the elements under each window.

    Padding isn't counted, or with `count_include_pad` counts as zeros; the overhang of a `ceil_mode` window beyond the
    padding is never counted.
    """

    name = "graph.avg_pool"

    count_include_pad = opt_prop_def(UnitAttr)

    def __init__(
        self,
        x: SSAValue | Operation,
        kernel: Sequence[int],
        *,
        count_include_pad: bool = False,
        **options: Unpack[PoolOptions],
    ):
        self._pool(x, kernel, options, count_include_pad=count_include_pad)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_float(self.x)
        return super().infer_types()

    def counts(self) -> Array:
        """The divisor of each window's sum, int64, of the result's spatial shape."""
        window, positions = self.window, self.positions()
        spatial = spatial_shape(shape_of(self.x), self.layout.data)
        counted = np.ones((1, 1, *spatial), np.int64)
        if self.count_include_pad is not None:
            pads = zip(window.begin, window.end, strict=True)
            counted = np.pad(counted, [(0, 0), (0, 0), *pads], constant_values=1)
            window = Window.of(window.kernel, window.strides, (0,) * len(ints(self.pads)), window.dilations)
        padded = window.padded(counted, positions, 0)
        return sum((padded[0, 0, *slices] for _, slices in window.taps(positions)), np.zeros(positions, np.int64))

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x = channels_first(widened(arrays[0]), self.layout.data)
        positions = self.positions()
        padded = self.window.padded(x, positions, 0)
        result = np.zeros((*x.shape[:2], *positions), x.dtype)
        for _, slices in self.window.taps(positions):
            result += padded[:, :, *slices]
        with np.errstate(all="ignore"):
            result /= self.counts().astype(x.dtype)
        return (from_channels_first(result, self.layout.data).astype(arrays[0].dtype),)


@irdl_op_definition
class LrnOp(ReductionOp):
    """x / (bias + alpha / size * s)^beta, where s is the sum of squares of the `size` channels around x's own."""

    name = "graph.lrn"
    FORM: ClassVar[str] = "windows"
    LINEAR: ClassVar[bool] = False
    INSTRUCTIONS: ClassVar[int] = 16

    x = operand_def()
    size = prop_def(IntegerAttr[IntegerType])
    alpha = prop_def(FloatAttr[Float64Type])
    beta = prop_def(FloatAttr[Float64Type])
    bias = prop_def(FloatAttr[Float64Type])
    layout = prop_def(StringAttr)
    result = result_def()

    def __init__(
        self,
        x: SSAValue | Operation,
        size: int,
        alpha: float = 1e-4,
        beta: float = 0.75,
        bias: float = 1.0,
        layout: str = "NCHW",
        location: LocationAttr | None = None,
    ):
        self._build((x,), location, size=size, alpha=float(alpha), beta=float(beta), bias=float(bias), layout=layout)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_float(self.x)
        require(self.size.value.data >= 1, "the number of channels must be positive")
        require(len(shape_of(self.x)) >= 2, "needs a batch and a channel dimension")
        channel_axis(self.layout.data, len(shape_of(self.x)))
        return [type_of(self.x)]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        dims, size = range(len(shape_of(self.x))), self.size.value.data
        window = partial(Windowed, taps=size, before=(size - 1) // 2, after=size // 2)
        return self.labelled_axes([dims], dims, {channel_axis(self.layout.data, len(dims)): window})

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x = channels_first(widened(arrays[0]), self.layout.data)
        size, channels = self.size.value.data, x.shape[1]
        before = (size - 1) // 2
        squares = np.pad(x * x, [(0, 0), (before, size - 1 - before), *[(0, 0)] * (x.ndim - 2)])
        total = sum((squares[:, start : start + channels] for start in range(size)), np.zeros_like(x))
        scale = self.bias.value.data + self.alpha.value.data / size * total
        result = x / scale**self.beta.value.data
        return (from_channels_first(result, self.layout.data).astype(arrays[0].dtype),)
