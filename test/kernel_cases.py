"""Kernels of every schedule as functions of one size, which runs over all that is left over behind whole tiles.

`CASES[schedule][name](n)` is a graph that becomes one kernel of that schedule (or a body by hand, where no pass forms
it yet). Where its code writes results over operands, some operand of the case allows it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from graph_runs import Case, Model
from kernel_runs import Body
from kernel_variants import ByHand
from xdsl.dialects.builtin import bf16, f32, i8
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.attention import AttentionOp
from mini_infer.dialects.graph.ops.block_weight import BlockWeightOp
from mini_infer.dialects.graph.ops.contraction import ConvOp, MatmulOp
from mini_infer.dialects.graph.ops.conversion import CastOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, MinOp, MulOp, SubOp
from mini_infer.dialects.graph.ops.indexing import ScatterElementsOp, ScatterNdOp
from mini_infer.dialects.graph.ops.linear_attention import LinearAttentionOp
from mini_infer.dialects.graph.ops.movement import BroadcastToOp, ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from mini_infer.dialects.graph.ops.normalization import BatchNormOp, InstanceNormOp, LayerNormOp, RmsNormOp
from mini_infer.dialects.graph.ops.recurrence import LstmOp
from mini_infer.dialects.graph.ops.reduction import CumsumOp, LogSoftmaxOp, ReduceMeanOp, SoftmaxOp
from mini_infer.dialects.graph.ops.resize import ResizeOp
from mini_infer.dialects.graph.ops.selection import ChosenRowsOp, NonMaxSuppressionOp, TopKOp
from mini_infer.dialects.graph.ops.tree_ensemble import TreeEnsembleOp
from mini_infer.dialects.graph.ops.unary import ExpOp, ReluOp
from mini_infer.dialects.graph.ops.windows import AvgPoolOp, LrnOp, MaxPoolOp
from mini_infer.dialects.graph.values import shape_of

Sized: TypeAlias = "Callable[[int], Case | ByHand]"
Random = np.random.default_rng(0)


def trees(m: Model, rows: int, groups: int, count: int, depth: int, width: int) -> SSAValue:
    """Complete trees of which the last is padding, on four features."""
    random = np.random.default_rng(7)
    nodes = np.zeros((groups, count, 1 << depth, 2), np.int64)
    nodes[..., 0] = random.integers(0, 4, nodes.shape[:-1])
    nodes[..., 1] = random.standard_normal(nodes.shape[:-1]).view(np.int64)
    weights = random.standard_normal((groups, count, 1 << depth, width))
    weights[:, -1] = 0
    x = m.input(rows, 4, dtype=np.float64)
    return m(TreeEnsembleOp(x, m.weight(data=nodes), m.weight(data=weights), trees=count - 1, depth=depth))


def linked_trees(m: Model, rows: int) -> SSAValue:
    """A long tree, two that begin in it, and padding: the greatest weights."""
    thresholds = np.random.default_rng(8).standard_normal(9)
    words = [(i % 4, bits, i + 1, 9 + i) for i, bits in enumerate(thresholds.view(np.int64).tolist())]
    nodes, weights = np.array(words, np.int64), np.random.default_rng(9).standard_normal((11, 2))
    weights[-1] = -np.inf
    nodes[-1, 2:] = 9, 18
    leaves = np.array([(0, 0, leaf, leaf) for leaf in range(9, 20)])
    nodes = np.concatenate([nodes, leaves])
    roots = np.array([[0, 4, 7, *[19] * 13]], np.int64)
    x, table, leaves = m.input(rows, 4, dtype=np.float64), m.weight(data=nodes), m.weight(data=weights)
    return m(TreeEnsembleOp(x, table, leaves, m.weight(data=roots), trees=3, depth=9, aggregate="max"))


def graph(make: Callable[[Model, int], SSAValue]) -> Sized:
    """A case of every size from a function of model and size."""
    return lambda n: lambda m: make(m, n)


def by_hand(family: str, body: Body, shapes: Callable[[int], list[tuple[int, ...]]], dtype: Any = np.float64) -> Sized:
    """A body and the shapes of its operands for each size."""
    return lambda n: ByHand(family, body, tuple(Random.standard_normal(shape).astype(dtype) for shape in shapes(n)))


def over(root: Callable[[Model, SSAValue], SSAValue], *shape: int, dtype: Any = np.float64) -> Sized:
    """min(x, root(x)), which reads x after the root; a size of -1 is the one that varies."""

    def make(m: Model, n: int) -> SSAValue:
        x = m.input(*(n if size < 0 else size for size in shape), dtype=dtype)
        return m(MinOp(x, root(m, x)))

    return graph(make)


def behind(make: Callable[[Model, int], SSAValue], dtype: Any = np.float64) -> Sized:
    """max(0, x - root), with an x of its own of the root's shape."""

    def case(m: Model, n: int) -> SSAValue:
        root = make(m, n)
        return m(ReluOp(m(SubOp(m.input(*shape_of(root), dtype=dtype), root))))

    return graph(case)


