"""Sorting on a GPU: TopK and scatters by sorted tiles that are merged, to the bit what a CPU gives; where it pays."""

from __future__ import annotations

from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from gpu_kernel_runs import check, compiled
from kernel_runs import Body, compare, kernel_of, reference
from models.builder import ModelBuilder
from unit.lowering.kernels_to_loops.families.test_kernels_selection import KINDS, few_values

import mini_infer as mi
from mini_infer.dialects.graph.ops.indexing import ScatterElementsOp, ScatterNdOp
from mini_infer.dialects.graph.ops.selection import TopKOp
from mini_infer.dialects.graph.values import Array
from mini_infer.dialects.kernel.targets import GpuAttr
from mini_infer.lowering.gpu_to_cuda.cuda_text import cuda_text
from mini_infer.passes.kernels.choose_schedule import schedule_kernel
from mini_infer.passes.kernels.schedules import AnySchedule
from mini_infer.passes.kernels.schedules.cuda.selection.merge_sort import MergeSort
from mini_infer.passes.kernels.schedules.cuda.selection.sorted_scatter import SortedScatter
from mini_infer.runtime.devices.cuda.nvrtc import compile_kernels
from mini_infer.runtime.shapes.dynamic_engine import DynamicEngine

RANDOM = np.random.default_rng(0)
HOPPER = GpuAttr.named("sm_90a")
REDUCTIONS = ["none", "add", "mul", "min", "max"]


def top(count: int, axis: int = 1, *, smallest: bool = False) -> Body:
    return lambda w: w(TopKOp(w[0], axis, count, smallest))


@pytest.mark.thinned(9)
@pytest.mark.parametrize("dtype", [*KINDS, np.uint8, np.uint32])
@pytest.mark.parametrize("smallest", [False, True])
@pytest.mark.parametrize("schedule", [MergeSort(64), MergeSort(64, 4), MergeSort(16, 8), MergeSort(512)])
def test_top_k(dtype: Any, smallest: bool, schedule: MergeSort) -> None:
    """One tile and several, whole rows and a few elements of each; equal elements, NaN and infinities."""
    for shape, axis, count in ((5, 300, 2), 1, 300), ((2, 300), 1, 11), ((37, 3), 0, 9):
        check("selection", top(count, axis, smallest=smallest), few_values(*shape, dtype=dtype), given=schedule)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_the_text_of_top_k(dtype: Any) -> None:
    x = few_values(3, 200, dtype=dtype)
    for count in 7, 200:
        kernel = compiled("selection", top(count), [x], given=MergeSort(64, 4))
        for seed in range(2):
            compare(kernel.by_text(x, seed=seed), reference(top(count), [x]), 0)


def test_a_row_of_a_million() -> None:
    x = few_values(1, 1_000_000)
    kernel = compiled("selection", top(100), [x], target=HOPPER)
    assert kernel.schedule == "merge_sort"
    assert len(kernel.launches) == 6
    assert kernel.scratch < x.nbytes / 2  # runs are cut off behind a hundred items
    compare(kernel.by_text(x), reference(top(100), [x]), 0)


@pytest.mark.parametrize(
    ("shape", "count", "name"),
    [((1, 64), 8, "ranks"), ((1000, 8), 2, "ranks"), ((64, 1000), 5, "merge_sort"), ((8, 50257), 50, "merge_sort")],
)
def test_where_rows_are_sorted(shape: tuple[int, ...], count: int, name: str) -> None:
    kernel = kernel_of("selection", top(count), [np.zeros(shape, np.float32)])
    assert schedule_kernel(kernel, HOPPER).taken.name == name


def by_rows(reduction: str) -> Body:
    return lambda w: w(ScatterNdOp(w[0], w[1], w[2], reduction))


def by_elements(reduction: str) -> Body:
    return lambda w: w(ScatterElementsOp(w[0], w[1], w[2], 1, reduction))


def scatters(reduction: str, dtype: Any) -> list[tuple[Body, list[Array]]]:
    """Rows, elements within rows, elements along an axis; many updates of each."""

    def numbers(*shape: int) -> Array:
        return (RANDOM.standard_normal(shape) * 4).astype(dtype)

    places = np.stack([RANDOM.integers(-9, 9, 200), RANDOM.integers(-7, 7, 200)], -1)
    return [
        (by_rows(reduction), [numbers(9, 7, 5), RANDOM.integers(-9, 9, (6, 30, 1)), numbers(6, 30, 7, 5)]),
        (by_rows(reduction), [numbers(9, 7, 5), places, numbers(200, 5)]),
        (by_elements(reduction), [numbers(9, 7, 5), RANDOM.integers(-7, 7, (8, 40, 4)), numbers(8, 40, 4)]),
    ]


