"""What comes first in a row: heaps on a CPU, ranks on a GPU, against sorting; and what ONNX asks of it. Boxes that
overlap none with a better score."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from import_cases import Case, imported, one_node
from import_cases import check as check_import
from kernel_runs import Writer, check
from xdsl.ir import SSAValue

from mini_infer.dialects.errors import InvalidModelError, UnsupportedError
from mini_infer.dialects.graph.ops.selection import ChosenRowsOp, NonMaxSuppressionOp, TopKOp
from mini_infer.dialects.graph.values import Array

RANDOM = np.random.default_rng(0)
KINDS = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.int16, np.int64, np.uint16, np.uint64]


def few_values(*shape: int, dtype: Any = np.float32) -> Array:
    """Numbers of which many are equal, NaN and infinities among floats, the ends of the range among integers."""
    kind = np.dtype(dtype)
    x = RANDOM.integers(0 if kind.kind == "u" else -4, 5, shape).astype(dtype)
    whole = kind.kind in "iu"
    for value in [np.iinfo(dtype).min, np.iinfo(dtype).max] if whole else [np.nan, -np.nan, np.inf, -np.inf, -0.0]:
        x.flat[RANDOM.integers(0, x.size, 2)] = value
    return x


@pytest.mark.thinned(7)
@pytest.mark.parametrize(("shape", "axis"), [((3, 37), 1), ((37, 3), 0), ((2, 20, 5), 1), ((1, 1), 0), ((300,), 0)])
@pytest.mark.parametrize("part", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("smallest", [False, True])
def test_top_k(shape: tuple[int, ...], axis: int, part: float, smallest: bool) -> None:
    count = max(1, int(shape[axis] * part))
    for x in few_values(*shape), np.sort(RANDOM.standard_normal(shape), axis):
        check("selection", lambda w: w(TopKOp(w[0], axis, count, smallest)), x)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("smallest", [False, True])
def test_types(dtype: Any, smallest: bool) -> None:
    check("selection", lambda w: w(TopKOp(w[0], 1, 9, smallest)), few_values(4, 33, dtype=dtype), threads=3)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("attributes", [{}, {"largest": 0}, {"axis": 0}, {"axis": 1, "largest": 0}])
def test_import(dtype: Any, attributes: dict[str, Any]) -> None:
    x = RANDOM.integers(-5, 5, (4, 6, 5)).astype(dtype)
    check_import(Case("TopK", [x, np.array([3])], 11, attributes, [1], results=2))


def test_import_of_old_opsets() -> None:
    check_import(Case("TopK", [RANDOM.standard_normal((4, 6)).astype(np.float32)], 9, {"k": 2}, results=2))


def test_any_order_is_this_order() -> None:
    x, k = RANDOM.standard_normal((4, 6)).astype(np.float32), np.array([3])
    modules = [str(imported(one_node(Case("TopK", [x, k], 11, {"sorted": which}, [1], 2))[0])[0]) for which in (0, 1)]
    assert modules[0] == modules[1]


def test_what_is_no_selection() -> None:
    x = few_values(4, 6)
    with pytest.raises(InvalidModelError, match=r"the_node.*there are no 7 elements along a dimension of 6"):
        imported(one_node(Case("TopK", [x, np.array([7])], 11, {}, [1], 2))[0])
    with pytest.raises(InvalidModelError, match=r"the_node.*k must be one number, got 2"):
        imported(one_node(Case("TopK", [x, np.array([2, 3])], 11, {}, [1], 2))[0])
    with pytest.raises(UnsupportedError, match=r"the_node.*operand 1 \(x1\) must be known"):
        imported(one_node(Case("TopK", [x, np.array([2])], 11, {}, results=2))[0])


@pytest.mark.thinned(3)
@pytest.mark.parametrize("sizes", [(2, 3, 37, 5), (1, 2, 200, 200), (1, 1, 64, 64), (2, 1, 1, 1)])
@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("least", [None, 0.3, -np.inf])
def test_suppression(sizes: tuple[int, int, int, int], centered: bool, least: float | None) -> None:
    batch, classes, count, rows = sizes
    corners = RANDOM.uniform(0, 10, (batch, count, 2))
    boxes = np.concatenate([corners, corners + RANDOM.uniform(-4, 4, corners.shape)], -1)
    limits = [np.array(9), *(np.array(each, np.float32) for each in (0.4, least) if each is not None)]

    def body(w: Writer) -> list[SSAValue]:
        operands = [w[number] for number in range(2 + len(limits))]
        op = NonMaxSuppressionOp(*operands, rows=rows, centered=centered)
        w(op)
        return list(op.results)

    scores = few_values(batch, classes, count) / np.float32(8)
    check("suppression", body, boxes.astype(np.float32), scores, *limits, threads=3)


def test_either_result_of_a_suppression_alone() -> None:
    boxes, scores = RANDOM.random((1, 9, 4), np.float32), RANDOM.random((1, 2, 9), np.float32)
    for result in range(2):

        def body(w: Writer, result: int = result) -> SSAValue:
            op = NonMaxSuppressionOp(*(w[number] for number in range(4)), rows=5)
            w(op)
            return op.results[result]

        check("suppression", body, boxes, scores, np.array(7), np.array(0.5, np.float32))


@pytest.mark.parametrize("threads", [1, 3])
def test_list_of_chosen_rows(threads: int) -> None:
    def body(w: Writer) -> list[SSAValue]:
        op = ChosenRowsOp(w[0], w[1])
        w(op)
        return list(op.results)

    check("suppression", body, RANDOM.integers(0, 99, (2, 3, 9)), RANDOM.integers(0, 10, (2, 3)), threads=threads)
