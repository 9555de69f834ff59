"""Kernels over rows: softmax, normalisations, reductions along any axes, places of extrema, running sums."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from kernel_runs import Body, Result, Writer, check, kernel_of, loops_of, reference
from xdsl.dialects.builtin import MemRefType, f32
from xdsl.ir import Block

from mini_infer.dialects.errors import CompileError
from mini_infer.dialects.graph.ops.activation import GeluOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, MulOp, SubOp
from mini_infer.dialects.graph.ops.movement import ConcatOp, ReshapeOp, SliceOp, TransposeOp
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
from mini_infer.dialects.graph.ops.structure import ConstantOp
from mini_infer.dialects.graph.ops.unary import ReluOp
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.kernel_code.elements.element_values import Values
from mini_infer.lowering.kernel_code.index_expr import Expr
from mini_infer.lowering.kernel_code.loop_builder import LoopBuilder
from mini_infer.passes.kernels.forms.rows import row_form

Random = np.random.default_rng(0)
SHAPES = [(3, 5, 37), (2, 64), (1, 200), (2, 3, 1), (3, 7, 5)]
PLACES = [(shape, axis) for shape in SHAPES for axis in range(len(shape))]
TARGETS = [(0, 1), (0, 7), (256, 2), (128, 2)]


def numbers(*shape: int, dtype: Any = np.float32) -> Array:
    return Random.standard_normal(shape).astype(dtype)


@pytest.mark.thinned(5)
@pytest.mark.parametrize(("shape", "axis"), PLACES)
@pytest.mark.parametrize("op", [SoftmaxOp, LogSoftmaxOp])
def test_softmax(op: Any, shape: tuple[int, ...], axis: int) -> None:
    x = numbers(*shape) * 5
    check("rows", lambda w: w(op(w[0], axis)), x)
    check("rows", lambda w: w(op(w[0], axis)), x, inplace={0: 0}, threads=3)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("bits", "threads"), TARGETS)
def test_softmax_on_other_targets(bits: int, threads: int) -> None:
    for shape, axis in ((4, 100), 1), ((4, 100), 0), ((2, 3, 259), 2):
        check("rows", lambda w, axis=axis: w(SoftmaxOp(w[0], axis)), numbers(*shape), bits=bits, threads=threads)


def test_softmax_of_special_numbers() -> None:
    x = numbers(6, 50)
    x[0, :40] = -np.inf
    x[1, 3], x[2, 49] = np.nan, np.inf
    x[3] = -np.inf
    x[4] *= 1e30
    x[5, 7] = np.uint32(0x7FC00001).view(np.float32)
    for axis, array in ((1, x), (0, x.T.copy())):
        got = reference(lambda w, axis=axis: w(SoftmaxOp(w[0], axis)), [array])[0]
        assert np.isnan(got).any() and (got == 0).any()
        check("rows", lambda w, axis=axis: w(SoftmaxOp(w[0], axis)), array)
        check("rows", lambda w, axis=axis: w(LogSoftmaxOp(w[0], axis)), array)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("shape", "axis"), PLACES)
def test_layer_norm(shape: tuple[int, ...], axis: int) -> None:
    x, scale, bias = numbers(*shape) + 3, numbers(*shape[axis:]), numbers(*shape[axis:])
    check("rows", lambda w: w(LayerNormOp(w[0], w[1], w[2], axis=axis)), x, scale, bias, inplace={0: 0}, tolerance=1e-5)
    check("rows", lambda w: w(RmsNormOp(w[0], w[1], axis=axis)), x, numbers(shape[-1]), threads=2, tolerance=1e-5)


def test_instance_norm() -> None:
    arrays = [numbers(2, 3, 9, 11), numbers(3), numbers(3)]
    check("rows", lambda w: w(ReluOp(w(InstanceNormOp(w[0], w[1], w[2])))), *arrays, tolerance=1e-5)


def test_a_mean_far_from_zero_costs_no_digits() -> None:
    x = numbers(4, 768) * 0.01 + 100
    check("rows", lambda w: w(LayerNormOp(w[0], w[1], axis=1)), x, np.ones(768, np.float32), tolerance=2e-3)


REDUCTIONS = [ReduceSumOp, ReduceMeanOp, ReduceMaxOp, ReduceMinOp, ReduceProdOp]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("axes", [(1, 2), (2, 3), (0, 3), (1, 3), (0, 2), (3,), (1,), (0, 1, 2, 3)])
def test_reductions(op: Any, axes: tuple[int, ...]) -> None:
    x = numbers(2, 7, 4, 40)
    keep = len(axes) == 2
    check("rows", lambda w: w(ReluOp(w(op(w[0], axes, keep)))), x, tolerance=1e-5)
    if op is ReduceMeanOp:
        check("rows", lambda w: w(op(w[0], axes, keep)), x, bits=128, threads=3, tolerance=1e-5)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float16, np.float64])
def test_reductions_of_other_types(op: Any, dtype: Any) -> None:
    x = Random.integers(1, 4, (3, 4, 21)).astype(dtype)
    if op is ReduceProdOp:
        x = np.maximum(x, 2) - 1 if dtype == np.int64 else np.where(np.arange(21) % 7, 1, x).astype(dtype)
    for axes in (1,), (2,):
        check("rows", lambda w, axes=axes: w(op(w[0], axes)), x, tolerance=1e-3)


def test_extrema_of_no_elements_and_not_a_number() -> None:
    x = numbers(5, 70)
    x[1, 3], x[2, 69], x[3] = np.nan, -np.nan, np.nan
    for op, axis in product((ReduceMaxOp, ReduceMinOp), (0, 1)):
        check("rows", lambda w, op=op, axis=axis: w(op(w[0], [axis])), x)
    check("rows", lambda w: w(ReduceSumOp(w[0], [1])), numbers(4, 0))
    check("rows", lambda w: w(ReduceMaxOp(w[0], [1])), numbers(4, 0))


@pytest.mark.thinned(5)
@pytest.mark.parametrize(("shape", "axis"), PLACES)
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("op", [ArgMaxOp, ArgMinOp])
def test_places_of_extrema(op: Any, last: bool, shape: tuple[int, ...], axis: int) -> None:
    x = np.round(numbers(*shape) * 2)
    check("rows", lambda w: w(op(w[0], axis, last, last)), x)
    x.reshape(-1)[Random.integers(0, x.size, 3)] = np.nan
    if not last:
        check("rows", lambda w: w(op(w[0], axis)), x, threads=2)


@pytest.mark.thinned(5)
@pytest.mark.parametrize(("shape", "axis"), PLACES)
@pytest.mark.parametrize(("exclusive", "reverse"), [(False, False), (True, False), (True, True)])
def test_running_sums(shape: tuple[int, ...], axis: int, exclusive: bool, reverse: bool) -> None:
    body: Body = lambda w: w(CumsumOp(w[0], axis, exclusive, reverse))  # noqa: E731
    check("rows", body, numbers(*shape), inplace={0: 0}, tolerance=1e-5)


def attention_scores(w: Writer) -> Result:
    scaled = w(MulOp(w[0], w(ConstantOp.from_numpy(np.asarray(0.125, np.float32)))))
    weights = w(SoftmaxOp(w(AddOp(scaled, w[1])), 3))
    return w(TransposeOp(w(MulOp(weights, w[1])), [0, 2, 1, 3]))


def residual(w: Writer) -> Result:
    total = w(AddOp(w[0], w[1]))
    return [total, w(GeluOp(w(LayerNormOp(total, w[2], w[3], axis=2))))]


FUSED: dict[str, tuple[Body, list[Array]]] = {
    "scores": (attention_scores, [numbers(2, 3, 5, 40), numbers(1, 1, 5, 40)]),
    "residual": (residual, [numbers(3, 5, 70), numbers(3, 5, 70), numbers(70), numbers(70)]),
    "views around": (
        lambda w: w(ReshapeOp(w(SoftmaxOp(w(TransposeOp(w[0], [0, 2, 1])), 2)), [2, 3, 20])),
        [numbers(2, 20, 3)],
    ),
    "concat in front": (lambda w: w(SoftmaxOp(w(ConcatOp([w[0], w[1]], 1)), 1)), [numbers(4, 100), numbers(4, 27)]),
    "two roots": (lambda w: w(SoftmaxOp(w(SoftmaxOp(w[0], 1)), 1)), [numbers(4, 20)]),
    "a slice behind": (lambda w: w(SliceOp(w(SoftmaxOp(w[0], 1)), [0, 2], [4, 9])), [numbers(4, 20)]),
}


@pytest.mark.thinned(5)
@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize(("bits", "threads"), [(0, 1), (256, 4)])
def test_fused(name: str, bits: int, threads: int) -> None:
    body, arrays = FUSED[name]
    check("rows", body, *arrays, bits=bits, threads=threads, tolerance=1e-5)


def test_residual_is_written_over_an_operand() -> None:
    body, arrays = FUSED["residual"]
    kernel = check("rows", body, *arrays, inplace={0: 0, 1: 1}, tolerance=1e-5)
    assert kernel.interface.inplace_pairs == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert kernel.interface.per_thread.data == 320  # 70 floats in whole cache lines


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_types(dtype: Any) -> None:
    tolerance = 4e-3 if dtype == np.float16 else 1e-12
    x = numbers(4, 100, dtype=dtype)
    check("rows", lambda w: w(SoftmaxOp(w[0], 1)), x, tolerance=tolerance)
    check("rows", lambda w: w(LayerNormOp(w[0], w[1], axis=1)), x, numbers(100, dtype=dtype), tolerance=tolerance)


SINGLE_ROWS = [((34,), 0), ((1, 34), 1), ((1, 2, 17), 1), ((1, 1, 34), 1), ((2, 1, 34), 1), ((1, 34, 3), 1)]


@pytest.mark.thinned(5)
@pytest.mark.parametrize(("shape", "axis"), SINGLE_ROWS)
def test_rows_along_axes_of_one_are_computed_once_and_in_place(shape: tuple[int, ...], axis: int) -> None:
    """Axes of one element have one index; with two the norm was computed again, of a row half written over."""
    x, scale = numbers(*shape), numbers(*shape[axis:])
    bodies: list[Body] = [
        lambda w: w(MulOp(w[0], w(LayerNormOp(w[0], w[1], axis=axis)))),
        lambda w: w(SubOp(w(SoftmaxOp(w[0], axis)), w[0])),
    ]
    for body in bodies:
        apart, over = (check("rows", body, x, scale, inplace=i, tolerance=1e-5) for i in (None, {0: 0}))
        np.testing.assert_array_equal(over(x, scale)[0], apart(x, scale)[0])
    module, _, _ = loops_of("rows", bodies[0], [x, scale], bits=128, threads=1, inplace={0: 0})
    assert sum(op.name == "math.sqrt" for op in module.walk()) == 1


def test_an_element_that_is_given_is_not_computed() -> None:
    kernel = kernel_of("rows", lambda w: w(SoftmaxOp(w[0], 0)), [numbers(8)])
    block = Block(arg_types=[MemRefType(f32, [8])])
    v = Values(LoopBuilder(block), kernel, block.args)
    root = kernel.terminator.arguments[0]
    given = v.b.constant(1.0, f32)
    v.seed(root, [Expr.of(3)], given)
    assert v.at(root, [Expr.of(3)]) is given
    with pytest.raises(CompileError, match=r"tested \(graph.softmax\): an element that is computed once for all"):
        v.at(root, [Expr.of(4)])


def test_which_bodies_are_rows() -> None:
    def is_row(body: Body, *arrays: Array) -> bool:
        return row_form(kernel_of("rows", body, arrays)) is not None

    x = numbers(4, 20)
    assert is_row(lambda w: w(ReluOp(w(SoftmaxOp(w(ReluOp(w[0])), 1)))), x)
    assert not is_row(lambda w: w(SoftmaxOp(w(SoftmaxOp(w[0], 1)), 1)), x)
    assert not is_row(lambda w: w(SliceOp(w(SoftmaxOp(w[0], 1)), [0, 2], [4, 9])), x)
    assert not is_row(lambda w: w(AddOp(w[0], w(ReduceSumOp(w[0], [1], True)))), x)

    def turned(w: Writer, both: bool) -> Result:
        """Two ways of the softmax's elements: turned around and as they are, or both turned around."""
        root = w(SoftmaxOp(w[0], 1))
        one, other = (w(TransposeOp(root, [1, 0])) for _ in range(2))
        return w(AddOp(one, other if both else root))

    assert is_row(lambda w: turned(w, both=True), numbers(5, 5))
    assert not is_row(lambda w: turned(w, both=False), numbers(5, 5))
    for both in (False, True):
        check("rows", lambda w, both=both: turned(w, both), numbers(5, 5))
