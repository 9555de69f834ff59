"""Operators that ONNX Runtime had before ONNX, and small ones: gates, distances, windows."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ....dialects.graph.ops.elementwise import AddOp, MulOp, SubOp
from ....dialects.graph.ops.indexing import GatherNdOp, GatherOp
from ....dialects.graph.ops.movement import TransposeOp
from ....dialects.graph.ops.normalization import RmsNormOp
from ....dialects.graph.ops.reduction import ReduceSumOp
from ....dialects.graph.ops.unary import SigmoidOp, SiluOp, SoftplusOp, SqrtOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ....dialects.sizes.sizes import equal
from ..handlers.indexing import number_range, triangle
from ..handlers.movement import padded
from ..handlers.pooling import max_pool
from ..handlers.sampling import grid_sample
from ..handlers.selecting import different
from ..handlers.states import causal_conv_with_state, linear_attention
from ..node import Handler, Node, Result


def _with_defaults(handler: Handler, **only: int) -> Handler:
    """A handler that supports only the given values of attributes."""

    def checked(node: Node) -> Result:
        for name, value in only.items():
            if node.integer(name, value) != value:
                raise node.unsupported(f"{name} {node.integer(name, value)}")
        return handler(node)

    return checked


def _expand_dims(node: Node) -> SSAValue:
    x, axis = node.operand(0), int(node.scalar_operand(1, 0))
    shape = list(shape_of(x))
    shape.insert(node.normal_axis(axis, len(shape) + 1), 1)
    return node.reshape(x, shape)


def _gather_nd(node: Node) -> SSAValue:
    return node.emit(GatherNdOp(node.operand(0), node.operand(1), 0))


def _unique(node: Node) -> list[SSAValue | None]:
    """The unique elements in order of first occurrence, inverse indices, and counts."""
    found, _, inverse, often = different(node, sort=False)
    return [found, inverse, often]


def _unfold_tensor(node: Node) -> SSAValue:
    """All windows along a dimension; their elements are an additional last dimension."""
    x = node.operand(0)
    shape = shape_of(x)
    axis, size, step = node.axis(-1, len(shape), "dim"), node.integer("size", 0), node.integer("step", 1)
    if not 1 <= size <= shape[axis] or step < 1:
        raise node.invalid(f"{shape[axis]} elements have no windows of {size} in steps of {step}")
    count = (shape[axis] - size) // step + 1
    node.reserve(count * size)
    places = node.array(np.arange(count)[:, None] * step + np.arange(size))
    order = [*range(axis + 1), *range(axis + 2, len(shape) + 1), axis + 1]
    return node.emit(TransposeOp(node.emit(GatherOp(x, places, axis)), order))


def _distances(node: Node) -> SSAValue:
    """Pairwise distances of the rows of a and b."""
    (rows, depth), (columns, other) = (_matrix(node, index) for index in range(2))
    metric = node.text("metric", "sqeuclidean")
    if metric not in ("euclidean", "sqeuclidean"):
        raise node.unsupported(f"metric {metric}")
    if not equal(depth, other):
        raise node.invalid(f"rows of {depth} and of {other} elements")
    a, b = node.reshape(node.operand(0), (rows, 1, depth)), node.reshape(node.operand(1), (1, columns, depth))
    apart = node.emit(SubOp(a, b))
    squares = node.emit(ReduceSumOp(node.emit(MulOp(apart, apart)), [2]))
    return node.emit(SqrtOp(squares)) if metric == "euclidean" else squares


def _matrix(node: Node, index: int) -> tuple[int, int]:
    shape = shape_of(node.operand(index))
    if len(shape) != 2:
        raise node.invalid(f"operand {index} of shape {list(shape)} is no matrix")
    return shape[0], shape[1]


def _max_pool_of_rows(node: Node) -> SSAValue:
    """A max-pool with channels last."""
    x = node.operand()
    rank = len(shape_of(x))
    pooled = max_pool(node, node.emit(TransposeOp(x, (0, rank - 1, *range(1, rank - 1)))))[0]
    return node.emit(TransposeOp(pooled, (0, *range(2, rank), 1)))


def _scaled_silu(node: Node) -> SSAValue:
    """z sigmoid(z) for z = alpha x, computed in x's type."""
    x, scale = node.operand(0), node.optional(1)
    alpha = node.number("alpha", 1.0)
    factor = node.scalar(alpha, f32) if scale is None else node.cast(scale, f32)
    scaled = node.emit(MulOp(node.cast(x, f32), factor))
    return node.emit(SiluOp(node.cast(scaled, element_type_of_value(x))))


