"""The operators Attention, RotaryEmbedding and FlexAttention.

Attention whose scores are an output is decomposed by ONNX's own definition of the operator.
"""

from __future__ import annotations

from math import inf, sqrt

from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import SSAValue

from ....dialects.graph.ops.attention import AttentionOp
from ....dialects.graph.ops.contraction import MatmulOp
from ....dialects.graph.ops.elementwise import (
    AddOp,
    AndOp,
    GreaterEqualOp,
    LessEqualOp,
    LessOp,
    MulOp,
    SubOp,
    WhereOp,
)
from ....dialects.graph.ops.indexing import GatherOp
from ....dialects.graph.ops.movement import ConcatOp, TransposeOp
from ....dialects.graph.ops.reduction import SoftmaxOp
from ....dialects.graph.values import element_type_of_value, is_bool, shape_of
from ....dialects.sizes.sizes import equal, surely_below
from ..element_types import element_type
from ..node import Handler, Node, Result
from .indexing import positions
from .movement import slice_axis

_QUERY, _KEY, _VALUE, _MASK, _PAST_KEY, _PAST_VALUE, _LENGTHS = range(7)
_SCORES = 3  # value of the attribute for which the scores are the plain matrix product


def _attention(node: Node) -> Result:
    if node.wants(_SCORES):
        return node.host.function(node)
    flat = len(shape_of(node.operand(_QUERY))) == 3
    query = _heads(node, node.operand(_QUERY), "q_num_heads")
    key = _joined(node, _PAST_KEY, _heads(node, node.operand(_KEY), "kv_num_heads"))
    value = _joined(node, _PAST_VALUE, _heads(node, node.operand(_VALUE), "kv_num_heads"))
    if node.has_operand(_PAST_KEY) != node.has_operand(_PAST_VALUE):
        raise node.malformed("past keys and past values are given together")
    node.ignore("qk_matmul_output_mode", "q_num_heads", "kv_num_heads")
    node.ignore("softmax_precision")  # kernels compute in float32 or wider
    mask, causal = _mask(node, shape_of(query)[2], shape_of(key)[2])
    types = [element_type_of_value(each) for each in (query, value)]
    common = types[0] if types[0] == types[1] else f64 if f64 in types else f32
    if mask is not None and not is_bool(element_type_of_value(mask)):
        mask = node.cast(mask, common)
    q, k, v = (node.cast(each, common) for each in (query, key, value))
    result = node.cast(_attended(node, q, k, v, mask, causal), types[0])
    if flat:
        batch, heads, rows, size = shape_of(result)
        result = node.reshape(node.emit(TransposeOp(result, (0, 2, 1, 3))), (batch, rows, heads * size))
    return [result, key, value]


def _attended(
    node: Node, query: SSAValue, key: SSAValue, value: SSAValue, mask: SSAValue | None, causal: bool
) -> SSAValue:
    """The attention op."""
    scale = node.number("scale", 1.0) if node.has("scale") else 1 / sqrt(shape_of(query)[3] or 1)
    if not shape_of(query)[3] and not shape_of(key)[3]:  # all scores are 0, as with a single element that is 0
        query, key = (node.broadcast(node.scalar(0, each), (*shape_of(each)[:3], 1)) for each in (query, key))
    attention = AttentionOp(query, key, value, mask, scale=scale, softcap=node.number("softcap", 0.0), causal=causal)
    if all((*shape_of(query), *shape_of(key))):
        return node.emit(attention)
    shape = shape_of(attention.result)  # empty results, or empty sums
    attention.erase()
    return node.broadcast(node.scalar(0, query), shape)