@pytest.mark.thinned(9)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.float64, np.int8, np.uint8, np.int64])
@pytest.mark.parametrize("schedule", [SortedScatter(256), SortedScatter(32, 4), SortedScatter(64, 8)])
def test_scatters(reduction: str, dtype: Any, schedule: SortedScatter) -> None:
    """The bits of updates that are applied one after the other, in place and beside x."""
    for body, arrays in scatters(reduction, dtype):
        (expected,) = compiled("map", body, arrays, pick="scatter")(*arrays)
        fits = schedule.tile < 256 or arrays[1].size < 256
        given = schedule if fits else SortedScatter(2048)
        assert compiled("map", body, arrays, given=given)(*arrays)[0].tobytes() == expected.tobytes()
        over = compiled("map", body, arrays, given=given, inplace={0: 0})
        assert over(*arrays)[0].tobytes() == expected.tobytes()
        assert not any("copy" in launch.kernel for launch in over.launches)


@pytest.mark.parametrize("reduction", ["none", "add"])
def test_the_text_of_scatters(reduction: str) -> None:
    for body, arrays in scatters(reduction, np.float32):
        (expected,) = compiled("map", body, arrays, pick="scatter")(*arrays)
        kernel = compiled("map", body, arrays, given=SortedScatter(64, 4))
        for seed in range(2):
            assert kernel.by_text(*arrays, seed=seed)[0].tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("rows", "updates", "name"), [(1000, 1, "scatter"), (8, 8, "scatter"), (32000, 32000, "sorted_scatter")]
)
def test_where_updates_are_sorted(rows: int, updates: int, name: str) -> None:
    arrays = [np.zeros(rows, np.float32), np.zeros((updates, 1), np.int64), np.zeros(updates, np.float32)]
    assert schedule_kernel(kernel_of("map", by_rows("add"), arrays), HOPPER).taken.name == name


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
def test_nothing_spills(architecture: str) -> None:
    """Keys of one number and of two, with merges; updates that are added up."""
    made = [compiled("selection", top(300), [few_values(2, 300, dtype=kind)], given=MergeSort(64, 4)) for kind in KINDS]
    body, arrays = scatters("add", np.float16)[2]
    made.append(compiled("map", body, arrays, given=SortedScatter(64, 4)))
    for kernel in made:
        for each in compile_kernels(cuda_text(kernel.module), architecture, keep=None).resources:
            assert each.spill_stores == each.spill_loads == each.stack == 0, each


def test_rows_and_updates_of_any_number() -> None:
    """One compile for rows of one tile and of several."""
    b = ModelBuilder("sorted")
    x, places, updates = b.input("x", ["n"]), b.input("places", ["m", 1], np.int64), b.input("updates", ["m"])
    y = b.node("ScatterND", x, places, updates, reduction="add")
    model = b.model(b.nodes("TopK", 2, y, b.ints(10)), [np.float32, np.int64])
    profile = mi.OptimizationProfile(dims={"n": (10, 5000, 10000), "m": (1, 3000, 5000)})
    engine = cast("DynamicEngine", mi.compile(model, profile=profile, device="cuda-emulated", cache=False))
    for n, m in (5000, 3000), (10, 1), (10000, 2049), (2048, 5000):
        inputs = {"x": few_values(n), "places": RANDOM.integers(0, n, (m, 1)), "updates": few_values(m)}
        wanted = mi.compile(model, dims={"n": n, "m": m}, cache=False)(inputs)
        for name, found in engine(inputs).items():
            np.testing.assert_array_equal(found, wanted[name], err_msg=f"{n}, {m}")
    assert engine.compiles == 1


def test_time_is_that_of_rows_and_updates_together() -> None:
    """Ten times as many of both cost no hundred times as much."""

    def seconds(size: int) -> float:
        arrays = [np.zeros(size, np.float32), np.zeros((size, 1), np.int64), np.zeros(size, np.float32)]
        kernel = kernel_of("map", by_rows("none"), arrays)
        taken: AnySchedule = schedule_kernel(kernel, HOPPER).taken
        return taken.cost(kernel, HOPPER)

    assert seconds(1_000_000) < 15 * seconds(100_000)
