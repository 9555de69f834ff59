"""Products of quantised numbers as integer products with correction terms for zero points.

    sum((a - za) (b - zb)) = sum(a b) - za sum(b) - zb (sum(a) - depth za)

What is known of the terms is computed by fold-constants; the sum of weights, and the weights themselves without their
zero points, here.
"""

from __future__ import annotations

from math import prod

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import Float64Type, f32, f64, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ....dialects.graph.ops.contraction import ConvOp, MatmulOp
from ....dialects.graph.ops.elementwise import AddOp, MulOp, SubOp, WhereOp
from ....dialects.graph.ops.movement import PadOp, TransposeOp
from ....dialects.graph.ops.quantization import DequantizeOp, integer_range
from ....dialects.graph.values import element_type_of_value, ints, shape_of
from ....dialects.sizes.sizes import is_fixed
from .pattern_utils import GraphPattern, defining, rewrites
from .quantized_levels import Levels, Writer, integer, levels_of, summed

_UNIT = 1e-6  # relative tolerance of a bias's unit: tools differ in rounding the product of f32 scales


def beside_result(value: SSAValue, transposed: bool, depth_axis: int, writer: Writer) -> SSAValue | None:
    """A parameter of a product's operand, broadcast to the result; None if it varies along the contracted axis.

    `depth_axis` is the contracted axis of the operand: -1 or -2.
    """
    shape = shape_of(value)
    if prod(shape) == 1:
        return writer.reshape(value, ())
    shape = (1,) * (2 - len(shape)) + shape
    value = writer.reshape(value, shape)
    if transposed:
        rank = len(shape)
        value = writer.emit(TransposeOp(value, (*range(rank - 2), rank - 1, rank - 2)))
    return value if shape_of(value)[depth_axis] == 1 else None


def matmul_sums(op: MatmulOp, a: Levels, b: Levels, writer: Writer) -> SSAValue | None:
    """The i32 sums of a product, unscaled; None if a zero point varies along the contracted axis."""
    flags = (op.transpose_a is not None, op.transpose_b is not None)
    zeros: list[SSAValue | None] = []
    for levels, flag, axis in ((a, flags[0], -1), (b, flags[1], -2)):
        zero = levels.zero
        if zero is not None:
            zero = beside_result(writer.cast(zero, i32), flag, axis, writer)
            if zero is None:
                return None
        zeros.append(zero)
    za, zb = zeros

    def sums(levels: Levels, flag: bool, axis: int) -> SSAValue:
        rank = len(shape_of(levels.numbers))
        along = rank + (-3 - axis if flag else axis)  # of the last two, the other one where they are swapped
        total = summed(levels.numbers, [along], writer)
        swapped = (*range(rank - 2), rank - 1, rank - 2)
        return writer.emit(TransposeOp(total, swapped)) if flag else total

    result = writer.emit(MatmulOp(a.numbers, b.numbers, *flags))
    if za is not None:
        factor = sums(b, flags[1], -2)
        if zb is not None:
            depth = shape_of(a.numbers)[-2 if flags[0] else -1]
            if not is_fixed(depth):
                return None
            count = writer.array(np.array(depth, np.int32))
            factor = writer.emit(SubOp(factor, writer.emit(MulOp(zb, count))))
        result = writer.emit(SubOp(result, writer.emit(MulOp(za, factor))))
    if zb is not None:
        result = writer.emit(SubOp(result, writer.emit(MulOp(zb, sums(a, flags[0], -1)))))
    return result


def per_channel(value: SSAValue, rank: int, writer: Writer) -> SSAValue | None:
    """A weight's per-output-channel parameter, reshaped to broadcast with a result of `rank`; None for others."""
    shape = shape_of(value)
    if prod(shape) == 1:
        return writer.reshape(value, ())
    if len(shape) != rank or prod(shape) != shape[0]:
        return None
    return writer.reshape(value, (shape[0], *[1] * (rank - 2)))


def conv_sums(op: ConvOp, x: Levels, weight: Levels, bias: SSAValue | None, writer: Writer) -> SSAValue | None:
    """The i32 sums of a convolution (in NCHW), unscaled, with an i32 `bias`; None if they can't be expressed."""
    zx = x.zero
    if zx is not None and prod(shape_of(zx)) != 1:
        return None
    if weight.zero is not None and op.groups.value.data != 1:
        return None
    if not is_fixed(*shape_of(weight.numbers)):
        return None
    numbers, pads, pad_value = x.numbers, list(ints(op.pads)), integer(writer.constants, zx)
    rank = len(shape_of(numbers))
    if any(pads) and pad_value is None:
        if not is_fixed(*shape_of(numbers)[2:]):
            return None
        numbers, pads, pad_value = _padded(x, pads, writer), [0] * len(pads), 0
    low, high = integer_range(element_type_of_value(numbers))
    if pad_value is not None and not low <= pad_value <= high:
        return None

    def convolution(weight: SSAValue, bias: SSAValue | None) -> SSAValue:
        return writer.emit(
            ConvOp(
                numbers,
                weight,
                bias,
                strides=ints(op.strides),
                pads=pads,
                dilations=ints(op.dilations),
                groups=op.groups.value.data,
                pad_value=pad_value or 0,
            )
        )

    channels = shape_of(weight.numbers)[0]
    zero = None if zx is None else writer.reshape(writer.cast(zx, i32), ())
    zw = None if weight.zero is None else per_channel(writer.cast(weight.zero, i32), rank, writer)
    if weight.zero is not None and zw is None:
        return None
    if zero is not None:
        factor = writer.reshape(summed(weight.numbers, range(1, rank), writer), (channels,))
        if zw is not None:
            count = writer.array(np.array(prod(shape_of(weight.numbers)[1:]), np.int32))
            flat = writer.reshape(zw, (channels,)) if shape_of(zw) else zw
            factor = writer.emit(SubOp(factor, writer.emit(MulOp(flat, count))))
        term = writer.emit(MulOp(zero, factor))
        bias = writer.emit(SubOp(bias if bias is not None else writer.array(np.zeros((channels,), np.int32)), term))
    result = convolution(weight.numbers, bias)
    if zw is not None:
        ones = writer.array(np.ones((1, *shape_of(weight.numbers)[1:]), np.int8))
        result = writer.emit(SubOp(result, writer.emit(MulOp(zw, convolution(ones, None)))))
    return result


