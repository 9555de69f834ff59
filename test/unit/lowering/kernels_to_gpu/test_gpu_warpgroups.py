"""Products and convolutions by warpgroups: they agree with float64 whatever the sizes, and where they are chosen."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from faults.campaign import Fault, mutated
from faults.subjects import subject
from gpu_models import check_launches, lowered, placed, run_launches
from gpu_runs import NEEDS_COMPILER
from graph_runs import Case, Model, build
from unit.lowering.kernels_to_gpu import test_gpu_contraction as cases
from xdsl.ir import SSAValue

from mini_infer.dialects.errors import CompileError, KernelError
from mini_infer.dialects.gpu.warpgroup import WARPGROUP
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.ops.contraction import ConvOp, MatmulOp
from mini_infer.dialects.kernel.targets import GpuAttr
from mini_infer.lowering.gpu_to_cuda.cuda_text import cuda_text
from mini_infer.lowering.pipelines import Phase, phases, run_passes, run_phases
from mini_infer.passes.kernels.choose_schedule import ChooseSchedule, choices_of
from mini_infer.passes.kernels.schedules.cuda.wgmma import BK, MOST_SPLIT, SIZES, Wgmma
from mini_infer.runtime.devices.cuda.nvrtc import nvrtc, resources_in
from mini_infer.runtime.devices.emulated.compiled import load

WAYS = (
    ("tf32", Wgmma(64, 32, 16, 3)),
    ("fp16", Wgmma(128, 96, 32, 2, splits=2, half=True)),
    ("bf16", Wgmma(64, 16, 16, 4, splits=3, brain=True)),
    ("3xtf32", Wgmma(64, 32, 16, 3, split=True)),
)

PRODUCERS = (
    ("tf32", Wgmma(64, 32, 16, 3, producer=True)),
    ("fp16", Wgmma(128, 64, 32, 2, splits=2, half=True, producer=True)),
    ("bf16", Wgmma(64, 16, 64, 4, splits=3, brain=True, producer=True)),
    ("3xtf32", Wgmma(128, 128, 32, 2, split=True, producer=True)),  # a warpgroup copies
    ("tf32", Wgmma(128, 32, 64, 3, splits=2, cluster=True, producer=True)),
)
"""With a warp that only copies."""


def wide(m: Model) -> SSAValue:
    """Several blocks along rows and columns, none of them whole."""
    return m(MatmulOp(m.input(3, 50, 300), m.weight(300, 132)))


def by_row(m: Model) -> SSAValue:
    """Rows are contiguous on the left, not depths."""
    return m(MatmulOp(m.input(52, 68), m.weight(52, 40), transpose_a=True))


def narrow(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(20, 24, dtype=np.float16), m.weight(24, 40, dtype=np.float16)))


def narrow_rows(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(70, 72, dtype=np.float16), m.weight(72, 40, dtype=np.float16)))


def pointwise_groups(m: Model) -> SSAValue:
    return m(ConvOp(m.input(2, 5, 7, 24), m.weight(18, 8, 1, 1), m.weight(18), groups=3, layout="NHWC"))


PRODUCTS: tuple[Case, ...] = (cases.plain, cases.odd, cases.residual, cases.right_transposed, wide, by_row)


@pytest.mark.parametrize("number", range(len(PRODUCTS) + len(cases.CONVOLUTIONS)))
def test_warpgroups(number: int) -> None:
    case, (precision, schedule) = (*PRODUCTS, *cases.CONVOLUTIONS)[number], WAYS[number % len(WAYS)]
    check_launches(case, schedule, target=GpuAttr.named("sm_90a", precision), bound=cases.ROUNDED[precision])


BOXED: tuple[Case, ...] = (wide, cases.plain, pointwise_groups, cases.pointwise, cases.residual)
UNBOXED: tuple[Case, ...] = (cases.odd, by_row, cases.padded, cases.pointwise_with_steps)


@pytest.mark.parametrize(("case", "number"), [*((case, i) for i, case in enumerate(BOXED)), (wide, 1), (wide, 3)])
def test_a_warp_copies_boxes_of_rows(case: Case, number: int) -> None:
    precision, schedule = PRODUCERS[number]
    target = GpuAttr.named("sm_90a", precision)
    made = check_launches(case, schedule, target=target, bound=cases.ROUNDED[precision])
    assert made.launches[0].maps and made.launches[0].block[0] == schedule.threads + schedule.copying


@pytest.mark.parametrize(("case", "number"), [(case, i) for i, case in enumerate(UNBOXED)])
def test_rows_that_are_no_boxes_are_copied_by_all(case: Case, number: int) -> None:
    precision, schedule = PRODUCERS[number]
    target = GpuAttr.named("sm_90a", precision)
    made = check_launches(case, schedule, target=target, bound=cases.ROUNDED[precision])
    assert not made.launches[0].maps and made.launches[0].block[0] == schedule.threads
    right = schedule.bn * (8 if schedule.split else 64 // schedule.step // 2)
    assert made.launches[0].shared <= schedule.stages * schedule.bk * (schedule.bm * 4 + right)  # as with boxes


def test_a_warp_copies_rows_of_16_bits_as_they_are() -> None:
    made = check_launches(narrow_rows, PRODUCERS[1][1], target=GpuAttr.named("sm_90a", "fp16"), bound=1e-3)
    assert [each.element for each in made.launches[0].maps] == ["f16"]


RING = "product by warpgroups, with a warp that copies"
RING_FAULTS = {
    ("nobody waits for bulk copies", 0): "uninitialised|still being copied",
    ("nobody waits for bulk copies", 1): "never complete|writes bytes that other threads may still access",
    ("a barrier expects too many bytes", 0): "with 1 of 1 arrivals and 5120 of 5136 bytes",
    ("nobody frees a stage", 0): "with 0 of 1 arrivals",
    ("a stage is freed too early", 0): "writes bytes that other threads may still access, as nothing orders it",
}


@pytest.mark.parametrize(("kind", "number"), RING_FAULTS)
def test_what_is_wrong_with_a_ring_is_found(kind: str, number: int) -> None:
    made = mutated(Fault(RING, kind, number))
    assert made is not None
    with pytest.raises(KernelError, match=RING_FAULTS[kind, number]):
        subject(RING).interpreted(made[0])


@pytest.mark.parametrize("case", [cases.whole_numbers, cases.whole_filters])
def test_nothing_that_is_whole_is_rounded(case: Case) -> None:
    for precision, schedule in (*WAYS, *PRODUCERS):
        check_launches(case, schedule, target=GpuAttr.named("sm_90a", precision), bound=1e-12)


def test_long_sums_of_split_numbers_are_as_exact_as_in_32_bits() -> None:
    schedule = Wgmma(64, 16, BK["3xtf32"][-1], 3, split=True)
    check_launches(cases.long_sums, schedule, target=GpuAttr.named("sm_90a", "3xtf32"), bound=1e-6)


def test_what_is_no_number_reaches_its_own_row_and_column_only() -> None:
    """Not even times zero, where sizes are filled up."""

    def unusual(m: Model) -> SSAValue:
        x, w = (np.rint(m.random(*shape, scale=3)).astype(np.float32) for shape in ((70, 45), (45, 36)))
        x[3, 7], x[66, 44], w[44, 5], w[0, 35] = np.nan, np.inf, -np.inf, np.inf
        return m(MatmulOp(m.input(data=x), m.weight(data=w)))

    m = build([unusual])
    (expected,) = interpret(m.module, m.inputs, m.ctx.blobs, precision=np.float64).values()
    for precision, schedule in (*WAYS, *PRODUCERS):
        (got,) = run_launches(m, lowered(m, GpuAttr.named("sm_90a", precision), [schedule]))
        # Infinity can't be split in two numbers.
        np.testing.assert_array_equal(
            got, np.where(np.isfinite(expected), expected, np.nan) if schedule.split else expected
        )


@NEEDS_COMPILER
@pytest.mark.parametrize(("precision", "schedule"), [*WAYS, *PRODUCERS])
def test_the_text_does_the_same(precision: str, schedule: Wgmma) -> None:
    m = build([wide])
    made = lowered(m, GpuAttr.named("sm_90a", precision), [schedule])
    expected, program = run_launches(m, made), load(cuda_text(made.module))
    for seed in range(3):
        roots, got = placed(m, made)
        for launch in made.launches:
            program.run(launch, [each.allocation.ctypes.data for each in roots], seed)
        for a, b in zip(got, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-5)


def candidates(case: Case, architecture: str, precision: str) -> list[Wgmma]:
    """Those of this schedule for the one contraction of a case, and whether the first was taken."""
    m = build([case])
    module = m.module.clone()
    module.attributes["kernel.target"] = GpuAttr.named(architecture, precision)
    run_phases(m.ctx, module, [Phase("kernels", "form-kernels,limit-threads,choose-schedule")])
    (choice,) = [each for each in choices_of(m.ctx) if each.form == "contraction"]
    return [each for each, _ in choice.candidates if isinstance(each, Wgmma)]


def large(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(2048, 2048), m.weight(2048, 2048)))


def test_only_hopper_has_warpgroups() -> None:
    for architecture in ("sm_80", "sm_90a", "sm_100a"):
        for precision in ("fp32", "tf32", "3xtf32", "fp16", "bf16"):
            found = candidates(large, architecture, precision)
            assert bool(found) == (architecture == "sm_90a" and precision in BK)
            kinds = {"fp16": (True, False, False), "bf16": (False, True, False), "3xtf32": (False, False, True)}
            assert {(each.half, each.brain, each.split) for each in found} <= {kinds.get(precision, (False,) * 3)}


@pytest.mark.parametrize(
    ("case", "precision"), [(cases.large, "fp16"), (cases.both_transposed, "fp16"), (narrow, "bf16")]
)
def test_only_weights_of_32_bits_or_of_what_they_become_are_packed(case: Case, precision: str) -> None:
    assert not candidates(case, "sm_90a", precision)


def test_weights_of_16_bits_are_packed_as_they_are() -> None:
    assert candidates(narrow, "sm_90a", "fp16")
    check_launches(narrow, WAYS[1][1], target=GpuAttr.named("sm_90a", "fp16"), bound=1e-3)


def test_filters_and_matrices_are() -> None:
    assert candidates(cases.padded, "sm_90a", "tf32") and candidates(cases.right_transposed, "sm_90a", "tf32")


def test_large_products_are_done_by_warpgroups() -> None:
    for precision in BK:
        m = build([large])
        module = m.module.clone()
        module.attributes["kernel.target"] = GpuAttr.named("sm_90a", precision)
        run_phases(m.ctx, module, [Phase("kernels", "form-kernels,limit-threads,choose-schedule")])
        (choice,) = [each for each in choices_of(m.ctx) if each.form == "contraction"]
        assert isinstance(choice.taken, Wgmma)


def test_weights_are_packed_first() -> None:
    m = build([wide])
    module = m.module.clone()
    module.attributes["kernel.target"] = GpuAttr.named("sm_90a", "tf32")
    run_phases(m.ctx, module, [Phase("kernels", "form-kernels,limit-threads")])
    run_passes(m.ctx, module, [ChooseSchedule(pick=("matmul_0:wgmma",))])
    with pytest.raises(CompileError, match="its weight is not packed as core matrices; run pack-weights first"):
        run_phases(m.ctx, module, phases(device="cuda")[3:])


def disassembler() -> str | None:
    """NVIDIA's, from a toolkit or its wheel."""
    wheels = Path(sys.prefix).glob("lib/python*/site-packages/nvidia/*/bin/nvdisasm")
    return shutil.which("nvdisasm") or next(map(str, wheels), None)