def scaled(kind: type[LayerNormOp] | type[RmsNormOp], axis: int) -> Callable[[Model, SSAValue], SSAValue]:
    return lambda m, x: m(kind(x, m.weight(*shape_of(x)[axis:], dtype=np.float64), axis=axis))


def instance_norm(m: Model, x: SSAValue) -> SSAValue:
    channels = shape_of(x)[1]
    return m(InstanceNormOp(x, m.weight(channels, dtype=np.float64), m.weight(channels, dtype=np.float64)))


def suppressed(m: Model, boxes: int, classes: int = 3) -> SSAValue:
    op = NonMaxSuppressionOp(
        m.input(2, boxes, 4),
        m.input(2, classes, boxes),
        m.constant(boxes - 1, np.int64),
        m.constant(0.3),
        rows=boxes,
    )
    m(op)
    return m(ChosenRowsOp(op.chosen, op.counts))


def one_row(m: Model, columns: int, depth: int, transpose_b: bool = False) -> SSAValue:
    """Products of one row each, minus an input, times a number for each of them."""
    matrix = m.input(2, *((columns, depth) if transpose_b else (depth, columns)), dtype=np.float32)
    y = m(MatmulOp(m.input(2, 1, depth, dtype=np.float32), matrix, transpose_b=transpose_b))
    return m(MulOp(m(SubOp(y, m.input(1, 1, columns, dtype=np.float32))), m.input(2, 1, 1, dtype=np.float32)))


def pictures(m: Model, *sizes: int) -> SSAValue:
    return m.input(2, *sizes, dtype=np.float32)


def resized(
    m: Model, old: tuple[int, ...], new: tuple[int, ...], mode: str, dtype: Any = np.float32, antialias: bool = False
) -> SSAValue:
    return m(ResizeOp(m.input(*old, dtype=dtype), new, mode=mode, antialias=antialias))


def product(
    m: Model, rows: int, columns: int, weight: bool = True, lhs: SSAValue | None = None, depth: int = 3
) -> SSAValue:
    rhs = (m.weight if weight else m.input)(depth, columns, dtype=np.float64)
    return m(MatmulOp(lhs or m.input(rows, depth, dtype=np.float64), rhs))


def in_pairs(
    m: Model, rows: int, columns: int, weight: bool = True, lhs: SSAValue | None = None, depth: int = 5
) -> SSAValue:
    """A product of bf16 with sums of f32."""
    rhs = (m.weight if weight else m.input)(depth, columns, dtype=ml_dtypes.bfloat16)
    return m(MatmulOp(lhs or m.input(rows, depth, dtype=ml_dtypes.bfloat16), rhs, sums=f32))


def rounded_rows(m: Model, rows: int, depth: int) -> SSAValue:
    """Numbers that have few bits already, rounded."""
    x = m.input(data=m.random(rows, depth, dtype=ml_dtypes.bfloat16).astype(np.float32))
    return m(CastOp(x, bf16, flush=True))


def conv_in_pairs(m: Model, shape: tuple[int, ...], filters: int, **window: Any) -> SSAValue:
    """A 3x3 convolution of bf16 with sums of f32."""
    weight = m.weight(filters, shape[-1], 3, 3, dtype=ml_dtypes.bfloat16, scale=0.1)
    x, bias = m.input(*shape, dtype=ml_dtypes.bfloat16), m.weight(filters)
    return m(ConvOp(x, weight, bias, pads=(1, 1, 1, 1), layout="NHWC", sums=f32, **window))


def few_bits(m: Model, rows: int, columns: int, rounded: bool = False) -> SSAValue:
    """A product by a matrix of bytes in blocks of four, of rows that may be rounded."""
    weight, scale = (
        m.weight(data=m.random(columns, 8, scale=50).astype(np.int64).astype(np.uint8)),
        m.weight(columns, 2),
    )
    matrix = m(BlockWeightOp(weight, scale, None, bits=8, block=4, depth=7, middle=128))
    return m(MatmulOp(m.input(rows, 7), matrix, transpose_b=True, lhs_as=i8 if rounded else None))


