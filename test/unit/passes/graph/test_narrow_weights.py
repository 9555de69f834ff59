"""Weights of fewer bits than a product computes with stay so in memory: its tiles widen them."""

from __future__ import annotations

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from graph_runs import Model, Target, check
from xdsl.dialects.builtin import f32, i8
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.block_weight import BlockWeightOp, StackedBlockWeightOp
from mini_infer.dialects.graph.ops.contraction import ConvOp, MatmulOp
from mini_infer.dialects.graph.ops.conversion import CastOp
from mini_infer.dialects.graph.ops.elementwise import AddOp
from mini_infer.dialects.graph.ops.unary import ReluOp
from mini_infer.dialects.graph.ops.windows import MaxPoolOp


def widened(m: Model, *shape: int, dtype: Any) -> SSAValue:
    return m(CastOp(m.weight(*shape, dtype=dtype), f32))


@pytest.mark.thinned(5)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.int8])
def test_weights_are_widened_in_tiles(dtype: Any) -> None:
    def product(m: Model) -> SSAValue:
        return m(MatmulOp(m.input(7, 20), widened(m, 20, 33, dtype=dtype)))

    def vector(m: Model) -> SSAValue:
        return m(MatmulOp(m.input(1, 40), widened(m, 9, 40, dtype=dtype), transpose_b=True))

    def convolution(m: Model) -> SSAValue:
        return m(
            ReluOp(m(ConvOp(m.input(1, 7, 8, 6), widened(m, 18, 6, 3, 3, dtype=dtype), pads=[1] * 4, layout="NHWC")))
        )

    def depthwise(m: Model) -> SSAValue:
        weight = widened(m, 24, 1, 3, 3, dtype=dtype)
        return m(ConvOp(m.input(1, 9, 8, 24), weight, pads=[1] * 4, groups=24, layout="NHWC"))

    def pooled(m: Model) -> SSAValue:
        weight = widened(m, 16, 4, 3, 3, dtype=dtype)
        y = m(ConvOp(m.input(1, 40, 40, 4), weight, pads=[1] * 4, layout="NHWC"))
        return m(MaxPoolOp(y, kernel=[2, 2], strides=[2, 2], layout="NHWC"))

    def prologue(m: Model) -> SSAValue:
        return m(MatmulOp(m(ReluOp(m.input(30, 20))), widened(m, 20, 33, dtype=dtype)))

    cases = [product, vector, convolution, depthwise, pooled, prologue]
    for run in check(cases, Target(bits=256, l2=1 << 16), Target(bits=512, threads=2, l2=1 << 16)):
        assert len(run.names) == len(cases), run.names
        assert set(run.schedules) == {"panels", "pooled_panels", "prologue_panels", "depthwise"}


def blocks_of(m: Model, rows: int, depth: int, bits: int, block: int, *, zeros: bool) -> SSAValue:
    count = -(-depth // block)
    weight = m.weight(data=m.random(rows, count * block * bits // 8, scale=1e6).astype(np.int64).astype(np.uint8))
    scale = m.weight(rows, count, scale=0.1)
    zero = (
        m.weight(data=(m.random(rows, count, scale=1e3).astype(np.int64) % 2**bits).astype(np.uint8)) if zeros else None
    )
    return m(BlockWeightOp(weight, scale, zero, bits=bits, block=block, depth=depth, middle=0 if zeros else 8))


@pytest.mark.parametrize("bits", [4, 8])
def test_blocks_are_unpacked_a_panel_at_a_time(bits: int) -> None:
    def vector(m: Model) -> SSAValue:
        return m(MatmulOp(m.input(1, 64), blocks_of(m, 33, 64, bits, 16, zeros=True), transpose_b=True))

    def matrix(m: Model) -> SSAValue:
        weight = blocks_of(m, 9, 90, bits, 32, zeros=False)
        return m(AddOp(m(MatmulOp(m.input(2, 3, 40, 90), weight, transpose_b=True)), m.weight(9)))

    def behind(m: Model) -> SSAValue:
        x = m(ReluOp(m.input(2, 5, 32)))
        return m(MatmulOp(x, blocks_of(m, 40, 32, bits, 16, zeros=True), transpose_b=True))

    for run in check(
        [vector, matrix, behind], Target(bits=256), Target(bits=512, threads=3), Target(bits=128, threads=2)
    ):
        assert sorted(run.schedules) == [*["dequantised_panels"] * 3, "elements"]


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_a_matrix_of_a_stack(bits: int, rounded: bool) -> None:
    """Panels of the matrix of that number, the first, one in the middle or the last, are read where they lie."""

    def product(m: Model, which: int, rows: int, *, zeros: bool) -> SSAValue:
        depth, block, count = 96, 32, 3 * 128
        weight = m.weight(data=m.random(count, depth * bits // 8, scale=1e6).astype(np.int64).astype(np.uint8))
        zero = m.weight(data=(m.random(count, 3, scale=1e3).astype(np.int64) % 2**bits).astype(np.uint8))
        matrix = StackedBlockWeightOp(
            m.input(data=np.array(which)),
            weight,
            m.weight(count, 3, scale=0.1),
            zero if zeros else None,
            rows=128,
            bits=bits,
            block=block,
            depth=depth,
            middle=0 if zeros else 2 ** (bits - 1),
        )
        x = m.input(rows, depth)
        return m(MatmulOp(x, m(matrix), transpose_b=True, lhs_as=i8 if rounded else None))

    cases = [
        partial(product, which=which, rows=rows, zeros=zeros)
        for which, rows, zeros in ((0, 1, False), (2, 1, True), (1, 7, False), (2, 40, True))
    ]
    for run in check(cases, Target(bits=256), Target(bits=512, threads=3)):
        assert set(run.schedules) <= {"block_dots", "dequantised_panels"}
