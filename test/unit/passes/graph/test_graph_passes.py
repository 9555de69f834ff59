"""infer-shapes, fold-constants, canonicalize-graph, fold-batch-norm, and all graph passes together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from graph_modules import Graph, same_after
from random_graphs import RandomGraph
from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import Rewriter

from mini_infer.dialects.errors import CompileError
from mini_infer.dialects.graph.base import GraphOp, node_name
from mini_infer.dialects.graph.ops.activation import ClipOp
from mini_infer.dialects.graph.ops.contraction import ConvOp, ConvTransposeOp, MatmulOp
from mini_infer.dialects.graph.ops.conversion import CastOp
from mini_infer.dialects.graph.ops.elementwise import (
    AddOp,
    AndOp,
    DivOp,
    EqualOp,
    GreaterOp,
    MaxOp,
    MinOp,
    MulOp,
    PowOp,
    SubOp,
    WhereOp,
)
from mini_infer.dialects.graph.ops.indexing import GatherNdOp, GatherOp
from mini_infer.dialects.graph.ops.movement import BroadcastToOp, ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from mini_infer.dialects.graph.ops.normalization import BatchNormOp, LayerNormOp
from mini_infer.dialects.graph.ops.reduction import ReduceMeanOp, SoftmaxOp
from mini_infer.dialects.graph.ops.resize import ResizeOp
from mini_infer.dialects.graph.ops.structure import WeightOp
from mini_infer.dialects.graph.ops.unary import AbsOp, NegOp, NotOp, ReciprocalOp, ReluOp, SigmoidOp, SqrtOp, TanhOp
from mini_infer.dialects.graph.ops.windows import AvgPoolOp, MaxPoolOp
from mini_infer.dialects.graph.values import shape_of, tensor
from mini_infer.lowering.pipelines import DEVICE_GRAPH, GRAPH, run_passes
from mini_infer.passes.graph.support.pattern_utils import GraphPattern, apply_patterns, rewrites
from mini_infer.passes.pass_counts import PassStatistics
from mini_infer.passes.statistics import count, pass_statistics

Make = Callable[[Graph, SSAValue], SSAValue]
RANDOM = np.random.default_rng(3)
MATRIX = RANDOM.standard_normal((4, 5))


def positive(g: Graph, x: SSAValue) -> SSAValue:
    """Something that may be under a root."""
    return g(AddOp, g(MulOp, x, x), 0.5)


# What is made of x [2, 3, 4], and the ops that are left of it.
CANONICAL: dict[str, tuple[Make, list[str]]] = {
    "x + -0": (lambda g, x: g(AddOp, x, -0.0), []),
    "-0 + x": (lambda g, x: g(AddOp, -0.0, x), []),
    "x - 0": (lambda g, x: g(SubOp, x, 0.0), []),
    "x + 0, as x may be -0": (lambda g, x: g(AddOp, x, 0.0), ["add"]),
    "x - -0": (lambda g, x: g(SubOp, x, -0.0), ["sub"]),
    "x + zeros of both signs": (lambda g, x: g(AddOp, x, np.array([-0.0, 0.0, -0.0, -0.0])), ["add"]),
    "x * 1": (lambda g, x: g(MulOp, x, np.ones((3, 1))), []),
    "x / 1": (lambda g, x: g(DivOp, x, 1.0), []),
    "x * 1, larger": (lambda g, x: g(MulOp, x, np.ones((5, 1, 1, 1))), ["broadcast_to"]),
    "x + zeros of a weight": (lambda g, x: g(AddOp, x, -np.zeros((9, 2, 3, 4))), ["broadcast_to"]),
    "pow 1": (lambda g, x: g(PowOp, x, 1.0), []),
    "pow 2": (lambda g, x: g(PowOp, x, 2.0), ["mul"]),
    "pow 3": (lambda g, x: g(PowOp, x, 3.0), ["mul", "mul"]),
    "pow 1/2": (lambda g, x: g(PowOp, positive(g, x), 0.5), ["mul", "add", "sqrt"]),
    "pow -1/2": (lambda g, x: g(PowOp, positive(g, x), -0.5), ["mul", "add", "rsqrt"]),
    "1 / sqrt": (lambda g, x: g(DivOp, 1.0, g(SqrtOp, positive(g, x))), ["mul", "add", "rsqrt"]),
    "reciprocal": (lambda g, x: g(ReciprocalOp, g(SqrtOp, positive(g, x))), ["mul", "add", "rsqrt"]),
    "pow 1/2 of what may be -0": (lambda g, x: g(PowOp, g(ReluOp, x), 0.5), ["relu", "pow"]),
    "pow -1/2 of a mean of sizes": (
        lambda g, x: g(PowOp, g(ReduceMeanOp, g(AbsOp, x), axes=[2], keepdims=True), -0.5),
        ["abs", "reduce_mean", "rsqrt"],
    ),
    "reduced dims put back": (
        lambda g, x: g(ReshapeOp, g(ReduceMeanOp, x, axes=[1]), [2, 1, 4]),
        ["reduce_mean"],
    ),
    "a dim put elsewhere": (
        lambda g, x: g(ReshapeOp, g(ReduceMeanOp, x, axes=[1]), [2, 4, 1]),
        ["reduce_mean", "reshape"],
    ),
    "neg neg": (lambda g, x: g(NegOp, g(NegOp, x)), []),
    "relu relu": (lambda g, x: g(ReluOp, g(ReluOp, x)), ["relu"]),
    "x + c + d": (lambda g, x: g(AddOp, g(AddOp, x, 2.0), np.arange(4.0)), ["add"]),
    "x * c * d, of shapes that differ": (
        lambda g, x: g(MulOp, g(MulOp, x, np.ones((3, 1)) * 2), np.arange(4.0)),
        ["mul", "mul"],
    ),
    "(x + c) - c, which rounds x": (lambda g, x: g(AddOp, g(AddOp, x, 2.0**52), -(2.0**52)), ["add", "add"]),
    "x + c + d beyond the range": (lambda g, x: g(AddOp, g(AddOp, x, 1e308), 1e308), ["add", "add"]),
    "x * c * d": (lambda g, x: g(MulOp, g(MulOp, x, 2.0), -3.0), ["mul"]),
    "x * c * d that vanishes": (lambda g, x: g(MulOp, g(MulOp, x, 1e-200), 1e-200), ["mul", "mul"]),
    "x * c * d beyond the range": (lambda g, x: g(MulOp, g(MulOp, x, 1e200), 1e200), ["mul", "mul"]),
    "max and min": (lambda g, x: g(MinOp, g(MaxOp, x, -0.5), 0.5), ["clip"]),
    "clip below": (lambda g, x: g(ClipOp, x, min=0.0), ["relu"]),
    "max 0": (lambda g, x: g(MaxOp, x, 0.0), ["relu"]),
    "cast to itself": (lambda g, x: g(CastOp, x, to=f64), []),
    "where true": (lambda g, x: g(WhereOp, np.array([True]), x, 1.0), []),
    "where not": (
        lambda g, x: g(WhereOp, g(NotOp, g(NotOp, g(NotOp, g(GreaterOp, x, 0.0)))), x, 1.0),
        ["greater", "where"],
    ),
    "and true": (lambda g, x: g(WhereOp, g(AndOp, g(GreaterOp, x, 0.0), True), x, 1.0), ["greater", "where"]),
    "equal true": (
        lambda g, x: g(WhereOp, g(EqualOp, g(GreaterOp, x, 0.0), True), x, 1.0),
        ["greater", "where"],
    ),
    "broadcast operand": (
        lambda g, x: g(AddOp, x, g(BroadcastToOp, g(ReluOp, g(SliceOp, x, (0, 0, 0), (1, 1, 4))), (2, 3, 4))),
        ["slice", "relu", "add"],
    ),
    "broadcast of all operands": (
        lambda g, x: g(ReluOp, g(BroadcastToOp, x, (5, 2, 3, 4))),
        ["relu", "broadcast_to"],
    ),
    "reshape back": (lambda g, x: g(ReshapeOp, g(ReshapeOp, x, (6, 4)), (2, 3, 4)), []),
    "transpose back": (lambda g, x: g(TransposeOp, g(TransposeOp, x, (2, 0, 1)), (1, 2, 0)), []),
    "transpose of ones": (
        lambda g, x: g(TransposeOp, g(ReshapeOp, x, (2, 1, 12)), (1, 0, 2)),
        ["reshape"],
    ),
    "transpose hidden by reshapes": (
        lambda g, x: g(
            TransposeOp,
            g(ReshapeOp, g(TransposeOp, g(ReshapeOp, x, (2, 3, 2, 2)), (2, 3, 0, 1)), (4, 6)),
            (1, 0),
        ),
        ["reshape"],
    ),
    "transpose of a broadcast": (
        lambda g, x: g(TransposeOp, g(BroadcastToOp, x, (5, 2, 3, 4)), (0, 1, 3, 2)),
        ["transpose", "reshape", "broadcast_to"],
    ),
    "transposes around arithmetic": (
        lambda g, x: g(
            TransposeOp,
            g(ReluOp, g(AddOp, g(TransposeOp, x, (0, 2, 1)), np.arange(12.0).reshape(4, 3))),
            (0, 2, 1),
        ),
        ["add", "relu"],
    ),
    "transpose in front of a product": (
        lambda g, x: g(MatmulOp, g(TransposeOp, x, (0, 2, 1)), RANDOM.standard_normal((3, 2))),
        ["matmul"],
    ),
    "part of a transpose in front of a product": (
        lambda g, x: g(MatmulOp, g(TransposeOp, x, (1, 2, 0)), RANDOM.standard_normal((2, 2))),
        ["transpose", "matmul"],
    ),
    "transpose after a product": (
        lambda g, x: g(TransposeOp, g(MatmulOp, MATRIX, x, transpose_a=True, transpose_b=True), (0, 2, 1)),
        ["matmul"],
    ),
    "weight with a batch of one": (lambda g, x: g(MatmulOp, x, MATRIX.reshape(1, 4, 5)), ["matmul"]),
    "rows flattened around a product": (
        lambda g, x: g(AddOp, x, g(ReshapeOp, g(MatmulOp, g(ReshapeOp, x, (6, 4)), np.eye(4) * 2), (2, 3, 4))),
        ["matmul", "add"],
    ),
    "rows flattened around norm and softmax": (
        lambda g, x: g(
            ReshapeOp,
            g(SoftmaxOp, g(LayerNormOp, g(ReshapeOp, x, (6, 4)), np.arange(4.0), axis=1), axis=1),
            (2, 3, 4),
        ),
        ["layer_norm", "softmax"],
    ),
    "slice of everything": (lambda g, x: g(SliceOp, x, (0, 0, 0), (2, 3, 4)), []),
    "slice of slice": (
        lambda g, x: g(SliceOp, g(SliceOp, x, (0, 1, 0), (2, 3, 4), (1, 1, 2)), (1, 0, 1), (2, 2, 2)),
        ["slice"],
    ),
    "slice of concat": (
        lambda g, x: g(SliceOp, g(ConcatOp, [x, g(ReluOp, x)], axis=1), (0, 4, 0), (2, 6, 4)),
        ["relu", "slice"],
    ),
    "slice of transpose": (
        lambda g, x: g(SliceOp, g(TransposeOp, x, (2, 0, 1)), (1, 0, 0), (2, 2, 3)),
        ["slice", "reshape"],
    ),
    "slice of split dim": (
        lambda g, x: g(ReshapeOp, g(SliceOp, g(ReshapeOp, x, (2, 3, 2, 2)), (0, 0, 1, 0), (2, 3, 2, 2)), (2, 3, 2)),
        ["slice"],
    ),
    "gather one": (lambda g, x: g(GatherOp, x, np.array(-1), axis=1), ["slice", "reshape"]),
    "gather a range": (lambda g, x: g(GatherOp, x, np.array([0, 2]), axis=2), ["slice"]),
    "gather anything": (lambda g, x: g(GatherOp, x, np.array([2, 0, 1]), axis=2), ["gather"]),
    "gather_nd of everything": (
        lambda g, x: g(GatherNdOp, x, np.moveaxis(np.indices((2, 3)), 0, -1)),
        [],
    ),
    "concat of one": (lambda g, x: g(ConcatOp, [x], axis=1), []),
    "pad by nothing": (lambda g, x: g(PadOp, x, (0, 0, 0), (0, 0, 0)), []),
    "reduce ones": (lambda g, x: g(ReduceMeanOp, g(ReshapeOp, x, (2, 1, 12)), [1], keepdims=True), ["reshape"]),
    "reduce, then put the dims back": (
        lambda g, x: g(AddOp, x, g(ReshapeOp, g(ReduceMeanOp, x, [2]), (2, 3, 1))),
        ["reduce_mean", "add"],
    ),
    "pool by one": (lambda g, x: g(AvgPoolOp, x, [1]), []),
    "pool of everything": (lambda g, x: g(MaxPoolOp, x, [4]), ["reduce_max"]),
    "pool of padding and a part": (lambda g, x: g(MaxPoolOp, x, [4], strides=[9], pads=[1, 1]), ["max_pool"]),
    "resize to the same size": (lambda g, x: g(ResizeOp, x, (2, 3, 4)), []),
}


@pytest.mark.parametrize(("make", "left"), CANONICAL.values(), ids=CANONICAL)
def test_canonical_form(make: Make, left: list[str]) -> None:
    g = Graph((2, 3, 4))
    assert sorted(same_after(g, "canonicalize-graph", make(g, g.inputs[0])).elements()) == sorted(left)


def test_constants_per_channel_disappear_into_a_convolution() -> None:
    g = Graph((1, 4, 5, 5))
    x = g(ConvOp, g.inputs[0], RANDOM.standard_normal((6, 2, 3, 3)), groups=2)
    x = g(DivOp, g(MulOp, x, RANDOM.standard_normal((6, 1, 1))), 2.0)
    x = g(SubOp, g(AddOp, RANDOM.standard_normal((1, 6, 1, 1)), x), RANDOM.standard_normal((6, 1, 1)))
    assert same_after(g, "canonicalize-graph", x) == {"conv": 1}


def test_constants_that_vary_in_space_stay_beside_a_convolution() -> None:
    g = Graph((1, 4, 5, 5))
    x = g(ConvOp, g.inputs[0], RANDOM.standard_normal((6, 4, 1, 1)))
    x = g(AddOp, x, RANDOM.standard_normal((5, 1)))
    assert same_after(g, "canonicalize-graph", x) == {"conv": 1, "add": 1}


def test_padding_of_zeros_becomes_the_convolutions_own() -> None:
    g = Graph((1, 2, 5, 5))
    x = g(PadOp, g.inputs[0], (0, 0, 1, 2), (0, 0, 0, 1))
    x = g(ConvOp, x, RANDOM.standard_normal((2, 2, 3, 3)), pads=(1, 0, 0, 0))
    assert same_after(g, "canonicalize-graph", x) == {"conv": 1}
    assert g.only(ConvOp).pads.get_values() == (2, 2, 0, 1)


def test_padding_of_channels_stays() -> None:
    g = Graph((1, 2, 5, 5))
    x = g(PadOp, g.inputs[0], (0, 1, 1, 2), (0, 0, 0, 1))
    x = g(ConvOp, x, RANDOM.standard_normal((2, 3, 3, 3)))
    assert same_after(g, "canonicalize-graph", x) == {"pad": 1, "conv": 1}


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
def test_batch_norm_after_a_convolution(transposed: bool, groups: int) -> None:
    g = Graph((2, 4, 6, 6))
    kind = ConvTransposeOp if transposed else ConvOp
    shape = (4, 6 // groups, 3, 3) if transposed else (6, 4 // groups, 3, 3)
    bias = RANDOM.standard_normal(6) if groups == 2 else None
    x = g(kind, g.inputs[0], RANDOM.standard_normal(shape), *([] if bias is None else [bias]), groups=groups)
    x = g(ReluOp, g(BatchNormOp, x, *batch_norm_parameters(6)))
    assert same_after(g, "fold-batch-norm", x) == {kind.name.removeprefix("graph."): 1, "relu": 1}


def batch_norm_parameters(channels: int) -> list[np.ndarray]:
    """Scale, bias, mean and variance."""
    return [*RANDOM.standard_normal((3, channels)), RANDOM.uniform(0.5, 2, channels)]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("strides", "kept"), [((1, 1), {}), ((2, 3), {}), ((2, 3), {"slice": 1})])
def test_slice_of_a_convolution(transposed: bool, strides: tuple[int, int], kept: dict[str, int]) -> None:
    g = Graph((2, 4, 9, 8))
    kind = ConvTransposeOp if transposed else ConvOp
    weight = RANDOM.standard_normal((4, 4, 3, 3))
    pads = (0, 0, 0, 0) if kept else (3, 3, 5, 3)
    y = g(kind, g.inputs[0], weight, strides=strides, pads=pads, dilations=(2, 1))
    _, _, height, width = shape_of(y)
    x = g(SliceOp, y, [0, 0, 1, 1], [2, 4, height - 2, width])
    name = kind.name.removeprefix("graph.")
    assert same_after(g, "canonicalize-graph", x) == {name: 1, **({} if transposed else kept)}


@pytest.mark.parametrize("pads", [(0, 0, 0, 0), (1, 1, 1, 1)])
def test_batch_norm_in_front_of_a_convolution(pads: tuple[int, ...]) -> None:
    g = Graph((2, 4, 6, 6))
    x = g(BatchNormOp, g.inputs[0], *batch_norm_parameters(4))
    x = g(ConvOp, x, RANDOM.standard_normal((6, 2, 3, 3)), groups=2, pads=pads)
    left = {"mul": 1, "add": 1, "conv": 1} if any(pads) else {"conv": 1}
    assert same_after(g, "fold-batch-norm", x) == left


def test_batch_norm_takes_what_follows_it_along() -> None:
    g = Graph((2, 4, 6, 6))
    x = g(ConvOp, g.inputs[0], RANDOM.standard_normal((6, 4, 1, 1)))
    x = g(BatchNormOp, x, *batch_norm_parameters(6))
    x = g(AddOp, g(MulOp, RANDOM.standard_normal((6, 1, 1)), x), RANDOM.standard_normal((6, 1, 1)))
    assert same_after(g, "fold-batch-norm", x) == {"conv": 1}


def test_batch_norm_of_a_shared_convolution_stays_apart() -> None:
    g = Graph((2, 4, 6, 6))
    conv = g(ConvOp, g.inputs[0], RANDOM.standard_normal((6, 4, 1, 1)))
    x = g(BatchNormOp, conv, *batch_norm_parameters(6))
    assert same_after(g, "fold-batch-norm", conv, x) == {"conv": 1, "mul": 1, "add": 1}


def test_constants_are_folded() -> None:
    g = Graph((16, 8))
    w = g(TransposeOp, g(MulOp, g.constant(RANDOM.standard_normal((16, 8))), 2.0), (1, 0))
    assert same_after(g, "fold-constants", g(MatmulOp, g.inputs[0], w)) == {"matmul": 1}


def test_folding_makes_no_bytes() -> None:
    g = Graph((1000, 16))
    large = g(BroadcastToOp, np.arange(16.0), (1000, 16))
    wide = g(CastOp, g.constant(np.zeros((1000, 16), np.float32)), to=f64)
    left = same_after(g, "fold-constants", g(AddOp, g(AddOp, g.inputs[0], large), wide))
    assert left == {"broadcast_to": 1, "cast": 1, "add": 2}


def test_parameters_are_made_whole() -> None:
    g = Graph((4, 16))
    x = g(MatmulOp, g.inputs[0], g(BroadcastToOp, 0.25, (16, 32)))
    assert same_after(g, "fold-constants", x) == {"matmul": 1}


def test_a_reshaped_weight_is_the_same_blob() -> None:
    g = Graph((4, 16))
    w = g.constant(RANDOM.standard_normal((2, 8, 32)))
    assert isinstance(w.owner, WeightOp)
    blob = w.owner.blob
    x = g(MatmulOp, g.inputs[0], g(ReshapeOp, w, (16, 32)))
    assert same_after(g, "fold-constants,dce", x) == {"matmul": 1}
    assert g.only(WeightOp).blob == blob


def test_equal_weights_become_one() -> None:
    g = Graph((4, 16))
    array = RANDOM.standard_normal((16, 16))
    a, b = (g(MatmulOp, g.inputs[0], g.constant(array.copy())) for _ in range(2))
    assert same_after(g, "fold-constants,cse", g(AddOp, a, b)) == {"matmul": 1, "add": 1}
    assert node_name(g.only(MatmulOp)) == "node_2"


def test_dead_ops_go() -> None:
    g = Graph((4, 4))
    g(ReluOp, g(TanhOp, g.inputs[0]))
    assert same_after(g, "dce", g(SigmoidOp, g.inputs[0])) == {"sigmoid": 1}


def test_shapes_are_inferred() -> None:
    g = Graph((2, 3))
    x = g(ReluOp, g(TransposeOp, g.inputs[0], (1, 0)))
    g.finish(x)
    for op in [op for op in g.module.walk() if isinstance(op, GraphOp)]:
        Rewriter.replace_value_with_new_type(op.results[0], tensor(f64, (9, 9)))
    g.apply("infer-shapes")
    assert shape_of(g.only(ReluOp).result) == (3, 2)
    assert pass_statistics(g.ctx).of_pass("infer-shapes") == {"types-corrected": 2}


def test_statistics_count_by_pass_and_pattern() -> None:
    g = Graph((2, 3))
    g.finish(g(SubOp, g(MulOp, g.inputs[0], 1.0), 0.0))
    g.apply("canonicalize-graph,dce")
    count(g.ctx, "mine", "nothing", 0)
    count(g.ctx, "mine", "something", 2)
    count(g.ctx, "mine", "something")
    statistics = pass_statistics(g.ctx)
    assert statistics.of_pass("canonicalize-graph") == {"drop-neutral-operand": 2}
    assert statistics.of_pass("mine") == {"something": 3}
    assert statistics.format().splitlines()[-2].split() == ["3", "mine", "something"]
    assert PassStatistics().format() == "no pass was run\n"


@pytest.mark.thinned(5)
@pytest.mark.parametrize("seed", range(60))
def test_random_graphs_keep_their_meaning(seed: int) -> None:
    g = RandomGraph(seed)
    passes = f"{GRAPH},{DEVICE_GRAPH}"
    same_after(g, passes, *g.grow(25), tolerance=1e-10)
    once = str(g.module)
    g.apply(passes)
    assert str(g.module) == once
    unnamed = [op.name for op in g.module.walk() if isinstance(op, GraphOp) and not node_name(op)]
    assert unnamed == []


def test_a_reshape_that_meets_no_other_stays_behind_what_can_be_fused() -> None:
    g = Graph((1, 4, 5, 6))
    x = g(ReluOp, g(ConvOp, g.inputs[0], RANDOM.standard_normal((4, 4, 1, 1))))
    g.finish(g(ReshapeOp, x, (4, 5, 6)))
    g.apply("canonicalize-graph")
    assert g.only(ReshapeOp).x.owner is g.only(ReluOp)


class WrongSlice(GraphPattern):
    """Makes what can't be."""

    @override
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, ReluOp):
            SliceOp(op.x, (0, 0), (9, 9))


