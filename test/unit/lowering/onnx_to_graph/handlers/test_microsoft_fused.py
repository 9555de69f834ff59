"""What ONNX Runtime's optimiser writes, as ONNX Runtime computes it."""

from __future__ import annotations

import numpy as np
import pytest
from import_cases import assert_close, computed
from microsoft_cases import Case, check, model_of

import mini_infer as mi
from mini_infer.dialects.graph.values import Array

RANDOM = np.random.default_rng(4)


def floats(*shape: int) -> Array:
    return RANDOM.uniform(-2, 2, shape).astype(np.float32)


def whole(limit: int, *shape: int) -> Array:
    return RANDOM.integers(0, limit, shape).astype(np.int32)


X, ROW = floats(2, 3, 8), floats(8)
PICTURE, WEIGHT = floats(1, 3, 6, 5), floats(4, 3, 3, 3)
IDS = whole(10, 2, 5)
TABLES = [floats(10, 8), floats(7, 8), floats(3, 8)]
NORMAL = {"epsilon": 1e-5}


def embedding(**more: Array) -> list[Array | None]:
    """input_ids, segment_ids, three tables, gamma, beta, mask, position_ids."""
    operands: list[Array | None] = [IDS, whole(3, 2, 5), *TABLES, floats(8), floats(8)]
    return [*operands, more.get("mask"), more.get("places")]


CASES = [
    Case("Gelu", [X]),
    Case("BiasGelu", [X, ROW]),
    Case("FastGelu", [X]),
    Case("FastGelu", [X, ROW], note="with a bias"),
    Case("QuickGelu", [X], {"alpha": 1.702}),
    Case("QuickGelu", [X], {"alpha": 1.0}, note="silu"),
    Case("FusedMatMul", [floats(2, 3, 8), floats(2, 5, 8)], {"alpha": 0.5, "transB": 1}),
    Case("FusedMatMul", [floats(8, 3), floats(2, 8, 5)], {"transA": 1}, note="broadcast"),
    Case("FusedMatMul", [floats(3, 2, 8), floats(2, 8, 5)], {"transBatchA": 1}, note="batch behind the rows"),
    Case("FusedMatMul", [floats(3, 2, 4, 8), floats(5, 2, 4, 8)], {"transBatchA": 1, "transBatchB": 1, "transB": 1},
         note="batches of two axes behind the rows"),
    Case("FusedGemm", [floats(3, 8), floats(8, 5), floats(5)], {"activation": "Relu", "alpha": 0.5, "beta": 2.0}),
    Case("FusedGemm", [floats(3, 8), floats(5, 8)], {"activation": "LeakyRelu", "activation_alpha": 0.2, "transB": 1},
         note="LeakyRelu"),
    Case("FusedConv", [PICTURE, WEIGHT, floats(4)], {"activation": "Relu", "pads": [1, 1, 1, 1]}),
    Case("FusedConv", [PICTURE, WEIGHT, floats(4), floats(1, 4, 4, 3)], {"activation": "Relu"}, note="plus a value"),
    Case("FusedConv", [PICTURE, WEIGHT], {"activation": "Clip", "activation_params": [-1.0, 2.0]}, note="Clip"),
    Case("FusedConv", [PICTURE, WEIGHT], {"activation": "HardSigmoid", "activation_params": [0.1, 0.4]},
         note="HardSigmoid"),
    Case("FusedConv", [PICTURE, WEIGHT], {"activation": "Tanh"}, note="Tanh"),
    Case("SkipLayerNormalization", [X, floats(2, 3, 8), ROW, floats(8), floats(8)], NORMAL, results=(0, 3)),
    Case("SkipLayerNormalization", [X, floats(3, 8), ROW], NORMAL, note="broadcast"),
    Case("SkipSimplifiedLayerNormalization", [X, floats(2, 3, 8), ROW, floats(8)], NORMAL, results=(0, 3)),
    Case("SimplifiedLayerNormalization", [X, ROW], {"axis": -1, "epsilon": 1e-6}, domain=""),
    Case("LayerNormalization", [X, ROW, floats(8)], {"axis": -1}, domain="", opset=13, note="in an old opset"),
    Case("EmbedLayerNormalization", embedding(mask=whole(2, 2, 5)), NORMAL, results=(0, 1)),
    Case("EmbedLayerNormalization", embedding(places=whole(7, 2, 5)), NORMAL, results=(0, 1, 2), note="places"),
    Case("EmbedLayerNormalization", [IDS, None, *TABLES[:2], None, floats(8), floats(8)], NORMAL, results=(0, 1),
         note="no segments"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_meaning(case: Case) -> None:
    check(case)


@pytest.mark.thinned(7)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_compiled(case: Case) -> None:
    check(case, compiled=True)


def test_what_runs_on_gpus_only() -> None:
    """ONNX Runtime has no code for these on a CPU."""
    data, bias = floats(2, 4, 3, 5), floats(2, 1, 1, 5)
    model, inputs = model_of(Case("BiasSoftmax", [data, bias], {"axis": 3, "is_inner_broadcast": 1}))
    weights = np.exp((data + bias).astype(np.float64))
    assert_close(computed(model, inputs)["y0"], (weights / weights.sum(-1, keepdims=True)).astype(np.float32))
    skip = floats(2, 3, 8)
    model, inputs = model_of(Case("BiasAdd", [X, ROW, skip]))
    assert_close(computed(model, inputs)["y0"], X + ROW + skip)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Case("NhwcConv", [PICTURE, WEIGHT]), r"com.microsoft.NhwcConv \(the_node\)"),
        (Case("FusedConv", [PICTURE, WEIGHT], {"activation": "Sine"}), "activation Sine"),
        (Case("Gelu", [X], {"beta": 1.0}), "attribute beta is not supported here"),
        (Case("BiasSoftmax", [X, ROW], {"axis": 2}), r"a bias of shape \[8\] beside \[2, 3, 8\]"),
        (Case("SkipLayerNormalization", [X, X, ROW], results=(0, 1)), "statistics for training"),
        (Case("FusedMatMul", [ROW, X]), "operands of fewer than 2 dimensions"),
        (Case("EmbedLayerNormalization", [ROW.astype(np.int32), None, *TABLES[:2], None, ROW, ROW]),
         r"input_ids of shape \[8\]"),
    ],
    ids=str,
)  # fmt: skip
def test_refused(case: Case, message: str) -> None:
    with pytest.raises((mi.UnsupportedError, mi.InvalidModelError), match=message):
        computed(*model_of(case))
