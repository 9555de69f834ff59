"""com.microsoft's GroupQueryAttention: causal attention with a key-value cache into which new tokens are written.

`seqlens_k` is the last valid position of each batch entry: cache entries and rows after it are undefined. A cache
becomes as long as total_sequence_length, unless it is longer already. If that number is unknown, or the cache is said
to be a window, it must be long enough: an overflow is a run-time error.
"""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i8, i64
from xdsl.ir import SSAValue

from ....dialects.graph.ops.attention import AttentionOp
from ....dialects.graph.ops.conversion import CastOp
from ....dialects.graph.ops.elementwise import AddOp, AndOp, GreaterOp, LessEqualOp, MaxOp, MulOp, SubOp
from ....dialects.graph.ops.movement import ConcatOp
from ....dialects.graph.ops.normalization import RmsNormOp
from ....dialects.graph.ops.quantization import QuantizeOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ....dialects.sizes.sizes import surely_below
from ..handlers.attention import rotated
from ..handlers.movement import slice_axis
from ..handlers.states import written_from
from ..node import Handler, Node
from .attention import Scores, arange, from_heads, refuse, rotary_angles, to_heads

_PAST, _LAST, _TOTAL, _COSINE, _POSITIONS, _BIAS, _SCALE, _NORM, _VALID = 3, 5, 6, 7, 9, 10, 12, 14, 16
"""Operands: past keys (values behind them), seqlens_k, and so on; of pairs the one for keys or queries."""


def _group_query_attention(node: Node) -> list[SSAValue]:
    refuse(node, {11: "head_sink"}, ("smooth_softmax", "qk_output"), {3: "output_qk"})
    if not node.flag("causal", True):
        raise node.unsupported("attribute causal = 0")
    query, key, value = _projected(node)
    batch, _, rows, _ = shape_of(query)
    element = element_type_of_value(query)
    first = _first_place(node, batch, rows)
    places = node.emit(AddOp(node.reshape(first, (batch, 1)), arange(node, rows, 1, rows)))
    query, key = _normed(node, query, "q"), _normed(node, key, "k")
    if node.flag("do_rotary"):
        turned_at = node.cast(node.operand(_POSITIONS), i64) if node.has_operand(_POSITIONS) else places
        cosine, sine = (rotary_angles(node, _COSINE + at, turned_at) for at in (0, 1))
        turned, interleaved = 2 * shape_of(cosine)[3], node.flag("rotary_interleaved")
        query, key = (rotated(node, each, cosine, sine, turned, interleaved=interleaved) for each in (query, key))
    else:
        node.ignore("rotary_interleaved")
    caches = [_Cache(node, number, each, first) for number, each in enumerate((key, value))]
    columns, last = arange(node, shape_of(caches[0].read)[2]), node.reshape(places, (batch, 1, rows, 1))
    kept = node.emit(LessEqualOp(columns, last))
    window = node.integer("local_window_size", -1)
    if window > 0:
        since = node.emit(SubOp(last, node.scalar(window, i64)))
        kept = node.emit(AndOp(kept, node.emit(GreaterOp(columns, since))))
    query = caches[0].scaled(query)
    scores = Scores(node, query, caches[0].read)
    mask = kept
    if (beside := node.optional(_BIAS)) is not None:
        scores.keep(kept, scores.lowest())
        scores.add(beside)
        mask = scores.added
    key, value = (each.read for each in caches)
    softcap = node.number("softcap", 0.0)
    result = node.emit(AttentionOp(query, key, value, mask, scale=scores.scale(), softcap=softcap))
    result = node.cast(caches[1].scaled(result), element)
    return [from_heads(node, result), *(each.present for each in caches)]


def _projected(node: Node) -> list[SSAValue]:
    """Query, and keys and values with fewer heads; all packed in one if only the query is given."""
    heads, groups = node.integer("num_heads", 0), node.integer("kv_num_heads", 0)
    query = node.operand(0)
    if heads < 1 or groups < 1 or heads % groups:
        raise node.invalid(f"{heads} heads can't share {groups} (num_heads, kv_num_heads)")
    if node.has_operand(1):
        parts = [query, node.operand(1), node.operand(2)]
    else:
        size = shape_of(query)[2] // (heads + 2 * groups)
        ends = [heads * size, (heads + groups) * size, (heads + 2 * groups) * size]
        starts = [0, *ends[:2]]
        parts = [slice_axis(node, query, 2, start, end) for start, end in zip(starts, ends, strict=True)]
    return [to_heads(node, part, count) for part, count in zip(parts, (heads, groups, groups), strict=True)]


