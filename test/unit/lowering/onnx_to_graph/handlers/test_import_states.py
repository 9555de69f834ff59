"""Caches, causal convolutions and attention with graphs of its own compute what ONNX says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph_cases import random
from import_cases import Case, assert_close, check, computed, imported, kinds, one_node, reference
from onnx import ModelProto, TensorProto, helper

from mini_infer.dialects.errors import InvalidModelError
from mini_infer.dialects.graph.values import Array

CACHE, UPDATE = random(2, 3, 6, 4), random(2, 3, 2, 4, seed=1)


@pytest.mark.parametrize("known", [(), (2,)])
@pytest.mark.parametrize(
    ("operands", "attributes"),
    [
        ([CACHE, UPDATE], {}),
        ([CACHE, CACHE], {}),
        ([CACHE, UPDATE, np.array([4, 1])], {}),
        ([CACHE, UPDATE, np.array([5, 10])], {"mode": "circular"}),
        ([CACHE, random(2, 1, 6, 4), np.array([2, 0])], {"axis": 1}),
        ([CACHE, random(2, 3, 6, 3), np.array([1, 0])], {"axis": -1}),
        ([random(2, 5), random(2, 2), np.array([3, 0])], {"axis": 1}),
    ],
)
def test_tensor_scatter(operands: list[Array], attributes: dict[str, Any], known: tuple[int, ...]) -> None:
    check(Case("TensorScatter", operands, 24, attributes, known))


def test_a_tensor_scatter_writes_whole_rows_of_a_cache() -> None:
    found = kinds(imported(one_node(Case("TensorScatter", [CACHE, UPDATE, np.array([4, 1])], 24))[0])[0])
    assert "scatter_nd" in found and "gather" not in found


@pytest.mark.parametrize(
    ("operands", "attributes", "message"),
    [
        ([CACHE, UPDATE], {"axis": 0}, "axis 0 is the batch"),
        ([CACHE, UPDATE], {"mode": "round"}, "mode round is unknown"),
        ([CACHE, random(2, 3, 7, 4)], {}, "doesn't fit into a cache"),
        ([CACHE, random(2, 2, 2, 4)], {}, "doesn't fit into a cache"),
    ],
)
def test_a_wrong_tensor_scatter(operands: list[Array], attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidModelError, match=f"the_node.*{message}"):
        imported(one_node(Case("TensorScatter", operands, 24, attributes))[0])


BIAS, PAST = random(3, seed=2), random(2, 3, 3, seed=3)


@pytest.mark.parametrize("length", [1, 2, 3, 7])
@pytest.mark.parametrize("more", [[], [BIAS], [None, PAST], [BIAS, PAST]])
@pytest.mark.parametrize("activation", ["none", "silu", "swish"])
def test_causal_conv_with_state(length: int, more: list[Array | None], activation: str) -> None:
    operands = [random(2, 3, length), random(3, 1, 4, seed=1), *more]
    check(Case("CausalConvWithState", operands, 27, {"activation": activation}, results=2))


def test_a_causal_convolution_of_one_element_has_no_state() -> None:
    check(Case("CausalConvWithState", [random(2, 3, 5), random(3, 1, 1)], 27, results=2))


@pytest.mark.parametrize(
    ("operands", "attributes", "message"),
    [
        ([random(2, 3, 5), random(3, 2, 4)], {}, "a weight of shape"),
        ([random(2, 3, 5), random(2, 1, 4)], {}, "a weight of shape"),
        ([random(2, 3, 5), random(3, 1, 4), None, random(2, 3, 4)], {}, "a past state of shape"),
        ([random(2, 3, 5), random(3, 1, 4)], {"activation": "gelu"}, "activation gelu is unknown"),
    ],
)
def test_a_wrong_causal_convolution(operands: list[Array | None], attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidModelError, match=f"the_node.*{message}"):
        imported(one_node(Case("CausalConvWithState", operands, 27, attributes, results=2))[0])


RULES = [("linear", (0, 0)), ("gated", (1, 0)), ("delta", (0, 1)), ("gated_delta", (1, 1))]


@pytest.mark.parametrize(("rule", "given"), RULES)
@pytest.mark.parametrize("past", [None, random(2, 2, 3, 5, seed=6)])
def test_linear_attention(rule: str, given: tuple[int, int], past: Array | None) -> None:
    for width, rates in ((6, 2), (2, 1)):
        decay, beta = -np.abs(random(2, 4, width, seed=4)), random(2, 4, rates, seed=5)
        operands = [
            *(random(2, 4, 12), random(2, 4, 6, seed=1), random(2, 4, 10, seed=2), past),
            *(decay if given[0] else None, beta if given[1] else None),
        ]
        for more in ({}, {"scale": 0.3}):
            attributes: dict[str, Any] = {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": rule, **more}
            check(Case("LinearAttention", operands, 27, attributes, results=2))


HEADS: dict[str, Any] = {"q_num_heads": 4, "kv_num_heads": 2}
PACKED = [random(2, 4, 12), random(2, 4, 6), random(2, 4, 10)]


@pytest.mark.parametrize(
    ("operands", "attributes", "message"),
    [
        (PACKED, HEADS, "update_rule gated_delta needs decay"),
        ([*PACKED, None, PACKED[1]], {**HEADS, "update_rule": "linear"}, "update_rule linear takes no decay"),
        (PACKED, {**HEADS, "update_rule": "cubic"}, "update_rule cubic is unknown"),
        (PACKED, {**HEADS, "update_rule": "linear", "kv_num_heads": 4}, "can't be split into 4 heads"),
        (PACKED, {**HEADS, "update_rule": "linear", "kv_num_heads": 0}, "can't be split into 0 heads"),
        ([PACKED[0], PACKED[2], PACKED[2]], {**HEADS, "update_rule": "linear"}, "queries of 3 elements, but keys of 5"),
    ],
)
def test_wrong_linear_attention(operands: list[Array | None], attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidModelError, match=f"the_node.*{message}"):
        imported(one_node(Case("LinearAttention", operands, 27, attributes, results=2))[0])


def flex_attention(
    q: Array, k: Array, v: Array, mods: dict[str, str] | None = None, **attributes: Any
) -> tuple[ModelProto, dict[str, Array]]:
    """A model of one FlexAttention, whose graphs are one elementwise operator each."""
    graphs = {
        name: helper.make_graph(
            [helper.make_node(op, ["x"], ["y"])],
            name,
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None] * 4)],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * 4)],
        )
        for name, op in (mods or {}).items()
    }
    node = helper.make_node(
        "FlexAttention", ["q", "k", "v"], ["z"], "the_node", domain="ai.onnx.preview", **graphs, **attributes
    )
    inputs = {"q": q, "k": k, "v": v}
    graph = helper.make_graph(
        [node],
        "flex",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape) for name, x in inputs.items()],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)],
    )
    opsets = [helper.make_opsetid("", 24), helper.make_opsetid("ai.onnx.preview", 1)]
    return helper.make_model(graph, opset_imports=opsets), inputs


Q, K, V = random(2, 4, 5, 6), random(2, 2, 7, 6, seed=1), random(2, 2, 7, 3, seed=2)


MODS = [{}, {"score_mod": "Tanh"}, {"prob_mod": "Sqrt"}, {"score_mod": "Neg", "prob_mod": "Abs"}]


@pytest.mark.parametrize("mods", MODS)
@pytest.mark.parametrize("attributes", [{}, {"scale": 0.3}])
def test_flex_attention(mods: dict[str, str], attributes: dict[str, Any]) -> None:
    model, inputs = flex_attention(Q, K, V, mods, **attributes)
    assert ("attention" in kinds(imported(model)[0])) == (not mods)
    (got,) = computed(model, inputs).values()
    assert_close(got, reference(model, inputs)[0])


def test_wrong_flex_attention() -> None:
    with pytest.raises(InvalidModelError, match=r"the_node.*score_mod gives tensor<1x1x1x1xf32> instead of"):
        imported(flex_attention(Q, K, V, {"score_mod": "ReduceMean"})[0])
    with pytest.raises(InvalidModelError, match=r"the_node.*batches 2, 1 and 2"):
        imported(flex_attention(Q, K[:1], V)[0])