def _gated_add(node: Node) -> SSAValue:
    if node.has_operand(3):
        raise node.unsupported("a gate that is projected")
    return node.emit(AddOp(node.operand(0), node.emit(MulOp(node.operand(1), node.operand(2)))))


def _gated_rms_norm(node: Node) -> SSAValue:
    """RMS norm over groups of as many elements as there are scales, times silu or sigmoid of the gate."""
    x, scale, gate = (node.operand(index) for index in range(3))
    shape, size, activation = shape_of(x), shape_of(scale)[-1], node.text("activation", "silu")
    if activation not in ("silu", "swish", "sigmoid"):
        raise node.malformed(f"activation {activation} is unknown")
    if not size or shape[-1] % size:
        raise node.invalid(f"{size} scales don't fit rows of {shape[-1]} elements")
    groups = node.reshape(node.cast(x, f32), (*shape[:-1], shape[-1] // size, size))
    weight = node.reshape(node.cast(scale, f32), (size,))
    normal = node.emit(RmsNormOp(groups, weight, axis=len(shape), epsilon=node.number("epsilon", 1e-5)))
    opened = (SigmoidOp if activation == "sigmoid" else SiluOp)(node.cast(gate, f32))
    return node.cast(node.emit(MulOp(node.reshape(normal, shape), node.emit(opened))), element_type_of_value(x))


def _linear_attention_gate(node: Node) -> list[SSAValue | None]:
    """decay_scale softplus(a + dt_bias), and sigmoid(b)."""
    a, b = node.operand(0), node.optional(3)
    moved = node.emit(AddOp(node.cast(a, f32), node.operand(1)))
    decay = node.emit(MulOp(node.emit(SoftplusOp(moved)), node.operand(2)))
    beta = None if b is None else node.cast(node.emit(SigmoidOp(node.widened(b))), element_type_of_value(b))
    return [node.cast(decay, element_type_of_value(a)), beta]


_STATE_UPDATES = {"state_update_capacity": 0, "state_window": 0, "state_length": 0, "state_channels_last": -1}
_CHANNELS = {"ndim": 1, "channels_last": 0, "input_channel_offset": 0, "input_channels": 0}

HANDLERS: dict[str, Handler] = {
    "com.microsoft.ExpandDims": _expand_dims,
    "com.microsoft.GatherND": _gather_nd,
    "com.microsoft.GridSample": grid_sample,
    "com.microsoft.Pad": padded,
    "com.microsoft.Range": number_range,
    "com.microsoft.Trilu": triangle,
    "com.microsoft.Unique": _unique,
    "com.microsoft.UnfoldTensor": _unfold_tensor,
    "com.microsoft.CDist": _distances,
    "com.microsoft.NhwcMaxPool": _max_pool_of_rows,
    "com.microsoft.ScaledSiLU": _scaled_silu,
    "com.microsoft.GatedAdd": _gated_add,
    "com.microsoft.GatedRMSNorm": _gated_rms_norm,
    "com.microsoft.LinearAttentionGate": _linear_attention_gate,
    "com.microsoft.LinearAttention": _with_defaults(linear_attention, state_window=0),
    "com.microsoft.CausalConvWithState": _with_defaults(causal_conv_with_state, **_STATE_UPDATES, **_CHANNELS),
}
