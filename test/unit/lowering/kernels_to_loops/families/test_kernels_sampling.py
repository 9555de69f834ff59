"""Elements at positions and in regions that are values, far away ones and no numbers too; pictures from patches."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from kernel_runs import check, compiled, reference

from mini_infer.dialects.graph.ops.patches import Col2ImOp
from mini_infer.dialects.graph.ops.picture_regions import RoiAlignOp, RoiPoolOp
from mini_infer.dialects.graph.ops.sampling import PADDINGS, SAMPLINGS, SampleOp
from mini_infer.dialects.graph.values import Array
from mini_infer.dialects.graph.window_sizes import Window

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


@pytest.mark.thinned(5)
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


@pytest.mark.thinned(3)
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


@pytest.mark.parametrize("channels", [3, 21])
def test_channels_last(channels: int) -> None:
    """Lanes run along the channels, so what is alike for all of them is computed once."""
    x = Random.standard_normal((2, 5, 6, channels)).astype(np.float32)
    positions = positions_of((5, 6), (4, 3))
    ways = [("linear", "zeros"), ("linear", "reflection"), ("cubic", "border"), ("nearest", "zeros")]
    check(
        "windows",
        lambda w: [w(SampleOp(w[0], w[1], *way, layout="NHWC")) for way in ways],
        x,
        positions,
        tolerance=2e-5,
    )

    def regions(w: Any) -> Any:
        last: dict[str, Any] = {"scale": 0.8, "layout": "NHWC"}
        aligned = [w(RoiAlignOp(w[0], w[1], w[2], (2, 3), mode=mode, **last)) for mode in ("avg", "max")]
        return [*aligned, w(RoiPoolOp(w[0], w[1], w[2], (2, 3), **last))]

    check("map", regions, x, OF, np.round(ROIS * 2) / 2, tolerance=2e-5, threads=2)


ROIS = np.concatenate([Random.uniform(-4, 12, (12, 4)), [[3, 4, 2, 1], [2, 2, 2, 2], [0, 0, 5, 6]]]).astype(np.float32)
ROIS[:8, 2:] = ROIS[:8, :2] + Random.uniform(0.1, 6, (8, 2))
OF = Random.integers(-2, 2, len(ROIS))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("half_pixel", [False, True])
@pytest.mark.parametrize("samples", [0, 3])
def test_roi_align(samples: int, half_pixel: bool) -> None:
    def body(w: Any) -> Any:
        options: dict[str, Any] = {"scale": 0.8, "samples": samples, "half_pixel": half_pixel}
        return [w(RoiAlignOp(w[0], w[1], w[2], (2, 3), mode=mode, **options)) for mode in ("avg", "max")]

    check("map", body, x_of((6, 7)), OF, ROIS, tolerance=2e-5, threads=2)


def test_roi_pool() -> None:
    x = x_of((6, 7))
    x[0, 0, 3, 3] = np.nan

    def body(w: Any) -> Any:
        return [w(RoiPoolOp(w[0], w[1], w[2], (3, 2), scale=scale)) for scale in (1.0, 0.6)]

    check("map", body, x, OF, np.round(ROIS * 2) / 2)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_regions_of_other_types(dtype: Any) -> None:
    x, rois = x_of((6, 7), dtype), (np.round(ROIS * 4) / 4).astype(dtype)
    check(
        "map",
        lambda w: [w(RoiAlignOp(w[0], w[1], w[2], (2, 2))), w(RoiPoolOp(w[0], w[1], w[2], (2, 2)))],
        x,
        OF,
        rois,
        tolerance=2e-3 if dtype == np.float16 else 1e-12,
    )


@pytest.mark.thinned(3)
@pytest.mark.parametrize("far", [np.nan, np.inf, 1e9, 3e38])
def test_regions_without_an_end(far: float) -> None:
    """A run ends soon, and reads nothing outside."""
    rois = np.array(
        [[-far, 1, far, 3], [1, 2, far, far], [far, far, far, far], [far, 0, -far, 2], [-far, -far, 0, 1]], np.float32
    )
    x = x_of((6, 7))

    def body(w: Any) -> Any:
        aligned = [
            w(RoiAlignOp(w[0], w[1], w[2], (2, 2), mode=mode, half_pixel=half))
            for mode in ("avg", "max")
            for half in (False, True)
        ]
        return [*aligned, w(RoiPoolOp(w[0], w[1], w[2], (2, 2)))]

    for found in compiled("map", body, [x, OF[:5], rois])(x, OF[:5], rois):
        assert np.isfinite(found).all()
        assert np.abs(found).max() <= np.abs(x).max()


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("shape", "kernel", "options"),
    [
        ((9, 20), (3, 2), {"pads": (1, 1, 1, 0)}),
        ((7, 8), (3, 4), {"strides": (2, 3), "pads": (0, 1, 2, 1), "dilations": (1, 2)}),
        ((8, 8), (2, 2), {"strides": (2, 2)}),
        ((4, 5, 6), (2, 3, 2), {"strides": (1, 2, 1)}),
        ((9,), (2,), {"strides": (4,)}),
    ],
)
def test_pictures_from_patches(shape: tuple[int, ...], kernel: tuple[int, ...], options: dict[str, Any]) -> None:
    filled = {"strides": (1,) * len(kernel), "pads": (0,) * 2 * len(kernel), "dilations": (1,) * len(kernel), **options}
    windows = prod(Window.of(kernel, **filled).positions(shape))
    x = Random.standard_normal((2, 3 * prod(kernel), windows))
    for dtype in (np.float32, np.int16):
        given = (x * 9).astype(dtype)
        check("windows", lambda w: w(Col2ImOp(w[0], shape, kernel, **options)), given, tolerance=1e-5, threads=2)
