"""Attention, LSTM and packed weights."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import numpy as np
import pytest
from graph_cases import check, random, run
from xdsl.utils.exceptions import VerifyException

from mini_infer.dialects.graph.ops.attention import AttentionOp
from mini_infer.dialects.graph.ops.recurrence import GruOp, LstmOp, RnnOp
from mini_infer.dialects.graph.packing.packings import ConvPacking, DepthwisePacking, Packing, PanelPacking
from mini_infer.dialects.graph.packing.unpack import UnpackOp
from mini_infer.dialects.graph.values import Array

QUERY, KEY, VALUE = random(2, 4, 3, 8, seed=1), random(2, 4, 5, 8, seed=2), random(2, 4, 5, 6, seed=3)


@pytest.mark.parametrize(
    "mask",
    [None, random(3, 5, seed=4), random(2, 1, 3, 5, seed=5), random(3, 5, seed=6) > -1.5],
    ids=["none", "shared", "by batch", "truth values"],
)
@pytest.mark.parametrize("causal", [False, True])
def test_attention(mask: Array | None, causal: bool) -> None:
    arrays = [QUERY, KEY, VALUE] if mask is None else [QUERY, KEY, VALUE, mask]
    attributes = {"scale": 0.3, "is_causal": int(causal)}
    check(partial(AttentionOp, scale=0.3, causal=causal), arrays, "Attention", attributes)


def test_attention_with_fewer_key_heads() -> None:
    arrays = [QUERY, KEY[:, :2], VALUE[:, :2]]
    check(partial(AttentionOp, scale=0.5), arrays, "Attention", {"scale": 0.5})


def test_a_row_that_keeps_no_key_gives_zeros() -> None:
    mask = np.array([[False] * 5, [True] * 5, [False] * 5])
    (result,) = run(partial(AttentionOp, scale=1.0), QUERY, KEY, VALUE, mask)
    assert not result[:, :, [0, 2]].any() and result[:, :, 1].any()


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("present", [3, 4, 6, 7], ids=["weights", "bias", "states", "peepholes"])
def test_lstm(direction: str, present: int) -> None:
    steps, batch, inputs, hidden = 5, 2, 3, 4
    count = 2 if direction == "bidirectional" else 1
    shapes = [
        (steps, batch, inputs),
        (count, 4 * hidden, inputs),
        (count, 4 * hidden, hidden),
        (count, 8 * hidden),
        (count, batch, hidden),
        (count, batch, hidden),
        (count, 3 * hidden),
    ]
    arrays = [random(*shape, seed=seed, low=-1, high=1) for seed, shape in enumerate(shapes[:present])]
    check(
        partial(LstmOp, hidden=hidden, direction=direction),
        arrays,
        "LSTM",
        {"hidden_size": hidden, "direction": direction},
        inputs=[*arrays[:4], None, *arrays[4:]] if present > 4 else arrays,
        outputs=3,
    )


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(
    ("kind", "op_type", "properties", "attributes"),
    [
        (GruOp, "GRU", {}, {}),
        (GruOp, "GRU", {"linear_before_reset": True}, {"linear_before_reset": 1}),
        (RnnOp, "RNN", {}, {}),
    ],
    ids=["gru", "gru, linear before reset", "rnn"],
)
def test_other_recurrences(
    kind: Any,
    op_type: str,
    properties: dict[str, Any],
    attributes: dict[str, Any],
    direction: str,
) -> None:
    steps, batch, inputs, hidden = 5, 2, 3, 4
    count, rows = 2 if direction == "bidirectional" else 1, kind.GATES * hidden
    shapes = [
        (steps, batch, inputs),
        (count, rows, inputs),
        (count, rows, hidden),
        (count, 2 * rows),
        (count, batch, hidden),
    ]
    arrays = [random(*shape, seed=seed, low=-1, high=1) for seed, shape in enumerate(shapes)]
    check(
        partial(kind, hidden=hidden, direction=direction, **properties),
        arrays,
        op_type,
        {"hidden_size": hidden, "direction": direction, **attributes},
        inputs=[*arrays[:4], None, arrays[4]],
        outputs=2,
    )


def test_panels() -> None:
    weight = random(5, 7)
    packed = PanelPacking(4).pack(weight)
    assert packed.shape == (2, 5, 4)
    np.testing.assert_array_equal(packed[1, :, :3], weight[:, 4:])
    assert not packed[1, :, 3].any()
    np.testing.assert_array_equal(run(partial(UnpackOp, packing=PanelPacking(4), shape=(5, 7)), packed)[0], weight)


def test_panels_of_a_transposed_weight() -> None:
    weight = random(7, 5)
    packed = PanelPacking(4, transposed=True).pack(weight)
    np.testing.assert_array_equal(packed, PanelPacking(4).pack(weight.T))
    (plain,) = run(partial(UnpackOp, packing=PanelPacking(4, transposed=True), shape=(7, 5)), packed)
    np.testing.assert_array_equal(plain, weight)


def test_conv_panels() -> None:
    weight = random(6, 2, 3, 5)
    packed = ConvPacking(2, 2).pack(weight)
    assert packed.shape == (2, 2, 3 * 5 * 2, 2)
    # group 1, panel 0, k = (kh 2, kw 4, channel 1), column 1 is output channel 3 + 1
    assert packed[1, 0, (2 * 5 + 4) * 2 + 1, 1] == weight[4, 1, 2, 4]
    assert not packed[:, 1, :, 1].any()
    (plain,) = run(partial(UnpackOp, packing=ConvPacking(2, 2), shape=(6, 2, 3, 5)), packed)
    np.testing.assert_array_equal(plain, weight)


def test_depthwise_panels() -> None:
    weight = random(5, 1, 3, 3)
    packed = DepthwisePacking(4).pack(weight)
    assert packed.shape == (2, 9, 4)
    assert packed[1, 5, 0] == weight[4, 0, 1, 2]
    (plain,) = run(partial(UnpackOp, packing=DepthwisePacking(4), shape=(5, 1, 3, 3)), packed)
    np.testing.assert_array_equal(plain, weight)


@pytest.mark.parametrize(
    ("packing", "packed", "shape", "fact"),
    [
        (PanelPacking(4), (2, 5, 4), (5, 9), "packed shape [2, 5, 4] instead of [3, 5, 4]"),
        (PanelPacking(4), (2, 5, 4), (7,), "panels hold matrices, not shape [7]"),
        (PanelPacking(4), (5, 4), (5, 4), "packed shape [5, 4] instead of [1, 5, 4]"),
        (ConvPacking(4, 2), (2, 1, 9, 4), (5, 1, 3, 3), "5 output channels in 2 groups"),
        (ConvPacking(4, 2), (2, 1, 9, 4), (6, 9), "conv_panels hold a convolution's weight, not shape [6, 9]"),
        (DepthwisePacking(4), (2, 9, 4), (8, 2, 3, 3), "packed shape [2, 9, 4] instead of [2, 18, 4]"),
        (
            DepthwisePacking(4),
            (2, 9, 4),
            (8, 9),
            "depthwise panels are of a convolution's filters, not of shape [8, 9]",
        ),
    ],
)
def test_packed_weights_that_dont_fit(
    packing: Packing, packed: tuple[int, ...], shape: tuple[int, ...], fact: str
) -> None:
    with pytest.raises(VerifyException, match=re.escape(fact)):
        run(partial(UnpackOp, packing=packing, shape=shape), random(*packed))
