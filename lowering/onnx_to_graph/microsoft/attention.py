"""com.microsoft's attention operators with fused projections and with joined key-value caches; rotary embeddings.

A masked key's score has `mask_filter_value` added, so that a row without any keys attends to all.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue

from ....dialects.graph.ops.attention import AttentionOp
from ....dialects.graph.ops.contraction import MatmulOp
from ....dialects.graph.ops.elementwise import (
    AddOp,
    AndOp,
    GreaterEqualOp,
    GreaterOp,
    LessEqualOp,
    LessOp,
    WhereOp,
)
from ....dialects.graph.ops.indexing import GatherOp
from ....dialects.graph.ops.movement import ConcatOp, TransposeOp
from ....dialects.graph.values import element_type_of_value, numpy_dtype, shape_of
from ....dialects.sizes.sizes import equal, equal_shapes
from ..handlers.attention import rotated
from ..handlers.indexing import positions
from ..handlers.movement import slice_axis
from ..node import Handler, Node
from .fused import biased
from .quantized import unquantized


def to_heads(node: Node, value: SSAValue, count: int) -> SSAValue:
    """[B, T, H * D] as [B, H, T, D]."""
    shape = shape_of(value)
    if len(shape) != 3 or count < 1 or shape[2] % count:
        raise node.invalid(f"an operand of shape {list(shape)} can't be split into {count} heads")
    split = node.reshape(value, (shape[0], shape[1], count, shape[2] // count))
    return node.emit(TransposeOp(split, (0, 2, 1, 3)))


def from_heads(node: Node, value: SSAValue) -> SSAValue:
    """[B, H, T, D] as [B, T, H * D]."""
    batch, heads, rows, size = shape_of(value)
    return node.reshape(node.emit(TransposeOp(value, (0, 2, 1, 3))), (batch, rows, heads * size))


def arange(node: Node, count: int, *shape: int) -> SSAValue:
    """The numbers below `count`, of a shape."""
    return node.reshape(positions(node, count), shape or (count,))


def _kept(node: Node, mask: SSAValue, batch: int, rows: int, keys: int) -> SSAValue:
    """A boolean mask of keys, [B or 1, 1, T or 1, S], from counts, from ends and starts, or from a mask by key."""
    shape = shape_of(mask)
    if len(shape) == 1 and (equal(shape[0], batch) or equal(shape[0], 2 * batch)):
        places = arange(node, keys, 1, 1, 1, keys)
        bounds = node.reshape(node.cast(mask, i64), (shape[0] // batch, batch, 1, 1, 1))
        kept = node.emit(LessOp(places, _first(node, bounds, 0)))
        if equal(shape[0], batch):
            return kept
        return node.emit(AndOp(kept, node.emit(GreaterEqualOp(places, _first(node, bounds, 1)))))
    full = {2: (batch, 1, 1, keys), 3: (batch, 1, rows, keys)}.get(len(shape))
    if full is None or not equal_shapes(*([size for size in each if not equal(size, 1)] for each in (full, shape))):
        raise node.unsupported(f"a mask of shape {list(shape)} for {batch} x {rows} x {keys} scores")
    return node.emit(GreaterOp(node.reshape(mask, full), node.scalar(0, mask)))


def _first(node: Node, stacked: SSAValue, index: int) -> SSAValue:
    """One of several values stacked along the first axis."""
    return node.reshape(slice_axis(node, stacked, 0, index, index + 1), shape_of(stacked)[1:])


class Scores:
    """The bias and the mask of scores."""

    def __init__(self, node: Node, query: SSAValue, key: SSAValue) -> None:
        self.node = node
        self.batch, _, self.rows, self.size = shape_of(query)
        self.keys = shape_of(key)[2]
        self.type = element_type_of_value(query)
        self.added: SSAValue | None = None

    def add(self, value: SSAValue) -> None:
        """Adds a bias that broadcasts to the scores."""
        value = self.node.cast(value, self.type)
        self.added = value if self.added is None else self.node.emit(AddOp(self.added, value))

    def keep(self, kept: SSAValue, filling: float) -> None:
        """Adds `filling` to the scores where the mask is false."""
        zero, low = self.node.scalar(0, self.type), self.node.scalar(filling, self.type)
        self.add(self.node.emit(WhereOp(kept, zero, low)))

    def read(self, mask: int, bias: int) -> None:
        """Reads the node's mask and bias."""
        node, filling = self.node, self.node.number("mask_filter_value", -10000.0)
        given, beside = node.optional(mask), node.optional(bias)
        if given is not None:
            self.keep(_kept(node, given, self.batch, self.rows, self.keys), filling)
        if beside is not None:
            self.add(beside)
        if node.flag("unidirectional"):
            columns = arange(node, self.keys)
            last = node.emit(AddOp(arange(node, self.rows, self.rows, 1), node.scalar(self.keys - self.rows, i64)))
            self.keep(node.emit(LessEqualOp(columns, last)), self.lowest())

    def lowest(self) -> float:
        """A number below any score."""
        return float(np.finfo(numpy_dtype(self.type)).min) if self.type == f32 else -60000.0

    def scale(self) -> float:
        """The factor of the scores."""
        return self.node.number("scale", 0.0) or 1 / sqrt(self.size or 1)

    def attended(self, query: SSAValue, key: SSAValue, value: SSAValue) -> SSAValue:
        """The result, [B, T, H * D]."""
        return from_heads(self.node, self.node.emit(AttentionOp(query, key, value, self.added, scale=self.scale())))


