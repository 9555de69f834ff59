"""fold-batch-norm: batch normalisation with constant statistics is folded into an adjacent convolution.

before:  %1 = graph.conv %x, %w, %b {..}    %2 = graph.batch_norm %1, %scale, %bias, %mean, %variance {..}
after:   %2 = graph.conv %x, %w', %b' {..}

Where there is no convolution before it, one after it takes it, if that pads nothing (padding is put in
after the normalisation and stays zero). Otherwise it becomes a multiplication and an addition with a
constant per channel. Constants per channel that follow the batch norm are taken along. New weights are
computed in double precision and rounded once. A batch norm whose parameters aren't constant stays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.graph.ops.contraction import ConvOp, ConvTransposeOp
from ...dialects.graph.ops.elementwise import AddOp, MulOp
from ...dialects.graph.ops.normalization import BatchNormOp
from ...dialects.graph.values import Array, element_type_of_value, ints, shape_of
from ...dialects.graph.window_sizes import channel_axis
from .support.conv_affine import channel_vector, scale_inputs, scale_outputs
from .support.pattern_utils import Constants, GraphPattern, apply_patterns, only_use, rewrites, with_operands


def _vector(constants: Constants, value: SSAValue) -> Array | None:
    array = constants.array(value)
    return None if array is None else array.astype(np.float64)


def _scale_and_shift(op: BatchNormOp, constants: Constants) -> tuple[Array, Array] | None:
    """The batch norm as x * scale + shift, both float64 [C]; None if a parameter isn't constant."""
    parameters = [_vector(constants, value) for value in op.operands[1:]]
    known = [parameter for parameter in parameters if parameter is not None]
    if len(known) < len(parameters):
        return None
    scale, bias, mean, variance = known
    factor = scale / np.sqrt(variance + op.epsilon.value.data)
    return factor, bias - mean * factor


class AffineIntoBatchNorm(GraphPattern):
    """batch_norm(x) * c or + c with per-channel constants -> batch_norm(x) with another scale and bias"""

    @rewrites
    @override
    def match_and_rewrite(self, op: MulOp | AddOp, rewriter: PatternRewriter, /) -> None:
        for norm_side, constant_side in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            norm = only_use(norm_side, BatchNormOp)
            if norm is None or shape_of(norm.result) != shape_of(op.result):
                continue
            layout = norm.layout.data
            factor = channel_vector(self.constants, constant_side, shape_of(op.result), layout)
            scale, bias = _vector(self.constants, norm.scale), _vector(self.constants, norm.bias)
            if factor is None or scale is None or bias is None:
                continue
            scale, bias = (scale * factor, bias * factor) if isinstance(op, MulOp) else (scale, bias + factor)
            element_type = element_type_of_value(norm.x)
            new_scale = self.constants.make_as(scale, element_type, norm.location)
            new_bias = self.constants.make_as(bias, element_type, norm.location)
            operands = [norm.x, new_scale.result, new_bias.result, norm.mean, norm.variance]
            rewriter.replace(op, [new_scale, new_bias, with_operands(norm, operands)])
            return


class BatchNormIntoConvBefore(GraphPattern):
    """batch_norm(conv(x)) -> conv(x) with another weight and bias; likewise for conv_transpose"""

    @rewrites
    @override
    def match_and_rewrite(self, op: BatchNormOp, rewriter: PatternRewriter, /) -> None:
        conv = only_use(op.x, ConvOp) or only_use(op.x, ConvTransposeOp)
        if conv is None or conv.layout.data != op.layout.data:
            return
        affine = _scale_and_shift(op, self.constants)
        made = None if affine is None else scale_outputs(conv, *affine, self.constants)
        if made is not None:
            rewriter.replace(op, made)


class BatchNormIntoConvAfter(GraphPattern):
    """conv(batch_norm(x)) without padding -> conv(x) with another weight and bias"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ConvOp, rewriter: PatternRewriter, /) -> None:
        norm = only_use(op.x, BatchNormOp)
        if norm is None or norm.layout.data != op.layout.data or any(ints(op.pads)):
            return
        affine = _scale_and_shift(norm, self.constants)
        made = None if affine is None else scale_inputs(op, *affine, self.constants)
        if made is not None:
            made[-1].operands[0] = norm.x
            rewriter.replace(op, made)


class BatchNormAsMulAdd(GraphPattern):
    """batch_norm(x) -> x * scale + shift with constants [C, 1, ..]"""

    @rewrites
    @override
    def match_and_rewrite(self, op: BatchNormOp, rewriter: PatternRewriter, /) -> None:
        affine = _scale_and_shift(op, self.constants)
        if affine is None:
            return
        rank = len(shape_of(op.x))
        after_channels = rank - 1 - channel_axis(op.layout.data, rank)
        scale, shift = (
            self.constants.make_as(vector.reshape(-1, *[1] * after_channels), element_type_of_value(op.x), op.location)
            for vector in affine
        )
        product = MulOp(op.x, scale, location=op.location)
        rewriter.replace(op, [scale, shift, product, AddOp(product, shift, location=op.location)])


@dataclass(frozen=True)
class FoldBatchNorm(ModulePass):
    """Removes every batch norm whose parameters are constant."""

    name = "fold-batch-norm"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not any(isinstance(inner, BatchNormOp) for inner in op.walk()):
            return
        apply_patterns(ctx, op, self.name, [AffineIntoBatchNorm])
        apply_patterns(ctx, op, self.name, [BatchNormIntoConvBefore, BatchNormIntoConvAfter])
        apply_patterns(ctx, op, self.name, [BatchNormAsMulAdd])
