"""Operators that ONNX Runtime had before ONNX, those that ONNX had for a trial, and small ones, as it computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from import_cases import computed
from microsoft_cases import Case, check, model_of

import mini_infer as mi
from mini_infer.dialects.graph.values import Array

RANDOM = np.random.default_rng(6)


def floats(*shape: int) -> Array:
    return RANDOM.uniform(-2, 2, shape).astype(np.float32)


def first(op_type: str, *operands: Array, opset: int = 7, note: str = "", **attributes: Any) -> Case:
    """One of ONNX's own domain; all operands but the first are initialisers."""
    return Case(op_type, operands, attributes, range(1, len(operands)), domain="", opset=opset, note=note)


def integers(*numbers: int, kind: type[np.generic] = np.int64) -> Array:
    return np.array(numbers, kind)


X, PICTURE, ROW = floats(2, 3, 8), floats(2, 3, 6, 5), floats(8)
STEPS = floats(2, 3, 8)  # of decays: their exponential is taken
HEADS = {"q_num_heads": 2, "kv_num_heads": 2}

CASES = [
    first("Affine", X, alpha=2.0, beta=-0.5),
    first("Affine", X, note="plain"),
    first("Scale", X, scale=0.5),
    first("ScaledTanh", X, alpha=1.5, beta=0.5),
    first("ParametricSoftplus", X * 20, alpha=1.5, beta=2.0),
    first("ImageScaler", PICTURE, scale=0.5, bias=[1.0, -2.0, 0.25]),
    first("Crop", PICTURE, border=[1, 2, 0, 1]),
    first("Crop", PICTURE, border=[1, 2, 0, 0], scale=[3, 2], note="of a size"),
    first("DynamicSlice", X, integers(0, 1), integers(2, -1), integers(1, 2)),
    first("DynamicSlice", X, integers(1), integers(99), note="without axes"),
    first("ThresholdedRelu", X, alpha=0.5),
    first("MeanVarianceNormalization", PICTURE, across_channels=0, normalize_variance=1),
    first("MeanVarianceNormalization", PICTURE, across_channels=1, normalize_variance=1, note="across channels"),
    first("MeanVarianceNormalization", PICTURE, across_channels=0, normalize_variance=0, note="of the mean alone"),
    Case("ExpandDims", [X, np.array(1, np.int32)], known=(1,)),
    Case("ExpandDims", [X, np.array(-1, np.int32)], known=(1,), note="at the end"),
    Case("GatherND", [X, np.array([[0, 2], [1, -1]])]),
    Case("GridSample", [PICTURE, floats(2, 3, 4, 2)], {"mode": "bicubic", "padding_mode": "border"}),
    Case("GridSample", [PICTURE, floats(2, 3, 4, 2)], {"align_corners": 1}, note="bilinear"),
    Case("Pad", [floats(3, 4), integers(0, 1, 2, 0), np.array(0.5, np.float32)], known=(1, 2)),
    Case("Pad", [floats(3, 4), integers(1, 1, 0, -1)], {"mode": "edge"}, known=(1,), note="edge"),
    Case("Range", [integers(3)[0], integers(9)[0]], known=(0, 1)),
    Case("Range", [np.array(each, np.float32) for each in (1, -2, -0.5)], known=(0, 1, 2), note="downwards"),
    Case("Trilu", [X, integers(1)[0]], {"upper": 0}, known=(1,)),
    Case("Unique", [np.array([3, 1, 1, 2, 3, 3], np.float32)], results=(0, 1, 2)),
    Case("UnfoldTensor", [X], {"size": 3, "step": 2}),
    Case("UnfoldTensor", [X], {"dim": 0, "size": 2}, note="of the batch"),
    Case("CDist", [floats(4, 8), floats(3, 8)], {"metric": "euclidean"}),
    Case("CDist", [floats(4, 8), floats(3, 8)], {"metric": "sqeuclidean"}, note="squared"),
    Case("NhwcMaxPool", [RANDOM.integers(0, 256, (1, 6, 5, 3)).astype(np.uint8)],
         {"kernel_shape": [2, 3], "strides": [2, 1], "pads": [0, 1, 0, 1]}),
    Case("ScaledSiLU", [X], {"alpha": 0.5}),
    Case("ScaledSiLU", [X, np.array(1.5, np.float32)], note="by an operand"),
    Case("GatedAdd", [X, floats(2, 3, 8), floats(2, 3, 1)]),
    Case("GatedRMSNorm", [X, floats(4), floats(2, 3, 8)]),
    Case("GatedRMSNorm", [X, ROW, floats(2, 3, 8)], {"activation": "sigmoid", "epsilon": 0.01}, note="sigmoid"),
    Case("LinearAttentionGate", [X, ROW, floats(8), floats(2, 3, 8)], results=(0, 1)),
    Case("LinearAttention", [X, floats(2, 3, 8), floats(2, 3, 8), floats(2, 2, 4, 4), -np.abs(floats(2, 3, 2)),
         floats(2, 3, 2)], HEADS, results=(0, 1)),
    Case("LinearAttention", [X, floats(2, 3, 8), floats(2, 3, 8)], {**HEADS, "update_rule": "linear"},
         results=(0, 1), note="linear"),
    Case("CausalConvWithState", [X, floats(3, 1, 3), floats(3), floats(2, 3, 2)], {"activation": "silu"},
         results=(0, 1)),
    Case("CausalConvWithState", [X, floats(3, 1, 3), None, floats(2, 3, 4)], {"dilation": 2}, results=(0, 1),
         note="dilated"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_meaning(case: Case) -> None:
    check(case)


@pytest.mark.thinned(9)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_compiled(case: Case) -> None:
    check(case, compiled=True)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (first("Crop", PICTURE, border=[3, 0, 3, 0]), r"border \[3, 0, 3, 0\] and scale \[\] leave the image"),
        (first("Crop", PICTURE, border=[3]), r"border \[3\] and scale \[\] don't fit"),
        (first("ImageScaler", PICTURE, bias=[1.0]), "a bias for 1 channels doesn't fit"),
        (first("ScaledTanh", X, alpha=1.0), "attribute beta is missing"),
        (Case("UnfoldTensor", [X], {"size": 9}), "8 elements have no windows of 9 in steps of 1"),
        (Case("CDist", [floats(4, 8), floats(3, 7)]), "rows of 8 and of 7 elements"),
        (Case("CDist", [X, X]), r"operand 0 of shape \[2, 3, 8\] is no matrix"),
        (Case("CDist", [floats(4, 8), floats(3, 8)], {"metric": "cosine"}), "metric cosine"),
        (Case("GatedAdd", [X, X, X, floats(8, 1)]), "a gate that is projected"),
        (Case("GatedRMSNorm", [X, floats(3), X]), "3 scales don't fit rows of 8 elements"),
        (Case("GatedRMSNorm", [X, ROW, X], {"activation": "tanh"}), "activation tanh is unknown"),
        (Case("CausalConvWithState", [X, floats(3, 1, 3)], {"ndim": 2}), "ndim 2"),
        (Case("CausalConvWithState", [X, floats(3, 1, 3)], {"dilation": 0}), "dilation is 0"),
    ],
    ids=str,
)
def test_refused(case: Case, message: str) -> None:
    with pytest.raises((mi.UnsupportedError, mi.InvalidModelError), match=message):
        computed(*model_of(case))
