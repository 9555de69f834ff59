"""Normalisations and softmax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from onnx import TensorProto
from xdsl.ir import SSAValue

from ....dialects.graph.base import GraphOp
from ....dialects.graph.ops.elementwise import AddOp, DivOp, EqualOp, MulOp, SubOp, WhereOp
from ....dialects.graph.ops.normalization import BatchNormOp, InstanceNormOp, LayerNormOp, RmsNormOp
from ....dialects.graph.ops.reduction import LogSoftmaxOp, ReduceMeanOp, ReduceSumOp, SoftmaxOp
from ....dialects.graph.ops.unary import AbsOp, ReciprocalOp, SqrtOp
from ....dialects.graph.ops.windows import LrnOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ..node import Handler, Node, in_single


def _softmax(make: Callable[[SSAValue, int], GraphOp]) -> Handler:
    """Since opset 13 along one axis; before, over all dimensions from `axis` on, flattened."""

    def handler(node: Node) -> SSAValue:
        x = node.operand()
        shape = shape_of(x)
        axis = node.axis(-1 if node.opset >= 13 else 1, len(shape))
        if node.opset >= 13 or axis == len(shape) - 1:
            return node.emit(make(x, axis))
        flat = node.reshape(x, (*shape[:axis], prod(shape[axis:])))
        return node.reshape(node.emit(make(flat, axis)), shape)

    return handler


def _batch_norm(node: Node) -> list[SSAValue]:
    x = node.operand(0)
    training = node.flag("training_mode")
    if not training and any(node.wants(index) for index in range(1, 5)):
        raise node.unsupported("results after the first are for training, which opset 14 declares by training_mode")
    node.ignore("is_test", "consumed_inputs")
    type, epsilon = element_type_of_value(x), node.number("epsilon", 1e-5)
    momentum = node.number("momentum", 0.9)
    scale, bias, mean, variance = (node.operand(index) for index in range(1, 5))
    if not node.flag("spatial", True):
        return [_normalised_by_element(node, x, scale, bias, mean, variance, epsilon)]
    running: list[SSAValue] = []
    if training:
        axes = [axis for axis in range(len(shape_of(x))) if axis != 1]
        wide = node.cast(x, element_type_of_value(mean))
        current = _mean_and_variance(node, wide, axes)
        for before, now in zip((mean, variance), current, strict=True):
            old = node.emit(MulOp(before, node.scalar(momentum, before)))
            new = node.emit(MulOp(now, node.scalar(1 - momentum, now)))
            running.append(node.emit(AddOp(old, new)))
        mean, variance = current
    scale, bias, mean, variance = (node.cast(value, type) for value in (scale, bias, mean, variance))
    return [node.emit(BatchNormOp(x, scale, bias, mean, variance, epsilon=epsilon)), *running]


def _mean_and_variance(node: Node, x: SSAValue, axes: Sequence[int]) -> tuple[SSAValue, SSAValue]:
    """Mean and population variance over the axes, which are dropped."""
    mean = node.emit(ReduceMeanOp(x, axes, keepdims=True))
    centred = node.emit(SubOp(x, mean))
    variance = node.emit(ReduceMeanOp(node.emit(MulOp(centred, centred)), axes))
    return node.reshape(mean, shape_of(variance)), variance


def _normalised_by_element(
    node: Node, x: SSAValue, scale: SSAValue, bias: SSAValue, mean: SSAValue, variance: SSAValue, epsilon: float
) -> SSAValue:
    """Opset 7 and 8 with spatial = 0: statistics and scales have an entry for each element of a sample."""
    deviation = node.emit(SqrtOp(node.emit(AddOp(variance, node.scalar(epsilon, variance)))))
    normal = node.emit(DivOp(node.emit(SubOp(x, mean)), deviation))
    return node.emit(AddOp(node.emit(MulOp(normal, scale)), bias))


def _instance_norm(node: Node) -> SSAValue:
    x, scale, bias = node.operand(0), node.operand(1), node.operand(2)
    return node.emit(InstanceNormOp(x, scale, bias, epsilon=node.number("epsilon", 1e-5)))


def _layer_norm(node: Node) -> list[SSAValue]:
    x, scale, bias = node.operand(0), node.operand(1), node.optional(2)
    axis = node.axis(-1, len(shape_of(x)))
    epsilon = node.number("epsilon", 1e-5)
    node.ignore("stash_type")  # kernels compute in float32 or wider
    if not node.wants(1) and not node.wants(2):
        return [node.emit(LayerNormOp(x, scale, bias, axis=axis, epsilon=epsilon))]
    return _layer_norm_with_statistics(node, x, scale, bias, axis, epsilon)


def _layer_norm_with_statistics(
    node: Node, x: SSAValue, scale: SSAValue, bias: SSAValue | None, axis: int, epsilon: float
) -> list[SSAValue]:
    """Layer normalisation decomposed, as the mean and 1 / sqrt(variance + epsilon) are outputs, too."""
    wide = node.cast(x, node.element_type("stash_type", TensorProto.FLOAT))
    axes = range(axis, len(shape_of(x)))
    mean = node.emit(ReduceMeanOp(wide, axes, keepdims=True))
    centred = node.emit(SubOp(wide, mean))
    variance = node.emit(ReduceMeanOp(node.emit(MulOp(centred, centred)), axes, keepdims=True))
    deviation = node.emit(SqrtOp(node.emit(AddOp(variance, node.scalar(epsilon, wide)))))
    inverse = node.emit(ReciprocalOp(deviation))
    normal = node.cast(node.emit(MulOp(centred, inverse)), element_type_of_value(x))
    result = node.emit(MulOp(normal, scale))
    return [result if bias is None else node.emit(AddOp(result, bias)), mean, inverse]


def _rms_norm(node: Node) -> SSAValue:
    x, scale = node.operand(0), node.operand(1)
    axis = node.axis(-1, len(shape_of(x)))
    node.ignore("stash_type")  # kernels compute in float32 or wider
    scale = node.cast(scale, element_type_of_value(x))
    return node.emit(RmsNormOp(x, scale, axis=axis, epsilon=node.number("epsilon", 1e-5)))


def _group_norm(node: Node) -> SSAValue:
    """Instance norm of [N, groups, rest]; scale and bias are per group in opset 18, per channel since 21."""
    x, scale, bias = node.operand(0), node.operand(1), node.operand(2)
    shape, groups = shape_of(x), node.integer("num_groups", 0)
    if len(shape) < 2 or groups < 1 or shape[1] % groups:
        raise node.invalid(f"num_groups {groups} does not divide the channels of an operand of shape {shape}")
    grouped = node.reshape(x, (shape[0], groups, prod(shape[1:]) // groups))
    epsilon = node.number("epsilon", 1e-5)
    node.ignore("stash_type")  # kernels compute in float32 or wider
    if node.opset < 21:
        return node.reshape(node.emit(InstanceNormOp(grouped, scale, bias, epsilon=epsilon)), shape)
    one = node.broadcast(node.scalar(1, x), (groups,))
    zero = node.broadcast(node.scalar(0, x), (groups,))
    normal = node.reshape(node.emit(InstanceNormOp(grouped, one, zero, epsilon=epsilon)), shape)
    per_channel = (shape[1], *[1] * (len(shape) - 2))
    scaled = node.emit(MulOp(normal, node.reshape(scale, per_channel)))
    return node.emit(AddOp(scaled, node.reshape(bias, per_channel)))


def _lrn(node: Node) -> SSAValue:
    return node.emit(
        LrnOp(
            node.operand(),
            node.integer("size", 0),
            alpha=node.number("alpha", 1e-4),
            beta=node.number("beta", 0.75),
            bias=node.number("bias", 1.0),
        )
    )


def _lp_normalization(node: Node, x: SSAValue) -> SSAValue:
    """x divided by its 1- or 2-norm along an axis; zero if the norm is zero."""
    axes, p = [node.axis(-1, len(shape_of(x)))], node.integer("p", 2)
    if p == 1:
        norm = node.emit(ReduceSumOp(node.emit(AbsOp(x)), axes, keepdims=True))
    elif p == 2:
        norm = node.emit(SqrtOp(node.emit(ReduceSumOp(node.emit(MulOp(x, x)), axes, keepdims=True))))
    else:
        raise node.invalid(f"p must be 1 or 2, got {p}")
    is_zero = node.emit(EqualOp(norm, node.scalar(0, x)))
    return node.emit(DivOp(x, node.emit(WhereOp(is_zero, node.scalar(1, x), norm))))


def _mean_variance_normalization(node: Node, x: SSAValue) -> SSAValue:
    """(x - mean) / (deviation + 1e-9), from the differences, which is more accurate than ONNX's body."""
    rank = len(shape_of(x))
    early = node.opset < 9  # the flags under which it normalised images
    chosen = (0, 1, 2, 3) if early and node.flag("across_channels") else node.integers("axes") or (0, 2, 3)
    axes = [node.normal_axis(axis, rank) for axis in chosen]
    centred = node.emit(SubOp(x, node.emit(ReduceMeanOp(x, axes, keepdims=True))))
    if early and not node.flag("normalize_variance", True):
        return centred
    variance = node.emit(ReduceMeanOp(node.emit(MulOp(centred, centred)), axes, keepdims=True))
    deviation = node.emit(AddOp(node.emit(SqrtOp(variance)), node.scalar(1e-9, x)))
    return node.emit(DivOp(centred, deviation))


HANDLERS: dict[str, Handler] = {
    "Softmax": _softmax(SoftmaxOp),
    "LogSoftmax": _softmax(LogSoftmaxOp),
    "BatchNormalization": _batch_norm,
    "InstanceNormalization": _instance_norm,
    "LayerNormalization": _layer_norm,
    "RMSNormalization": _rms_norm,
    "GroupNormalization": _group_norm,
    "LRN": _lrn,
    "MeanVarianceNormalization": in_single(_mean_variance_normalization),
    "LpNormalization": in_single(_lp_normalization),
}
