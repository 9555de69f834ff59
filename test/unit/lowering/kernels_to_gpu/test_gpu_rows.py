"""Rows on a GPU: by warps, by blocks and by columns of threads, whole or in parts, kept in registers or read again."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from gpu_kernel_runs import SMALL, check, compiled
from kernel_runs import Body, Writer, kernel_of, reference
from xdsl.dialects import scf

from mini_infer.dialects.gpu.kernels import BarrierOp
from mini_infer.dialects.gpu.shuffle import ShuffleOp
from mini_infer.dialects.graph.ops.activation import GeluOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, MulOp
from mini_infer.dialects.graph.ops.movement import ReshapeOp, TransposeOp
from mini_infer.dialects.graph.ops.normalization import InstanceNormOp, LayerNormOp, RmsNormOp
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
from mini_infer.dialects.graph.values import Array
from mini_infer.passes.kernels.schedules import AnySchedule, schedules_for
from mini_infer.passes.kernels.schedules.cuda.block_rows import BlockRows
from mini_infer.passes.kernels.schedules.cuda.column_rows import ColumnRows
from mini_infer.passes.kernels.schedules.cuda.warp_rows import WarpRows

RANDOM = np.random.default_rng(0)

# 5 rows of 37 and of 296: odd sizes and whole vectors; a thread of one per row has no room for any of them.
ALONG = [WarpRows(32, 64), WarpRows(1, 32), BlockRows(64), BlockRows(64, 2), BlockRows(128, 4)]
ACROSS = [ColumnRows(8, 4, 4), ColumnRows(32, 1, 1), ColumnRows(8, 4, 32), ColumnRows(16, 4, 4, 2)]
PLACES = [((5, 37), 1), ((5, 296), 1), ((70, 13), 0), ((2, 40, 12), 1)]


def schedules(shape: tuple[int, ...], axis: int) -> list[Any]:
    return ALONG if axis == len(shape) - 1 else ACROSS


CASES = [(shape, axis, each) for shape, axis in PLACES for each in schedules(shape, axis)]
names = [f"{shape}-{each.name}{list(each.attribute().numbers().values())}" for shape, _, each in CASES]


def check_rows(
    body: Body,
    arrays: list[Array],
    schedule: AnySchedule,
    tolerance: float = 2e-6,
    inplace: dict[int, int] | None = None,
) -> None:
    """Under one schedule, against the ops' own meaning."""
    check("rows", body, *arrays, given=schedule, tolerance=tolerance, inplace=inplace)


def softmax(axis: int) -> Body:
    return lambda w: w(SoftmaxOp(w[0], axis))


def layer_norm(axis: int) -> Body:
    return lambda w: w(LayerNormOp(w[0], w[1], w[2], axis=axis))


def rms_norm(axis: int) -> Body:
    return lambda w: w(RmsNormOp(w[0], w[1], axis=axis))


def running_sum(axis: int, exclusive: bool, reverse: bool) -> Body:
    return lambda w: w(CumsumOp(w[0], axis, exclusive, reverse))


def numbers(*shape: int, dtype: Any = np.float32) -> Array:
    return RANDOM.standard_normal(shape).astype(dtype)


@pytest.mark.thinned(5)
@pytest.mark.parametrize(("shape", "axis", "schedule"), CASES, ids=names)
def test_every_root(shape: tuple[int, ...], axis: int, schedule: AnySchedule) -> None:
    """What is divided by a row's sum or deviation, and what a row is reduced to, with what follows behind it."""
    x, y = numbers(*shape) * 3, numbers(*shape)
    outer = numbers(*(size for i, size in enumerate(shape) if i != axis))
    bodies: list[tuple[Body, list[Array]]] = [
        (lambda w: w(MulOp(w(SoftmaxOp(w[0], axis)), w[1])), [x, y]),
        (lambda w: w(LogSoftmaxOp(w[0], axis)), [x]),
        (lambda w: w(GeluOp(w(AddOp(w(ReduceMeanOp(w[0], [axis])), w[1])))), [x, outer]),
        (lambda w: w(ReduceMaxOp(w[0], [axis], keepdims=True)), [x]),
        (lambda w: w(ArgMaxOp(w[0], axis)), [np.round(x)]),
        (lambda w: w(ArgMinOp(w[0], axis, select_last=True)), [np.round(x)]),
    ]
    for body, arrays in bodies:
        check_rows(body, arrays, schedule)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("schedule", ALONG, ids=str)
