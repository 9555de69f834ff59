"""Operators about space, which look at elements by where they stand, compute what ONNX says."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from graph_cases import random
from import_cases import Case, assert_close, check, computed, imported, one_node, onnxruntime, reference

import mini_infer as mi
from mini_infer.dialects.errors import InvalidModelError, UnsupportedError
from mini_infer.dialects.graph.values import Array

IMAGE, LINE, VOLUME = random(2, 3, 7, 6), random(2, 3, 11), random(1, 2, 4, 5, 6)
TIES = np.random.default_rng(0).integers(0, 5, (2, 3, 7, 6))
STORAGE = [{"storage_order": 0}, {"storage_order": 1}]
PADDED: dict[str, Any] = {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 1, 0, 0], "ceil_mode": 1}


def ints(*values: Any) -> Array:
    """An int64 array."""
    return np.array(values, np.int64)


@pytest.mark.parametrize("storage", STORAGE, ids=str)
@pytest.mark.parametrize(
    "case",
    [
        Case("MaxPool", [IMAGE], 12, PADDED, results=2),
        Case("MaxPool", [IMAGE], 12, {"kernel_shape": [2, 2], "dilations": [2, 3]}, results=2),
        Case("MaxPool", [LINE], 12, {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}, results=2),
        Case("MaxPool", [VOLUME], 12, {"kernel_shape": [2, 3, 2], "strides": [1, 2, 2]}, results=2),
        *(Case("MaxPool", [TIES.astype(dtype)], 12, PADDED, results=2) for dtype in ("uint8", "int8", "float64")),
        Case("MaxPool", [np.where(TIES == 0, -np.inf, -1).astype(np.float32)], 12, PADDED, results=2),
    ],
    ids=str,
)
def test_where_the_largest_element_of_a_window_stands(case: Case, storage: dict[str, int]) -> None:
    model, inputs = one_node(Case(case.op_type, case.operands, case.opset, {**case.attributes, **storage}, results=2))
    model.graph.output[1].type.tensor_type.elem_type = 7
    model.graph.output[0].type.tensor_type.elem_type = model.graph.input[0].type.tensor_type.elem_type
    for found, expected in zip(computed(model, inputs).values(), onnxruntime(model, inputs), strict=True):
        assert_close(found, expected)


def test_the_first_nan_of_a_window_is_its_largest_element() -> None:
    x = np.array([[[1, np.nan, np.nan, 5, 2, -np.inf]]], np.float32)
    found = computed(*one_node(Case("MaxPool", [x], 12, {"kernel_shape": [3], "strides": [3]}, results=2)))
    np.testing.assert_array_equal(found["y0"], [[[np.nan, 5]]])
    np.testing.assert_array_equal(found["y1"], [[[1, 3]]])


COORDINATES = "coordinate_transformation_mode"
KERNEL, OFFSET = random(4, 3, 2, 2, seed=1), random(2, 8, 6, 5)
UNPOOLED = random(1, 2, 2, 2), ints([[[5, 7], [13, 15]], [[16, 18], [25, 31]]]).reshape(1, 2, 2, 2)
SQUARE: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}


@pytest.mark.parametrize(
    "case",
    [
        Case("MaxUnpool", [*UNPOOLED], 9, SQUARE),
        Case("MaxUnpool", [*UNPOOLED, ints(1, 2, 5, 6)], 11, SQUARE, known=[2]),
        Case("MaxUnpool", [*UNPOOLED], 22, {"kernel_shape": [4, 4], "strides": [2, 2], "pads": [1, 0, 1, 2]}),
        Case("MaxUnpool", [LINE, np.argsort(LINE, axis=None).reshape(LINE.shape)], 11, {"kernel_shape": [1]}),
        Case("MaxUnpool", [UNPOOLED[0].astype(np.float16), UNPOOLED[1]], 22, SQUARE),
    ],
    ids=str,
)
def test_max_unpool(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("window", [PADDED, {**PADDED, "ceil_mode": 0}, {"kernel_shape": [2, 2], "dilations": [2, 1]}])
def test_lp_pool_adds_up_all_that_a_window_covers(p: int, window: dict[str, Any]) -> None:
    check(Case("LpPool", [IMAGE], 18, {"p": p, **window}, runtime=True))


def grid(*shape: int, dtype: Any = np.float32) -> Array:
    """Positions inside, outside and on the edges."""
    around = np.random.default_rng(1).uniform(-1.6, 1.6, shape)
    return np.where(np.abs(around) > 1.4, np.sign(around), around).astype(dtype)


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_grid_sample(mode: str, padding: str, corners: int) -> None:
    old = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    around = {"padding_mode": padding, "align_corners": corners}
    positions = grid(2, 5, 4, 2)
    check(Case("GridSample", [IMAGE, positions], 16, {"mode": old, **around}, runtime=True))
    if (mode, padding) != ("cubic", "border"):
        check(Case("GridSample", [IMAGE.astype(np.float64), positions], 22, {"mode": mode, **around}, tolerance=1e-6))
    if mode != "cubic":
        check(Case("GridSample", [VOLUME, grid(1, 2, 3, 2, 3)], 20, {"mode": mode, **around}, runtime=True))


def test_grid_sample_of_other_types() -> None:
    numbers = np.arange(40).reshape(1, 2, 4, 5)
    for dtype in (np.uint8, np.int64, np.bool_):
        check(Case("GridSample", [numbers.astype(dtype), grid(1, 3, 3, 2)], 22, {"mode": "nearest"}))
    half = Case("GridSample", [IMAGE.astype(np.float16), grid(2, 3, 3, 2, dtype=np.float16)], 22, tolerance=2e-3)
    model, inputs = one_node(half)
    found = computed(model, inputs)["y0"]
    assert found.dtype == np.float16
    wide = Case("GridSample", [each.astype(np.float32) for each in inputs.values()], 22)
    assert_close(found.astype(np.float32), reference(*one_node(wide))[0], 2e-3)


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (1, 1, 1, 3), (2, 1, 3, 1, 4), (2, 1, 2, 2, 2)])
def test_affine_grid(size: tuple[int, ...], corners: int) -> None:
    batch, _, *sizes = size
    theta = random(batch, len(sizes), len(sizes) + 1)
    case = Case("AffineGrid", [theta, ints(*size)], 20, {"align_corners": corners}, known=[1])
    with np.errstate(all="ignore"):
        check(case)
    (wanted,) = reference(*one_node(case))
    found = computed(*one_node(replace(case, operands=[theta.astype(np.float16), ints(*size)])))["y0"]
    assert_close(found, wanted.astype(np.float16), 2e-3)


DEFORMED: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 2, 3), {}),
    ((4, 1, 3, 2), {"group": 3, "strides": [2, 1], "pads": [1, 0, 1, 1], "offset_group": 3}),
    ((2, 3, 2, 2), {"dilations": [2, 1], "offset_group": 1}),
]


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("shape", "attributes"), DEFORMED, ids=str)
def test_deform_conv(shape: tuple[int, ...], attributes: dict[str, Any]) -> None:
    filters, inputs, *kernel = shape
    filters = filters * attributes.get("group", 1)
    weight = random(filters, inputs, *kernel, seed=1)
    places = np.shape(reference(*one_node(Case("Conv", [IMAGE, weight], 11, _of_conv(attributes))))[0])[2:]
    parts = attributes.get("offset_group", 1)
    offset = random(2, parts * prod(kernel) * 2, *places, seed=2, low=-2, high=2)
    mask = random(2, parts * prod(kernel), *places, seed=3)
    operands = [IMAGE, weight, offset, random(filters, seed=4), mask]
    check(Case("DeformConv", operands, 19, {**attributes, "kernel_shape": kernel}, tolerance=2e-5))
    check(Case("DeformConv", operands[:3], 22, attributes, tolerance=2e-5))


def _of_conv(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if name != "offset_group"}


def test_deform_conv_of_nothing_that_is_moved_is_a_convolution() -> None:
    weight = random(4, 2, 2, 1, 3, seed=1)
    window = {"pads": [0, 1, 0, 0, 0, 1], "strides": [1, 2, 1]}
    (expected,) = reference(*one_node(Case("Conv", [VOLUME, weight], 11, window)))
    offset = np.zeros((1, 6 * 3, *expected.shape[2:]), np.float32)
    assert_close(computed(*one_node(Case("DeformConv", [VOLUME, weight, offset], 22, window)))["y0"], expected)


ROIS = np.array([[0, 0, 3, 4], [1.5, 2, 4.25, 6.75], [-2, -3, 9, 8], [4, 4, 3, 2], [2.2, 1, 2.6, 1.2]], np.float32)
OF = ints(0, 1, 1, 0, 1)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("coordinates", [None, "half_pixel", "output_half_pixel"])
@pytest.mark.parametrize("samples", [0, 2])
def test_roi_align(mode: str, coordinates: str | None, samples: int) -> None:
    attributes: dict[str, Any] = {"mode": mode, "sampling_ratio": samples, "output_height": 3, "output_width": 2}
    attributes["spatial_scale"] = 1.25
    if coordinates is None:
        old = Case("RoiAlign", [IMAGE, ROIS, OF], 10, attributes)
        model, inputs = one_node(old)
        as_then = Case("RoiAlign", old.operands, 16, {**attributes, COORDINATES: "output_half_pixel"})
        assert_close(computed(model, inputs)["y0"], reference(*one_node(as_then))[0])
        return
    attributes[COORDINATES] = coordinates
    check(Case("RoiAlign", [IMAGE, ROIS, OF], 16, attributes, runtime=True))
    wide = [IMAGE.astype(np.float64), ROIS.astype(np.float64), OF]
    check(Case("RoiAlign", wide, 22, attributes))


def test_max_roi_pool() -> None:
    rois = np.concatenate([OF[:, None], np.round(ROIS * 3) / 2], 1).astype(np.float32)
    for scale in (1.0, 0.7):
        check(Case("MaxRoiPool", [IMAGE, rois], 1, {"pooled_shape": [3, 2], "spatial_scale": scale}, runtime=True))
    check(Case("MaxRoiPool", [IMAGE, rois], 1, {"pooled_shape": [9, 1]}, runtime=True))


@pytest.mark.parametrize(
    ("shape", "kernel", "attributes"),
    [
        ([5, 6], [2, 3], {}),
        ([5, 7], [2, 3], {"strides": [2, 1], "pads": [1, 0, 0, 2], "dilations": [2, 2]}),
        ([9], [4], {"strides": [3]}),
        ([3, 4, 5], [2, 2, 2], {"strides": [1, 2, 3]}),
    ],
)
def test_col2im(shape: list[int], kernel: list[int], attributes: dict[str, Any]) -> None:
    seen = np.zeros((1, 1, *shape), np.float32)
    places = reference(*one_node(Case("Conv", [seen, np.zeros((1, 1, *kernel), np.float32)], 11, attributes)))[0]
    columns = random(2, 3 * prod(kernel), prod(places.shape))
    operands = [columns, ints(*shape), ints(*kernel)]
    check(Case("Col2Im", operands, 18, attributes, known=[1, 2]))
    check(Case("Col2Im", [(columns * 90).astype(np.int8), *operands[1:]], 18, attributes, known=[1, 2]))


NARROW = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2fnuz, ml_dtypes.float4_e2m1fn, ml_dtypes.int4, ml_dtypes.uint2]


@pytest.mark.thinned(5)
@pytest.mark.parametrize("known", [[1, 2], [1]], ids=["known", "of run time"])
@pytest.mark.parametrize("dtype", [*NARROW, np.bool_, np.int64, np.uint64, ml_dtypes.bfloat16], ids=str)
def test_pad_of_any_type_with_any_number(dtype: Any, known: list[int]) -> None:
    """Numbers of 64 bits are more than a float can hold; narrow floats are no integers."""
    value = np.array(2**62 + 3 if np.dtype(dtype).name in ("int64", "uint64") else 1).astype(dtype)
    x = np.zeros((2, 3), dtype)
    model, inputs = one_node(Case("Pad", [x, ints(1, 0, 0, 2), value], 25, known=known))
    expected = np.full((3, 5), value)
    expected[1:, :3] = x
    for found in (computed(model, inputs)["y0"], mi.compile(model, threads=1)(inputs)["y0"]):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.view(np.uint8), expected.view(np.uint8))


def test_resize_for_nearest_neighbours_as_tensorflow_did_it() -> None:
    for scales in ([1, 1, 2, 3], [1, 1, 0.5, 0.7]):
        operands = [IMAGE, np.zeros(0, np.float32), np.array(scales, np.float32)]
        attributes = {COORDINATES: "tf_half_pixel_for_nn", "mode": "nearest"}
        check(Case("Resize", operands, 11, attributes, known=[1, 2], runtime=True))


def test_the_size_of_a_region_changes_nothing_about_the_size_of_the_result() -> None:
    operands = [LINE, np.array([0, 0, 0.2, 1, 1, 0.7], np.float32), np.array([1, 1, 1.5], np.float32)]
    for mode in ("nearest", "linear"):
        check(Case("Resize", operands, 13, {COORDINATES: "tf_crop_and_resize", "mode": mode}, known=[1, 2]))


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Case("GridSample", [TIES, grid(2, 3, 3, 2)], 20), "mode linear of i64: only floats can be interpolated"),
        (Case("Col2Im", [TIES[0] > 2, ints(2, 2), ints(2)], 18, known=[1, 2]), "booleans can't be summed"),
        (
            Case("Resize", [TIES > 2, None, np.ones(4, np.float32)], 18, {"mode": "cubic"}, known=[2]),
            "mode cubic of booleans, which can't be interpolated",
        ),
    ],
)
def test_unsupported(case: Case, message: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"^the_node \({case.op_type}\): .*{message}"):
        imported(one_node(case)[0])


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Case("MaxUnpool", [UNPOOLED[0], UNPOOLED[1][0]], 11, SQUARE), "indices of shape .* but an operand of shape"),
        (Case("MaxUnpool", [*UNPOOLED, ints(1, 2, 3, 4)], 11, SQUARE, known=[2]), "has no room for"),
        (Case("MaxUnpool", [*UNPOOLED], 11, {"kernel_shape": [2, 2], "pads": [2, 2, 2, 2]}), "crop more"),
        (Case("GridSample", [IMAGE, grid(2, 3, 3, 3)], 20), "a grid of shape .* for an operand of shape"),
        (Case("GridSample", [IMAGE, grid(1, 3, 3, 2)], 20), "2 samples, but positions for 1"),
        (Case("GridSample", [IMAGE, grid(2, 3, 3, 2)], 20, {"mode": "area"}), "mode area or padding_mode zeros is"),
        (Case("GridSample", [random(1, 1, 2, 2, 2, 2), grid(1, 3, 4)], 20), "needs 1 to 3 spatial dimensions, got 4"),
        (
            Case("DeformConv", [IMAGE, KERNEL, random(2, 8, 6, 4)], 19),
            r"offsets of shape .* instead of \(2, 8, 6, 5\)",
        ),
        (Case("DeformConv", [IMAGE, KERNEL, OFFSET, None, random(2, 3, 6, 5)], 19), "a mask of shape"),
        (Case("AffineGrid", [random(2, 2, 3), ints(1, 1, 4, 4)], 20, known=[1]), "theta of shape .* for a size"),
        (Case("AffineGrid", [random(1, 1, 2), ints(1, 1, 4)], 20, known=[1]), "theta of shape .* for a size"),
        (Case("RoiAlign", [IMAGE, ROIS, OF[:2]], 16), r"regions of shape \[5, 4\] for indices of shape \[2\]"),
        (Case("RoiAlign", [IMAGE, ROIS, OF], 16, {COORDINATES: "x"}), "coordinate_transformation_mode x is unknown"),
        (Case("RoiAlign", [IMAGE, ROIS, OF], 16, {"mode": "min"}), 'mode is "avg" or "max", got "min"'),
        (Case("RoiAlign", [IMAGE, ROIS, OF], 16, {"output_width": 0}), "needs a height and a width"),
        (Case("RoiAlign", [LINE, ROIS, OF], 16), r"needs \[batch, channels, height, width\]"),
        (Case("MaxRoiPool", [IMAGE, ROIS], 1, {"pooled_shape": [2, 2]}), "regions need 5 entries each"),
        (Case("MaxRoiPool", [IMAGE, np.ones((2, 5), np.float32)], 22), "attribute pooled_shape is missing"),
        (Case("Col2Im", [LINE, ints(5, 5), ints(2)], 18, known=[1, 2]), "don't fit together"),
        (Case("Col2Im", [LINE, ints(11), ints(2)], 18, known=[1, 2]), "2 taps do not divide 3 columns"),
        (Case("Col2Im", [LINE, ints(11), ints(3)], 18, known=[1, 2]), "11 windows, but there is room for 9"),
        (Case("DeformConv", [IMAGE, KERNEL, OFFSET], 19, {"group": 2}), "in 2 groups, but 3 channels"),
        (Case("DeformConv", [IMAGE, KERNEL, OFFSET], 19, {"offset_group": 2}), "offset_group 2 does not divide"),
    ],
)
def test_invalid(case: Case, message: str) -> None:
    with pytest.raises(InvalidModelError, match=rf"^the_node \({case.op_type}\): .*{message}"):
        imported(one_node(case)[0])
