"""Attention and rotary embedding.

Attention that `graph.attention` doesn't cover is taken apart by ONNX's own definition of the operator.
"""

from __future__ import annotations

from math import sqrt

from xdsl.ir import SSAValue

from ...dialects.graph.attention import AttentionOp
from ...dialects.graph.contraction import MatmulOp
from ...dialects.graph.elementwise import AddOp, MulOp, SubOp
from ...dialects.graph.indexing import GatherOp
from ...dialects.graph.movement import ConcatOp, TransposeOp
from ...dialects.graph.reduction import SoftmaxOp
from ...dialects.graph.values import element_type_of_value, is_bool, shape_of
from .movement import slice_axis
from .node import Handler, Node, Result
from .types import element_type

_QUERY, _KEY, _VALUE, _MASK, _PAST_KEY, _PAST_VALUE, _LENGTHS = range(7)
_SCORES = 3  # the result that gives the matrix product of query and key


def _attention(node: Node) -> Result:
    flat = len(shape_of(node.operand(_QUERY))) == 3
    query = _heads(node, node.operand(_QUERY), "q_num_heads")
    key = _joined(node, _PAST_KEY, _heads(node, node.operand(_KEY), "kv_num_heads"))
    value = _joined(node, _PAST_VALUE, _heads(node, node.operand(_VALUE), "kv_num_heads"))
    if not _is_plain(node, key):
        return node.host.function(node)
    node.ignore("qk_matmul_output_mode", "q_num_heads", "kv_num_heads")
    node.ignore("softmax_precision")  # kernels compute in float32 or wider
    mask = node.optional(_MASK)
    if mask is not None and not is_bool(element_type_of_value(mask)):
        mask = node.cast(mask, element_type_of_value(query))
    if shape_of(query)[3] == shape_of(key)[3] == 0:  # all scores are 0: so they are with one element that is 0
        query, key = (node.broadcast(node.scalar(0, each), (*shape_of(each)[:3], 1)) for each in (query, key))
    scale = node.number("scale", 1.0) if node.has("scale") else 1 / sqrt(shape_of(query)[3])
    attention = AttentionOp(query, key, value, mask, scale=scale, causal=node.flag("is_causal"))
    if 0 in (*shape_of(query), *shape_of(key)):  # no result, or sums of nothing
        result = node.broadcast(node.scalar(0, query), shape_of(attention.result))
        attention.erase()
    else:
        result = node.emit(attention)
    if flat:
        batch, heads, rows, size = shape_of(result)
        result = node.reshape(node.emit(TransposeOp(result, (0, 2, 1, 3))), (batch, rows, heads * size))
    return [result, key, value]


def _is_plain(node: Node, key: SSAValue) -> bool:
    """Whether graph.attention says all that the node does."""
    if node.wants(_SCORES) or node.number("softcap", 0.0) or node.has_operand(_LENGTHS):
        return False
    if node.integer("left_window_size", -1) != -1 or node.integer("right_window_size", -1) != -1:
        return False
    if node.flag("is_causal") and node.has_operand(_PAST_KEY):
        return False  # the diagonal starts at the end of the past
    mask = node.optional(_MASK)
    return mask is None or (len(shape_of(mask)) > 0 and shape_of(mask)[-1] in (1, shape_of(key)[2]))


