"""Products in tiles of AMX, carried out by an emulation of its instructions."""

from __future__ import annotations

from typing import Any

import byte_cases
import ml_dtypes
import numpy as np
import pytest
from amx_emulation import emulated_amx
from contraction_cases import product
from graph_runs import Case, Model, Target, check
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.contraction import ConvOp

BF16 = ml_dtypes.bfloat16


def matmul(rows: int, depth: int, columns: int, *left: int) -> Case:
    return product(rows, depth, columns, left=left, weight=True, dtype=BF16, sums=f32)


def conv(shape: tuple[int, ...], filters: int, kernel: tuple[int, ...], groups: int = 1, **window: Any) -> Case:
    def case(m: Model) -> SSAValue:
        x = m.input(*shape, dtype=BF16)
        weight = m.weight(filters, shape[-1] // groups, *kernel, dtype=BF16)
        return m(ConvOp(x, weight, m.weight(filters), groups=groups, layout="NHWC", sums=f32, **window))

    return case


# Whole tiles and their rests in rows, in columns and in the depth; taps and filter rows outside of the picture.
PAIRS = [
    matmul(32, 32, 32),
    matmul(100, 96, 96),
    matmul(33, 48, 30),
    matmul(17, 20, 16),
    matmul(9, 64, 40, 3),
    conv((2, 7, 9, 64), 40, (1, 1), strides=(2, 2)),
    conv((1, 8, 19, 32), 33, (3, 3), pads=(1, 0, 1, 0)),
    conv((1, 50, 64), 32, (5,), groups=2, dilations=(2,)),
    conv((1, 6, 14, 32), 40, (3, 5), pads=(1, 2, 1, 2)),
    conv((1, 5, 70, 32), 16, (3, 3), strides=(2, 2), pads=(1, 1, 1, 1)),
]
BYTES = [
    *(byte_cases.product((40, 64), (64, 48), signs) for signs in byte_cases.SIGNS),
    byte_cases.product((33, 144), (144, 20), (np.uint8, np.int8)),
    byte_cases.conv((1, 6, 20, 64), 40, (3, 2), (np.uint8, np.int8), padding=7, pads=(1, 0, 1, 0)),
    byte_cases.conv((1, 6, 14, 64), 40, (3, 3), (np.uint8, np.int8), padding=200, pads=(1, 1, 1, 1)),
    byte_cases.conv((1, 3, 3, 64), 16, (3, 7), (np.int8, np.uint8), padding=-5, pads=(1, 5, 1, 5)),
]


@pytest.mark.parametrize(
    ("cases", "instructions"), [(PAIRS, {"tdpbf16ps"}), (BYTES, {"tdpbssd", "tdpbsud", "tdpbusd", "tdpbuud"})]
)
def test_results(cases: list[Case], instructions: set[str]) -> None:
    seen: list[str] = []
    with emulated_amx(seen):
        check(cases, Target())
    assert {each for each in seen if each.startswith("tdp")} == instructions


@pytest.mark.parametrize(
    "case",
    [
        matmul(8, 64, 64),
        matmul(32, 63, 64),
        matmul(32, 34, 64),
        product(32, 64, 64, a=True, weight=True, dtype=BF16, sums=f32),
    ],
)
def test_what_is_multiplied_in_vectors(case: Case) -> None:
    """Few rows, odd depths, a depth with no large divisor, transposed rows."""
    seen: list[str] = []
    with emulated_amx(seen):
        check([case], Target())
    assert not seen
