"""Softmax, layer norm, gelu, silu and attention are found in their spellings, and in nothing else."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, pi, sqrt
from typing import Any

import numpy as np
import pytest
from graph_modules import Graph, same_after
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.activation import GeluOp
from mini_infer.dialects.graph.ops.attention import AttentionOp
from mini_infer.dialects.graph.ops.contraction import MatmulOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, DivOp, GreaterOp, MulOp, PowOp, SubOp, WhereOp
from mini_infer.dialects.graph.ops.movement import BroadcastToOp, ReshapeOp, TransposeOp
from mini_infer.dialects.graph.ops.normalization import LayerNormOp, RmsNormOp
from mini_infer.dialects.graph.ops.reduction import ReduceMaxOp, ReduceMeanOp, ReduceSumOp, SoftmaxOp
from mini_infer.dialects.graph.ops.unary import (
    ErfOp,
    ExpOp,
    IsNanOp,
    LogOp,
    ReciprocalOp,
    ReluOp,
    RsqrtOp,
    SigmoidOp,
    SqrtOp,
    TanhOp,
)
from mini_infer.dialects.graph.values import shape_of
from mini_infer.passes.statistics import pass_statistics

Make = Callable[[Graph, SSAValue], SSAValue]
RANDOM = np.random.default_rng(5)


def one_plus_erf(g: Graph, x: SSAValue) -> SSAValue:
    """1 + erf(x / sqrt(2))"""
    return g(AddOp, g(ErfOp, g(DivOp, x, sqrt(2))), 1.0)


def tanh_bracket(g: Graph, x: SSAValue, cube: SSAValue) -> SSAValue:
    """1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))"""
    inner = g(AddOp, x, g(MulOp, cube, 0.044715))
    return g(AddOp, 1.0, g(TanhOp, g(MulOp, inner, sqrt(2 / pi))))


def tanh_of_product(g: Graph, x: SSAValue) -> SSAValue:
    """x / 2 * (1 + tanh(sqrt(2 / pi) * x * (1 + 0.044715 * x^2)))"""
    bracket = g(AddOp, g(MulOp, g(MulOp, x, 0.044715), x), 1.0)
    tanh = g(TanhOp, g(MulOp, g(MulOp, x, sqrt(2 / pi)), bracket))
    return g(MulOp, g(AddOp, tanh, 1.0), g(DivOp, x, 2.0))


GELU: dict[str, tuple[Make, str]] = {
    "(x * (1 + erf)) * 0.5": (lambda g, x: g(MulOp, g(MulOp, x, one_plus_erf(g, x)), 0.5), "none"),
    "(x * 0.5) * (1 + erf)": (lambda g, x: g(MulOp, g(MulOp, x, 0.5), one_plus_erf(g, x)), "none"),
    "(0.5 * (1 + erf)) * x": (lambda g, x: g(MulOp, g(MulOp, 0.5, one_plus_erf(g, x)), x), "none"),
    "x * (1 + erf) / 2": (lambda g, x: g(DivOp, g(MulOp, x, one_plus_erf(g, x)), 2.0), "none"),
    "x * (0.5 + 0.5 * erf)": (
        lambda g, x: g(MulOp, x, g(AddOp, g(MulOp, g(ErfOp, g(MulOp, x, sqrt(0.5))), 0.5), 0.5)),
        "none",
    ),
    "power": (
        lambda g, x: g(MulOp, g(MulOp, x, 0.5), tanh_bracket(g, x, g(PowOp, x, 3.0))),
        "tanh",
    ),
    "cube": (
        lambda g, x: g(MulOp, g(MulOp, tanh_bracket(g, x, g(MulOp, x, g(MulOp, x, x))), x), 0.5),
        "tanh",
    ),
    "x in front of the bracket": (tanh_of_product, "tanh"),
}


@pytest.mark.parametrize(("make", "form"), GELU.values(), ids=GELU)
def test_gelu(make: Make, form: str) -> None:
    g = Graph((2, 3, 4))
    x = g(ReluOp, g.inputs[0])
    assert same_after(g, "recompose-gelu", make(g, x)) == {"relu": 1, "gelu": 1}
    assert g.only(GeluOp).approximate.data == form


NO_GELU: dict[str, Make] = {
    "another constant": lambda g, x: g(MulOp, g(MulOp, x, one_plus_erf(g, x)), 0.51),
    "another erf": lambda g, x: g(MulOp, g(MulOp, x, g(AddOp, g(ErfOp, x), 1.0)), 0.5),
    "another x": lambda g, x: g(MulOp, g(MulOp, g(ReluOp, x), one_plus_erf(g, x)), 0.5),
    "another cube": lambda g, x: g(MulOp, g(MulOp, x, 0.5), tanh_bracket(g, x, g(MulOp, x, x))),
    "sigmoid": lambda g, x: g(MulOp, x, g(SigmoidOp, g(MulOp, x, 1.702))),
}


@pytest.mark.parametrize("make", NO_GELU.values(), ids=NO_GELU)
def test_what_is_no_gelu(make: Make) -> None:
    g = Graph((2, 3, 4))
    left = same_after(g, "recompose-gelu,recompose-silu", make(g, g.inputs[0]))
    assert "gelu" not in left and "silu" not in left


@pytest.mark.parametrize("swapped", [False, True])
def test_silu(swapped: bool) -> None:
    g = Graph((2, 3, 4))
    x, gate = g.inputs[0], g(SigmoidOp, g.inputs[0])
    result = g(MulOp, gate, x) if swapped else g(MulOp, x, gate)
    assert same_after(g, "recompose-silu", result) == {"silu": 1}


def test_a_shared_gate_stays() -> None:
    g = Graph((2, 3, 4))
    gate = g(SigmoidOp, g.inputs[0])
    left = same_after(g, "recompose-silu", g(MulOp, g.inputs[0], gate), gate)
    assert left == {"sigmoid": 1, "mul": 1}


def powers(g: Graph, x: SSAValue, axes: list[int], shifted: bool) -> tuple[SSAValue, SSAValue]:
    """exp(x) and its sum over the axes."""
    if shifted:
        x = g(SubOp, x, g(ReduceMaxOp, x, axes, keepdims=True))
    e = g(ExpOp, x)
    return e, g(ReduceSumOp, e, axes, keepdims=True)


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("reciprocal", [False, True])
def test_softmax(shifted: bool, reciprocal: bool) -> None:
    g = Graph((2, 3, 4))
    e, total = powers(g, g.inputs[0], [1], shifted)
    result = g(MulOp, e, g(ReciprocalOp, total)) if reciprocal else g(DivOp, e, total)
    assert same_after(g, "recompose-softmax", result) == {"softmax": 1}
    assert g.only(SoftmaxOp).axis.value.data == 1


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("late", [False, True])
def test_log_softmax(shifted: bool, late: bool) -> None:
    g = Graph((2, 3, 4))
    x = g.inputs[0]
    e, total = powers(g, x, [2], shifted)
    exponent = g.only(ExpOp).x
    result = g(LogOp, g(DivOp, e, total)) if late else g(SubOp, exponent, g(LogOp, total))
    assert same_after(g, "recompose-softmax", result) == {"log_softmax": 1}


def test_a_sum_over_two_axes_is_no_softmax() -> None:
    g = Graph((2, 3, 4))
    e, total = powers(g, g.inputs[0], [1, 2], True)
    assert "softmax" not in same_after(g, "recompose-softmax", g(DivOp, e, total))


def normalised(g: Graph, x: SSAValue, axes: list[int], square: str, root: str, centre: bool = True) -> SSAValue:
    """x, centred or not, over the root of its mean square."""
    if centre:
        x = g(SubOp, x, g(ReduceMeanOp, x, axes, keepdims=True))
    squares = g(PowOp, x, 2.0) if square == "pow" else g(MulOp, x, x)
    variance = g(AddOp, g(ReduceMeanOp, squares, axes, keepdims=True), 1e-3)
    match root:
        case "sqrt":
            return g(DivOp, x, g(SqrtOp, variance))
        case "rsqrt":
            return g(MulOp, g(RsqrtOp, variance), x)
        case _:
            return g(MulOp, x, g(ReciprocalOp, g(SqrtOp, variance)))


@pytest.mark.parametrize("square", ["pow", "mul"])
@pytest.mark.parametrize("root", ["sqrt", "rsqrt", "reciprocal"])
@pytest.mark.parametrize("centre", [False, True])
@pytest.mark.parametrize("parameters", range(3))
def test_layer_norm(square: str, root: str, centre: bool, parameters: int) -> None:
    g = Graph((2, 3, 4))
    result = normalised(g, g(ReluOp, g.inputs[0]), [2], square, root, centre)
    if parameters > 0:
        result = g(MulOp, RANDOM.standard_normal(4), result)
    if parameters > 1:
        result = g(AddOp, result, RANDOM.standard_normal((1, 4)))
    left = same_after(g, "recompose-layer-norm,canonicalize-graph", result)
    if centre:
        assert left == {"relu": 1, "layer_norm": 1}
        assert g.only(LayerNormOp).epsilon.value.data == 1e-3
    else:
        assert left == {"relu": 1, "rms_norm": 1} | ({"add": 1} if parameters > 1 else {})


def test_layer_norm_over_two_dims() -> None:
    g = Graph((2, 3, 4))
    result = g(MulOp, normalised(g, g.inputs[0], [1, 2], "mul", "sqrt"), RANDOM.standard_normal((3, 1)))
    assert same_after(g, "recompose-layer-norm,canonicalize-graph", result) == {"layer_norm": 1}
    assert g.only(LayerNormOp).axis.value.data == 1


def epsilon_outside(g: Graph, x: SSAValue) -> SSAValue:
    """(x - mean) / (sqrt(variance) + epsilon)"""
    x = g(SubOp, x, g(ReduceMeanOp, x, [2], keepdims=True))
    variance = g(ReduceMeanOp, g(MulOp, x, x), [2], keepdims=True)
    return g(DivOp, x, g(AddOp, g(SqrtOp, variance), 1e-3))


def centred_over(g: Graph, x: SSAValue, axes: list[int]) -> SSAValue:
    """Normalised over the last dim after the mean over other dims was taken off."""
    return normalised(g, g(SubOp, x, g(ReduceMeanOp, x, axes, keepdims=True)), [2], "mul", "sqrt", centre=False)


NO_NORM: dict[str, Make] = {
    "over the first dims": lambda g, x: normalised(g, x, [0, 1], "mul", "sqrt"),
    "epsilon outside of the root": epsilon_outside,
}


@pytest.mark.parametrize("axes", [[0], [1], [0, 1], [1, 2], [0, 1, 2]])
def test_a_mean_over_other_dims_than_the_variance_stays(axes: list[int]) -> None:
    g = Graph((2, 3, 4))
    left = same_after(g, "recompose-layer-norm,dce", centred_over(g, g.inputs[0], axes))
    assert left == {"reduce_mean": 1, "sub": 1, "rms_norm": 1}


@pytest.mark.parametrize("make", NO_NORM.values(), ids=NO_NORM)
def test_what_is_no_layer_norm(make: Make) -> None:
    g = Graph((2, 3, 4))
    left = same_after(g, "recompose-layer-norm", make(g, g.inputs[0]))
    assert not {"layer_norm", "rms_norm"} & left.keys()


def test_a_scale_per_row_stays_beside_the_norm() -> None:
    g = Graph((2, 3, 4))
    result = g(MulOp, normalised(g, g.inputs[0], [2], "mul", "sqrt"), RANDOM.standard_normal((3, 1)))
    assert same_after(g, "recompose-layer-norm", result) == {"layer_norm": 1, "mul": 1}


# How the pieces of an attention can be spelled; absent keys mean the plainest form.
ATTENTION: dict[str, dict[str, Any]] = {
    "plain": {},
    "key transposed by an op": {"key": "op"},
    "key laid out transposed": {"key": "laid out"},
    "scores times scale": {"scale": "scores"},
    "scores over scale": {"scale": "scores, div"},
    "scale on both": {"scale": "both"},
    "scale on key, transposed by an op": {"scale": "key", "key": "op"},
    "added mask": {"mask": "added"},
    "added mask, computed": {"mask": "computed"},
    "two added masks": {"mask": "two"},
    "condition": {"mask": "where"},
    "condition that drops": {"mask": "where not"},
    "condition and added mask": {"mask": "where, added"},
    "condition as added mask": {"mask": "where as added"},
    "causal, added": {"mask": "causal added", "causal": True},
    "causal, finite": {"mask": "causal finite", "causal": True},
    "causal, condition": {"mask": "causal where", "causal": True},
    "a mask that keeps all": {"mask": "zeros"},
    "NaN replaced": {"mask": "where", "nan": True},
    "three dims": {"rank": 3},
    "three dims, mask": {"rank": 3, "mask": "added"},
    "two dims": {"rank": 2},
    "five dims": {"rank": 5},
    "shared heads": {"heads": "shared"},
    "shared heads, laid out transposed": {"heads": "shared", "key": "laid out"},
    "one head broadcast": {"heads": "one"},
}
TOKENS, DEPTH = 5, 8


def masked(g: Graph, scores: SSAValue, mask: str) -> SSAValue:
    """Scores under one of the masks."""
    past = np.tri(TOKENS, dtype=np.bool_)
    keep = g(GreaterOp, g.inputs[3], 0.0)
    match mask:
        case "added":
            return g(AddOp, scores, RANDOM.standard_normal((TOKENS, TOKENS)))
        case "computed":
            return g(AddOp, g(WhereOp, keep, 0.0, -1e30), scores)
        case "two":
            return g(AddOp, g(AddOp, scores, RANDOM.standard_normal((TOKENS, TOKENS))), g.inputs[3])
        case "where":
            return g(WhereOp, keep, scores, -inf)
        case "where not":
            return g(WhereOp, keep, -inf, scores)
        case "where, added":
            return g(WhereOp, keep, g(AddOp, scores, RANDOM.standard_normal((TOKENS, TOKENS))), -inf)
        case "where as added":
            return g(AddOp, scores, g(WhereOp, keep, 0.0, -inf))
        case "causal added":
            return g(AddOp, scores, np.where(past, 0.0, -inf))
        case "causal finite":
            return g(AddOp, scores, np.where(past, 0.0, -1e30)[None])
        case "causal where":
            return g(WhereOp, past, scores, -1e9)
        case "zeros":
            return g(AddOp, scores, np.zeros((TOKENS, TOKENS)))
        case _:
            return scores


def repeated(g: Graph, x: SSAValue) -> SSAValue:
    """Two heads as four."""
    shape = shape_of(x)
    once = g(ReshapeOp, x, (*shape[:2], 1, *shape[2:]))
    return g(ReshapeOp, g(BroadcastToOp, once, (*shape[:2], 2, *shape[2:])), (shape[0], 4, *shape[2:]))


def spelled_attention(g: Graph, how: dict[str, Any]) -> tuple[SSAValue, SSAValue]:
    """(weights, result) of an attention on the inputs."""
    query, key, value = g.inputs[:3]
    scale, layout = how.get("scale"), how.get("key")
    rank = len(shape_of(query))
    if how.get("heads") == "shared":
        key, value = repeated(g, key), repeated(g, value)
    if layout == "op":
        key = g(TransposeOp, key, (*range(rank - 2), rank - 1, rank - 2))
    if scale in ("query", "both", None):
        query = g(MulOp, query, 0.5)
    if scale in ("key", "both"):
        key = g(DivOp, key, 4.0)
    scores = g(MatmulOp, query, key, transpose_b=layout is None)
    if scale in ("scores", "scores, div"):
        scores = g(DivOp if "div" in scale else MulOp, scores, 2.0)
    weights = g(SoftmaxOp, masked(g, scores, how.get("mask", "")), axis=rank - 1)
    kept = g(WhereOp, g(IsNanOp, weights), 0.0, weights) if how.get("nan") else weights
    return weights, g(MatmulOp, kept, value)


def attention_inputs(how: dict[str, Any]) -> Graph:
    """A graph whose inputs are query, key, value and something to make masks of."""
    rank = how.get("rank", 4)
    batch = (3, 2, 4)[: rank - 2] if rank > 4 else (2, 4)[: rank - 2]
    heads = {"shared": (2, 2), "one": (2, 1)}.get(how.get("heads", ""), batch)
    key = (*heads, DEPTH, TOKENS) if how.get("key") == "laid out" else (*heads, TOKENS, DEPTH)
    return Graph((*batch, TOKENS, DEPTH), key, (*heads, TOKENS, 6), (TOKENS, TOKENS))


@pytest.mark.parametrize("how", ATTENTION.values(), ids=ATTENTION)
def test_attention(how: dict[str, Any]) -> None:
    g = attention_inputs(how)
    _, result = spelled_attention(g, how)
    left = same_after(g, "recompose-attention,canonicalize-graph,dce", result)
    assert left["attention"] == 1
    assert not left.keys() & {"softmax", "matmul", "is_nan", "div", "broadcast_to"}
    attention = g.only(AttentionOp)
    assert (attention.causal is not None) == how.get("causal", False)
    assert (attention.mask is None) == (how.get("mask") in (None, "zeros") or how.get("causal", False))
    assert pass_statistics(g.ctx).of_pass("recompose-attention").get("causal", 0) == how.get("causal", 0)
    if how.get("heads") == "shared":
        assert shape_of(attention.key)[1] == shape_of(attention.value)[1] == 2


def test_weights_that_are_a_result_stay() -> None:
    g = attention_inputs({})
    assert "attention" not in same_after(g, "recompose-attention", *spelled_attention(g, {}))


def test_a_scale_around_an_added_mask_stays() -> None:
    g = attention_inputs({})
    scores = g(AddOp, g(MatmulOp, *g.inputs[:2], transpose_b=True), g.inputs[3])
    weights = g(SoftmaxOp, g(MulOp, scores, 0.5), axis=3)
    assert "attention" not in same_after(g, "recompose-attention", g(MatmulOp, weights, g.inputs[2]))


def test_a_finite_fill_that_may_leave_a_row_without_keys_stays() -> None:
    g = attention_inputs({})
    scores = g(MatmulOp, *g.inputs[:2], transpose_b=True)
    weights = g(SoftmaxOp, g(WhereOp, g(GreaterOp, g.inputs[3], 0.0), scores, -1e9), axis=3)
    assert "attention" not in same_after(g, "recompose-attention", g(MatmulOp, weights, g.inputs[2]))


def test_softmax_over_another_axis_stays() -> None:
    g = attention_inputs({})
    weights = g(SoftmaxOp, g(MatmulOp, *g.inputs[:2], transpose_b=True), axis=2)
    assert "attention" not in same_after(g, "recompose-attention", g(MatmulOp, weights, g.inputs[2]))


def test_rms_norm_keeps_its_epsilon() -> None:
    g = Graph((2, 4))
    same_after(g, "recompose-layer-norm", normalised(g, g.inputs[0], [1], "mul", "rsqrt", centre=False))
    assert g.only(RmsNormOp).epsilon.value.data == 1e-3


def test_what_is_tried_in_vain_reads_nothing() -> None:
    """Two batches and heads with a mask are no attention; k, which was swapped to see, has one reader all the same."""
    g = Graph((2, 3, 2, 5, 4), (2, 3, 2, 4, 5), (2, 3, 2, 5, 4), (5, 5))
    q, k, v, mask = g.inputs
    g.finish(g(MatmulOp, g(SoftmaxOp, g(AddOp, g(MatmulOp, q, k), mask), axis=4), v))
    g.apply("recompose-attention")
    assert [use.operation.name for use in k.uses] == ["graph.matmul"]
