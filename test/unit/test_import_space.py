"""Operators about space, which look at elements by where they stand, compute what ONNX says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph_cases import random
from import_cases import Case, assert_close, check, computed, imported, one_node, onnxruntime

from mini_infer.dialects.errors import InvalidModelError
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


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Case("MaxUnpool", [UNPOOLED[0], UNPOOLED[1][0]], 11, SQUARE), "indices of shape .* but an operand of shape"),
        (Case("MaxUnpool", [*UNPOOLED, ints(1, 2, 3, 4)], 11, SQUARE, known=[2]), "has no room for"),
        (Case("MaxUnpool", [*UNPOOLED], 11, {"kernel_shape": [2, 2], "pads": [2, 2, 2, 2]}), "take away more"),
    ],
)
def test_invalid(case: Case, message: str) -> None:
    with pytest.raises(InvalidModelError, match=rf"^the_node \({case.op_type}\): .*{message}"):
        imported(one_node(case)[0])
