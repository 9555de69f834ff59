"""Reductions, normalisations and softmax compute what ONNX says, however an opset spells them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph_cases import random
from import_cases import Case, assert_close, check, computed, imported, kinds, one_node, reference
from onnx import ModelProto

from mini_infer.dialects.errors import InvalidModelError, UnsupportedError
from mini_infer.dialects.graph.values import Array

X = random(2, 3, 4)
POSITIVE = random(2, 3, 4, low=0.1, high=3)
IMAGE = random(2, 4, 5, 3)
TIED = np.array([[1, 2, 2], [3, 3, 1]], np.float32)
CHANNELS = [random(4, seed=seed, low=0.5, high=1.5) for seed in range(4)]

TRAINING = {"training_mode": 1}


def ints(*values: Any) -> Array:
    """An int64 array."""
    return np.array(values, np.int64)


REDUCTIONS = """
    ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd
    ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare
"""


@pytest.mark.parametrize("op_type", REDUCTIONS.split())
def test_reduce(op_type: str) -> None:
    old = 11 if op_type == "ReduceSum" else 13
    check(Case(op_type, [POSITIVE], old, {"axes": [-1, 0]}))
    check(Case(op_type, [POSITIVE], old, {"axes": [1], "keepdims": 0}))
    check(Case(op_type, [POSITIVE], old))
    check(Case(op_type, [POSITIVE, ints(1)], 18, {"keepdims": 0}, known=[1]))
    check(Case(op_type, [POSITIVE], 18))


@pytest.mark.parametrize(
    "case",
    [
        Case("ReduceSum", [X], 13, {"noop_with_empty_axes": 1}),
        Case("ReduceSum", [ints(1, 2, 3), ints(0)], 13, known=[1]),
        Case("ReduceLogSumExp", [X * 100], 13, {"axes": [1]}),
        Case("ReduceMax", [np.array([[True, False], [False, False]]), ints(1)], 20, known=[1]),
        Case("ReduceMin", [np.array([[True, False], [True, True]]), ints(1)], 20, known=[1]),
        Case("ArgMax", [X], 13),
        Case("ArgMax", [np.array([[1, 2, 2], [3, 3, 1]], np.float32)], 12, {"axis": 1, "select_last_index": 1}),
        Case("ArgMin", [X], 11, {"axis": -1, "keepdims": 0}),
        Case("CumSum", [X, np.array(1)], 14, known=[1]),
        Case("CumSum", [X, np.array(-1)], 11, {"exclusive": 1, "reverse": 1}, known=[1]),
        Case("Hardmax", [X], 13, {"axis": 1}),
        Case("Hardmax", [np.zeros((3, 0, 2), np.float32)], 13, {"axis": 1}),
    ],
    ids=str,
)
def test_reduce_variants(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_softmax_before_opset_13_flattens(op_type: str, axis: int) -> None:
    check(Case(op_type, [X], 11, {"axis": axis}, runtime=True))


@pytest.mark.parametrize(
    "case",
    [
        Case("Softmax", [X], 13),
        Case("Softmax", [X], 13, {"axis": 0}),
        Case("Softmax", [X], 7, runtime=True),
        Case("LogSoftmax", [X], 13, {"axis": 1}),
        Case("BatchNormalization", [IMAGE, *CHANNELS], 9, {"momentum": 0.5}, runtime=True),
        Case("BatchNormalization", [IMAGE, *CHANNELS], 15, {"epsilon": 0.01}),
        Case("BatchNormalization", [IMAGE, *CHANNELS], 15, {**TRAINING, "momentum": 0.7}, results=3),
        Case("BatchNormalization", [IMAGE, *CHANNELS], 15, {**TRAINING, "epsilon": 0.01}),
        Case("InstanceNormalization", [IMAGE, *CHANNELS[:2]], 6, {"epsilon": 0.01}),
        Case("LayerNormalization", [X, random(4, seed=1), random(4, seed=2)], 17),
        Case("LayerNormalization", [X, random(3, 4, seed=1)], 17, {"axis": 1, "epsilon": 0.1}),
        Case("LayerNormalization", [X, random(4, seed=1), random(4, seed=2)], 17, results=3),
        Case("RMSNormalization", [X, random(4, seed=1)], 23, {"epsilon": 0.1}),
        Case("RMSNormalization", [X, random(3, 4, seed=1)], 23, {"axis": -2}),
        Case("GroupNormalization", [IMAGE, *CHANNELS[:2]], 21, {"num_groups": 2}),
        Case("LRN", [random(2, 7, 3, 3)], 13, {"size": 3, "alpha": 0.5, "beta": 0.6, "bias": 1.5}, runtime=True),
        Case("LRN", [random(2, 7, 3, 3)], 1, {"size": 5}, runtime=True),
        Case("LpNormalization", [X], 1, {"p": 1, "axis": 1}, runtime=True),
        Case("LpNormalization", [np.stack([X[0], 0 * X[0]])], 22),
        Case("MeanVarianceNormalization", [IMAGE], 13),
        Case("MeanVarianceNormalization", [IMAGE], 9, {"axes": [-1]}),
    ],
    ids=str,
)
def test_normalization(case: Case) -> None:
    check(case)


def test_mean_variance_normalization_of_other_types_and_large_means() -> None:
    x = (IMAGE + 3000).astype(np.float32)
    found = computed(*one_node(Case("MeanVarianceNormalization", [x], 13)))["y0"]
    wide = x.astype(np.float64)
    expected = (wide - wide.mean((0, 2, 3), keepdims=True)) / wide.std((0, 2, 3), keepdims=True)
    assert_close(found, expected.astype(np.float32), 1e-3)
    found = computed(*one_node(Case("MeanVarianceNormalization", [wide], 13)))["y0"]
    assert_close(found, expected, 1e-7)
    half = IMAGE.astype(np.float16)
    found = computed(*one_node(Case("MeanVarianceNormalization", [half], 13)))["y0"]
    (expected,) = reference(*one_node(Case("MeanVarianceNormalization", [half.astype(np.float32)], 13)))
    assert_close(found, expected.astype(np.float16), 2e-3)


def test_batch_normalization_by_element() -> None:
    scale, bias, mean, variance = (random(4, 5, 3, seed=seed, low=0.5, high=1.5) for seed in range(4))
    model, inputs = one_node(Case("BatchNormalization", [IMAGE, scale, bias, mean, variance], 7, {"spatial": 0}))
    expected = (IMAGE - mean) / np.sqrt(variance + np.float32(1e-5)) * scale + bias
    assert_close(computed(model, inputs)["y0"], expected)


def test_group_normalization_of_opset_18_has_a_scale_for_each_group() -> None:
    scale, bias = random(2, seed=1), random(2, seed=2)
    case = Case("GroupNormalization", [IMAGE, scale, bias], 18, {"num_groups": 2})
    model, inputs = one_node(case)
    each = [IMAGE, np.repeat(scale, 2), np.repeat(bias, 2)]
    expected = reference(*one_node(Case("GroupNormalization", each, 21, {"num_groups": 2})))
    assert_close(computed(model, inputs)["y0"], expected[0])


def graph_ops(model: ModelProto) -> list[str]:
    """The graph ops of the imported model."""
    return kinds(imported(model)[0])


def test_norms_stay_whole() -> None:
    layer = Case("LayerNormalization", [X, random(4, seed=1), random(4, seed=2)], 17)
    assert graph_ops(one_node(layer)[0]) == ["layer_norm"]
    assert graph_ops(one_node(Case("GlobalAveragePool", [IMAGE], 13))[0]) == ["reduce_mean"]


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Case("ReduceSum", [X], 11, {"axes": [3]}), "axis 3 is outside of a tensor of rank 3"),
        (Case("ReduceSum", [X], 11, {"axes": 1}), "axes must be INTS, got INT"),
        (Case("Softmax", [ints(1, 2)], 13), "must be of a float type"),
        (
            Case("BatchNormalization", [IMAGE, *CHANNELS[:3], random(3)], 15),
            "but a variance of shape",
        ),
        (
            Case("GroupNormalization", [IMAGE, *CHANNELS[:2]], 21, {"num_groups": 3}),
            "3 does not divide",
        ),
        (Case("LpNormalization", [X], 22, {"p": 3}), "p must be 1 or 2, got 3"),
        (Case("LRN", [IMAGE], 13), "the number of channels must be positive"),
    ],
)
def test_invalid(case: Case, message: str) -> None:
    with pytest.raises(InvalidModelError, match=rf"^the_node \({case.op_type}\): .*{message}"):
        imported(one_node(case)[0])


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Case("ReduceSum", [X, ints(1)], 13), "must be known when the model is imported"),
        (Case("BatchNormalization", [IMAGE, *CHANNELS], 9, results=2), "results after the first are for training"),
    ],
)
def test_unsupported(case: Case, message: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"^the_node \({case.op_type}\): .*{message}"):
        imported(one_node(case)[0])
