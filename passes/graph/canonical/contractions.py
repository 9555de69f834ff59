"""Patterns that absorb transposes, per-channel constants and padding into matrix products and convolutions."""

from __future__ import annotations

import numpy as np
from typing_extensions import override
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ....dialects.graph.ops.contraction import ConvOp, ConvTransposeOp, MatmulOp, is_byte
from ....dialects.graph.ops.elementwise import AddOp, DivOp, MulOp, SubOp
from ....dialects.graph.ops.movement import PadOp, ReshapeOp, TransposeOp
from ....dialects.graph.values import element_type_of_value, int_attr, ints, ints_attr, shape_of
from ....dialects.graph.window_sizes import channel_axis, spatial_axes
from ...geometry.shape_maps import is_identity
from ..support.conv_affine import AnyConv, channel_vector, scale_outputs
from ..support.pattern_utils import GraphPattern, defining, only_use, rewrites, with_operands


def _untransposed(value: SSAValue) -> tuple[TransposeOp | None, SSAValue] | None:
    """A matrix operand with its last two dims swapped: (new transpose or None, value).

    None if `value` isn't a transpose that moves the last two dims.
    """
    transpose = defining(value, TransposeOp)
    if transpose is None:
        return None
    permutation = ints(transpose.permutation)
    if permutation[-2] < permutation[-1]:
        return None
    swapped = (*permutation[:-2], permutation[-1], permutation[-2])
    if is_identity(swapped):
        return None, transpose.x
    new = TransposeOp(transpose.x, swapped, location=transpose.location)
    return new, new.result


class TransposeIntoMatmul(GraphPattern):
    """matmul(a, transpose(b)) with b's last two dims swapped -> matmul(a, b) {transpose_b}; likewise for a"""

    @rewrites
    @override
    def match_and_rewrite(self, op: MatmulOp, rewriter: PatternRewriter, /) -> None:
        operands = [op.lhs, op.rhs]
        flags = [op.transpose_a is not None, op.transpose_b is not None]
        for side, operand in enumerate(operands):
            found = _untransposed(operand)
            if found is None:
                continue
            made, operands[side] = found
            flags[side] = not flags[side]
            new = MatmulOp(operands[0], operands[1], *flags, location=op.location, lhs_as=op.lhs_as, sums=op.sums)
            rewriter.replace(op, [new] if made is None else [made, new])
            return


class TransposeOfMatmul(GraphPattern):
    """transpose(matmul(w, x)) with the last two dims swapped, w constant -> matmul(transpose x, transpose w)"""

    @rewrites
    @override
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /) -> None:
        matmul = only_use(op.x, MatmulOp)
        permutation = ints(op.permutation)
        rank = len(permutation)
        if matmul is None or permutation != (*range(rank - 2), rank - 1, rank - 2):
            return
        if self.constants.is_constant(matmul.lhs):
            flags = matmul.transpose_b is None, matmul.transpose_a is None
            new = MatmulOp(matmul.rhs, matmul.lhs, *flags, location=matmul.location, sums=matmul.sums)
            rewriter.replace(op, new)


class DropUnitBatchOfWeight(GraphPattern):
    """matmul(x, w) with a constant w [1, .., K, N] and an x of at least w's rank -> w [K, N]"""

    @rewrites
    @override
    def match_and_rewrite(self, op: MatmulOp, rewriter: PatternRewriter, /) -> None:
        shape = shape_of(op.rhs)
        if len(shape) <= 2 or any(size != 1 for size in shape[:-2]) or len(shape_of(op.lhs)) < len(shape):
            return
        if self.constants.is_constant(op.rhs):
            matrix = ReshapeOp(op.rhs, shape[-2:], location=op.location)
            rewriter.replace(op, [matrix, with_operands(op, [op.lhs, matrix.result])])


def _conv_before(value: SSAValue) -> AnyConv | None:
    """The convolution that defines `value`, if that has a single use."""
    return only_use(value, ConvOp) or only_use(value, ConvTransposeOp)


