"""Normalisations: over the last dimensions, over a channel's elements, or with given statistics; also in two steps.

    %m = graph.row_moments %x {piece = 32 : i64} : (tensor<128x768xf32>) -> tensor<128x24x2xf32>
    %z = graph.normalize %x, %m {epsilon = 1.0e-5 : f64, centred}
      : (tensor<128x768xf32>, tensor<128x24x2xf32>) -> tensor<128x768xf32>

Whoever makes a piece of a row can make its moments, and whoever reads an element can normalise it: between the two
lies no pass over rows. Moments of pieces become those of the row as in Chan, Golub and LeVeque, 1979: nothing is lost
where a mean is large beside the deviations from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import Float64Type, FloatAttr, IntegerAttr, IntegerType, LocationAttr, StringAttr, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def

from ...sizes.sizes import equal_shapes
from ..axes import Axes, Kept, Numbered, Whole
from ..base import GraphOp, ReductionOp, broadcasts_to, require, require_axis, require_float, require_same_element_type
from ..values import AnyTensor, Array, element_type_of_value, shape_of, tensor, type_of, widened
from ..window_sizes import channel_axis, full_shape


def _check_fits(value: SSAValue | None, shape: tuple[int, ...], what: str) -> None:
    """Raises VerifyException unless the value broadcasts to `shape`."""
    if value is not None:
        given = shape_of(value)
        require(
            broadcasts_to(given, shape),
            f"a {what} of shape {list(given)} doesn't fit elements of shape {list(shape)}",
        )


def _check_per_channel(channels: int, **values: SSAValue) -> None:
    """Raises VerifyException unless each value is a vector with an entry per channel."""
    for what, value in values.items():
        given = shape_of(value)
        require(equal_shapes(given, (channels,)), f"{channels} channels, but a {what} of shape {list(given)}")


@irdl_op_definition
class LayerNormOp(ReductionOp):
    """(x - mean) / sqrt(variance + epsilon) * scale + bias over dimensions `axis` and on.

    Mean and variance are those of x over these dimensions; scale and bias broadcast to them.
    """

    name = "graph.layer_norm"
    INSTRUCTIONS: ClassVar[int] = 16

    x = operand_def()
    scale = operand_def()
    bias = opt_operand_def()
    axis = prop_def(IntegerAttr[IntegerType])
    epsilon = prop_def(FloatAttr[Float64Type])
    result = result_def()

    def __init__(
        self,
        x: SSAValue | Operation,
        scale: SSAValue | Operation,
        bias: SSAValue | Operation | None = None,
        *,
        axis: int,
        epsilon: float = 1e-5,
        location: LocationAttr | None = None,
    ):
        self._build((x, scale, bias), location, axis=axis, epsilon=float(epsilon))

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_float(self.x)
        require_same_element_type(self.x, self.scale, self.bias)
        shape = shape_of(self.x)
        normalised = shape[require_axis(self.axis.value.data, len(shape)) :]
        _check_fits(self.scale, normalised, "scale")
        _check_fits(self.bias, normalised, "bias")
        return [type_of(self.x)]

    @property
    @override
    def whole_axes(self) -> Sequence[int]:
        return range(self.axis.value.data, len(shape_of(self.x)))

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x, scale, *bias = (widened(array) for array in arrays)
        axes = tuple(self.whole_axes)
        centred = x - np.mean(x, axes, keepdims=True)
        variance = np.mean(centred * centred, axes, keepdims=True)
        result = centred / np.sqrt(variance + x.dtype.type(self.epsilon.value.data)) * scale
        if bias:
            result = result + bias[0]
        return (result.astype(arrays[0].dtype),)


@irdl_op_definition
class RmsNormOp(ReductionOp):
    """x / sqrt(mean of squares + epsilon) * scale, with the mean over dimensions `axis` and on."""

    name = "graph.rms_norm"
    INSTRUCTIONS: ClassVar[int] = 16

    x = operand_def()
    scale = operand_def()
    axis = prop_def(IntegerAttr[IntegerType])
    epsilon = prop_def(FloatAttr[Float64Type])
    result = result_def()

    def __init__(
        self,
        x: SSAValue | Operation,
        scale: SSAValue | Operation,
        *,
        axis: int,
        epsilon: float = 1e-5,
        location: LocationAttr | None = None,
    ):
        self._build((x, scale), location, axis=axis, epsilon=float(epsilon))

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_float(self.x)
        require_same_element_type(self.x, self.scale)
        shape = shape_of(self.x)
        _check_fits(self.scale, shape[require_axis(self.axis.value.data, len(shape)) :], "scale")
        return [type_of(self.x)]

    @property
    @override
    def whole_axes(self) -> Sequence[int]:
        return range(self.axis.value.data, len(shape_of(self.x)))

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x, scale = (widened(array) for array in arrays)
        axes = tuple(self.whole_axes)
        squares = np.mean(x * x, axes, keepdims=True)
        result = x / np.sqrt(squares + x.dtype.type(self.epsilon.value.data)) * scale
        return (result.astype(arrays[0].dtype),)


@irdl_op_definition
class BatchNormOp(GraphOp):
    """(x - mean) / sqrt(variance + epsilon) * scale + bias by channel, with mean and variance as operands."""

    name = "graph.batch_norm"

    x = operand_def()
    scale = operand_def()
    bias = operand_def()
    mean = operand_def()
    variance = operand_def()
    epsilon = prop_def(FloatAttr[Float64Type])
    layout = prop_def(StringAttr)
    result = result_def()

    def __init__(
        self,
        x: SSAValue | Operation,
        scale: SSAValue | Operation,
        bias: SSAValue | Operation,
        mean: SSAValue | Operation,
        variance: SSAValue | Operation,
        *,
        epsilon: float = 1e-5,
        layout: str = "NCHW",
        location: LocationAttr | None = None,
    ):
        self._build((x, scale, bias, mean, variance), location, epsilon=float(epsilon), layout=layout)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_float(self.x)
        shape = shape_of(self.x)
        require(len(shape) >= 2, "needs a batch and a channel dimension")
        channels = shape[channel_axis(self.layout.data, len(shape))]
        _check_per_channel(channels, scale=self.scale, bias=self.bias, mean=self.mean, variance=self.variance)
        return [type_of(self.x)]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        dims = full_shape("n", "c", range(len(shape_of(self.x)) - 2), self.layout.data)
        return self.labelled_axes([dims, *["c"] * 4], dims)

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x = widened(arrays[0])
        along = [1] * x.ndim
        along[channel_axis(self.layout.data, x.ndim)] = -1
        scale, bias, mean, variance = (widened(array).reshape(along) for array in arrays[1:])
        factor = scale / np.sqrt(variance + variance.dtype.type(self.epsilon.value.data))
        return (((x - mean) * factor + bias).astype(arrays[0].dtype),)


@irdl_op_definition
class InstanceNormOp(ReductionOp):
    """(x - mean) / sqrt(variance + epsilon) * scale + bias over the spatial dimensions of x.

    x is [N, C, spatial...]; mean and variance are its own, scale and bias have an entry per channel.
    """

    name = "graph.instance_norm"
    INSTRUCTIONS: ClassVar[int] = 10

    x = operand_def()
    scale = operand_def()
    bias = operand_def()
    epsilon = prop_def(FloatAttr[Float64Type])
    result = result_def()

    def __init__(
        self,
        x: SSAValue | Operation,
        scale: SSAValue | Operation,
        bias: SSAValue | Operation,
        *,
        epsilon: float = 1e-5,
        location: LocationAttr | None = None,
    ):
        self._build((x, scale, bias), location, epsilon=float(epsilon))

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_float(self.x)
        require_same_element_type(self.x, self.scale, self.bias)
        shape = shape_of(self.x)
        require(len(shape) >= 3, "needs a batch, a channel and at least one spatial dimension")
        _check_per_channel(shape[1], scale=self.scale, bias=self.bias)
        return [type_of(self.x)]

    @property
    @override
    def whole_axes(self) -> Sequence[int]:
        return range(2, len(shape_of(self.x)))

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        return [super().operand_axes()[0], (Kept(1),), (Kept(1),)]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x = widened(arrays[0])
        scale, bias = (widened(array).reshape(-1, *[1] * (x.ndim - 2)) for array in arrays[1:])
        axes = tuple(self.whole_axes)
        centred = x - np.mean(x, axes, keepdims=True)
        variance = np.mean(centred * centred, axes, keepdims=True)
        result = centred / np.sqrt(variance + x.dtype.type(self.epsilon.value.data)) * scale + bias
        return (result.astype(arrays[0].dtype),)


@irdl_op_definition
class RowMomentsOp(GraphOp):
    """The mean, and the sum of squared deviations from it, of each `piece` adjacent elements of the last dimension.

    x is [..., C], with C a multiple of `piece`; the result is [..., C / piece, 2].
    """

    name = "graph.row_moments"
    INSTRUCTIONS: ClassVar[int] = 4

    x = operand_def()
    piece = prop_def(IntegerAttr[IntegerType])
    result = result_def()

    def __init__(self, x: SSAValue | Operation, piece: int, *, location: LocationAttr | None = None):
        self._build((x,), location, piece=piece)

    @property
    def length(self) -> int:
        """Elements of a piece."""
        return self.piece.value.data

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_float(self.x)
        *rows, columns = shape_of(self.x) or (0,)
        require(self.length > 0, f"pieces of {self.length} elements")
        require(columns % self.length == 0, f"rows of {columns} elements have no whole pieces of {self.length}")
        return [tensor(element_type_of_value(self.x), (*rows, columns // self.length, 2))]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        rank = len(shape_of(self.x))
        return [(*map(Kept, range(rank - 1)), Whole(None))]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x = widened(arrays[0])
        pieces = x.reshape(*x.shape[:-1], x.shape[-1] // self.length, self.length)
        mean = np.mean(pieces, -1)
        squares = np.sum((pieces - mean[..., None]) ** 2, -1)
        return (np.stack([mean, squares], -1).astype(arrays[0].dtype),)


@irdl_op_definition
class NormalizeOp(GraphOp):
    """(x - mean) / sqrt(variance + epsilon) along the last dimension, with the moments of its pieces (row_moments).

    Not `centred`: x / sqrt(mean of squares + epsilon).
    """

    name = "graph.normalize"
    INSTRUCTIONS: ClassVar[int] = 3

    x = operand_def()
    moments = operand_def()
    epsilon = prop_def(FloatAttr[Float64Type])
    centred = opt_prop_def(UnitAttr)
    result = result_def()

    def __init__(
        self,
        x: SSAValue | Operation,
        moments: SSAValue | Operation,
        *,
        epsilon: float,
        centred: bool = True,
        location: LocationAttr | None = None,
    ):
        self._build((x, moments), location, epsilon=float(epsilon), centred=centred)

    @property
    def pieces(self) -> int:
        """Number of pieces of a row."""
        return shape_of(self.moments)[-2]

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_float(self.x)
        require_same_element_type(self.x, self.moments)
        shape, moments = shape_of(self.x), shape_of(self.moments)
        fits = len(moments) == len(shape) + 1 > 1 and equal_shapes((*moments[:-2], 2), (*shape[:-1], moments[-1]))
        whole = fits and moments[-2] > 0 and shape[-1] % moments[-2] == 0
        require(whole, f"moments of shape {list(moments)} don't fit elements of shape {list(shape)}")
        return [type_of(self.x)]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        rows = [*map(Kept, range(len(shape_of(self.x)) - 1))]
        return [(*rows, Numbered(len(rows))), (*rows, Whole(None), Whole(None))]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x, moments = (widened(array) for array in arrays)
        means, squares = moments[..., 0], moments[..., 1]
        length = x.shape[-1] // self.pieces
        mean = np.mean(means, -1, keepdims=True) if self.centred is not None else np.zeros_like(x[..., :1])
        between = np.sum((means - mean) ** 2, -1, keepdims=True) * x.dtype.type(length)
        variance = (np.sum(squares, -1, keepdims=True) + between) / x.dtype.type(x.shape[-1])
        result = (x - mean) / np.sqrt(variance + x.dtype.type(self.epsilon.value.data))
        return (result.astype(arrays[0].dtype),)
