"""Contractions: matrix product, convolution, transposed convolution."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float32Type,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    Signedness,
    StringAttr,
    UnitAttr,
    bf16,
    f32,
    i8,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def

from ...sizes.sizes import equal, equal_shapes
from ..axes import Axes, Special, Spread, Whole
from ..base import ContractionOp, broadcast, require, require_float, require_numbers, require_same_element_type
from ..values import AnyTensor, Array, element_type_of_value, ints, numpy_dtype, shape_of, tensor, widened
from ..window_sizes import (
    Window,
    channel_axis,
    channels_first,
    from_channels_first,
    full_shape,
    spatial_shape,
    usual_window,
)
from .block_weight import BlockWeight

MOST_EVALUATED = 2**30  # products of a matrix product: numpy takes about a second for so many of integers
BYTES = (IntegerType(8), IntegerType(8, Signedness.UNSIGNED))


def is_byte(type: Attribute) -> bool:
    """Whether it is an 8-bit integer type, signed or not."""
    return type in BYTES


def sums_type(lhs: SSAValue, rhs: SSAValue, sums: Attribute | None = None) -> Attribute:
    """The result type of a contraction: i32 for 8-bit integers of any signedness; otherwise the operands' common type.

    It is `sums`, f32, if that is given for operands of bf16. Raises VerifyException for operands of incompatible types.
    """
    require_numbers(lhs)
    if is_byte(element_type_of_value(lhs)) and is_byte(element_type_of_value(rhs)):
        require(sums is None, "sums of bytes are i32")
        return i32
    require_same_element_type(lhs, rhs)
    type = element_type_of_value(lhs)
    require(sums is None or (type == bf16 and sums == f32), f"sums of {type} can't be {sums}, only those of bf16 f32")
    return sums or type


def _factors(type: Attribute, *arrays: Array) -> list[Array]:
    """Operands in the type in which they are multiplied and summed.

    Bytes are computed in float64, in which sums of any feasible length are exact.
    """
    return [array.astype(np.float64) if is_byte(type) else widened(array) for array in arrays]


def _sums(total: Array, op: MatmulOp | ConvOp, dtype: np.dtype[Any]) -> Array:
    """Sums converted to the result's type, which is the operands' `dtype` if no other; those of bytes wrap around."""
    if op.sums is not None:
        return total
    return (
        total.astype(np.int64).astype(np.int32)
        if is_byte(element_type_of_value(op.operands[0]))
        else total.astype(dtype)
    )


@irdl_op_definition
class MatmulOp(ContractionOp):
    """The matrix product over the last two dimensions; the leading ones broadcast.

    A flag marks an operand whose matrices are transposed. Both operands have rank 2 or more. They have one type, which
    is the result's; or they are bf16, and the result is of the type `sums`, f32; or both are 8-bit integers of any
    signedness, and the result is i32, with wrap-around.

    `lhs_as` permits rounding the left operand, of floats, to that type (i8) with a scale per block of a transposed
    block weight (see `rounded_by_blocks`). Other right operands have no blocks, and it has no effect.
    """

    name = "graph.matmul"

    lhs = operand_def()
    rhs = operand_def()
    transpose_a = opt_prop_def(UnitAttr)
    transpose_b = opt_prop_def(UnitAttr)
    lhs_as = opt_prop_def(IntegerType)
    sums = opt_prop_def(Float32Type)
    result = result_def()

    def __init__(
        self,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        transpose_a: bool = False,
        transpose_b: bool = False,
        location: LocationAttr | None = None,
        lhs_as: IntegerType | None = None,
        sums: Float32Type | None = None,
    ):
        flags = {"transpose_a": transpose_a, "transpose_b": transpose_b}
        self._build((lhs, rhs), location, **flags, lhs_as=lhs_as, sums=sums)

    @property
    def rounding_blocks(self) -> BlockWeight | None:
        """The block weight by whose blocks the left operand may be rounded."""
        weight = self.rhs.owner
        allowed = self.lhs_as is not None and self.transpose_b is not None
        return weight if allowed and isinstance(weight, BlockWeight) else None

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        sums = sums_type(self.lhs, self.rhs, self.sums)
        if self.lhs_as is not None:
            require(self.lhs_as == i8, f"the left operand can be rounded to i8, not to {self.lhs_as}")
            require_float(self.lhs, "an operand that may be rounded")
        batch_a, rows, depth = _matrices(self.lhs, self.transpose_a is not None)
        batch_b, depth_b, columns = _matrices(self.rhs, self.transpose_b is not None)
        require(equal(depth, depth_b), f"{depth} columns on the left, but {depth_b} rows on the right")
        return [tensor(sums, (*broadcast(batch_a, batch_b), rows, columns))]

    @property
    @override
    def products(self) -> int:
        return prod(shape_of(self.result)) * shape_of(self.lhs)[-1 if self.transpose_a is None else -2]

    @override
    def is_cheap(self) -> bool:
        return super().is_cheap() and self.products <= MOST_EVALUATED

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        dims = len(shape_of(self.result))
        batch, rows, columns = range(dims - 2), dims - 2, dims - 1
        lhs = (rows, "depth") if self.transpose_a is None else ("depth", rows)
        rhs = ("depth", columns) if self.transpose_b is None else (columns, "depth")
        return self.labelled_axes([(*batch, *lhs), (*batch, *rhs)], range(dims))

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        type = element_type_of_value(self.lhs)
        a, b = _factors(type, *arrays)
        a = a if self.transpose_a is None else np.swapaxes(a, -1, -2)
        b = b if self.transpose_b is None else np.swapaxes(b, -1, -2)
        if (blocks := self.rounding_blocks) is not None:
            a = rounded_by_blocks(a, blocks.block.value.data)
        with np.errstate(all="ignore"):
            return (_sums(np.matmul(a, b), self, arrays[0].dtype),)


def rounded_by_blocks(x: Array, block: int) -> Array:
    """x as integers of [-127, 127] times a scale per `block` elements of the last axis: x after rounding to i8.

    The scale is the block's largest magnitude divided by 127, and x divided by it is rounded to the nearest integer,
    ties to even. The last block may be shorter. A block with a NaN or an infinity becomes NaN.
    """
    depth = x.shape[-1]
    padding = [(0, 0)] * (x.ndim - 1) + [(0, -depth % block)]
    blocks = np.pad(x, padding).reshape(*x.shape[:-1], -(-depth // block), block)
    with np.errstate(all="ignore"):
        scales: Array = np.abs(blocks).max(-1, keepdims=True, initial=0) / x.dtype.type(127)
        scales[~np.isfinite(scales)] = np.nan
        numbers: Array = np.clip(np.rint(blocks / np.where(scales == 0, 1, scales)), -127, 127)
        return (numbers * scales).reshape(*x.shape[:-1], -1)[..., :depth]


def _matrices(value: SSAValue, transposed: bool) -> tuple[list[int], int, int]:
    """The batch dimensions, the rows and the columns of an operand of a matrix product."""
    shape = list(shape_of(value))
    require(len(shape) >= 2, "operands of a matrix product need at least two dimensions")
    *batch, rows, columns = shape
    return (batch, columns, rows) if transposed else (batch, rows, columns)


def _convolution_axes(op: ConvOp | ConvTransposeOp, weight: tuple[str, str], windows: Special) -> Axes:
    """Axes of x, of a weight with these labels before its taps, and of a bias; groups split the channels."""
    x, y = (full_shape("n", channels, list(windows), op.layout.data) for channels in ("in", "out"))
    grouped: Special = dict.fromkeys(weight, Whole) if op.groups.value.data > 1 else {}
    taps = ["tap"] * len(windows)
    return op.labelled_axes([x, (*weight, *taps), ("out",)], y, {**windows, **grouped})


@irdl_op_definition
class ConvOp(ContractionOp):
    """Convolution (cross-correlation) over any number of spatial dimensions, plus a bias per channel.

    The weight is [Cout, Cin / groups, kernel...] in either layout; `layout` is that of x and of the result. x is padded
    with `pad_value`, a number of its type, which must be 0 for floats. Operands have one type, which is the result's;
    or x and the weight are bf16, and the bias and the result of the type `sums`, f32; or x and the weight are 8-bit
    integers of any signedness, and the bias and the result are i32, with wrap-around.
    """

    name = "graph.conv"
    WEIGHTS: ClassVar[tuple[int, ...]] = (1,)
    LINEAR: ClassVar[bool] = False  # windows may be far larger than what they are laid over

    x = operand_def()
    weight = operand_def()
    bias = opt_operand_def()
    strides = prop_def(DenseArrayBase[IntegerType])
    pads = prop_def(DenseArrayBase[IntegerType])
    dilations = prop_def(DenseArrayBase[IntegerType])
    groups = prop_def(IntegerAttr[IntegerType])
    layout = prop_def(StringAttr)
    pad_value = opt_prop_def(IntegerAttr[IntegerType])
    sums = opt_prop_def(Float32Type)
    result = result_def()

    def __init__(
        self,
        x: SSAValue | Operation,
        weight: SSAValue | Operation,
        bias: SSAValue | Operation | None = None,
        *,
        strides: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        dilations: Sequence[int] | None = None,
        groups: int = 1,
        layout: str = "NCHW",
        pad_value: int = 0,
        sums: Float32Type | None = None,
        location: LocationAttr | None = None,
    ):
        """Absent strides and dilations are ones, absent pads are zeros."""
        rank = len(shape_of(SSAValue.get(weight))) - 2
        self._build(
            (x, weight, bias),
            location,
            **usual_window(rank, strides, pads, dilations),
            groups=groups,
            layout=layout,
            pad_value=pad_value or None,
            sums=sums,
        )

    @property
    def window(self) -> Window:
        """The kernel's geometry."""
        return Window.of(shape_of(self.weight)[2:], ints(self.strides), ints(self.pads), ints(self.dilations))

    @property
    def padding(self) -> int:
        """The padding value of x."""
        return 0 if self.pad_value is None else self.pad_value.value.data

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        sums = sums_type(self.x, self.weight, self.sums)
        if self.pad_value is not None:
            _require_in_range(self.padding, element_type_of_value(self.x))
        x, weight, groups, layout = (
            shape_of(self.x),
            shape_of(self.weight),
            self.groups.value.data,
            self.layout.data,
        )
        require(len(x) == len(weight) >= 3, f"rank {len(x)} and a weight of rank {len(weight)} don't fit")
        channels = x[channel_axis(layout, len(x))]
        wanted = weight[1] * groups
        require(equal(channels, wanted), f"{channels} input channels, but the weight expects {wanted}")
        require(groups >= 1 and equal(weight[0] % groups, 0), f"{weight[0]} output channels in {groups} groups")
        if self.bias is not None:
            bias, type = shape_of(self.bias), element_type_of_value(self.bias)
            require(type == sums, f"sums of type {sums}, but a bias of type {type}")
            require(equal_shapes(bias, weight[:1]), f"{weight[0]} output channels, but a bias of shape {list(bias)}")
        positions = self.window.positions(spatial_shape(x, layout))
        return [tensor(sums, full_shape(x[0], weight[0], positions, layout))]

    @property
    @override
    def products(self) -> int:
        return prod(shape_of(self.result)) * prod(shape_of(self.weight)[1:])

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        return _convolution_axes(self, ("out", "in"), self.window.axes())

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        type = element_type_of_value(self.x)
        x, weight, *bias = _factors(type, *arrays)
        y = convolve(channels_first(x, self.layout.data), weight, self.window, self.groups.value.data, self.padding)
        for each in bias:
            y += each.reshape(-1, *[1] * (y.ndim - 2))
        return (_sums(from_channels_first(y, self.layout.data), self, arrays[0].dtype),)