def refuse(node: Node, operands: dict[int, str], attributes: tuple[str, ...], results: dict[int, str]) -> None:
    """Raises UnsupportedError for given operands, non-zero attributes and used results that are unsupported."""
    for index, name in operands.items():
        if node.has_operand(index):
            raise node.unsupported(f"operand {index} ({name})")
    for name in attributes:
        if node.integer(name, 0) not in (0, -1):
            raise node.unsupported(f"attribute {name}")
    for index, name in results.items():
        if node.wants(index):
            raise node.unsupported(f"result {index} ({name})")


def _joined(node: Node, past: SSAValue | None, present: SSAValue) -> SSAValue:
    """The keys or values of earlier calls, concatenated with those of this one."""
    return present if past is None else node.emit(ConcatOp([past, present], 2))


def _multi_head_attention(node: Node) -> list[SSAValue]:
    refuse(node, {8: "past_sequence_length", 9: "cache_indirection"}, (), {3: "qk"})
    heads = node.integer("num_heads", 0)
    query, key, value = _projections(node, heads)
    key, value = _joined(node, node.optional(6), key), _joined(node, node.optional(7), value)
    scores = Scores(node, query, key)
    scores.read(4, 5)
    return [scores.attended(query, key, value), key, value]


def _projections(node: Node, heads: int) -> list[SSAValue]:
    """Query, key and value [B, H, T, D]: separate, those of another attention, or packed in one."""
    given = [node.optional(index) for index in range(3)]
    bias, first = node.optional(3), node.operand(0)
    if len(shape_of(first)) == 5:
        given = list(_stacked(node, first, 3))
    elif given[1] is not None and len(shape_of(given[1])) == 5:
        given[1:] = _stacked(node, given[1], 2)
    parts: list[SSAValue] = []
    offset = 0
    for index, part in enumerate(given):
        if part is None:
            raise node.malformed(f"operand {index} is missing")
        if len(shape_of(part)) == 4:  # keys and values that another call has split
            if bias is not None:
                raise node.unsupported("a bias beside keys that are split into heads")
            parts.append(part)
            continue
        if bias is not None:
            size = shape_of(part)[2]
            part = node.emit(AddOp(part, slice_axis(node, bias, 0, offset, offset + size)))
            offset += size
        parts.append(to_heads(node, part, heads))
    return parts


def _stacked(node: Node, value: SSAValue, count: int) -> list[SSAValue]:
    """[B, T, H, count, D] as `count` values [B, T, H * D]."""
    batch, rows, heads, parts, size = shape_of(value)
    if not equal(parts, count):
        raise node.invalid(f"{parts} projections in one instead of {count}")
    slices = [slice_axis(node, value, 3, index, index + 1) for index in range(count)]
    return [node.reshape(part, (batch, rows, heads * size)) for part in slices]


