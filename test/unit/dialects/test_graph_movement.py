"""Movement ops mean what ONNX says."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from graph_cases import check, random, run

from mini_infer.dialects.graph.base import GraphOp
from mini_infer.dialects.graph.ops.indexing import (
    GatherElementsOp,
    GatherNdOp,
    GatherOp,
    ScatterElementsOp,
    ScatterNdOp,
)
from mini_infer.dialects.graph.ops.movement import (
    BroadcastToOp,
    ConcatOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    SlideOp,
    TransposeOp,
)
from mini_infer.dialects.graph.ops.resize import ResizeOp
from mini_infer.dialects.graph.values import Array


def indices(*values: Any) -> Array:
    """An int64 array."""
    return np.array(values, np.int64)


def test_reshape_transpose_broadcast() -> None:
    x = random(2, 3, 4)
    check(partial(ReshapeOp, shape=(4, 6)), [x], "Reshape", inputs=[x, indices(4, 6)])
    check(partial(TransposeOp, permutation=(2, 0, 1)), [x], "Transpose", {"perm": [2, 0, 1]})
    thin = random(3, 1)
    check(partial(BroadcastToOp, shape=(2, 3, 4)), [thin], "Expand", inputs=[thin, indices(2, 3, 4)])
    assert run(partial(ReshapeOp, shape=()), random(1, 1))[0].shape == ()
    assert run(partial(ReshapeOp, shape=(3, 0)), random(0, 5))[0].shape == (3, 0)


def test_concat() -> None:
    arrays = [random(2, count, 3, seed=count) for count in (1, 4, 0)]

    def build(*values: Any) -> GraphOp:
        return ConcatOp(values, 1)

    check(build, arrays, "Concat", {"axis": 1})


@pytest.mark.parametrize("new", [1, 2, 4])
def test_slide(new: int) -> None:
    x, rows = random(2, 4, 3), random(2, new, 3, seed=1)
    (found,) = run(partial(SlideOp, axis=1), x, rows)
    np.testing.assert_array_equal(found, np.concatenate([x, rows], 1)[:, new:])


@pytest.mark.parametrize(
    ("starts", "stops", "steps"),
    [
        ((0, 0), (5, 6), (1, 1)),
        ((1, 2), (4, 6), (1, 3)),
        ((4, 5), (-1, 1), (-1, -2)),
        ((2, 0), (2, 6), (1, 1)),
        ((4, 0), (0, 6), (-3, 1)),
        ((0, 0), (-1, 6), (1, 1)),
    ],
    ids=["all", "steps", "backwards", "nothing", "backwards by threes", "nothing before the first"],
)
def test_slice(starts: tuple[int, ...], stops: tuple[int, ...], steps: tuple[int, ...]) -> None:
    x = random(5, 6)
    onnx_stops = [stop if stop >= 0 else -100 for stop in stops]
    inputs = [x, indices(*starts), indices(*onnx_stops), indices(0, 1), indices(*steps)]
    check(partial(SliceOp, starts=starts, stops=stops, steps=steps), [x], "Slice", inputs=inputs)


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_pad(mode: str) -> None:
    x = random(3, 4)
    low, high = (1, 0), (2, 3)
    inputs = [x, indices(*low, *high), np.array(1.5, np.float32)]
    check(
        partial(PadOp, low=low, high=high, mode=mode, value=1.5),
        [x],
        "Pad",
        {"mode": mode},
        inputs=inputs,
    )


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("at", [indices(0, 2, -1, 1), indices([0, -2], [1, 1]), indices(1)[0]], ids=str)
def test_gather(axis: int, at: Array) -> None:
    check(partial(GatherOp, axis=axis), [random(3, 3, 3), np.asarray(at)], "Gather", {"axis": axis})


@pytest.mark.parametrize("axis", [0, 1])
def test_gather_elements(axis: int) -> None:
    at = indices([1, 2, 0], [2, 0, -1])
    arrays = [random(3, 3), at if axis == 0 else np.ascontiguousarray(at.T)]
    check(partial(GatherElementsOp, axis=axis), arrays, "GatherElements", {"axis": axis})


@pytest.mark.parametrize(
    ("at", "batch"),
    [
        (indices([0, 0], [1, -1]), 0),
        (indices([[1]], [[0]]), 0),
        (indices([1], [0]), 1),
        (indices([[0, 1], [1, 0]], [[1, 1], [0, 0]]), 1),
        (indices([[0], [1], [1]], [[1], [0], [0]]), 2),
    ],
    ids=["elements", "slices", "batch of slices", "batch of elements", "two batch dimensions"],
)
def test_gather_nd(at: Array, batch: int) -> None:
    x = random(2, 3, 4) if batch else random(2, 2, 3)
    check(partial(GatherNdOp, batch_dims=batch), [x, at], "GatherND", {"batch_dims": batch})


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
def test_scatter(reduction: str) -> None:
    x = random(4, 3, 2)
    by_slice = [x, indices([1], [3]), random(2, 3, 2, seed=1)]
    by_element = [x, indices([1, 2, -1], [3, 0, 0]), random(2, seed=2)]
    for arrays in (by_slice, by_element):
        check(
            partial(ScatterNdOp, reduction=reduction),
            arrays,
            "ScatterND",
            {"reduction": reduction},
        )
    for axis in (0, 1):
        arrays = [random(3, 3), indices([1, 0, 2], [0, -1, 1]), random(2, 3, seed=3)]
        attributes = {"axis": axis, "reduction": reduction}
        check(partial(ScatterElementsOp, **attributes), arrays, "ScatterElements", attributes)


def test_scatter_adds_up_updates_of_the_same_element() -> None:
    arrays = [np.zeros(2, np.float32), indices([1], [1], [1]), np.ones(3, np.float32)]
    assert run(partial(ScatterNdOp, reduction="add"), *arrays)[0].tolist() == [0, 3]


COORDINATES = ["half_pixel", "pytorch_half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric"]


@pytest.mark.parametrize("coordinate", COORDINATES)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("scales", [(2, 3), (0.5, 0.6), (1, 2.5), (3.7, 0.75)], ids=str)
def test_resize_by_scales(coordinate: str, mode: str, scales: tuple[float, ...]) -> None:
    x = random(1, 2, 6, 4)
    factors = (1.0, 1.0, *(float(np.float32(scale)) for scale in scales))
    shape = [int(size * factor) for size, factor in zip(x.shape, factors, strict=True)]
    check(
        partial(ResizeOp, shape=shape, scales=factors, mode=mode, coordinate=coordinate),
        [x],
        "Resize",
        {"mode": mode, "coordinate_transformation_mode": coordinate},
        inputs=[x, None, np.array(factors, np.float32)],
        atol=1e-5,
    )


@pytest.mark.parametrize("nearest", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_resize_to_sizes(nearest: str) -> None:
    x = random(1, 1, 5, 8)
    shape = (1, 1, 8, 5)
    check(
        partial(ResizeOp, shape=shape, nearest=nearest),
        [x],
        "Resize",
        {"mode": "nearest", "nearest_mode": nearest},
        inputs=[x, None, None, indices(*shape)],
    )


@pytest.mark.parametrize(
    ("mode", "ours", "onnx"),
    [
        ("linear", {"antialias": True}, {"antialias": 1}),
        ("cubic", {"antialias": True}, {"antialias": 1}),
        ("cubic", {"exclude_outside": True}, {"exclude_outside": 1}),
        ("cubic", {"cubic_a": -0.5}, {"cubic_coeff_a": -0.5}),
        ("linear", {"antialias": True, "exclude_outside": True}, {"antialias": 1, "exclude_outside": 1}),
    ],
    ids=["linear antialias", "cubic antialias", "exclude outside", "coefficient", "both"],
)
def test_resize_options(mode: str, ours: dict[str, Any], onnx: dict[str, Any]) -> None:
    x = random(1, 1, 9, 7)
    for shape in ((1, 1, 4, 3), (1, 1, 12, 10)):
        check(
            partial(ResizeOp, shape=shape, mode=mode, **ours),
            [x],
            "Resize",
            {"mode": mode, **onnx},
            inputs=[x, None, None, indices(*shape)],
            atol=1e-5,
        )


@pytest.mark.parametrize("coordinate", COORDINATES)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_resize_to_one_element(coordinate: str, mode: str) -> None:
    x = random(5, 8)
    check(
        partial(ResizeOp, shape=(1, 8), mode=mode, coordinate=coordinate),
        [x],
        "Resize",
        {"mode": mode, "coordinate_transformation_mode": coordinate},
        inputs=[x, None, None, indices(1, 8)],
        atol=1e-5,
    )


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int32])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_resize_of_integers(mode: str, kind: Any) -> None:
    """What lies between is rounded, and a cubic beyond the type's range stops at its end."""
    x = np.array([[0, 255, 3], [100, 7, 8]], np.uint8).view(np.int8 if kind == np.int8 else np.uint8).astype(kind)
    check(
        partial(ResizeOp, shape=(3, 5), mode=mode),
        [x],
        "Resize",
        {"mode": mode},
        inputs=[x, None, None, indices(3, 5)],
    )


@pytest.mark.parametrize("shape", [(3, 6), (1, 6), (1, 1)], ids=str)
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_resize_of_a_region(mode: str, shape: tuple[int, ...]) -> None:
    x = random(4, 5)
    roi = (0.25, -0.5, 0.75, 1.25)
    check(
        partial(
            ResizeOp,
            shape=shape,
            mode=mode,
            coordinate="tf_crop_and_resize",
            roi=roi,
            extrapolation=7.0,
        ),
        [x],
        "Resize",
        {"mode": mode, "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.0},
        inputs=[x, np.array(roi, np.float32), None, indices(*shape)],
        atol=1e-5,
    )
