"""Reductions and normalisations mean what ONNX says."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from graph_cases import Build, check, random, run

from mini_infer.dialects.graph.ops.normalization import BatchNormOp, InstanceNormOp, LayerNormOp, RmsNormOp
from mini_infer.dialects.graph.ops.reduction import (
    ArgMaxOp,
    ArgMinOp,
    CumsumOp,
    LogSoftmaxOp,
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceProdOp,
    ReduceSumOp,
    SoftmaxOp,
)

REDUCTIONS: list[tuple[Any, str]] = [
    (ReduceSumOp, "ReduceSum"),
    (ReduceMeanOp, "ReduceMean"),
    (ReduceMaxOp, "ReduceMax"),
    (ReduceMinOp, "ReduceMin"),
    (ReduceProdOp, "ReduceProd"),
]


@pytest.mark.parametrize(("operation", "op_type"), REDUCTIONS, ids=lambda case: getattr(case, "__name__", ""))
@pytest.mark.parametrize("axes", [(0,), (1, 2), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_reduce(operation: Any, op_type: str, axes: tuple[int, ...], keepdims: bool) -> None:
    x = random(3, 4, 5)
    inputs = [x, np.array(axes, np.int64)]
    check(
        partial(operation, axes=axes, keepdims=keepdims),
        [x],
        op_type,
        {"keepdims": int(keepdims)},
        inputs=inputs,
    )


@pytest.mark.parametrize(
    ("operation", "op_type"), [REDUCTIONS[0], *REDUCTIONS[2:]], ids=lambda case: getattr(case, "__name__", "")
)
def test_reduce_of_integers_and_of_nothing(operation: Any, op_type: str) -> None:
    axes = np.array([1], np.int64)
    integers = random(2, 3, dtype=np.int32, low=-9, high=9)
    for x in (integers, integers[:, :0], integers[:, :0].astype(np.int8), np.zeros((2, 0), np.float32)):
        check(partial(operation, axes=(1,)), [x], op_type, {"keepdims": 0}, inputs=[x, axes])


def test_reduce_over_no_axes_is_the_operand() -> None:
    x = random(2, 3)
    for operation, _ in REDUCTIONS:
        np.testing.assert_array_equal(run(partial(operation, axes=()), x)[0], x)


@pytest.mark.parametrize(("operation", "op_type"), [(ArgMaxOp, "ArgMax"), (ArgMinOp, "ArgMin")])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("last", [False, True])
def test_arg_extrema(operation: Any, op_type: str, keepdims: bool, last: bool) -> None:
    x = np.array([[2, 1, 2, 1], [3, 3, 3, 3]], np.float32)
    for axis in (0, 1):
        attributes = {"axis": axis, "keepdims": int(keepdims), "select_last_index": int(last)}
        check(partial(operation, axis=axis, keepdims=keepdims, select_last=last), [x], op_type, attributes)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumsum(exclusive: bool, reverse: bool) -> None:
    x, attributes = random(3, 4), {"exclusive": int(exclusive), "reverse": int(reverse)}
    for axis in (0, 1):
        inputs = [x, np.array(axis, np.int64)]
        check(
            partial(CumsumOp, axis=axis, exclusive=exclusive, reverse=reverse),
            [x],
            "CumSum",
            attributes,
            inputs=inputs,
        )


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_softmax(axis: int) -> None:
    x = random(2, 3, 4, low=-100, high=100)
    check(partial(SoftmaxOp, axis=axis), [x], "Softmax", {"axis": axis})
    near = x / 20  # the reference takes the logarithm of what may have become 0
    check(partial(LogSoftmaxOp, axis=axis), [near], "LogSoftmax", {"axis": axis})


def test_log_softmax_never_takes_the_logarithm_of_zero() -> None:
    (result,) = run(partial(LogSoftmaxOp, axis=0), np.array([0, -1000], np.float32))
    assert result.tolist() == [0, -1000]


def test_softmax_of_nothing() -> None:
    assert run(partial(SoftmaxOp, axis=1), np.zeros((2, 0), np.float32))[0].shape == (2, 0)


@pytest.mark.parametrize("axis", [1, 2])
def test_layer_norm(axis: int) -> None:
    x = random(2, 3, 4)
    scale, bias = random(*x.shape[axis:], seed=1), random(*x.shape[axis:], seed=2)
    attributes = {"axis": axis, "epsilon": 1e-3}
    check(partial(LayerNormOp, **attributes), [x, scale, bias], "LayerNormalization", attributes)
    check(partial(LayerNormOp, **attributes), [x, scale], "LayerNormalization", attributes)
    check(partial(RmsNormOp, **attributes), [x, scale], "RMSNormalization", attributes)


def test_instance_norm() -> None:
    arrays = [random(2, 3, 4, 5), random(3, seed=1), random(3, seed=2)]
    build: Build = partial(InstanceNormOp, epsilon=0.01)
    check(build, arrays, "InstanceNormalization", {"epsilon": 1e-2})


def test_batch_norm_in_both_layouts() -> None:
    x = random(2, 3, 4, 5)
    vectors = [random(3, seed=seed) for seed in (1, 2, 3)] + [random(3, seed=4, low=0.1, high=2)]
    check(
        partial(BatchNormOp, epsilon=0.001),
        [x, *vectors],
        "BatchNormalization",
        {"epsilon": 1e-3},
    )
    (first,) = run(BatchNormOp, x, *vectors)
    (last,) = run(partial(BatchNormOp, layout="NHWC"), np.moveaxis(x, 1, -1), *vectors)
    np.testing.assert_allclose(np.moveaxis(last, -1, 1), first, rtol=1e-6)