def test_normalisations(schedule: AnySchedule) -> None:
    for shape, axis in ((3, 7, 4), 1), ((6, 200), 1), ((1, 1100), 1):
        x, scale, bias = numbers(*shape) + 3, numbers(*shape[axis:]), numbers(*shape[axis:])

        check_rows(layer_norm(axis), [x, scale, bias], schedule, tolerance=1e-5)
        check_rows(rms_norm(axis), [x, scale], schedule, tolerance=1e-5)
    arrays = [numbers(2, 3, 5, 12), numbers(3), numbers(3)]
    check_rows(lambda w: w(InstanceNormOp(w[0], w[1], w[2])), arrays, schedule, tolerance=1e-5)


def test_mean_of_squares_of_deviations() -> None:
    """Not the difference of two large numbers: the deviations are small beside the mean."""
    x, scale = numbers(4, 512) + 10_000, np.ones(512, np.float32)
    for schedule in ALONG:
        check_rows(lambda w: w(LayerNormOp(w[0], w[1], axis=1)), [x, scale], schedule, tolerance=2e-2)


@pytest.mark.parametrize(("exclusive", "reverse"), [*product((False, True), repeat=2)])
def test_running_sums(exclusive: bool, reverse: bool) -> None:
    for dtype in np.float32, np.int64:
        x = (numbers(3, 5, 70) * 9).astype(dtype)
        for axis, schedule in (2, WarpRows(32, 64)), (2, WarpRows(1, 32)), (1, ColumnRows(32, 1, 1)):
            check_rows(running_sum(axis, exclusive, reverse), [x], schedule, tolerance=3e-5)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("schedule", [WarpRows(4, 32), *ALONG], ids=str)
def test_special_numbers(schedule: AnySchedule) -> None:
    """NaN wins; a row of nothing but minus infinity has no softmax; an infinite one has none either."""
    x = numbers(8, 72)
    x[0, :40] = -np.inf
    x[1, 3], x[2, 71] = np.nan, np.inf
    x[3] = -np.inf
    x[4] *= 1e30
    bodies: list[Body] = [
        lambda w: w(SoftmaxOp(w[0], 1)),
        lambda w: w(LogSoftmaxOp(w[0], 1)),
        lambda w: w(ReduceMaxOp(w[0], [1])),
        lambda w: w(ReduceMinOp(w[0], [1])),
        lambda w: w(ArgMaxOp(w[0], 1)),
        lambda w: w(ArgMinOp(w[0], 1, select_last=True)),
    ]
    for body in bodies:
        check_rows(body, [x], schedule)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("dtype", [np.float64, np.float16, ml_dtypes.bfloat16, np.int32, np.int64, np.uint8, np.int8])
def test_types(dtype: Any) -> None:
    """16-bit floats are summed up in 32 bits; integers as they are, 64 bits through two shuffles."""
    kind = np.dtype(dtype)
    floating = kind.kind == "f" or kind.name == "bfloat16"
    x = (numbers(6, 48) * 5).astype(dtype)
    tolerance = {8: 1e-12, 4: 1e-5, 2: 1e-2}.get(kind.itemsize, 0)
    for schedule in WarpRows(32, 64), BlockRows(64, 2), ColumnRows(8, 4, 4):
        axis = int(not isinstance(schedule, ColumnRows))
        bodies: list[Body] = [
            lambda w, axis=axis: w(ReduceSumOp(w[0], [axis])),
            lambda w, axis=axis: w(ReduceMaxOp(w[0], [axis])),
            lambda w, axis=axis: w(ArgMinOp(w[0], axis)),
            softmax(axis) if floating else lambda w, axis=axis: w(ReduceProdOp(w[0], [axis])),
        ]
        for body in bodies:
            check_rows(body, [x], schedule, tolerance=tolerance)


