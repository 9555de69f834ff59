"""Elements at positions that are values: every mode and padding, and positions that are far away or no numbers."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from kernel_runs import check, reference

from mini_infer.dialects.graph.sampling import PADDINGS, SAMPLINGS, SampleOp
from mini_infer.dialects.graph.values import Array

Random = np.random.default_rng(0)
WAYS = list(product(SAMPLINGS, PADDINGS, (False, True)))
SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((7,), (13,)),
    ((5, 6), (4, 9)),
    ((1, 2), (3, 5)),
    ((3, 2, 4), (2, 3, 5)),
]


def x_of(sizes: tuple[int, ...], dtype: Any = np.float32) -> Array:
    return Random.standard_normal((2, 3, *sizes)).astype(dtype)


def positions_of(sizes: tuple[int, ...], result: tuple[int, ...], dtype: Any = np.float32) -> Array:
    """Inside, around, far outside, and on whole and half elements."""
    shape = (2, *result, len(sizes))
    near = Random.uniform(-3, 3 + np.array(sizes[::-1]), shape)
    halves = Random.integers(-4, 2 * max(sizes) + 4, shape) / 2
    return np.choose(Random.integers(0, 5, shape), [near, near, near, halves, near * 50]).astype(dtype)


@pytest.mark.parametrize(("sizes", "result"), SHAPES, ids=str)
@pytest.mark.parametrize("padding", PADDINGS)
def test_modes(sizes: tuple[int, ...], result: tuple[int, ...], padding: str) -> None:
    ways = [way for way in WAYS if way[1] == padding and not (way[0] == "cubic" and len(sizes) == 3)]
    x, positions = x_of(sizes), positions_of(sizes, result)
    check(
        "windows",
        lambda w: [w(SampleOp(w[0], w[1], m, p, corners=c)) for m, p, c in ways],
        x,
        positions,
        tolerance=2e-5,
    )


def test_cubes() -> None:
    x, positions = x_of((3, 2, 4)), positions_of((3, 2, 4), (5,))
    check("windows", lambda w: w(SampleOp(w[0], w[1], "cubic", "reflection")), x, positions, tolerance=2e-5, threads=2)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38, -1e30])
def test_positions_that_nothing_is_at(value: float) -> None:
    x, positions = x_of((4, 3)), positions_of((4, 3), (6,))
    positions[:, ::2, 0] = value
    mirrored = not np.isfinite(value)  # where a large number is mirrored to hangs on its last bits
    ways = [way for way in WAYS if way[0] != "cubic" and (mirrored or way[1] != "reflection")]

    def body(w: Any) -> Any:
        return [w(SampleOp(w[0], w[1], m, p, corners=c)) for m, p, c in ways]

    for (_, padding, _), result in zip(ways, reference(body, [x, positions], wide=False), strict=True):
        assert np.isfinite(result).all()
        assert padding != "zeros" or not result[:, :, ::2].any()
    check("windows", body, x, positions, tolerance=2e-5)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.bool_, np.float16, np.float64])
def test_other_types(dtype: Any) -> None:
    x, positions = (x_of((5, 6)) * 50).astype(dtype), positions_of((5, 6), (4, 7))
    check("windows", lambda w: w(SampleOp(w[0], w[1], "nearest", "border")), x, positions)
    if np.dtype(dtype).kind == "f":
        exact = positions_of((5, 6), (4, 7), dtype)
        tolerance = 2e-3 if dtype == np.float16 else 1e-12
        check("windows", lambda w: w(SampleOp(w[0], w[1])), x, exact, tolerance=tolerance)


def test_one_neighbour_that_is_not_finite_is_not_seen_from_outside() -> None:
    x = np.full((1, 1, 2, 2), np.inf, np.float32)
    positions = np.array([[[-9, 0], [0, 5], [1, 1], [7, 7]]], np.float32)
    (result,) = reference(lambda w: w(SampleOp(w[0], w[1], "nearest")), [x, positions])
    np.testing.assert_array_equal(result, [[[0, 0, np.inf, 0]]])
    check("windows", lambda w: w(SampleOp(w[0], w[1], "nearest")), x, positions)