def gated(
    m: Model, rows: int, columns: int, gate: type[ReluOp] | type[ExpOp] = ReluOp, depth: int = 3, relu: bool = False
) -> SSAValue:
    """Halves of a product, one of which is the other's factor."""
    x = m.input(rows, depth, dtype=np.float64)
    both = product(m, rows, 2 * columns, lhs=m(ReluOp(x)) if relu else x, depth=depth)
    halves = [m(SliceOp(both, (0, start), (rows, start + columns))) for start in (columns, 0)]
    return m(MulOp(m(gate(halves[0])), halves[1]))


def conv(m: Model, shape: tuple[int, ...], filters: int, kernel: int, groups: int = 1, **window: Any) -> SSAValue:
    """Channels-last, in f32 where every group is one channel: only that is depthwise code."""
    dtype = np.float32 if groups == shape[-1] else np.float64
    weight = m.weight(filters, shape[-1] // groups, kernel, kernel, dtype=dtype)
    x = m.input(*shape, dtype=dtype)
    pads = (kernel // 2,) * 4
    return m(ConvOp(x, weight, m.weight(filters, dtype=dtype), pads=pads, groups=groups, layout="NHWC", **window))


def three(m: Model, n: int, **window: Any) -> SSAValue:
    """A convolution, a depthwise one and a pointwise one, of pictures that are large beside a cache of 4 KB."""
    y = m.input(2, 44, n + 1, 3)
    for filters, kernel, groups in ((5, 1, 1), (5, 3, 5), (6, 1, 1)):
        weight, bias = m.weight(filters, shape_of(y)[-1] // groups, kernel, kernel), m.weight(filters)
        more: dict[str, Any] = {"pads": (1, 1, 1, 1), **window} if groups > 1 else {}
        y = m(ReluOp(m(ConvOp(y, weight, bias, groups=groups, layout="NHWC", **more))))
    return y


def pooled(m: Model, n: int, window: int) -> SSAValue:
    y = m(ReluOp(conv(m, (1, 5, n + 2, 2), 5, 3)))
    return m(MaxPoolOp(y, (window, window), strides=(2, 2), layout="NHWC"))


def small_filters(m: Model, shape: tuple[int, ...], filters: int) -> SSAValue:
    """A convolution in f32 that is done by transforms."""
    weight = m.weight(filters, shape[-1], 3, 3, scale=0.1)
    return m(ConvOp(m.input(*shape), weight, m.weight(filters), pads=(1, 1, 1, 1), layout="NHWC"))


def transposed(m: Model, n: int) -> SSAValue:
    """Half of what is read lies across what is written: square tiles, turned in registers."""
    x, y = m.input(6, n), m.input(n, 6)
    return m(MulOp(x, m(TransposeOp(y, (1, 0)))))


def attention(m: Model, n: int) -> SSAValue:
    q, k, v = (m.input(1, 2, size, 4) for size in (n, n + 1, n + 1))
    return m(AttentionOp(q, k, v, scale=0.5))


def linear_attention(m: Model, rows: int, columns: int) -> SSAValue:
    q, k, v = m.input(1, 2, 2, rows), m.input(1, 2, 1, rows), m.input(1, 2, 1, columns)
    return m(LinearAttentionOp(q, k, v, decay=m.input(1, 2, 1, rows), scale=0.5))


def lstm(m: Model, n: int) -> SSAValue:
    return m(LstmOp(m.input(2, n, 3), m.weight(1, 12, 3), m.weight(1, 12, 3), hidden=3))


def scatter_elements(m: Model, n: int, reduction: str) -> SSAValue:
    indices = m.input(2, n, data=np.arange(2 * n).reshape(2, n) % 3)
    return m(ScatterElementsOp(m.input(3, n), indices, m.input(2, n), axis=0, reduction=reduction))


def scatter_rows(m: Model, n: int) -> SSAValue:
    indices = m.input(4, 1, data=np.array([[2], [0], [2], [1]]))
    return m(ScatterNdOp(m.input(n + 2, 3), indices, m.input(4, 3), reduction="add"))


def affine(m: Model, n: int) -> SSAValue:
    rest = [m.weight(3, data=np.linspace(0.5, 1, 3)) for _ in range(4)]
    return m(BatchNormOp(m.input(2, 3, n, dtype=np.float64), *rest))


CACHES = {
    "attention": 65536,
    "attention_blocks": 512,
    "bands": 4096,
    "panels_by_rows": 65536,
    "pool": 65536,
    "prologue_panels": 2048,
    "pooled_panels": 1536,
}
"""Bytes of the second-level cache for which kernels of a schedule are formed, where it is not the least."""

CASES: dict[str, dict[str, Sized]] = {
    "attention": {"heads": graph(attention)},
    "attention_blocks": {"heads": graph(attention)},
    "panels": {
        "columns": behind(lambda m, n: product(m, 5, n)),
        "rows": behind(lambda m, n: product(m, n, 5)),
        "one row": behind(lambda m, n: product(m, 1, n)),
        "gates": behind(lambda m, n: gated(m, 5, n)),
        "gates of one row": behind(lambda m, n: gated(m, 1, n, ExpOp)),
        "gates, rows": behind(lambda m, n: gated(m, n, 3, ExpOp)),
        "pixels": behind(lambda m, n: conv(m, (2, 2, n, 3), 5, 1)),
        "windows": behind(lambda m, n: conv(m, (1, 3, n, 2), 5, 3)),
        "filters": behind(lambda m, n: conv(m, (1, 2, 5, 2), n, 3, strides=(1, 2))),
        "groups": behind(lambda m, n: conv(m, (1, 3, n, 4), 10, 3, groups=2)),
        "pairs": behind(lambda m, n: in_pairs(m, 5, n), np.float32),
        "depth of pairs": behind(lambda m, n: in_pairs(m, 3, 5, depth=n), np.float32),
        "windows of pairs": behind(lambda m, n: conv_in_pairs(m, (1, 3, n, 3), 5, strides=(2, 1)), np.float32),
    },
    "panels_by_rows": {
        "columns": behind(lambda m, n: product(m, 25, n, depth=n)),
        "rows": behind(lambda m, n: product(m, 24 + n, 5)),
        "pixels": behind(lambda m, n: conv(m, (2, 12, n, 3), 5, 1)),
    },
    "computed_panels": {
        "rows": behind(lambda m, n: product(m, n, 9, weight=False)),
        "columns": behind(lambda m, n: product(m, 3, n, weight=False)),
        "batch": behind(
            lambda m, n: m(MatmulOp(m.input(2, n, 3, dtype=np.float64), m.input(2, 3, 5, dtype=np.float64)))
        ),
        "pairs": behind(lambda m, n: in_pairs(m, 3, n, weight=False), np.float32),
        "depth of pairs": behind(lambda m, n: in_pairs(m, 3, 5, weight=False, depth=n), np.float32),
    },
    "block_dots": {
        "rows": behind(lambda m, n: few_bits(m, n, 9, rounded=True), np.float32),
        "columns": behind(lambda m, n: few_bits(m, 3, n, rounded=True), np.float32),
    },
    "dequantised_panels": {
        "rows": behind(lambda m, n: few_bits(m, n, 9), np.float32),
        "many rows": behind(lambda m, n: few_bits(m, 64 + n, 3), np.float32),
        "columns": behind(lambda m, n: few_bits(m, 3, n), np.float32),
    },
    "prologue_panels": {
        "rows": behind(lambda m, n: product(m, n, 5, lhs=m(ReluOp(m.input(n, 3, dtype=np.float64))))),
        "gates": behind(lambda m, n: gated(m, 5, n, ExpOp, relu=True)),
        "pairs": behind(lambda m, n: in_pairs(m, n, 5, lhs=rounded_rows(m, n, 5)), np.float32),
    },
    "pooled_panels": {
        "width": graph(lambda m, n: pooled(m, n, 2)),
        "bands that share rows": graph(lambda m, n: pooled(m, n, 3)),
    },
    "blocked_panels": {
        "rows": behind(lambda m, n: product(m, 3 * n + 3, 5, depth=1100)),
        "columns": behind(lambda m, n: product(m, 7, 2 * n, depth=513)),
        "gates": behind(lambda m, n: gated(m, 7, n, depth=513)),
        "pixels": behind(lambda m, n: conv(m, (2, 2, n + 1, 1600), 18, 1)),
        "groups": behind(lambda m, n: conv(m, (1, 3, n + 1, 1200), 10, 1, groups=2)),
    },
    "bands": {
        "width": behind(three, np.float32),
        "strides": behind(lambda m, n: three(m, n, strides=(2, 1)), np.float32),
    },
    "depthwise": {
        "width": behind(lambda m, n: conv(m, (1, 3, n, 6), 6, 3, groups=6), np.float32),
        "height": behind(lambda m, n: conv(m, (2, n, 4, 5), 5, 3, groups=5), np.float32),
        "channels": behind(lambda m, n: conv(m, (1, 2, 3, n + 1), n + 1, 3, groups=n + 1), np.float32),
        "filters": behind(lambda m, n: conv(m, (1, 2, 3, n + 1), 3 * n + 3, 3, groups=n + 1), np.float32),
    },
    "elements": {
        "sum": graph(lambda m, n: m(AddOp(m.input(n), m.input(n)))),
        "dear": graph(lambda m, n: m(ExpOp(m(SubOp(m.input(3, n, dtype=np.float64), m.input(n, dtype=np.float64)))))),
        "affine": graph(affine),
        "halves": graph(lambda m, n: m(MulOp(m.input(n, dtype=np.float16), m.input(n, dtype=np.float16)))),
        "scatter": graph(lambda m, n: scatter_elements(m, n, "none")),
        "scatter and add": graph(lambda m, n: scatter_elements(m, n, "add")),
        "scatter rows": graph(scatter_rows),
        "across": by_hand("map", lambda w: w(MulOp(w[0], w(TransposeOp(w[1], [1, 0])))), lambda n: [(6, n), (n, 6)]),
        "a seam": by_hand(
            "map", lambda w: w(AddOp(w[0], w(ConcatOp([w[1], w[2]], 1)))), lambda n: [(3, n + 2), (3, n), (3, 2)]
        ),
        "a border": by_hand(
            "map", lambda w: w(AddOp(w[0], w(PadOp(w[1], [1, 1], [1, 2])))), lambda n: [(4, n + 3), (2, n)]
        ),
        "triples": by_hand("map", lambda w: w(MulOp(w[0], w[1])), lambda n: [(n, 3), (3,)]),
        "two results": by_hand(
            "map",
            lambda w: [total := w(AddOp(w[0], w[1])), w(MulOp(total, w[0]))],
            lambda n: [(3, n), (3, n)],
        ),
        "means around": by_hand(
            "rows",
            lambda w: w(AddOp(w[1], w(BroadcastToOp(w(ReduceMeanOp(w[0], [1], True)), shape_of(w[1]))))),
            lambda n: [(3, n), (3, n)],
        ),
        "largest": behind(
            lambda m, n: m(MaxPoolOp(m.input(1, 2, n + 1, 3, dtype=np.float64), (2, 2), layout="NHWC")),
        ),
        "mean of windows": behind(
            lambda m, n: m(AvgPoolOp(m.input(2, n, 3, 4, dtype=np.float64), (2, 3), pads=(0, 1, 0, 1)))
        ),
        "neighbours": behind(lambda m, n: m(LrnOp(m.input(1, 4, 2, n, dtype=np.float64), 3))),
    },
    "linear_attention": {
        "columns": graph(lambda m, n: linear_attention(m, 3, n)),
        "rows": graph(lambda m, n: linear_attention(m, n, 5)),
    },
    "one_row": {
        "dots": graph(lambda m, n: one_row(m, 5, n, transpose_b=True)),
        "columns": graph(lambda m, n: one_row(m, n, 33, transpose_b=True)),
        "sums": graph(lambda m, n: one_row(m, n, 9)),
        "blocks": graph(lambda m, n: one_row(m, 2040 + n, 3)),
    },
    "pool": {
        "largest": graph(lambda m, n: m(MaxPoolOp(pictures(m, 5, n, 7), [9, 1], strides=[1, 5], pads=[4, 0, 4, 0]))),
        "means": graph(lambda m, n: m(AvgPoolOp(pictures(m, 5, n, 3), [3, 2], strides=[1, 2], pads=[1, 1, 2, 0]))),
        "many": graph(lambda m, n: m(AvgPoolOp(m.input(2, 3, n + 9, 11, dtype=np.float16), [9, 5], strides=[1, 5]))),
        "volumes": graph(
            lambda m, n: m(MaxPoolOp(pictures(m, n, 3, 5, 5), [3, 3, 5], strides=[1, 1, 5], pads=[1, 1, 2] * 2))
        ),
    },
    "resize": {
        "rows": graph(lambda m, n: resized(m, (3, 2, n), (3, 2, n + 2), "linear")),
        "pictures": graph(lambda m, n: resized(m, (5, n, 9), (5, 2 * n, 20), "cubic")),
        "bands": graph(lambda m, n: resized(m, (2, 70, n), (2, 35 * n, n + 1), "cubic", np.float16)),
        "filtered": graph(lambda m, n: resized(m, (2, 130, 3 * n), (2, 11, n), "linear", antialias=True)),
        "nearest": graph(lambda m, n: resized(m, (2, n + 3, 7), (2, n + 5, 19), "nearest")),
    },
    "lrn": {"channels": graph(lambda m, n: m(LrnOp(m.input(2, 2, 3, n, dtype=np.float64), 3, layout="NHWC")))},
    "recurrence": {"batch": graph(lstm)},
    "rows": {
        "layer norm": over(scaled(LayerNormOp, 1), 1, -1),
        "layer norm of rows": over(scaled(LayerNormOp, 2), 2, 2, -1),
        "layer norm of planes": over(scaled(LayerNormOp, 1), 2, 3, -1),
        "rms norm": over(scaled(RmsNormOp, 1), 3, -1),
        "softmax": over(lambda m, x: m(SoftmaxOp(x, 1)), 2, -1),
        "softmax across": over(lambda m, x: m(SoftmaxOp(x, 1)), 2, 3, -1),
        "log softmax": over(lambda m, x: m(LogSoftmaxOp(x, 1)), 2, -1),
        "instance norm": over(instance_norm, 1, 2, 3, -1),
        "running sum": over(lambda m, x: m(CumsumOp(x, 1, True)), 2, -1),
        "running sum across": over(lambda m, x: m(CumsumOp(x, 0, False, True)), 3, -1),
        "mean": behind(lambda m, n: m(ReduceMeanOp(m.input(3, n, dtype=np.float64), [1]))),
        "mean of planes": behind(lambda m, n: m(ReduceMeanOp(m.input(3, n, 5, dtype=np.float64), [1, 2]))),
        "mean across": behind(lambda m, n: m(ReduceMeanOp(m.input(2, 3, n, dtype=np.float64), [1], True))),
        "sum and norm": by_hand(
            "rows",
            lambda w: [total := w(AddOp(w[0], w[1])), w(LayerNormOp(total, w[2], axis=1))],
            lambda n: [(2, n), (2, n), (n,)],
        ),
        "a seam": by_hand(
            "rows",
            lambda w: w(AddOp(w[2], w(SoftmaxOp(w(ConcatOp([w[0], w[1]], 1)), 1)))),
            lambda n: [(2, n), (2, 3), (2, n + 3)],
        ),
        "views around": by_hand(
            "rows",
            lambda w: w(
                AddOp(w[1], w(ReshapeOp(w(SoftmaxOp(w(TransposeOp(w[0], [0, 2, 1])), 2)), [2, 3, shape_of(w[1])[2]])))
            ),
            lambda n: [(2, 3, n), (2, 3, n)],
        ),
    },
    "selection": {
        "rows": graph(lambda m, n: m(TopKOp(m.input(3, n, dtype=np.float64), 1, (n + 1) // 2))),
        "columns": graph(lambda m, n: m(TopKOp(m.input(n, 3, dtype=np.float64), 0, n, smallest=True))),
    },
    "suppression": {
        "boxes": graph(suppressed),
        "classes": graph(lambda m, n: suppressed(m, 5, n)),
    },
    "tree_ensemble": {
        "rows": graph(lambda m, n: trees(m, n, 3, 16, 2, 1)),
        "weights": graph(lambda m, n: trees(m, n, 2, 16, 3, 3)),
        "linked": graph(lambda m, n: linked_trees(m, n)),
    },
    "winograd": {
        "pixels": behind(lambda m, n: small_filters(m, (1, n, n + 3, 20), 24), dtype=np.float32),
        "channels": behind(lambda m, n: small_filters(m, (2, 8, 8, n), 24), dtype=np.float32),
        "filters": behind(lambda m, n: small_filters(m, (1, 9, 8, 20), n), dtype=np.float32),
        "bf16": behind(lambda m, n: conv_in_pairs(m, (1, n, n + 3, 20), 24), dtype=np.float32),
    },
}
