"""Products and convolutions of 8-bit integers are exact, whichever operands are signed."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from byte_cases import SIGNS, conv, product
from graph_cases import run
from graph_runs import THREE, Target, check, spread
from xdsl.utils.exceptions import VerifyException

from mini_infer.dialects.graph.contraction import ConvOp, MatmulOp
from mini_infer.dialects.graph.values import Array

NARROW = Target(bits=128)


def exact_convolution(x: Array, w: Array, pads: int, value: int, stride: int) -> Array:
    """[N, C, H, W] with [F, C, kh, kw], in 64 bits."""
    x = np.pad(x.astype(np.int64), ((0, 0), (0, 0), (pads, pads), (pads, pads)), constant_values=value)
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    return np.einsum("nchwij,fcij->nfhw", windows, w.astype(np.int64))


@pytest.mark.parametrize("types", SIGNS)
def test_the_reference_has_exact_sums(types: tuple[Any, Any]) -> None:
    random = np.random.default_rng(1)

    def numbers(*shape: int, dtype: Any) -> Array:
        return random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype)

    a, b = numbers(3, 70, dtype=types[0]), numbers(70, 5, dtype=types[1])
    (sums,) = run(MatmulOp, a, b)
    assert sums.dtype == np.int32
    np.testing.assert_array_equal(sums, a.astype(np.int64) @ b.astype(np.int64))
    x, w = numbers(2, 3, 6, 7, dtype=types[0]), numbers(4, 3, 3, 3, dtype=types[1])
    (sums,) = run(partial(ConvOp, pads=[1] * 4, strides=[2, 2], pad_value=77), x, w)
    np.testing.assert_array_equal(sums, exact_convolution(x, w, 1, 77, 2))


def test_sums_wrap_around() -> None:
    a = np.full((1, 2**16 + 4), 255, np.uint8)
    assert run(MatmulOp, a, a.T.copy())[0].tolist() == [[255 * 255 * (2**16 + 4) - 2**32]]


@pytest.mark.parametrize(
    ("kind", "padding", "message"),
    [(np.int8, 128, "i8 has no 128 to pad with"), (np.float32, 1, "f32 is padded with 0 only, got 1")],
)
def test_padding_is_a_number_of_the_type(kind: Any, padding: int, message: str) -> None:
    x = np.ones((1, 1, 3, 3), kind)
    with pytest.raises(VerifyException, match=message):
        run(partial(ConvOp, pads=[1] * 4, pad_value=padding), x, x)


PRODUCTS = [
    *(product((m, k), (k, n), t) for t in SIGNS for m in (1, 5, 17) for k in (1, 4, 7, 66) for n in (3, 33)),
    *(product((5, 6), (9, 6), t, b=True, weight=w) for t in SIGNS for w in (True, False)),
    *(product((6, 5), (6, 9), t, a=True, weight=w) for t in SIGNS for w in (True, False)),
    *(product((2, 5, 10), (2, 10, 9), t, weight=False) for t in SIGNS),
    *(product((7, 1002), (1002, 17), t, extreme=True) for t in SIGNS),
]
CONVOLUTIONS = [
    *(
        conv((1, 7, 9, 5), 17, (3, 3), t, padding=p, pads=[1] * 4, layout=layout)
        for t in SIGNS
        for p in (0, 100)
        for layout in ("NHWC", "NCHW")
    ),
    *(conv((2, 8, 9, 8), 8, (3, 3), t, padding=3, pads=[1, 0, 2, 1], strides=[2, 2], groups=4) for t in SIGNS),
    *(conv((1, 8, 9, 12), 12, (3, 3), t, padding=3, pads=[1] * 4, groups=12) for t in SIGNS),
    *(conv((1, 12, 13, 4), 9, (3, 3), t, padding=9, pads=[2] * 4, dilations=[2, 2], bias=False) for t in SIGNS),
    *(conv((1, 9, 9, 20), 40, (1, 1), t) for t in SIGNS),
    *(conv((1, 14, 14, 3), 24, (7, 7), t, padding=8, pads=[3] * 4, strides=[2, 2]) for t in SIGNS),
    *(conv((1, 5, 6, 4), 8, (1, 1), t, padding=5, pads=[1, 0, 0, 2]) for t in SIGNS),
    *(conv((1, 9, 4), 8, (3,), t, padding=5, pads=[1, 1]) for t in SIGNS),
]


@pytest.mark.parametrize("cases", [PRODUCTS, CONVOLUTIONS], ids=["products", "convolutions"])
def test_code_has_exact_sums(cases: list[Any]) -> None:
    spread(cases, THREE)


def test_code_of_channels_first() -> None:
    check(CONVOLUTIONS[2:4], NARROW)
