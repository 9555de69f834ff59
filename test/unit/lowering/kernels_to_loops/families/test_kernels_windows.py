"""Pools and normalisation over channels, in both layouts, with every kind of border."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_runs import Result, Writer, check, reference

from mini_infer.dialects.graph.ops.elementwise import AddOp
from mini_infer.dialects.graph.ops.unary import ReluOp
from mini_infer.dialects.graph.ops.windows import AvgPoolOp, LrnOp, MaxPoolOp
from mini_infer.dialects.graph.values import Array

Random = np.random.default_rng(0)
LAYOUTS = ["NHWC", "NCHW"]


def picture(layout: str, channels: int, *spatial: int, batch: int = 2) -> Array:
    shape = (batch, channels, *spatial) if layout == "NCHW" else (batch, *spatial, channels)
    return Random.standard_normal(shape).astype(np.float32)


WINDOWS: list[dict[str, Any]] = [
    {"kernel": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
    {"kernel": [2, 2], "strides": [2, 2], "ceil_mode": True},
    {"kernel": [3, 2], "strides": [1, 2], "pads": [0, 1, 2, 0], "dilations": [2, 1], "ceil_mode": True},
    {"kernel": [5, 5], "pads": [2, 2, 2, 2]},
    {"kernel": [9, 9], "strides": [3, 3], "pads": [4, 4, 4, 4], "ceil_mode": True},
    {"kernel": [13, 18]},
    {"kernel": [2, 2], "strides": [3, 3], "pads": [1, 1, 1, 1], "ceil_mode": True},  # one would start in the padding
]


@pytest.mark.thinned(5)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("window", WINDOWS, ids=lambda window: "x".join(map(str, window["kernel"])))
def test_pools(layout: str, window: dict[str, Any]) -> None:
    x = picture(layout, 20, 13, 18)
    check("windows", lambda w: w(MaxPoolOp(w[0], **window, layout=layout)), x)
    check("windows", lambda w: w(AvgPoolOp(w[0], **window, layout=layout)), x, threads=5)
    counted: dict[str, Any] = {**window, "count_include_pad": True}
    check("windows", lambda w: w(ReluOp(w(AvgPoolOp(w[0], **counted, layout=layout)))), x)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("bits", [256, 128])
def test_pools_on_other_targets(layout: str, bits: int) -> None:
    x = picture(layout, 20, 13, 18)
    check("windows", lambda w: w(MaxPoolOp(w[0], **WINDOWS[0], layout=layout)), x, bits=bits)
    check("windows", lambda w: w(AvgPoolOp(w[0], **WINDOWS[2], layout=layout)), x, bits=bits, threads=2)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_other_ranks(layout: str) -> None:
    line, volume = picture(layout, 4, 37), picture(layout, 3, 5, 6, 7)
    check("windows", lambda w: w(MaxPoolOp(w[0], [3], strides=[2], pads=[1, 1], layout=layout)), line)
    pool: dict[str, Any] = {"kernel": [2, 3, 3], "strides": [2, 1, 2], "pads": [1, 1, 0, 1, 1, 1]}
    check("windows", lambda w: w(AvgPoolOp(w[0], **pool, layout=layout)), volume)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("size", "beta"), [(5, 0.75), (4, 0.6), (1, 0.5)])
def test_lrn(layout: str, size: int, beta: float) -> None:
    x = picture(layout, 21, 5, 6)
    check("windows", lambda w: w(LrnOp(w[0], size, 0.3, beta, 2.0, layout)), x, tolerance=1e-5, threads=2)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float16, np.float64])
def test_max_of_other_types(dtype: Any) -> None:
    x = Random.integers(0, 100, (1, 9, 9, 7)).astype(dtype)
    check("windows", lambda w: w(MaxPoolOp(w[0], [2, 2], layout="NHWC")), x)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_not_a_number_wins(layout: str) -> None:
    x = picture(layout, 17, 8, 9)
    x.reshape(-1)[Random.integers(0, x.size, 20)] = np.nan
    x.reshape(-1)[Random.integers(0, x.size, 20)] = -np.inf

    def body(w: Writer) -> Result:
        return w(MaxPoolOp(w[0], [3, 3], pads=[1, 1, 1, 1], layout=layout))

    assert np.isnan(reference(body, [x])[0]).any()
    check("windows", body, x)


def test_written_over_what_is_added_behind() -> None:
    x, y = picture("NHWC", 20, 6, 6), picture("NHWC", 20, 3, 3)

    def body(w: Writer) -> Result:
        return w(AddOp(w(MaxPoolOp(w[0], [2, 2], strides=[2, 2], layout="NHWC")), w[1]))

    kernel = check("windows", body, x, y, inplace={0: 1})
    assert kernel.interface.inplace_pairs == [(1, 0)]