@dataclass(frozen=True)
class WrongPass(ModulePass):
    """The same."""

    name = "wrong-pass"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in [each for each in op.walk() if isinstance(each, ReluOp)]:
            SliceOp(inner.x, (0, 0), (9, 9))


class SeesUnaryOps(GraphPattern):
    """Notes what it is called for."""

    seen: ClassVar[list[str]] = []

    @rewrites
    @override
    def match_and_rewrite(self, op: ReluOp | AbsOp, rewriter: PatternRewriter, /) -> None:
        self.seen.append(op.name)


def test_a_pattern_is_called_for_the_ops_of_its_argument_only() -> None:
    g = Graph((2, 3))
    g.finish(g(AbsOp, g(NegOp, g(ReluOp, g.inputs[0]))))
    apply_patterns(g.ctx, g.module, "tested", [SeesUnaryOps])
    assert SeesUnaryOps.seen == ["graph.relu", "graph.abs"]


def test_exceptions_of_xdsl_become_errors_that_name_node_and_pass() -> None:
    g = Graph((2, 3))
    g.finish(g(ReluOp, g.inputs[0]))
    with pytest.raises(CompileError, match=r"^node_1 \(graph\.relu\): wrong-slice: ") as raised:
        apply_patterns(g.ctx, g.module, "tested", [WrongSlice])
    assert not getattr(raised.value, "__notes__", [])  # the module's text
    with pytest.raises(CompileError, match=r"^wrong-pass: "):
        run_passes(g.ctx, g.module, [WrongPass()])