def _padded(x: Levels, pads: list[int], writer: Writer) -> SSAValue:
    """The numbers padded with their zero point, which is known at run time only."""
    assert x.zero is not None
    spatial = len(pads) // 2
    low, high = ([0, 0, *pads[:spatial]], [0, 0, *pads[spatial:]])
    type = element_type_of_value(x.numbers)
    padded = writer.emit(PadOp(x.numbers, low, high))
    inside = np.zeros((1, 1, *shape_of(padded)[2:]), np.bool_)
    inside[
        ..., *(slice(before, before + size) for before, size in zip(pads, shape_of(x.numbers)[2:], strict=False))
    ] = True
    zero = writer.cast(writer.reshape(x.zero, ()), type)
    return writer.emit(WhereOp(writer.array(inside), padded, zero))


def _scaled(sums: SSAValue, scales: tuple[SSAValue, SSAValue], type: Attribute, writer: Writer) -> SSAValue:
    """The sums times both scales, in the type of a float product, or in f32 if that is narrower."""
    wide = f64 if isinstance(type, Float64Type) else f32
    scale = writer.emit(MulOp(writer.cast(scales[0], wide), writer.cast(scales[1], wide)))
    return writer.emit(MulOp(writer.cast(sums, wide), scale))


class IntegerMatmul(GraphPattern):
    """matmul(dequantize(a), dequantize(b)) -> cast(matmul(a, b)) * scales; and so for what was cast to i32"""

    @rewrites
    @override
    def match_and_rewrite(self, op: MatmulOp, rewriter: PatternRewriter, /) -> None:
        writer = Writer(self.constants, op.location)
        axes = (-1 if op.transpose_a is None else -2, -2 if op.transpose_b is None else -1)
        a, b = (levels_of(value, [axis], writer) for value, axis in zip(op.operands, axes, strict=True))
        if a is None or b is None:
            return writer.discard()
        scales: list[SSAValue] = []
        for levels, transposed, axis in ((a, op.transpose_a, -1), (b, op.transpose_b, -2)):
            if levels.scale is not None:
                scale = beside_result(levels.scale, transposed is not None, axis, writer)
                if scale is None:
                    return writer.discard()
                scales.append(scale)
        sums = matmul_sums(op, a, b, writer)
        if sums is None:
            return writer.discard()
        if scales:
            type = element_type_of_value(op.result)
            writer.cast(_scaled(sums, (scales[0], scales[1]), type, writer), type)
        rewriter.replace(op, writer.ops)


class IntegerConv(GraphPattern):
    """conv(dequantize(x), dequantize(w), b) -> cast(conv(x, w)) * scales + b; and so for what was cast to i32"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ConvOp, rewriter: PatternRewriter, /) -> None:
        writer = Writer(self.constants, op.location)
        bias, rank = op.bias, len(shape_of(op.x))
        x, weight = levels_of(op.x, (), writer), levels_of(op.weight, range(1, rank), writer)
        if x is None or weight is None or op.layout.data != "NCHW":
            return writer.discard()
        if x.scale is None or weight.scale is None:
            if conv_sums(op, x, weight, bias, writer) is None:
                return writer.discard()
            return rewriter.replace(op, writer.ops)
        scale = per_channel(weight.scale, rank, writer)
        if scale is None or prod(shape_of(x.scale)) != 1:
            return writer.discard()
        steps = self._steps(bias, x.scale, weight.scale)
        sums = conv_sums(op, x, weight, steps, writer)
        if sums is None:
            return writer.discard()
        type = element_type_of_value(op.result)
        result = _scaled(sums, (writer.reshape(x.scale, ()), scale), type, writer)
        if bias is not None and steps is None:
            channels = writer.reshape(bias, (shape_of(bias)[0], *[1] * (rank - 2)))
            result = writer.emit(AddOp(result, writer.cast(channels, element_type_of_value(result))))
        writer.cast(result, type)
        rewriter.replace(op, writer.ops)

    def _steps(self, bias: SSAValue | None, x_scale: SSAValue, scale: SSAValue) -> SSAValue | None:
        """The i32 from which a bias is dequantised, if its unit is the product of the scales."""
        inner = None if bias is None else defining(bias, DequantizeOp)
        if inner is None or element_type_of_value(inner.x) != i32:
            return None
        if inner.zero_point is not None and not self.constants.is_scalar(inner.zero_point, 0):
            return None
        arrays = [self.constants.array(value) for value in (inner.scale, x_scale, scale)]
        given, first, second = (None if array is None else array.astype(np.float64).reshape(-1) for array in arrays)
        if given is None or first is None or second is None:
            return None
        return inner.x if np.allclose(given, first * second, rtol=_UNIT, atol=0) else None
