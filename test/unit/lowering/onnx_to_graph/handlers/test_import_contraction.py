"""Matrix products, convolutions, pools and einsum compute what ONNX says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph_cases import random
from import_cases import Case, assert_close, check, computed, imported, kinds, one_node

from mini_infer.dialects.errors import InvalidModelError

IMAGE = random(2, 4, 9, 8)
LINE = random(1, 3, 10)
PAIR = random(2, 3)
KERNEL = random(6, 4, 3, 3, seed=1)
BIAS = random(6, seed=2)
SQUARE = {"kernel_shape": [3, 3]}
TWO = {"strides": [2, 2]}


@pytest.mark.parametrize(
    "shapes",
    [
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 1, 3, 4), (5, 4, 6)),
        ((4,), (4,)),
        ((4,), (2, 4, 3)),
        ((2, 3, 4), (4,)),
    ],
    ids=str,
)
def test_matmul(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    check(Case("MatMul", [random(*shapes[0]), random(*shapes[1], seed=1)], 13))


@pytest.mark.parametrize(
    "case",
    [
        Case("Gemm", [random(3, 4), random(4, 5)], 13),
        Case("Gemm", [random(4, 3), random(5, 4), random(5)], 13, {"transA": 1, "transB": 1}),
        Case("Gemm", [random(3, 4), random(4, 5), random(3, 1)], 11, {"alpha": 0.5, "beta": 2.0}),
        Case("Gemm", [random(3, 4), random(4, 5), random(3, 5)], 7, {"beta": 0.0}),
    ],
    ids=str,
)
def test_gemm(case: Case) -> None:
    check(case)


def test_plain_gemm_is_a_product_and_a_sum() -> None:
    model, _ = one_node(Case("Gemm", [random(3, 4), random(5, 4), random(5)], 13, {"transB": 1}))
    assert kinds(imported(model)[0]) == ["matmul", "add"]


@pytest.mark.parametrize(
    ("shape", "attributes"),
    [
        ((6, 4, 3, 3), {}),
        ((6, 4, 3, 3), {"strides": [2, 3], "pads": [1, 0, 2, 1]}),
        ((6, 4, 3, 2), {"dilations": [2, 3], "kernel_shape": [3, 2]}),
        ((6, 2, 3, 3), {"group": 2}),
        ((8, 1, 3, 3), {"group": 4}),
        ((6, 4, 3, 2), {"auto_pad": "SAME_UPPER", **TWO}),
        ((6, 4, 2, 3), {"auto_pad": "SAME_LOWER"}),
        ((6, 4, 3, 3), {"auto_pad": "VALID"}),
    ],
)
def test_conv(shape: tuple[int, ...], attributes: dict[str, Any]) -> None:
    check(Case("Conv", [IMAGE, random(*shape, seed=1), random(shape[0], seed=2)], 11, attributes, known=[1]))


def test_conv_of_one_and_three_dimensions() -> None:
    check(Case("Conv", [LINE, random(5, 3, 4, seed=1)], 22, {"strides": [2]}))
    check(Case("Conv", [random(1, 2, 4, 5, 6), random(3, 2, 2, 2, 2, seed=1)], 11))


@pytest.mark.parametrize(
    ("shape", "attributes"),
    [
        ((4, 6, 3, 3), {}),
        ((4, 6, 3, 3), {**TWO, "pads": [1, 1, 1, 1], "output_padding": [1, 1]}),
        ((4, 3, 2, 3), {"group": 2, "strides": [2, 3]}),
        ((4, 6, 3, 3), {"dilations": [2, 1]}),
        ((4, 6, 3, 3), {**TWO, "output_shape": [18, 16]}),
        ((4, 6, 3, 3), {"strides": [3, 2], "auto_pad": "SAME_UPPER"}),
        ((4, 6, 3, 3), {**TWO, "auto_pad": "SAME_LOWER"}),
    ],
)
def test_conv_transpose(shape: tuple[int, ...], attributes: dict[str, Any]) -> None:
    groups = attributes.get("group", 1)
    bias = random(shape[1] * groups, seed=2)
    check(Case("ConvTranspose", [IMAGE, random(*shape, seed=1), bias], 11, attributes, runtime=True))


@pytest.mark.parametrize(
    "case",
    [
        Case("MaxPool", [IMAGE], 8, {"kernel_shape": [3, 2]}),
        Case("MaxPool", [IMAGE], 12, {**SQUARE, **TWO, "pads": [1, 1, 1, 1]}),
        Case("MaxPool", [IMAGE], 12, {**SQUARE, **TWO, "ceil_mode": 1}),
        Case("MaxPool", [IMAGE], 10, {"kernel_shape": [2, 2], "dilations": [2, 3]}),
        Case("MaxPool", [IMAGE], 12, {"kernel_shape": [3, 2], "auto_pad": "SAME_UPPER"}),
        Case("MaxPool", [IMAGE], 12, {"kernel_shape": [2, 2], "auto_pad": "SAME_LOWER", **TWO}, runtime=True),
        Case("MaxPool", [LINE], 12, {"kernel_shape": [3]}),
        Case("AveragePool", [IMAGE], 7, {**SQUARE, "pads": [1, 1, 1, 1]}),
        Case("AveragePool", [IMAGE], 11, {**SQUARE, "pads": [1, 0, 0, 1], "count_include_pad": 1}),
        Case("AveragePool", [IMAGE], 19, {**SQUARE, **TWO, "ceil_mode": 1}),
        Case("AveragePool", [IMAGE], 19, {"kernel_shape": [2, 2], "dilations": [2, 2]}),
        Case("LpPool", [IMAGE], 18, {"kernel_shape": [2, 3], "p": 3}),
        Case("GlobalAveragePool", [IMAGE], 1),
        Case("GlobalMaxPool", [IMAGE], 22),
    ],
    ids=str,
)
def test_pool(case: Case) -> None:
    check(case)


def test_global_lp_pool() -> None:
    model, inputs = one_node(Case("GlobalLpPool", [IMAGE], 2, {"p": 3}))
    expected = np.sum(np.abs(IMAGE) ** 3, (2, 3), keepdims=True) ** (1 / 3)
    assert_close(computed(model, inputs)["y0"], expected.astype(np.float32))


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,kj", [(2, 3), (4, 3)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("bhqk,bkhd->bqhd", [(2, 3, 4, 5), (2, 5, 3, 6)]),
        ("...ij,...jk->...ik", [(2, 3, 4), (1, 4, 5)]),
        ("...ij,jk", [(2, 3, 4), (4, 5)]),
        ("ij->ji", [(2, 3)]),
        ("ij->j", [(2, 3)]),
        ("ijk->", [(2, 3, 4)]),
        ("i,j->ij", [(2,), (3,)]),
        ("bi,bi->b", [(2, 3), (2, 3)]),
        ("i,i->", [(3,), (3,)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
        ("ijk,jl->il", [(2, 3, 4), (3, 5)]),
        ("bhij,bhjk->bhik", [(1, 2, 5, 0), (1, 2, 0, 5)]),
        ("ij,jk->ik", [(5, 0), (0, 4)]),
        ("ij,jk->ik", [(0, 3), (3, 0)]),
        ("ij->i", [(5, 0)]),
        ("i,i->", [(0,), (0,)]),
        ("i,j->ij", [(0,), (3,)]),
        ("ij,kj->ik", [(2, 0), (3, 1)]),
        ("bij,bjk->bik", [(1, 2, 3), (0, 3, 4)]),
    ],
)
def test_einsum(equation: str, shapes: list[tuple[int, ...]]) -> None:
    operands = [random(*shape, seed=index) for index, shape in enumerate(shapes)]
    check(Case("Einsum", operands, 12, {"equation": equation}))


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Case("Conv", [IMAGE, random(6, 3, 3, 3)], 11), "4 input channels, but the weight expects 3"),
        (
            Case("Conv", [IMAGE, KERNEL], 11, {"kernel_shape": [3, 2]}),
            r"kernel_shape is \[3, 2\], but the weight's",
        ),
        (
            Case("Conv", [IMAGE, KERNEL], 11, {"strides": [2]}),
            "strides has 1 entries, but 2 are needed",
        ),
        (Case("Conv", [IMAGE, KERNEL], 11, {"strides": [0, 1]}), "must be at least 1"),
        (Case("Conv", [IMAGE, KERNEL], 11, {"auto_pad": "BOTH"}), "auto_pad BOTH is unknown"),
        (Case("Conv", [IMAGE, random(6, 4, 3)], 11), "the weight has 3 dimensions, but the operand has 4"),
        (Case("Conv", [random(3, 4), KERNEL], 11), "needs batch, channels and at least one more"),
        (Case("MaxPool", [IMAGE], 12, {"kernel_shape": [3]}), "kernel_shape must have 2 entries"),
        (Case("MaxPool", [IMAGE], 12, {"kernel_shape": [30, 3]}), "a window of 30 doesn't fit"),
        (Case("Gemm", [LINE, LINE], 13), "operand 0 must have 2 dimensions, got 3"),
        (Case("Gemm", [random(3, 4), random(4, 5), random(2, 3, 5)], 13), "doesn't broadcast to"),
        (Case("MatMul", [random(3, 4), random(3, 4)], 13), "4 columns on the left, but 3 rows on the right"),
        (Case("MatMul", [np.array(1, np.float32), LINE], 13), "at least one dimension"),
        (Case("Einsum", [IMAGE], 12, {"equation": "ij,jk->ik"}), "has 2 operands, the node has 1"),
        (Case("Einsum", [IMAGE], 12, {"equation": "ij->ij"}), "ij does not fit an operand of rank 4"),
        (
            Case("Einsum", [random(2, 3)], 12, {"equation": "ij->ik"}),
            "must be distinct and",
        ),
        (
            Case("Einsum", [PAIR, PAIR], 12, {"equation": "ij,jk->ik"}),
            "label j stands for 3",
        ),
    ],
)
def test_invalid(case: Case, message: str) -> None:
    with pytest.raises(InvalidModelError, match=rf"^the_node \({case.op_type}\): .*{message}"):
        imported(one_node(case)[0])