def machine_code(text: str, folder: Path) -> str:
    """The disassembled code of a kernel that keeps its registers and its products in flight; "" without a tool."""
    code, log = nvrtc().compile(text, "sm_90a")
    (needed,) = resources_in(log)
    assert needed.spill_stores == needed.spill_loads == needed.stack == 0
    assert "wgmma" not in log  # ptxas tells of products that it lets wait for each other
    assert "setmaxnreg" not in log  # and of what it ignores
    if (tool := disassembler()) is None:
        return ""
    (folder / "cubin").write_bytes(code)
    return subprocess.run([tool, folder / "cubin"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(("bm", "bn"), SIZES)
@pytest.mark.parametrize("precision", BK)
@pytest.mark.thinned(5)  # of 48 cases
def test_machine_code_keeps_its_registers_and_its_products_in_flight(
    precision: str, bm: int, bn: int, tmp_path: Path
) -> None:
    split = precision == "3xtf32" and bn <= MOST_SPLIT
    schedule = Wgmma(bm, bn, BK[precision][-1], 2, 1, precision == "fp16", precision == "bf16", split)
    text = cuda_text(lowered(build([large]), GpuAttr.named("sm_90a", precision), [schedule]).module)
    kind = {"fp16": "k16.f32.f16.f16", "bf16": "k16.f32.bf16.bf16"}.get(precision, "k8.f32.tf32.tf32")
    assert f"wgmma.mma_async.sync.aligned.m64n{bn}{kind}" in text and "cp.async.bulk.shared::cluster" in text
    if sass := machine_code(text, tmp_path):
        assert f"HGMMA.64x{bn}x" in sass and "UBLKCP" in sass


@pytest.mark.parametrize(("bm", "bn"), SIZES)
@pytest.mark.parametrize("precision", BK)
@pytest.mark.thinned(5)  # of 32 cases
def test_machine_code_of_a_warp_that_copies(precision: str, bm: int, bn: int, tmp_path: Path) -> None:
    """It copies boxes; where three warps share the registers of a part, two get those of the third."""
    split = precision == "3xtf32" and bn <= MOST_SPLIT
    kinds = precision == "fp16", precision == "bf16", split
    schedule = Wgmma(bm, bn, BK[precision][-1], 2, 1, *kinds, producer=True)
    text = cuda_text(lowered(build([large]), GpuAttr.named("sm_90a", precision), [schedule]).module)
    if sass := machine_code(text, tmp_path):
        assert all(each in sass for each in ("UTMALDG.2D", "UBLKCP", f"HGMMA.64x{bn}x", "LDSM"))
        assert ("USETMAXREG" in sass) == (schedule.copying == WARPGROUP)


def test_rows_of_whole_units_are_copied_by_a_warp_where_that_is_cheaper() -> None:
    assert any(each.producer for each in candidates(large, "sm_90a", "fp16"))
    assert any(each.producer for each in candidates(cases.pointwise, "sm_90a", "tf32"))
    for case in UNBOXED:
        assert not any(each.producer for each in candidates(case, "sm_90a", "tf32"))


def test_other_kernels_have_nothing_of_it() -> None:
    text = cuda_text(lowered(build([cases.plain]), GpuAttr.named("sm_90a", "fp32")).module)
    assert "wgmma" not in text and "mbarrier" not in text
