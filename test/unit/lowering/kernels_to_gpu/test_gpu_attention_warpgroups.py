"""Attention by warpgroups: it agrees with float64 as far as its precision goes, and where it is chosen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gpu_kernel_runs import check, compiled
from gpu_runs import NEEDS_COMPILER
from kernel_runs import Writer, compare, kernel_of, reference
from unit.lowering.kernels_to_gpu.test_gpu_attention import ROUNDED, SIZES, Case, attention, by_tokens
from unit.lowering.kernels_to_gpu.test_gpu_warpgroups import machine_code
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from mini_infer.dialects.errors import KernelError
from mini_infer.dialects.gpu.kernels import BarrierOp
from mini_infer.dialects.gpu.nvgpu import AsyncWaitOp
from mini_infer.dialects.gpu.warpgroup import ProxyFenceOp, WarpgroupFenceOp, WarpgroupWaitOp
from mini_infer.dialects.graph.ops.attention import AttentionOp
from mini_infer.dialects.graph.ops.conversion import CastOp
from mini_infer.dialects.graph.ops.quantization import DequantizeOp
from mini_infer.dialects.kernel.targets import GpuAttr
from mini_infer.lowering.gpu_to_cuda.cuda_text import cuda_text
from mini_infer.passes.kernels.schedules.cuda.attention.flash_tensor import FlashTensor
from mini_infer.passes.kernels.schedules.cuda.attention.flash_wgmma import PRECISIONS, FlashWgmma
from mini_infer.runtime.devices.emulated.gpu_interpreter import Kernel

TILES = [FlashWgmma(1, 32), FlashWgmma(2, 64), FlashWgmma(1, 128), FlashWgmma(3, 16)]
HOPPER = {precision: GpuAttr.named("sm_90a", precision) for precision in PRECISIONS}
Random = np.random.default_rng(0)


def masked(kind: Any) -> Case:
    """A mask that leaves a row without keys, and another without those of the first tiles."""
    kept = Random.random((2, 1, 70, 150)) < 0.5
    kept[0, 0, 3], kept[1, 0, 5, :128], kept[:, :, 6, 149] = False, False, True
    mask = kept if kind is np.bool_ else np.where(kept, Random.standard_normal(kept.shape), -np.inf).astype(kind)
    return attention((4, 2), 70, 150, 24, 40, mask=mask)


def narrow() -> Case:
    """Keys of 16 bits, and values of 8 with a scale for each."""
    query, key, _ = attention((4, 2), 70, 150, 24, 40)[1]
    values = Random.integers(-128, 128, (*key.shape[:3], 40), np.int8)
    scales = Random.uniform(0.005, 0.01, (*key.shape[:3], 1)).astype(np.float32)

    def body(w: Writer) -> SSAValue:
        keys, dequantised = w(CastOp(w[1], f32)), w(DequantizeOp(w[2], w[3]))
        return w(AttentionOp(w[0], keys, dequantised, scale=24**-0.5))

    return body, [query, key.astype(np.float16), values, scales]


CASES: list[Callable[[], Case]] = [
    narrow,
    *(lambda case=case: case for case in SIZES),
    lambda: masked(np.float32),
    lambda: masked(np.bool_),
    lambda: attention((4, 2), 100, 200, 64, 64, causal=True),
    lambda: attention((2, 2), 70, 260, 32, 16, softcap=0.7, mask=np.zeros((70, 260), np.float32)),
    lambda: by_tokens((4, 2), 130, 64, True),
]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("number", range(len(CASES)))
def test_warpgroups(number: int) -> None:
    body, arrays = CASES[number]()
    for precision, target in HOPPER.items():
        check("attention", body, *arrays, given=TILES[number % 4], target=target, tolerance=ROUNDED[precision])


@pytest.mark.parametrize("nan_rows", [False, True])
def test_rows_without_keys(nan_rows: bool) -> None:
    mask = np.ones((20, 37), np.bool_)
    mask[3] = False
    body, arrays = attention((2, 2), 20, 37, 8, 8, mask=mask, nan_rows=nan_rows)
    (result,) = compiled("attention", body, arrays, given=TILES[0], target=HOPPER["fp16"])(*arrays)
    empty, rest = result[:, :, 3], np.delete(result, 3, axis=2)
    assert np.isnan(empty).all() if nan_rows else not empty.any()
    assert np.isfinite(rest).all()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_errors_are_those_of_products_by_single_warps(precision: str) -> None:
    """And tensor cores' sums of either are cut off alike."""
    body, arrays = attention((2, 2), 64, 400, 64, 64)
    (exact,) = reference(body, arrays)
    errors: list[float] = []
    for schedule in (TILES[1], FlashTensor(4, 1, 8)):
        (found,) = compiled("attention", body, arrays, given=schedule, target=HOPPER[precision])(*arrays)
        errors.append(float(np.sqrt(np.mean((found - exact) ** 2))))
    assert errors[0] < 1.05 * errors[1]


