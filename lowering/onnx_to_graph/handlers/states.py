"""Operators with a state that is passed from call to call: cache updates, causal convolutions, linear attention."""

from __future__ import annotations

from math import prod, sqrt

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ....dialects.graph.ops.contraction import ConvOp
from ....dialects.graph.ops.elementwise import AddOp, ModOp
from ....dialects.graph.ops.indexing import ScatterNdOp
from ....dialects.graph.ops.linear_attention import LinearAttentionOp
from ....dialects.graph.ops.movement import ConcatOp
from ....dialects.graph.ops.unary import ExpOp, SiluOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ....dialects.sizes.sizes import equal_shapes
from ..node import Handler, Node
from .indexing import positions
from .movement import slice_axis


def _tensor_scatter(node: Node) -> SSAValue:
    """The cache with a range along the axis replaced by the update, from each batch entry's index on.

    Circular caches wrap around. An index beyond a linear cache is a run-time error.
    """
    cache, update = node.operand(0), node.operand(1)
    shape, count = shape_of(cache), shape_of(update)
    axis, mode = node.axis(-2, len(shape)), node.text("mode", "linear")
    if mode not in ("linear", "circular"):
        raise node.malformed(f"mode {mode} is unknown")
    if axis == 0:
        raise node.invalid("axis 0 is the batch, along which no update is possible")
    alike = equal_shapes(shape[:axis], count[:axis]) and equal_shapes(shape[axis + 1 :], count[axis + 1 :])
    if not alike or count[axis] > shape[axis]:
        raise node.invalid(f"an update of shape {list(count)} doesn't fit into a cache of shape {list(shape)}")
    if not node.has_operand(2):
        kept = slice_axis(node, cache, axis, count[axis], shape[axis])
        return node.emit(ConcatOp([update, kept], axis)) if count[axis] < shape[axis] else update
    if not all(count):
        return cache
    return written_from(node, cache, update, node.operand(2), axis, circular=mode == "circular")


def written_from(
    node: Node, cache: SSAValue, update: SSAValue, first: SSAValue, axis: int, *, circular: bool = False
) -> SSAValue:
    """The cache with the update written along the axis from index [batch] on."""
    shape, count = shape_of(cache), shape_of(update)
    batch = node.reshape(node.cast(first, i64), (shape[0], *[1] * axis))
    places = node.emit(AddOp(batch, positions(node, count[axis])))
    if circular:
        places = node.emit(ModOp(places, node.scalar(shape[axis], i64)))
    prefix = count[: axis + 1]
    along = [node.reshape(positions(node, size), (size, *[1] * (axis - at))) for at, size in enumerate(prefix[:axis])]
    parts = [node.reshape(node.broadcast(part, prefix), (*prefix, 1)) for part in (*along, places)]
    return node.emit(ScatterNdOp(cache, node.emit(ConcatOp(parts, axis + 1)), update))


def causal_conv_with_state(node: Node) -> list[SSAValue]:
    """A depthwise causal convolution; the last inputs are the state of the next call."""
    x, weight, past = node.operand(0), node.operand(1), node.optional(3)
    shape, kernel = shape_of(x), shape_of(weight)
    if len(shape) != 3 or len(kernel) != 3 or not equal_shapes(kernel[:2], (shape[1], 1)) or kernel[2] < 1:
        raise node.invalid(f"a weight of shape {list(kernel)} doesn't fit an operand of shape {list(shape)}")
    activation = node.text("activation", "none")
    if activation not in ("none", "silu", "swish"):
        raise node.malformed(f"activation {activation} is unknown")
    dilation = node.integer("dilation", 1)  # of com.microsoft
    if dilation < 1:
        raise node.malformed(f"dilation is {dilation}")
    before = (kernel[2] - 1) * dilation
    state = (*shape[:2], before)
    if past is not None and not equal_shapes(shape_of(past), state):
        raise node.invalid(f"a past state of shape {list(shape_of(past))} instead of {list(state)}")
    if past is None and shape[2] < before:
        past = node.broadcast(node.scalar(0, x), state)
    pads = [0 if past is not None else before, 0]
    whole = x if past is None or not before else node.emit(ConcatOp([past, x], 2))
    result = node.emit(ConvOp(whole, weight, node.optional(2), pads=pads, dilations=[dilation], groups=shape[1]))
    length = shape_of(whole)[2]
    return [
        result if activation == "none" else node.emit(SiluOp(result)),
        slice_axis(node, whole, 2, length - before, length),
    ]


_RULES = {"linear": (False, False), "gated": (True, False), "delta": (False, True), "gated_delta": (True, True)}


def linear_attention(node: Node) -> list[SSAValue]:
    """Attention by a recurrent state; computed in float32 or wider."""
    query, past = node.operand(0), node.optional(3)
    batch, steps = shape_of(query)[:2]
    heads, groups = node.integer("q_num_heads", 0), node.integer("kv_num_heads", 0)
    rule = node.text("update_rule", "gated_delta")
    if rule not in _RULES:
        raise node.malformed(f"update_rule {rule} is unknown")
    for index, name, wanted in zip((4, 5), ("decay", "beta"), _RULES[rule], strict=True):
        if node.has_operand(index) != wanted:
            raise node.invalid(f"update_rule {rule} {'needs' if wanted else 'takes no'} {name}")
    node.ignore("chunk_size")  # a hint on the algorithm

    def split(index: int, parts: int) -> SSAValue:
        value = node.operand(index)
        shape = shape_of(value)
        if len(shape) != 3 or parts < 1 or shape[2] % parts:
            raise node.invalid(f"operand {index} of shape {list(shape)} can't be split into {parts} heads")
        return node.widened(node.reshape(value, (*shape[:2], parts, shape[2] // parts)))

    q, k, v = split(0, heads), split(1, groups), split(2, groups)
    decay = node.emit(ExpOp(split(4, groups))) if node.has_operand(4) else None
    beta = node.widened(node.operand(5)) if node.has_operand(5) else None
    scale = node.number("scale", 0.0) or 1 / sqrt(shape_of(q)[3] or 1)
    state = None if past is None else node.cast(past, element_type_of_value(q))
    y, last = node.emit_all(LinearAttentionOp(q, k, v, state, decay, beta, scale=scale))
    result = node.reshape(y, (batch, steps, prod(shape_of(y)[2:])))
    return [node.cast(result, element_type_of_value(query)), node.cast(last, element_type_of_value(past or query))]


HANDLERS: dict[str, Handler] = {
    "TensorScatter": _tensor_scatter,
    "LinearAttention": linear_attention,
    "CausalConvWithState": causal_conv_with_state,
}