def _heads(node: Node, value: SSAValue, count: str) -> SSAValue:
    """[B, T, H * D] as [B, H, T, D]; a value of four dimensions has that form."""
    shape = shape_of(value)
    if len(shape) == 4:
        return value
    heads = node.integer(count, 0)
    if len(shape) != 3 or heads < 1 or shape[2] % heads:
        raise node.invalid(f"an operand of shape {list(shape)} can't be split into {heads} heads ({count})")
    split = node.reshape(value, (shape[0], shape[1], heads, shape[2] // heads))
    return node.emit(TransposeOp(split, (0, 2, 1, 3)))


def _joined(node: Node, past: int, present: SSAValue) -> SSAValue:
    """Keys or values of earlier calls in front of those of this one."""
    earlier = node.optional(past)
    return present if earlier is None else node.emit(ConcatOp([earlier, present], 2))


def _flex_attention(node: Node) -> SSAValue:
    """Attention with graphs of the node's own that change the scores, and the weights that they become."""
    query, key, value = node.operand(_QUERY), node.operand(_KEY), node.operand(_VALUE)
    scale = node.number("scale", 1.0) if node.has("scale") else 1 / sqrt(shape_of(query)[-1] or 1)
    element = element_type_of_value(query)
    plain = AttentionOp(query, key, value, scale=scale)  # also checks the operands
    change_scores, change_weights = node.has("score_mod"), node.has("prob_mod")
    if not change_scores and not change_weights and 0 not in (*shape_of(query), *shape_of(key)):
        node.ignore("softmax_precision")  # kernels compute in float32 or wider
        return node.emit(plain)
    plain.erase()
    softmax = element_type_of_value(node.widened(query))
    if node.has("softmax_precision"):
        softmax = element_type(node.integer("softmax_precision", 0), f"{node.name}: softmax_precision")
    batch, heads, rows, size = shape_of(query)
    groups, keys = shape_of(key)[1:3]
    # The heads that share keys are rows of one product.
    stacked, scores_shape = (batch, groups, heads // max(1, groups) * rows), (batch, heads, rows, keys)
    query = node.emit(MulOp(query, node.scalar(scale, query)))
    scores = node.emit(MatmulOp(node.reshape(query, (*stacked, size)), key, transpose_b=True))
    scores = node.cast(node.reshape(scores, scores_shape), softmax)
    if change_scores:
        scores = _changed(node, "score_mod", scores)
    weights = node.emit(SoftmaxOp(scores, 3))
    if change_weights:
        weights = _changed(node, "prob_mod", weights)
    result = node.emit(MatmulOp(node.reshape(weights, (*stacked, keys)), node.cast(value, softmax)))
    return node.cast(node.reshape(result, (batch, heads, rows, shape_of(value)[3])), element)


def _changed(node: Node, name: str, scores: SSAValue) -> SSAValue:
    """What a graph of the node makes of scores or weights: as many, of the same type."""
    results = node.branch(node.graph(name), [scores])
    if len(results) != 1 or results[0].type != scores.type:
        raise node.invalid(f"{name} gives {', '.join(str(each.type) for each in results)} instead of {scores.type}")
    return results[0]


def _rotary_embedding(node: Node) -> SSAValue:
    """Pairs of the first elements of each head, turned by angles that are given by position.

    A pair (a, b) becomes (a cos - b sin, a sin + b cos). Pairs are element i of both halves, or neighbours.
    """
    x = node.operand(0)
    shape, flat = shape_of(x), len(shape_of(x)) == 3
    heads = node.integer("num_heads", 0)
    if flat and (heads < 1 or shape[2] % heads):
        raise node.invalid(f"an operand of shape {list(shape)} can't be split into {heads} heads (num_heads)")
    if flat:
        x = node.reshape(x, (shape[0], shape[1], heads, shape[2] // heads))
    size = shape_of(x)[3]
    turned = node.integer("rotary_embedding_dim", 0) or size
    if turned % 2 or turned > size:
        raise node.invalid(f"rotary_embedding_dim {turned} of {size} elements")
    cosine, sine = (_angles(node, index, head_axis=2 if flat else 1) for index in (1, 2))
    return node.reshape(rotated(node, x, cosine, sine, turned, interleaved=node.flag("interleaved")), shape)


def rotated(node: Node, x: SSAValue, cosine: SSAValue, sine: SSAValue, turned: int, *, interleaved: bool) -> SSAValue:
    """The first `turned` elements of the last of four axes in pairs, each turned by an angle that broadcasts."""
    size = shape_of(x)[3]
    pairs = _neighbours(node, x, turned) if interleaved else _halves(node, x, turned)
    a, b = (node.reshape(part, (*shape_of(x)[:3], turned // 2)) for part in pairs)
    first = node.emit(SubOp(node.emit(MulOp(a, cosine)), node.emit(MulOp(b, sine))))
    second = node.emit(AddOp(node.emit(MulOp(a, sine)), node.emit(MulOp(b, cosine))))
    if interleaved:
        columns = [node.reshape(part, (*shape_of(part), 1)) for part in (first, second)]
        parts = [node.reshape(node.emit(ConcatOp(columns, 4)), (*shape_of(x)[:3], turned))]
    else:
        parts = [first, second]
    if turned < size:
        parts.append(slice_axis(node, x, 3, turned, size))
    return parts[0] if len(parts) == 1 else node.emit(ConcatOp(parts, 3))


def _angles(node: Node, index: int, head_axis: int) -> SSAValue:
    """Cosines or sines [B, T, pairs], perhaps gathered by position, with a dimension for heads."""
    table, places = node.operand(index), node.optional(3)
    if places is not None:
        table = node.emit(GatherOp(table, places, 0))
    if len(shape_of(table)) != 3:
        raise node.invalid(f"operand {index} gives angles of shape {list(shape_of(table))}")
    shape = list(shape_of(table))
    return node.reshape(table, [*shape[:head_axis], 1, *shape[head_axis:]])


def _halves(node: Node, x: SSAValue, turned: int) -> tuple[SSAValue, SSAValue]:
    return slice_axis(node, x, 3, 0, turned // 2), slice_axis(node, x, 3, turned // 2, turned)


def _neighbours(node: Node, x: SSAValue, turned: int) -> tuple[SSAValue, SSAValue]:
    pairs = node.reshape(slice_axis(node, x, 3, 0, turned), (*shape_of(x)[:3], turned // 2, 2))
    return slice_axis(node, pairs, 4, 0, 1), slice_axis(node, pairs, 4, 1, 2)


HANDLERS: dict[str, Handler] = {
    "Attention": _attention,
    "RotaryEmbedding": _rotary_embedding,
    "ai.onnx.preview.FlexAttention": _flex_attention,
}