def _mask(node: Node, rows: int, keys: int) -> tuple[SSAValue | None, bool]:
    """The mask of the scores, and whether they are also causal: row t attends to keys 0..t.

    Row positions start after the cache's keys. Each row attends to keys from `left` positions before its own to `right`
    after it.
    """
    mask, lengths = node.optional(_MASK), node.optional(_LENGTHS)
    if mask is not None:
        mask = _of_all_keys(node, mask, keys)
    before: int | SSAValue = 0
    if node.has_operand(_PAST_KEY):
        before = shape_of(node.operand(_PAST_KEY))[2]
        if lengths is not None:
            raise node.invalid("nonpad_kv_seqlen can't be combined with past keys")
    elif lengths is not None:
        lengths = node.reshape(node.cast(lengths, i64), (shape_of(lengths)[0], 1, 1, 1))
        before = node.emit(SubOp(lengths, node.scalar(rows, i64)))
    left, right = node.integer("left_window_size", -1), node.integer("right_window_size", -1)
    if min(left, right) < -1:
        raise node.invalid(f"windows of {left} keys to the left and {right} to the right")
    if node.flag("is_causal"):
        right = 0
    known = before if isinstance(before, int) else None
    causal = right == known == 0
    if causal or (known is not None and surely_below(keys - 2, known + right)):
        right = -1  # implied by `is_causal`, or no bound at all
    if known is not None and surely_below(rows - 2 + known, left):
        left = -1
    parts: list[SSAValue] = []
    columns = positions(node, keys) if left >= 0 or right >= 0 or lengths is not None else None
    if columns is not None and (left >= 0 or right >= 0):
        own = node.reshape(positions(node, rows), (rows, 1))
        own = node.emit(AddOp(own, node.scalar(before, i64) if isinstance(before, int) else before))
        if right >= 0:
            parts.append(node.emit(LessEqualOp(columns, node.emit(AddOp(own, node.scalar(right, i64))))))
        if left >= 0:
            parts.append(node.emit(GreaterEqualOp(columns, node.emit(SubOp(own, node.scalar(left, i64))))))
    if columns is not None and lengths is not None and right != 0:  # a row's own key is one of the cache's
        parts.append(node.emit(LessOp(columns, lengths)))
    for part in parts:
        if mask is None:
            mask = part
        elif is_bool(element_type_of_value(mask)):
            mask = node.emit(AndOp(mask, part))
        else:
            mask = node.emit(WhereOp(part, mask, node.scalar(-inf, mask)))
    return mask, causal


def _of_all_keys(node: Node, mask: SSAValue, keys: int) -> SSAValue:
    """Extends a mask that is too short: the last keys are masked. Before opset 24 a mask of one key is broadcast."""
    shape = shape_of(mask)
    if not shape or shape[-1] >= keys or (node.opset < 24 and equal(shape[-1], 1)):
        return mask
    if node.opset < 24:
        raise node.invalid(f"a mask of shape {list(shape)} for {keys} keys")
    missing = node.scalar(False if is_bool(element_type_of_value(mask)) else -inf, mask)
    return node.emit(ConcatOp([mask, node.broadcast(missing, (*shape[:-1], keys - shape[-1]))], len(shape) - 1))


def _heads(node: Node, value: SSAValue, count: str) -> SSAValue:
    """[B, T, H * D] as [B, H, T, D]; a value of rank 4 has that form already."""
    shape = shape_of(value)
    if len(shape) == 4:
        return value
    heads = node.integer(count, 0)
    if len(shape) != 3 or heads < 1 or shape[2] % heads:
        raise node.invalid(f"an operand of shape {list(shape)} can't be split into {heads} heads ({count})")
    split = node.reshape(value, (shape[0], shape[1], heads, shape[2] // heads))
    return node.emit(TransposeOp(split, (0, 2, 1, 3)))


def _joined(node: Node, past: int, present: SSAValue) -> SSAValue:
    """The keys or values of earlier calls, concatenated with those of this one."""
    earlier = node.optional(past)
    return present if earlier is None else node.emit(ConcatOp([earlier, present], 2))


def _flex_attention(node: Node) -> SSAValue:
    """Attention with subgraphs that modify the scores and the probabilities."""
    query, key, value = node.operand(_QUERY), node.operand(_KEY), node.operand(_VALUE)
    scale = node.number("scale", 1.0) if node.has("scale") else 1 / sqrt(shape_of(query)[-1] or 1)
    element = element_type_of_value(query)
    plain = AttentionOp(query, key, value, scale=scale)  # also validates the operands
    change_scores, change_weights = node.has("score_mod"), node.has("prob_mod")
    if not change_scores and not change_weights and all((*shape_of(query), *shape_of(key))):
        node.ignore("softmax_precision")  # kernels compute in float32 or wider
        return node.emit(plain)
    plain.erase()
    softmax = element_type_of_value(node.widened(query))
    if node.has("softmax_precision"):
        softmax = element_type(node.integer("softmax_precision", 0), f"{node.name}: softmax_precision")
    batch, heads, rows, size = shape_of(query)
    groups, keys = shape_of(key)[1:3]
    # Query heads that share keys are rows of one product.
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
    """A subgraph applied to scores or probabilities; the result must have the same type."""
    results = node.branch(node.graph(name), [scores])
    if len(results) != 1 or not node.is_alike(results[0], scores):
        raise node.invalid(f"{name} gives {', '.join(str(each.type) for each in results)} instead of {scores.type}")
    return results[0]


def _rotary_embedding(node: Node) -> SSAValue:
    """Rotates pairs of the first elements of each head by angles looked up by position.

    A pair (a, b) becomes (a cos - b sin, a sin + b cos). Pairs are elements i of both halves, or adjacent elements.
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
    """Rotates pairs in the first `turned` elements of the last of four axes, each by an angle that broadcasts."""
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
    """Cosines or sines [B, T, pairs], gathered by position if given, with a dimension for heads."""
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