@NEEDS_COMPILER
@pytest.mark.parametrize("number", range(3))
def test_the_text_does_the_same(number: int) -> None:
    body, arrays = CASES[-1 - number]()
    precision, target = list(HOPPER.items())[number]
    kernel = compiled("attention", body, arrays, given=TILES[number], target=target)
    compare(kernel.by_text(*arrays, seed=number), reference(body, arrays), ROUNDED[precision])


FAULTS: dict[str, tuple[type[Operation], str]] = {
    "no fence for what is stored": (ProxyFenceOp, "ordinary stores wrote"),
    "no barrier": (BarrierOp, "ordinary stores wrote|still being copied|thread .* of block"),
    "no wait for copies": (AsyncWaitOp, "still being copied"),
    "no wait for products": (WarpgroupWaitOp, "in flight"),
    "no fence for registers": (WarpgroupFenceOp, "no fence before the first product"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_interpreter_finds(name: str) -> None:
    """Any op of a kind may be missing: each of them is needed."""
    kind, message = FAULTS[name]
    body, arrays = attention((1, 1), 64, 80, 16, 16)

    def made() -> tuple[Any, list[Operation]]:
        kernel = compiled("attention", body, arrays, given=TILES[3], target=HOPPER["fp16"])
        return kernel, [op for op in kernel.module.walk() if isinstance(op, kind)]

    for number in range(len(made()[1])):
        kernel, ops = made()
        ops[number].detach()
        (launch,) = kernel.launches
        (function,) = [op for op in kernel.module.walk() if op.name == "gpu.func"]
        kernel.functions[launch.kernel] = Kernel(function)
        with pytest.raises(KernelError, match=message):
            kernel(*arrays)


def candidates(case: Case, target: GpuAttr) -> list[FlashWgmma]:
    return list(FlashWgmma.candidates(kernel_of("attention", *case), target))


def test_only_hopper_has_warpgroups_and_only_where_products_may_be_rounded() -> None:
    case = attention((8, 8), 512, 512, 64, 64)
    for architecture in ("sm_80", "sm_90a", "sm_100a"):
        for precision in ("fp32", "3xtf32", *PRECISIONS):
            found = candidates(case, GpuAttr.named(architecture, precision))
            assert bool(found) == (architecture == "sm_90a" and precision in PRECISIONS)
    assert not candidates(attention((1, 1), 64, 64, 16, 264), HOPPER["fp16"])
    assert not candidates(attention((1, 1), 64, 64, 8, 8, dtype=np.float64), HOPPER["fp16"])


@pytest.mark.parametrize("precision", PRECISIONS)
def test_long_sequences_are_done_by_warpgroups_with_rows_for_all_of_them(precision: str) -> None:
    case = attention((16, 16), 2048, 2048, 64, 64)
    assert compiled("attention", *case, target=HOPPER[precision]).schedule == "flash_wgmma"
    kernel, target = kernel_of("attention", *case), HOPPER[precision]
    best = min(candidates(case, target), key=lambda each: each.cost(kernel, target))
    assert best.warpgroups > 1


@pytest.mark.parametrize(("precision", "depth"), [("fp16", 64), ("bf16", 128), ("tf32", 128), ("tf32", 40)])
def test_machine_code_keeps_its_registers_and_its_products_in_flight(
    precision: str, depth: int, tmp_path: Path
) -> None:
    case = attention((1, 1), 512, 512, depth, depth, causal=True)
    for schedule in (each for each in candidates(case, HOPPER[precision]) if each.warpgroups == 2):
        text = cuda_text(compiled("attention", *case, target=HOPPER[precision], given=schedule).module)
        if sass := machine_code(text, tmp_path):
            assert f"HGMMA.64x{schedule.keys}x" in sass and f"HGMMA.64x{depth}x" in sass
            meanwhile = sass.partition("DEPBAR.LE gsb0, 0x1")[2].partition("DEPBAR.LE gsb0, 0x0")[0]
            assert meanwhile.count("MUFU.EX2") >= schedule.keys // 2  # powers, while values are multiplied