def test_outer_axes_together() -> None:
    """A picture's mean with the channels last and first, over several axes that are not one."""
    x = numbers(2, 7, 7, 36)
    for schedule in ACROSS:
        check_rows(lambda w: w(ReduceMeanOp(w[0], [1, 2])), [x], schedule)
        check_rows(lambda w: w(ReduceSumOp(w[0], [0, 2], keepdims=True)), [x], schedule, tolerance=1e-5)
    for schedule in ALONG:
        check_rows(lambda w: w(ReduceMeanOp(w[0], [2, 3])), [x], schedule)
        check_rows(lambda w: w(ReduceSumOp(w[0], [1, 3])), [x], schedule, tolerance=1e-5)


def test_what_follows_may_be_rearranged() -> None:
    """Results behind a transpose and a reshape lie apart; what is read still is whole vectors."""
    x = numbers(4, 6, 40)

    def body(w: Writer) -> list[Any]:
        scores = w(SoftmaxOp(w[0], 2))
        turned = w(TransposeOp(scores, [1, 0, 2]))
        return [scores, w(ReshapeOp(turned, [6, 160]))]

    def turned(w: Writer) -> Any:
        return w(TransposeOp(w(SoftmaxOp(w[0], 2)), [0, 2, 1]))

    for schedule in WarpRows(8, 64), BlockRows(64):
        check_rows(body, [x], schedule)
        check_rows(turned, [x], schedule)


def test_in_place() -> None:
    """Every element of a row is read before it, or any other of it, is written; rows of others are not read."""
    x, y = numbers(5, 296), numbers(5, 296)
    for schedule in ALONG:
        check_rows(lambda w: w(AddOp(w(SoftmaxOp(w[0], 1)), w[1])), [x, y], schedule, inplace={0: 0})
        check_rows(lambda w: w(AddOp(w(SoftmaxOp(w[0], 1)), w[1])), [x, y], schedule, inplace={0: 1})
    for schedule in ACROSS:
        check_rows(softmax(0), [x], schedule, inplace={0: 0})
        check_rows(softmax(0), [x[:, :13].copy()], schedule, inplace={0: 0})


def test_rows_of_no_elements() -> None:
    x = numbers(3, 0, 4)
    for schedule in ACROSS:
        check_rows(lambda w: w(ReduceSumOp(w[0], [1])), [x], schedule)
    for schedule in ALONG:
        check_rows(lambda w: w(ReduceSumOp(w[0], [2])), [numbers(3, 2, 0)], schedule)


def test_candidates_fit_and_agree() -> None:
    """Every schedule that is offered carries its kernel out."""
    shapes: list[tuple[tuple[int, ...], int]] = [
        ((4, 24), 1),
        ((3, 1, 8), 1),
        ((1, 9000), 1),
        ((600, 8), 0),
        ((7, 3), 0),
    ]
    for shape, axis in shapes:
        body, x = softmax(axis), numbers(*shape)
        kernel, expected = kernel_of("rows", body, [x]), reference(body, [x])[0]
        offered = [
            schedule
            for way in schedules_for("cuda", "rows")
            if way.name != "elements"
            for schedule in way.candidates(kernel, SMALL)
        ]
        assert offered
        for schedule in offered[:: max(1, len(offered) // 3)]:
            assert schedule.cost(kernel, SMALL) > 0
            np.testing.assert_allclose(compiled("rows", body, [x], given=schedule)(x)[0], expected, atol=2e-6)


def test_short_rows_share_a_warp() -> None:
    """Rows of 16 elements take 4 lanes each, and two shuffles; nothing waits for a block."""
    x = numbers(64, 16)
    ops = list(compiled("rows", lambda w: w(ReduceSumOp(w[0], [1])), [x], given=WarpRows(4, 64)).module.walk())
    assert sum(isinstance(op, ShuffleOp) for op in ops) == 2
    assert not any(isinstance(op, BarrierOp | scf.ForOp) for op in ops)