def _attention(node: Node) -> list[SSAValue]:
    """Self-attention with fused projections of query, key and value."""
    refuse(node, {6: "past_sequence_length"}, ("do_rotary", "past_present_share_buffer"), {})
    projected = biased(node, node.emit(MatmulOp(node.operand(0), node.operand(1))), 2)
    return _self_attention(node, projected, mask=3, past=4, bias=5)


def _quantized_attention(node: Node) -> list[SSAValue]:
    refuse(node, {}, ("do_rotary", "past_present_share_buffer"), {})
    x = unquantized(node, node.operand(0), node.operand(3), node.optional(6))
    weight = unquantized(node, node.operand(1), node.operand(4), node.optional(7), -1)
    return _self_attention(node, biased(node, node.emit(MatmulOp(x, weight)), 2), mask=5, past=8, bias=9)


def _self_attention(node: Node, projected: SSAValue, *, mask: int, past: int, bias: int) -> list[SSAValue]:
    heads, total = node.integer("num_heads", 0), shape_of(projected)[2]
    sizes = node.integers("qkv_hidden_sizes") or [total // 3] * 3
    if len(sizes) != 3 or not equal(sum(sizes), total):
        raise node.invalid(f"{total} columns of weights for query, key and value of {sizes}")
    ends = [sum(sizes[: index + 1]) for index in range(3)]
    parts = [slice_axis(node, projected, 2, end - size, end) for size, end in zip(sizes, ends, strict=True)]
    query, key, value = (to_heads(node, part, heads) for part in parts)
    earlier = node.optional(past)
    if earlier is not None:
        key, value = (_joined(node, _first(node, earlier, at), each) for at, each in enumerate((key, value)))
    scores = Scores(node, query, key)
    scores.read(mask, bias)
    result = scores.attended(query, key, value)
    if not node.wants(1):
        return [result]
    return [result, node.emit(ConcatOp([node.reshape(each, (1, *shape_of(each))) for each in (key, value)], 0))]


def rotary_angles(node: Node, index: int, places: SSAValue) -> SSAValue:
    """Cosines or sines [B or 1, 1, T, pairs] at positions [B or 1, T]."""
    gathered = node.emit(GatherOp(node.operand(index), places, 0))
    batch, rows, pairs = shape_of(gathered)
    return node.reshape(gathered, (batch, 1, rows, pairs))


def _rotary_embedding(node: Node) -> SSAValue:
    """Rotary embedding with tables [positions, pairs]; a single position is that of row 0."""
    refuse(node, {}, ("is_packed_batching",), {})
    if node.number("scale", 1.0) != 1.0:
        raise node.unsupported("attribute scale")
    x, shape = node.operand(0), shape_of(node.operand(0))
    pairs = shape_of(node.operand(2))[1]
    heads, turned = node.integer("num_heads", 0), node.integer("rotary_embedding_dim", 0) or 2 * pairs
    if len(shape) == 3:
        x = to_heads(node, x, heads or shape[2] // (2 * pairs))
    if len(shape_of(x)) != 4 or not equal(turned, 2 * pairs) or turned > shape_of(x)[3]:
        raise node.invalid(f"{pairs} angles turn {turned} elements of an operand of shape {list(shape)}")
    places = node.operand(1)
    if len(shape_of(places)) < 2:
        places = node.emit(AddOp(node.reshape(places, (1, 1)), arange(node, shape_of(x)[2], 1, shape_of(x)[2])))
    cosine, sine = (rotary_angles(node, index, places) for index in (2, 3))
    result = rotated(node, x, cosine, sine, turned, interleaved=node.flag("interleaved"))
    return from_heads(node, result) if len(shape) == 3 else result


HANDLERS: dict[str, Handler] = {
    "com.microsoft.Attention": _attention,
    "com.microsoft.QAttention": _quantized_attention,
    "com.microsoft.MultiHeadAttention": _multi_head_attention,
    "com.microsoft.RotaryEmbedding": _rotary_embedding,
}
