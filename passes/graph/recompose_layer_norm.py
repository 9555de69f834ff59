"""recompose-layer-norm: recognises layer normalisation and RMS normalisation.

before:  %1 = graph.reduce_mean %x {axes = array<i64: 2>, keepdims}    %2 = graph.sub %x, %1
         %3 = graph.mul %2, %2    %4 = graph.reduce_mean %3 {axes = array<i64: 2>, keepdims}
         %5 = graph.add %4, %epsilon    %6 = graph.sqrt %5    %7 = graph.div %2, %6
         %8 = graph.mul %7, %scale    %9 = graph.add %8, %bias
after:   %9 = graph.layer_norm %x, %scale, %bias {axis = 2, epsilon = ..}

The square may be a power, the division a product with a reciprocal root; scale and bias may be missing.
With x in the place of %2 it is rms_norm. The means must be over the last dims. sqrt(variance) + epsilon is
another function and stays.
"""

from __future__ import annotations

import numpy as np
from typing_extensions import override
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.graph.ops.elementwise import AddOp, DivOp, MulOp, PowOp, SubOp
from ...dialects.graph.ops.movement import ReshapeOp
from ...dialects.graph.ops.normalization import LayerNormOp, RmsNormOp
from ...dialects.graph.ops.reduction import ReduceMeanOp
from ...dialects.graph.ops.unary import ReciprocalOp, RsqrtOp, SqrtOp
from ...dialects.graph.values import element_type_of_value, ints, numpy_dtype, shape_of
from .support.multiplication_chains import number_plus
from .support.pattern_utils import Constants, GraphPattern, PatternPass, defining, only_use, rewrites


def _mean_axis(mean: ReduceMeanOp) -> int | None:
    """The first axis of a mean over the last dims; None for other axes or without keepdims."""
    axes, rank = ints(mean.axes), len(shape_of(mean.x))
    return axes[0] if axes and mean.keepdims is not None and axes == tuple(range(axes[0], rank)) else None


def _under_root(op: DivOp | MulOp) -> list[tuple[SSAValue, SSAValue]]:
    """(x, v) for each way to read the op as x / sqrt(v)."""
    if isinstance(op, DivOp):
        root = only_use(op.rhs, SqrtOp)
        return [] if root is None else [(op.lhs, root.x)]
    found: list[tuple[SSAValue, SSAValue]] = []
    for x, inverse in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if (rsqrt := only_use(inverse, RsqrtOp)) is not None:
            found.append((x, rsqrt.x))
        elif (reciprocal := only_use(inverse, ReciprocalOp)) is not None:
            root = only_use(reciprocal.x, SqrtOp)
            if root is not None:
                found.append((x, root.x))
    return found


def _mean_of_squares(value: SSAValue, x: SSAValue, constants: Constants) -> tuple[int, float] | None:
    """(axis, epsilon) if `value` is the mean of x's squares over the last dims, plus epsilon."""
    plus = number_plus(value, constants)
    mean = only_use(plus[1], ReduceMeanOp) if plus is not None else only_use(value, ReduceMeanOp)
    axis = None if mean is None else _mean_axis(mean)
    if mean is None or axis is None:
        return None
    square = mean.x.owner
    is_square = (isinstance(square, MulOp) and square.lhs is x and square.rhs is x) or (
        isinstance(square, PowOp) and square.lhs is x and constants.is_scalar(square.rhs, 2)
    )
    return (axis, 0.0 if plus is None else plus[0]) if is_square else None


def _centred(value: SSAValue, axis: int) -> SSAValue | None:
    """x if `value` is x minus its mean over the dims from `axis` on."""
    centred = defining(value, SubOp)
    mean = None if centred is None else defining(centred.rhs, ReduceMeanOp)
    if centred is None or mean is None or mean.x is not centred.lhs or _mean_axis(mean) != axis:
        return None
    return centred.lhs


class Normalise(GraphPattern):
    """d / sqrt(mean(d * d) + epsilon) -> layer_norm(x) for d = x - mean(x), rms_norm(d) for any other d"""

    @rewrites
    @override
    def match_and_rewrite(self, op: DivOp | MulOp, rewriter: PatternRewriter, /) -> None:
        for centred, variance in _under_root(op):
            found = _mean_of_squares(variance, centred, self.constants)
            if found is None:
                continue
            axis, epsilon = found
            dtype = numpy_dtype(element_type_of_value(op.result))
            one = self.constants.make(np.ones((), dtype), op.location)
            x = _centred(centred, axis)
            if x is None:
                new = RmsNormOp(centred, one, axis=axis, epsilon=epsilon, location=op.location)
            else:
                new = LayerNormOp(x, one, axis=axis, epsilon=epsilon, location=op.location)
            rewriter.replace(op, [one, new])
            return


def _over_normalised_dims(value: SSAValue, norm: LayerNormOp | RmsNormOp) -> tuple[int, ...] | None:
    """The shape of `value` as a scale or bias of the norm; None if it varies over other dims."""
    shape, rank = shape_of(value), len(shape_of(norm.x))
    normalised = shape_of(norm.x)[norm.axis.value.data :]
    if len(shape) > rank or any(size != 1 for size in shape[: -len(normalised)]):
        return None
    own = shape[-len(normalised) :]
    padded = (1,) * (len(normalised) - len(own)) + own
    fits = all(size in (1, full) for size, full in zip(padded, normalised, strict=True))
    return own if fits else None


class ScaleOfNorm(GraphPattern):
    """norm(x, 1) * s -> norm(x, s), where s varies over the normalised dims only"""

    @rewrites
    @override
    def match_and_rewrite(self, op: MulOp, rewriter: PatternRewriter, /) -> None:
        for norm_side, scale in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            norm = only_use(norm_side, LayerNormOp) or only_use(norm_side, RmsNormOp)
            if norm is None or not self.constants.is_scalar(norm.scale, 1) or len(norm.operands) == 3:
                continue
            shape = _over_normalised_dims(scale, norm)
            if shape is None:
                continue
            reshape = ReshapeOp(scale, shape, location=op.location)
            axis, epsilon = norm.axis.value.data, norm.epsilon.value.data
            new = type(norm)(norm.x, reshape, axis=axis, epsilon=epsilon, location=op.location)
            rewriter.replace(op, [reshape, new])
            return


class BiasOfNorm(GraphPattern):
    """layer_norm(x, s) + b -> layer_norm(x, s, b), b constant and varying over the normalised dims only"""

    @rewrites
    @override
    def match_and_rewrite(self, op: AddOp, rewriter: PatternRewriter, /) -> None:
        for norm_side, bias in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            norm = only_use(norm_side, LayerNormOp)
            if norm is None or norm.bias is not None or not self.constants.is_constant(bias):
                continue
            shape = _over_normalised_dims(bias, norm)
            if shape is None:
                continue
            reshape = ReshapeOp(bias, shape, location=op.location)
            axis, epsilon = norm.axis.value.data, norm.epsilon.value.data
            new = LayerNormOp(norm.x, norm.scale, reshape, axis=axis, epsilon=epsilon, location=op.location)
            rewriter.replace(op, [reshape, new])
            return


class RecomposeLayerNorm(PatternPass):
    """Recognises layer_norm and rms_norm with their scale and bias."""

    name = "recompose-layer-norm"
    patterns = (Normalise, ScaleOfNorm, BiasOfNorm)
    kinds = (ReduceMeanOp, LayerNormOp, RmsNormOp)
