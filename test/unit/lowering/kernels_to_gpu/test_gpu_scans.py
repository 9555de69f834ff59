"""Running sums and products on a GPU, by a block for each row and by several: results, how exact, where they pay."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from gpu_kernel_runs import check, compiled
from kernel_runs import Body, compare, kernel_of, reference
from models.builder import ModelBuilder

import mini_infer as mi
from mini_infer.dialects.graph.ops.reduction import CumprodOp, CumsumOp
from mini_infer.dialects.graph.ops.unary import ReluOp
from mini_infer.dialects.graph.values import Array
from mini_infer.dialects.kernel.targets import GpuAttr
from mini_infer.lowering.gpu_to_cuda.cuda_text import cuda_text
from mini_infer.passes.kernels.choose_schedule import schedule_kernel
from mini_infer.passes.kernels.schedules.cuda.block_scan import BlockScan
from mini_infer.passes.kernels.schedules.cuda.warp_rows import WarpRows
from mini_infer.runtime.devices.cuda.nvrtc import compile_kernels
from mini_infer.runtime.shapes.dynamic_engine import DynamicEngine

RANDOM = np.random.default_rng(0)
SCHEDULES = [BlockScan(64), BlockScan(128, 3), BlockScan(64, 8), BlockScan(256, 2)]
SHAPES = [((3, 1000), 1), ((2, 1024), 1), ((2, 5), 1), ((1, 513), 1), ((300, 2), 0), ((3, 70, 4), 1)]
HOPPER = GpuAttr.named("sm_90a")


def numbers(*shape: int, dtype: Any = np.float32) -> Array:
    return (RANDOM.standard_normal(shape) * 4).astype(dtype)


def running(axis: int = 1, *, exclusive: bool = False, reverse: bool = False) -> Body:
    """With an elementwise op on either side."""
    return lambda w: w(ReluOp(w(CumsumOp(w(ReluOp(w[0])), axis, exclusive, reverse))))


@pytest.mark.parametrize("number", range(24))
def test_sums(number: int) -> None:
    """Rows that fill their blocks and rows that don't, parts without any element, rows that are strided."""
    dtype = (np.float32, np.float16, np.float64, np.int32, np.int64)[number % 5]
    shape, axis = SHAPES[number % len(SHAPES)]
    body = running(axis, exclusive=number % 2 == 1, reverse=number % 3 == 1)
    check("rows", body, numbers(*shape, dtype=dtype), given=SCHEDULES[number % 4], tolerance=3e-5)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.float32])
@pytest.mark.parametrize("schedule", SCHEDULES[:2])
def test_products(dtype: Any, schedule: BlockScan) -> None:
    x = np.where(RANDOM.random((2, 400)) < 0.5, 1, 3).astype(dtype) if np.dtype(dtype).kind != "f" else np.float32(-1)
    x = np.broadcast_to(x, (2, 400)).copy()
    check("rows", lambda w: w(CumprodOp(w[0], 1)), x, given=schedule)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_text(schedule: BlockScan) -> None:
    x, body = numbers(2, 700), running(exclusive=True)
    kernel = compiled("rows", body, [x], given=schedule)
    made = [kernel.by_text(x, seed=seed) for seed in range(2)]
    compare(made[0], reference(body, [x]), 3e-5)
    assert made[0][0].tobytes() == made[1][0].tobytes() == kernel(x)[0].tobytes()


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_nothing_spills(architecture: str) -> None:
    for dtype in np.float32, np.float64, np.float16, np.int64:
        for schedule in SCHEDULES[:2]:
            kernel = compiled("rows", running(), [numbers(2, 700, dtype=dtype)], given=schedule)
            for each in compile_kernels(cuda_text(kernel.module), architecture, keep=None).resources:
                assert each.spill_stores == each.spill_loads == each.stack == 0, each


def test_sums_of_a_million_are_more_exact_than_by_a_warp() -> None:
    """Short sums are added up to longer ones, so that fewer roundings lie on the way to each."""
    x = RANDOM.standard_normal((1, 1_000_000)).astype(np.float32)
    exact = np.cumsum(x.astype(np.float64), 1)

    def error(schedule: BlockScan | WarpRows) -> float:
        (found,) = compiled("rows", lambda w: w(CumsumOp(w[0], 1)), [x], given=schedule).by_text(x)
        return float(np.abs(found - exact).max() / np.abs(exact).max())

    assert error(BlockScan(1024, 64)) < 1e-6 < error(WarpRows(32, 32)) < 1e-5


@pytest.mark.parametrize(
    ("shape", "axis", "name", "launches"),
    [
        ((1, 1_000_000), 1, "block_scan", 2),
        ((1000, 1000), 1, "block_scan", 1),
        ((4096, 64), 1, "warp_rows", 1),
        ((1_000_000, 3), 0, "block_scan", 2),
        ((64, 4096), 0, "column_rows", 1),
    ],
)
def test_where_blocks_are_taken(shape: tuple[int, ...], axis: int, name: str, launches: int) -> None:
    body, x = running(axis), np.zeros(shape, np.float32)
    taken = schedule_kernel(kernel_of("rows", body, [x]), HOPPER).taken
    assert taken.name == name
    assert len(compiled("rows", body, [x], given=taken, target=HOPPER).launches) == launches


def test_rows_of_any_length() -> None:
    b = ModelBuilder("sums")
    model = b.model([b.node("CumSum", b.input("x", [1, "n"]), b.constant(np.array(1)))])
    profile = mi.OptimizationProfile(dims={"n": (1, 5000, 20000)})
    engine = cast("DynamicEngine", mi.compile(model, profile=profile, device="cuda-emulated", cache=False))
    for n in 5000, 1, 20000, 33:
        x = numbers(1, n)
        (found,) = engine({"x": x}).values()
        np.testing.assert_allclose(found, np.cumsum(x.astype(np.float64), 1), rtol=1e-5, atol=1e-3)
    assert engine.compiles == 1