def _require_in_range(padding: int, type: Attribute) -> None:
    """Raises VerifyException unless the padding value is representable in the type."""
    dtype = numpy_dtype(type)
    require(dtype.kind in "iu" or padding == 0, f"{type} is padded with 0 only, got {padding}")
    fits = dtype.kind not in "iu" or np.iinfo(dtype).min <= padding <= np.iinfo(dtype).max
    require(fits, f"{type} has no {padding} to pad with")


def convolve(x: Array, weight: Array, window: Window, groups: int, padding: int = 0) -> Array:
    """x [N, Cin, spatial...] with weight [Cout, Cin / groups, kernel...], as a matrix product for each image."""
    positions = window.positions(x.shape[2:])
    outputs, inputs = weight.shape[:2]
    padded = window.padded(x, positions, padding)
    matrices = weight.reshape(groups, outputs // groups, -1)
    result = np.empty((len(x), outputs, *positions), x.dtype)
    columns = np.empty((x.shape[1], prod(window.kernel), *positions), x.dtype)
    for image, y in zip(padded, result, strict=True):
        for tap, (_, slices) in enumerate(window.taps(positions)):
            columns[:, tap] = image[:, *slices]
        rows = columns.reshape(groups, inputs * prod(window.kernel), prod(positions))
        y[...] = np.matmul(matrices, rows).reshape(y.shape)
    return result


@irdl_op_definition
class ConvTransposeOp(ContractionOp):
    """Transposed convolution: each element of x adds a scaled copy of the kernel to the result.

    The weight is [Cin, Cout / groups, kernel...] in either layout; `layout` is that of x and of the result. Pads are
    cropped from the full result, and `output_padding` extends it at each dimension's end by elements that hold the bias
    only.
    """

    name = "graph.conv_transpose"
    FORM: ClassVar[str] = "map"
    LINEAR: ClassVar[bool] = False

    x = operand_def()
    weight = operand_def()
    bias = opt_operand_def()
    strides = prop_def(DenseArrayBase[IntegerType])
    pads = prop_def(DenseArrayBase[IntegerType])
    dilations = prop_def(DenseArrayBase[IntegerType])
    groups = prop_def(IntegerAttr[IntegerType])
    output_padding = prop_def(DenseArrayBase[IntegerType])
    layout = prop_def(StringAttr)
    result = result_def()

    def __init__(
        self,
        x: SSAValue | Operation,
        weight: SSAValue | Operation,
        bias: SSAValue | Operation | None = None,
        *,
        strides: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        dilations: Sequence[int] | None = None,
        groups: int = 1,
        output_padding: Sequence[int] | None = None,
        layout: str = "NCHW",
        location: LocationAttr | None = None,
    ):
        """Absent strides and dilations are ones, absent pads and output padding are zeros."""
        rank = len(shape_of(SSAValue.get(weight))) - 2
        self._build(
            (x, weight, bias),
            location,
            **usual_window(rank, strides, pads, dilations),
            groups=groups,
            output_padding=output_padding or (0,) * rank,
            layout=layout,
        )

    @property
    def window(self) -> Window:
        """The kernel's geometry."""
        return Window.of(shape_of(self.weight)[2:], ints(self.strides), ints(self.pads), ints(self.dilations))

    def _full_spatial(self, spatial: Sequence[int]) -> tuple[int, ...]:
        """The result's spatial sizes before cropping."""
        window, extra = self.window, ints(self.output_padding)
        return tuple(
            (size - 1) * stride + extent + more
            for size, stride, extent, more in zip(spatial, window.strides, window.extent, extra, strict=True)
        )

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_numbers(self.x)
        require_same_element_type(self.x, self.weight, self.bias)
        x, weight, groups, layout = (
            shape_of(self.x),
            shape_of(self.weight),
            self.groups.value.data,
            self.layout.data,
        )
        require(len(x) == len(weight) >= 3, f"rank {len(x)} and a weight of rank {len(weight)} don't fit")
        channels = x[channel_axis(layout, len(x))]
        require(equal(channels, weight[0]), f"{channels} input channels, but the weight expects {weight[0]}")
        require(groups >= 1 and equal(channels % groups, 0), f"{channels} input channels in {groups} groups")
        extra = ints(self.output_padding)
        require(len(extra) == len(x) - 2, f"{len(x) - 2} spatial dimensions, but {len(extra)} output paddings")
        if self.bias is not None:
            bias = shape_of(self.bias)
            outputs = weight[1] * groups
            require(equal_shapes(bias, (outputs,)), f"{outputs} output channels, but a bias of shape {list(bias)}")
        window = self.window
        full = self._full_spatial(spatial_shape(x, layout))
        spatial = [size - begin - end for size, begin, end in zip(full, window.begin, window.end, strict=True)]
        require(all(size >= 1 for size in spatial), "the pads cut off the whole result")
        return [tensor(element_type_of_value(self.x), full_shape(x[0], weight[1] * groups, spatial, layout))]

    @property
    @override
    def products(self) -> int:
        return prod(shape_of(self.x)) * prod(shape_of(self.weight)[1:])

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        return _convolution_axes(self, ("in", "out"), self.window.axes(Spread))

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x, weight = channels_first(widened(arrays[0]), self.layout.data), widened(arrays[1])
        window, groups = self.window, self.groups.value.data
        full = self._full_spatial(x.shape[2:])
        batch, inputs, *positions = x.shape
        y = np.zeros((batch, weight.shape[1] * groups, *full), x.dtype)
        rows = np.ascontiguousarray(x).reshape(batch, groups, inputs // groups, prod(positions))
        matrices = weight.reshape(groups, inputs // groups, *weight.shape[1:])
        for index, slices in window.taps(positions):
            matrix = np.swapaxes(matrices[:, :, :, *index], 1, 2)
            y[:, :, *slices] += np.matmul(matrix, rows).reshape(batch, -1, *positions)
        kept = [slice(begin, size - end) for begin, size, end in zip(window.begin, full, window.end, strict=True)]
        y = y[:, :, *kept]
        if len(arrays) == 3:
            y = y + widened(arrays[2]).reshape(-1, *[1] * (y.ndim - 2))
        return (from_channels_first(y, self.layout.data).astype(arrays[0].dtype),)
