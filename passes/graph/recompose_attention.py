"""recompose-attention: softmax(scale * q k^T + mask) v becomes one op.

before:  %1 = graph.matmul %q, %k {transpose_b}    %2 = graph.mul %1, %scale    %3 = graph.add %2, %mask
         %4 = graph.softmax %3 {axis = 3}          %5 = graph.matmul %4, %v
after:   %5 = graph.attention %q, %k, %v, %mask {scale = .., nan_rows}

The scale may stand on q, k, both or the scores. Masks may be added or chosen by a condition (graph.where);
a constant one that keeps exactly the past becomes `causal`, one that keeps everything goes. Heads of k and
v that are repeated (reshape of broadcast_to) are not: graph.attention shares them. Rows that keep no key are
zeros where exporters write where(is_nan(p), 0, p) after the softmax, otherwise NaN as they were (`nan_rows`).
Scores or weights that anything else uses stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.graph.ops.attention import AttentionOp
from ...dialects.graph.ops.contraction import MatmulOp
from ...dialects.graph.ops.elementwise import WhereOp
from ...dialects.graph.ops.movement import BroadcastToOp, ReshapeOp, TransposeOp
from ...dialects.graph.ops.reduction import SoftmaxOp
from ...dialects.graph.ops.unary import IsNanOp
from ...dialects.graph.values import shape_of
from ..statistics import count
from .support.attention_masks import Scores, build_mask, read_scores, scalar_factor
from .support.pattern_utils import Constants, GraphPattern, apply_patterns, defining, only_use, rewrites


def _softmax_of(weights: SSAValue, constants: Constants) -> SoftmaxOp | None:
    """The softmax that defines the probabilities, with a single use, possibly with NaN replaced by zero."""
    softmax = only_use(weights, SoftmaxOp)
    where = only_use(weights, WhereOp)
    if where is not None and constants.is_scalar(where.lhs, 0):
        is_nan = only_use(where.condition, IsNanOp)
        candidate = defining(where.rhs, SoftmaxOp)
        if is_nan is not None and candidate is not None and is_nan.x is candidate.result:
            users = {use.operation for use in candidate.result.uses}
            softmax = candidate if users == {is_nan, where} else None
    if softmax is None or softmax.axis.value.data != len(shape_of(softmax.x)) - 1:
        return None
    return softmax


class _Builder:
    """Collects ops that convert q, k, v and the mask to the form of graph.attention."""

    def __init__(self, location: LocationAttr) -> None:
        self.location = location
        self.made: list[Operation] = []

    def reshaped(self, value: SSAValue, shape: tuple[int, ...]) -> SSAValue:
        """`value` in another shape."""
        if shape_of(value) == shape:
            return value
        self.made.append(ReshapeOp(value, shape, location=self.location))
        return self.made[-1].results[0]

    def swapped(self, value: SSAValue) -> SSAValue:
        """`value` with its last two dims swapped."""
        rank = len(shape_of(value))
        permutation = (*range(rank - 2), rank - 1, rank - 2)
        self.made.append(TransposeOp(value, permutation, location=self.location))
        return self.made[-1].results[0]

    def four_dims(self, value: SSAValue) -> SSAValue:
        """`value` as [batch, heads, rows, columns]."""
        shape = shape_of(value)
        full = (1, 1, *shape) if len(shape) == 2 else (prod(shape[:-3]), *shape[-3:])
        return self.reshaped(value, full)


def _repeats(value: SSAValue) -> tuple[SSAValue, tuple[int, ...]] | None:
    """(source, shape) of the heads before repetition, if each of the heads [B, H, ..] is repeated."""
    merged = defining(value, ReshapeOp)
    broadcast = None if merged is None else defining(merged.x, BroadcastToOp)
    if broadcast is None:
        return None
    full, one, shape = shape_of(broadcast.result), shape_of(broadcast.x), shape_of(value)
    if len(full) != 5 or len(shape) != 4 or shape != (full[0], full[1] * full[2], *full[3:]):
        return None
    if one != (*full[:2], 1, *full[3:]):
        return None
    return broadcast.x, (*full[:2], *full[3:])


def _shared_heads(key: SSAValue, value: SSAValue, builder: _Builder) -> tuple[SSAValue, SSAValue]:
    """key and value without repetition of heads."""
    key_once, value_once = _repeats(key), _repeats(value)
    if key_once is None or value_once is None or key_once[1][1] != value_once[1][1]:
        return key, value
    return builder.reshaped(*key_once), builder.reshaped(*value_once)


def _fits(query: SSAValue, key: SSAValue, value: SSAValue) -> bool:
    """Whether batches and heads fit graph.attention; key and value may have fewer heads. None may be empty."""
    q, k, v = shape_of(query), shape_of(key), shape_of(value)
    if 0 in (*q, *k, *v):
        return False
    same_rank = len(q) == len(k) == len(v)
    batches = q[:-3] == k[:-3] == v[:-3]
    return same_rank and batches and (len(q) == 2 or (k[-3] == v[-3] and q[-3] % k[-3] == 0))


class Attention(GraphPattern):
    """softmax(scale * q k^T + mask) v -> attention(q, k, v, mask)"""

    @rewrites
    @override
    def match_and_rewrite(self, op: MatmulOp, rewriter: PatternRewriter, /) -> None:
        if op.transpose_a is not None:
            return
        softmax = _softmax_of(op.lhs, self.constants)
        scores = None if softmax is None else read_scores(softmax.x, self.constants)
        if scores is None:
            return
        made = self._build(op, scores)
        if made is not None:
            rewriter.replace(op, made)

    def _build(self, op: MatmulOp, scores: Scores) -> list[Operation] | None:
        constants, matmul = self.constants, scores.matmul
        query, query_scale = scalar_factor(matmul.lhs, constants)
        key, key_scale = scalar_factor(matmul.rhs, constants)
        scale = scores.scale * query_scale * key_scale
        builder = _Builder(op.location)
        if matmul.transpose_a is not None:
            query = builder.swapped(query)
        key, value = _shared_heads(key, op.rhs, builder) if op.transpose_b is None else (key, op.rhs)
        if matmul.transpose_b is None:
            key = builder.swapped(key)
        if op.transpose_b is not None:
            value = builder.swapped(value)
        if not _fits(query, key, value) or (len(shape_of(query)) > 4 and (scores.added or scores.kept)):
            for new in reversed(builder.made):
                new.erase()
            return None
        mask = build_mask(scores, builder.made, op.location, constants)
        query, key, value = (builder.four_dims(operand) for operand in (query, key, value))
        attention = AttentionOp(
            query,
            key,
            value,
            mask.value,
            scale=scale,
            causal=mask.causal,
            nan_rows=isinstance(op.lhs.owner, SoftmaxOp),
            location=op.location,
        )
        builder.made.append(attention)
        builder.reshaped(attention.result, shape_of(op.result))
        return builder.made


@dataclass(frozen=True)
class RecomposeAttention(ModulePass):
    """Recognises attention."""

    name = "recompose-attention"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not any(isinstance(inner, SoftmaxOp) for inner in op.walk()):
            return
        before = _causal_attentions(op)
        apply_patterns(ctx, op, self.name, [Attention])
        count(ctx, self.name, "causal", _causal_attentions(op) - before)


def _causal_attentions(module: ModuleOp) -> int:
    return sum(isinstance(op, AttentionOp) and op.causal is not None for op in module.walk())