def _first_place(node: Node, batch: int, rows: int) -> SSAValue:
    """The place in the cache of each entry's first new token, i64 [batch]."""
    last = node.cast(node.reshape(node.operand(_LAST), (batch,)), i64)
    if not node.has_operand(_PAST):
        return node.zeros(i64, (batch,))
    if node.has_operand(_VALID):
        valid = node.cast(node.reshape(node.operand(_VALID), (batch,)), i64)
        return node.emit(SubOp(node.emit(AddOp(last, node.scalar(1, i64))), valid))
    # In a first call entries may be padded at their ends, and begin at 0 all the same.
    return node.emit(MaxOp(node.emit(SubOp(last, node.scalar(rows - 1, i64))), node.scalar(0, i64)))


def _normed(node: Node, heads: SSAValue, of: str) -> SSAValue:
    """Each head with its own RMS norm, if weights are given."""
    weight = node.optional(_NORM + (of == "k"))
    if weight is None:
        node.ignore(f"{of}_norm_epsilon", "qk_norm_epsilon")
        return heads
    epsilon = node.number(f"{of}_norm_epsilon", node.number("qk_norm_epsilon", 1e-6))
    return node.emit(RmsNormOp(heads, weight, axis=3, epsilon=epsilon))


class _Cache:
    """Keys or values with the new ones written among them: those that are `read`, and the `present` of all.

    Quantised ones are read as integers; their scales, for each channel, are factors of what they are multiplied with.
    """

    def __init__(self, node: Node, number: int, new: SSAValue, first: SSAValue) -> None:
        self._node, self._scale = node, _scale_of(node, number, new)
        past, is_window = node.optional(_PAST + number), node.flag("sliding_window_cache")
        if self._scale is not None:
            new = node.emit(QuantizeOp(node.widened(new), self._scale, None, i8))
        element = element_type_of_value(new)
        if past is not None and element_type_of_value(past) != element:
            raise node.unsupported(f"a cache of {element_type_of_value(past)} for keys and values of {element}")
        self.present = self.read = new
        room = 0 if past is None else shape_of(past)[2]
        if past is not None and room != 0:  # at some shapes
            total: int = room if node.known(node.operand(_TOTAL)) is None else node.ints_operand(_TOTAL)[0]
            if room < total and not is_window:
                batch, heads, _, size = shape_of(past)
                more = node.broadcast(node.scalar(0, past), (batch, heads, total - room, size))
                past = node.emit(ConcatOp([past, more], 2))
            self.present = self.read = written_from(node, past, new, first, 2)
            if surely_below(total - 1, room) and total is not room:
                self.read = slice_axis(node, self.present, 2, 0, total)
        if self._scale is not None:
            self.read = node.emit(CastOp(self.read, f32))

    def scaled(self, heads: SSAValue) -> SSAValue:
        """Query heads, or results of them, times the scales of the heads of keys or values that they share."""
        node, scale = self._node, self._scale
        if scale is None:
            return heads
        heads = node.cast(heads, f32)
        batch, count, rows, size = shape_of(heads)
        groups = shape_of(self.read)[1]
        split = node.reshape(heads, (batch, groups, count // groups, rows, size))
        given = node.reshape(scale, (1, *shape_of(scale)[1:3], 1, shape_of(scale)[3]))
        return node.reshape(node.emit(MulOp(split, given)), (batch, count, rows, size))


def _scale_of(node: Node, number: int, new: SSAValue) -> SSAValue | None:
    """The scales of quantised numbers as [1, heads or 1, 1, size or 1]; None if they are floats."""
    of = "kv"[number]
    kind, bits = node.text(f"{of}_quant_type", "NONE"), node.integer("kv_cache_bit_width", 0)
    if kind == "NONE":
        return None
    if kind not in ("PER_TENSOR", "PER_CHANNEL"):
        raise node.malformed(f"{of}_quant_type {kind} is unknown")
    if bits not in (0, 8):
        raise node.unsupported(f"a cache of {bits} bits (kv_cache_bit_width)")
    scale = node.optional(_SCALE + number)
    if scale is None:
        raise node.malformed(f"{of}_quant_type {kind} without {of}_scale")
    heads, size = shape_of(new)[1], shape_of(new)[3]
    shape = (1, 1, 1, 1) if kind == "PER_TENSOR" else (1, heads, 1, size)
    return node.reshape(node.cast(scale, f32), shape)


HANDLERS: dict[str, Handler] = {"com.microsoft.GroupQueryAttention": _group_query_attention}
