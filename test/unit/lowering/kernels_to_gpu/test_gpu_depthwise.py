"""Depthwise convolutions on a GPU: what is held of the CPU's code, by tiles of one and of several pixels."""

from __future__ import annotations

import numpy as np
import pytest
from depthwise_cases import BORDERS, KERNELS, SHAPES, depthwise, filtered
from gpu_models import check_launches
from graph_runs import Case, Model
from xdsl.dialects.builtin import f32, i8
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.contraction import ConvOp
from mini_infer.dialects.graph.ops.conversion import CastOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, MulOp
from mini_infer.dialects.graph.ops.movement import SliceOp
from mini_infer.dialects.graph.ops.quantization import QuantizeOp
from mini_infer.dialects.graph.ops.unary import ReluOp
from mini_infer.passes.kernels.schedules.cuda.depthwise import Depthwise


def tall(m: Model) -> SSAValue:
    return filtered(m, m.input(1, 40, 3, 7), (64, 1))


def wider(m: Model) -> SSAValue:
    """A result of two columns, of one."""
    return filtered(m, m.input(2, 5, 1, 8), (3, 1), pads=(1, 0, 1, 1))


ALL: list[Case] = [*KERNELS, *BORDERS, *SHAPES, tall]


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("case", "pixels"), [(case, pixels) for case in ALL for pixels in (1, 4)], ids=range(2 * len(ALL))
)
def test_windows(case: Case, pixels: int) -> None:
    """Borders on all sides, strides, dilations, filters with many rows; channels that are no vectors."""
    check_launches(case, Depthwise(pixels, 64))


def test_more_columns_than_there_were() -> None:
    check_launches(wider, Depthwise(1, 64))


def test_vectors_of_channels() -> None:
    """Four channels of 64, one of 37; what follows is done on the sums in registers."""

    def fused(m: Model) -> SSAValue:
        x = m.input(2, 9, 10, 64)
        sums = filtered(m, x, (3, 3))
        return m(ReluOp(m(AddOp(m(AddOp(sums, x)), m.weight(64)))))

    for case, lanes in (fused, 4), (depthwise((1, 9, 10, 37), (3, 3)), 1):
        made = check_launches(case, Depthwise(2, 64))
        (launch,) = made.launches
        shape = (2, 9, 10, 64) if lanes == 4 else (1, 9, 10, 37)
        assert launch.grid[0] == -(-int(np.prod(shape)) // (2 * lanes) // 64)


def test_strided_input() -> None:
    """Every second channel of a picture is no vector; every second column is."""

    def columns(m: Model) -> SSAValue:
        x = m.input(1, 6, 20, 8)
        return filtered(m, m(SliceOp(x, [0, 0, 1, 0], [1, 6, 20, 8], [1, 1, 2, 1])), (3, 3))

    check_launches(columns, Depthwise(4, 64))


@pytest.mark.parametrize(("channels", "threads"), [(48, 12), (7, 7)])
def test_bytes(channels: int, threads: int) -> None:
    """Sums are exact, and the padding is the zero point; four channels are a vector, as their scales are."""

    def requantised(m: Model) -> SSAValue:
        x = m.input(data=m.random(1, 9, 10, channels, scale=60).astype(np.int8))
        w = m.weight(data=(m.random(channels, 1, 3, 3, scale=200).astype(np.int64) % 256).astype(np.uint8))
        bias = m.weight(channels, dtype=np.int32)
        y = m(ConvOp(x, w, bias, groups=channels, pads=(1, 1, 1, 1), layout="NHWC", pad_value=-100))
        y = m(MulOp(m(CastOp(y, f32)), m.weight(data=np.full(channels, 2.0**-10, np.float32))))
        return m(QuantizeOp(y, m.constant(1.0), m.constant(3, np.int8), i8))

    (launch,) = check_launches(requantised, Depthwise(2, 64), bound=1e-12).launches
    assert launch.grid[0] == -(-9 * 5 * threads // 64)
