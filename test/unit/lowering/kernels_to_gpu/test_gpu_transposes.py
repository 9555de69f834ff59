"""Transposes that change the innermost axis, on a GPU: squares in shared memory, read and written in whole lines."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from gpu_kernel_runs import check
from kernel_runs import Body, Writer, kernel_of

from mini_infer.dialects.graph.ops.elementwise import AddOp, MulOp
from mini_infer.dialects.graph.ops.movement import ReshapeOp, TransposeOp
from mini_infer.dialects.graph.ops.unary import ReluOp
from mini_infer.dialects.kernel.targets import GpuAttr
from mini_infer.passes.kernels.choose_schedule import schedule_kernel
from mini_infer.passes.kernels.forms.transposition import transposition
from mini_infer.passes.kernels.schedules.cuda.transpose_tiles import TransposeTiles

RANDOM = np.random.default_rng(0)


def numbers(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


def turned(permutation: list[int]) -> Body:
    return lambda w: w(TransposeOp(w[0], permutation))


CASES = [
    ((40, 70), [1, 0]),
    ((2, 64, 32), [0, 2, 1]),
    ((1, 9, 6, 7), [0, 2, 3, 1]),
    ((2, 5, 3, 40), [0, 3, 1, 2]),
    ((2, 3, 33, 10), [2, 3, 1, 0]),
    ((3, 8, 1, 9, 2), [4, 2, 1, 0, 3]),
]


@pytest.mark.parametrize(("shape", "permutation"), CASES)
def test_permutations(shape: tuple[int, ...], permutation: list[int]) -> None:
    """Faces that are no whole squares, axes that stay neighbours, others around the face."""
    check("map", turned(permutation), numbers(*shape), given=TransposeTiles(), tolerance=0)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float16, ml_dtypes.bfloat16, np.int64, np.float64])
def test_types(dtype: Any) -> None:
    check("map", turned([1, 0]), (numbers(40, 33) * 9).astype(dtype), given=TransposeTiles(), tolerance=0)


def test_what_is_elementwise_rides_along() -> None:
    """In front of the transpose and behind it, with operands as the result lies; several results."""

    def body(w: Writer) -> list[Any]:
        flat = w(MulOp(w(ReshapeOp(w[0], [4, 6, 35])), w[1]))
        result = w(ReluOp(w(AddOp(w(TransposeOp(flat, [0, 2, 1])), w[2]))))
        return [result, w(AddOp(result, w[3]))]

    arrays = [numbers(24, 35), numbers(6, 1), numbers(4, 35, 6), numbers(6)]
    check("map", body, *arrays, given=TransposeTiles())
    check("map", body, *arrays, given=TransposeTiles(tile=16, rows=4))


def test_where_squares_are_taken() -> None:
    """Not where the innermost axis stays, nor where a thread's neighbours read few lines; else for large faces."""
    image, stays, face = numbers(1, 3, 64, 64), numbers(8, 16, 32), numbers(512, 512)
    assert transposition(kernel_of("map", turned([1, 0, 2]), [stays])) is None
    form = transposition(kernel_of("map", turned([0, 2, 3, 1]), [image]))
    assert form is not None and form.sizes == [4096, 3]
    assert check("map", turned([0, 2, 3, 1]), image, tolerance=0).schedule == "elements"
    assert check("map", turned([1, 0, 2]), stays, tolerance=0).schedule == "elements"
    large = GpuAttr.named("sm_90a")
    kernel = kernel_of("map", turned([1, 0]), [face])
    assert schedule_kernel(kernel, large).taken == TransposeTiles()