class ChannelConstantIntoConv(GraphPattern):
    """conv(x, w, b) * c, / c, + c, - c with per-channel c -> a conv with another weight and bias"""

    @rewrites
    @override
    def match_and_rewrite(self, op: AddOp | SubOp | MulOp | DivOp, rewriter: PatternRewriter, /) -> None:
        conv = _conv_before(op.lhs)
        if conv is None or shape_of(conv.result) != shape_of(op.result):
            return
        vector = channel_vector(self.constants, op.rhs, shape_of(op.result), conv.layout.data)
        if vector is None:
            return
        match op:
            case MulOp():
                scale, shift = vector, np.zeros_like(vector)
            case DivOp():
                scale, shift = 1 / vector, np.zeros_like(vector)
            case AddOp():
                scale, shift = np.ones_like(vector), vector
            case _:
                scale, shift = np.ones_like(vector), -vector
        made = scale_outputs(conv, scale, shift, self.constants)
        if made is not None:
            rewriter.replace(op, made)


def _pads_alike(op: ConvOp, pad: PadOp) -> bool:
    """Whether a convolution supports the padding value of its operand's pad: floats only 0."""
    value = pad.value.value.data
    if not any(ints(op.pads)) and is_byte(element_type_of_value(op.x)):
        return True
    return value == op.padding


class PadIntoConv(GraphPattern):
    """conv(pad(x)), padded spatially with the conv's own padding value -> conv(x) with larger pads"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ConvOp, rewriter: PatternRewriter, /) -> None:
        pad = defining(op.x, PadOp)
        if pad is None or pad.mode.data != "constant" or not _pads_alike(op, pad):
            return
        low, high = ints(pad.low), ints(pad.high)
        rank = len(low)
        axes = spatial_axes(op.layout.data, rank)
        outside = (0, channel_axis(op.layout.data, rank))
        if min(*low, *high) < 0 or any(low[axis] or high[axis] for axis in outside):
            return
        added = [low[axis] for axis in axes] + [high[axis] for axis in axes]
        op.pads = ints_attr([old + more for old, more in zip(ints(op.pads), added, strict=True)])
        op.operands = (pad.x, *op.operands[1:])
        if pad.value.value.data != 0:
            op.pad_value = int_attr(int(pad.value.value.data))
        rewriter.notify_op_modified(op)


class ColumnIntoRow(GraphPattern):
    """conv(x, w) of a picture one pixel wide with a window [k, 1] -> the same of a row of pixels with [1, k]

    Tiles of pixels lie along a picture's rows.
    """

    @rewrites
    @override
    def match_and_rewrite(self, op: ConvOp, rewriter: PatternRewriter, /) -> None:
        filters, channels, *kernel = shape_of(op.weight)
        if len(kernel) != 2 or kernel[1] != 1 or kernel[0] == 1:
            return
        rank = len(shape_of(op.x))
        high, wide = spatial_axes(op.layout.data, rank)
        pads = ints(op.pads)
        if shape_of(op.x)[wide] != 1 or shape_of(op.result)[wide] != 1 or pads[1] or pads[3]:
            return

        def turned(shape: tuple[int, ...]) -> tuple[int, ...]:
            sizes = list(shape)
            sizes[high], sizes[wide] = sizes[wide], sizes[high]
            return tuple(sizes)

        row = ReshapeOp(op.x, turned(shape_of(op.x)), location=op.location)
        weight = ReshapeOp(op.weight, (filters, channels, 1, kernel[0]), location=op.location)
        operands = [row.result, weight.result, *op.operands[2:]]
        changed = {
            "strides": ints_attr(ints(op.strides)[::-1]),
            "dilations": ints_attr(ints(op.dilations)[::-1]),
            "pads": ints_attr([0, pads[0], 0, pads[2]]),
        }
        conv = with_operands(op, operands, **changed)
        column = ReshapeOp(conv.results[0], shape_of(op.result), location=op.location)
        rewriter.replace(op, [row, weight, conv, column])
