"""Split-K in clusters: the bits of two launches in one, whatever the sizes, by the interpreter and by the text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from gpu_models import Launches, check_launches, lowered, placed, run_launches
from gpu_runs import NEEDS_COMPILER
from graph_runs import Case, Model, build
from models.builder import ModelBuilder
from onnx.numpy_helper import to_array
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

import mini_infer as mi
from mini_infer.dialects.errors import CompileError, KernelError
from mini_infer.dialects.gpu.cluster import ClusterBarrierOp, ClusterLoadOp
from mini_infer.dialects.gpu.kernels import FuncOp
from mini_infer.dialects.graph.ops.activation import GeluOp
from mini_infer.dialects.graph.ops.contraction import ConvOp, MatmulOp
from mini_infer.dialects.graph.ops.elementwise import AddOp
from mini_infer.dialects.graph.ops.unary import ReluOp
from mini_infer.dialects.graph.values import Array
from mini_infer.dialects.kernel.targets import GpuAttr
from mini_infer.lowering.gpu_to_cuda.cuda_text import cuda_text
from mini_infer.lowering.pipelines import Phase, run_phases
from mini_infer.passes.kernels.choose_schedule import choices_of
from mini_infer.passes.kernels.schedules.cuda.mma import Mma
from mini_infer.passes.kernels.schedules.cuda.tiles import Tiles
from mini_infer.passes.kernels.schedules.cuda.wgmma import Wgmma
from mini_infer.runtime.devices.cuda.nvrtc import compile_kernels
from mini_infer.runtime.devices.emulated.compiled import load


def tails(m: Model) -> SSAValue:
    """Nothing is a multiple of four; bias, activation and residual follow."""
    y = m(AddOp(m(MatmulOp(m.input(3, 11, 137), m.weight(137, 29))), m.weight(29)))
    return m(AddOp(m(GeluOp(y)), m.input(3, 11, 29)))


def batches(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(3, 1, 20, 96), m.input(2, 96, 44)))


def padded(m: Model) -> SSAValue:
    x = m(ConvOp(m.input(2, 7, 9, 16), m.weight(20, 16, 3, 3), m.weight(20), pads=(1, 1, 1, 1), layout="NHWC"))
    return m(ReluOp(m(AddOp(x, m.input(2, 7, 9, 20)))))


def of_bytes(m: Model) -> SSAValue:
    x, w = (m.random(*shape, scale=200).astype(np.int64).astype(np.int8) for shape in ((37, 260), (260, 36)))
    return m(AddOp(m(MatmulOp(m.input(data=x), m.weight(data=w))), m.weight(36, dtype=np.int32)))


TILES = Tiles(32, 32, 16, 4, 4, splits=3, cluster=True)
MMA = Mma(32, 32, 16, 16, 16, 2, splits=5, cluster=True)
BYTES = Mma(32, 32, 32, 16, 16, 2, splits=8, turned=True, cluster=True)
WGMMA = Wgmma(64, 64, 32, 3, splits=2, cluster=True)
WAYS = [
    (tails, TILES, "fp32"),
    (batches, replace(TILES, splits=2), "fp32"),
    (padded, MMA, "tf32"),
    (batches, replace(MMA, splits=6), "fp16"),
    (of_bytes, BYTES, "tf32"),
    (padded, WGMMA, "tf32"),
    (tails, replace(WGMMA, bk=64, splits=3, half=True), "fp16"),
]
BOUND = {"fp32": 3e-6, "tf32": 2e-3, "fp16": 2e-3}


def by_text(m: Model, made: Launches, seed: int) -> list[Array]:
    roots, outputs = placed(m, made)
    program = load(cuda_text(made.module))
    for launch in made.launches:
        program.run(launch, [each.allocation.ctypes.data for each in roots], seed)
    return outputs


@pytest.mark.parametrize(("case", "schedule", "precision"), WAYS)
def test_a_cluster_gives_the_bits_of_two_launches(case: Case, schedule: Tiles | Mma | Wgmma, precision: str) -> None:
    target = GpuAttr.named("sm_90a", precision)
    check_launches(case, schedule, target=target, bound=BOUND[precision])
    m, ways = build([case]), (schedule, replace(schedule, cluster=False))
    together, apart = (lowered(m, target, [way]) for way in ways)
    assert len(together.launches) == len(apart.launches) - 1
    np.testing.assert_array_equal(run_launches(m, together), run_launches(m, apart))


@NEEDS_COMPILER
@pytest.mark.thinned(3)
@pytest.mark.parametrize(("case", "schedule", "precision"), WAYS)
def test_so_does_the_text(case: Case, schedule: Tiles | Mma | Wgmma, precision: str) -> None:
    m, target = build([case]), GpuAttr.named("sm_90a", precision)
    made = lowered(m, target, [schedule])
    (expected,) = run_launches(m, made)
    for seed in (0, 1):
        (got,) = by_text(m, made, seed)
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("architecture", ["sm_90a", "sm_100a"])
def test_the_compiler_keeps_all_in_registers(architecture: str) -> None:
    made = lowered(build([padded]), GpuAttr.named(architecture, "tf32"), [MMA])
    text = cuda_text(made.module)
    assert "__cluster_dims__(5, 1, 1) __launch_bounds__(128) conv_relu_0(" in text
    (needed,) = compile_kernels(text, architecture, None).resources
    assert needed.kernel == "conv_relu_0" and needed.spill_stores == needed.stack == 0


def without_barrier(number: int) -> Callable[[FuncOp], None]:
    def make(function: FuncOp) -> None:
        Rewriter.erase_op([op for op in function.walk() if isinstance(op, ClusterBarrierOp)][number])

    return make


def other_rank(function: FuncOp) -> None:
    """Each block adds what the last one has made instead of the first one's part."""
    first, _ = [op for op in function.walk() if isinstance(op, ClusterLoadOp)]
    number = arith.ConstantOp(IntegerAttr(function.cluster - 1, IndexType()))
    Rewriter.insert_op(number, InsertPoint.before(first))
    first.operands[len(first.operands) - 1] = number.result


def other_share(function: FuncOp) -> None:
    """Each block takes the share of the first one."""
    *_, loop = [op for op in function.body.block.ops if isinstance(op, scf.ForOp)]
    assert isinstance(loop.lb.owner, arith.AddiOp)
    loop.operands[0] = loop.lb.owner.rhs


FAULTS = {
    "before the sums are read": (without_barrier(0), "reads what another block has written with no barrier"),
    "before a block ends": (without_barrier(1), "another block may end before it reads"),
    "a part twice": (other_rank, ""),
    "a share that nobody takes": (other_share, "writes bytes of global memory"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_interpreter_finds(name: str) -> None:
    m, (make, message) = build([tails]), FAULTS[name]
    made = lowered(m, GpuAttr.named("sm_90a"), [TILES])
    (expected,) = run_launches(m, made)
    (function,) = [each for each in made.functions.values() if each.cluster > 1]
    make(function)
    if message:
        with pytest.raises(KernelError, match=message):
            run_launches(m, made)
    else:
        assert not np.array_equal(run_launches(m, made), [expected])


@NEEDS_COMPILER
@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_the_text_tells(name: str) -> None:
    """By a message, or by other numbers for some order of its threads."""
    m, (make, _) = build([tails]), FAULTS[name]
    made = lowered(m, GpuAttr.named("sm_90a"), [TILES])
    (expected,) = run_launches(m, made)
    (function,) = [each for each in made.functions.values() if each.cluster > 1]
    make(function)
    with pytest.raises((AssertionError, KernelError)):
        np.testing.assert_array_equal([by_text(m, made, seed) for seed in range(4)], [[expected]] * 4)


def choices(architecture: str) -> set[bool]:
    """Whether schedules with clusters are weighed for a product with few tiles."""
    m = build([deep])
    module = m.module.clone()
    module.attributes["kernel.target"] = GpuAttr.named(architecture)
    run_phases(m.ctx, module, [Phase("kernels", "form-kernels,limit-threads,choose-schedule")])
    (choice,) = [each for each in choices_of(m.ctx) if each.form == "contraction"]
    return {schedule.cluster for schedule, _ in choice.candidates if isinstance(schedule, Tiles)}


def deep(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(64, 4096), m.weight(4096, 64)))


def test_clusters_are_weighed_where_there_are_any() -> None:
    assert choices("sm_80") == {False}
    assert choices("sm_90a") == choices("sm_100a") == {False, True}


def test_clusters_of_rows_of_run_time() -> None:
    b = ModelBuilder("deep", 0)
    model = b.model([b.node("Relu", b.node("MatMul", b.input("x", ["rows", 1024]), b.weight(1024, 64)))])
    profile = mi.OptimizationProfile(dims={"rows": (1, 20, 40)})
    on_gpu = mi.compile(model, device="cuda-emulated", gpu="sm_90a", profile=profile)
    (launch,) = on_gpu.plan.launches
    assert launch.grid[0] > 3, "more blocks than 40 rows have tiles: their parts are along x, too"
    for rows in (1, 17, 40):
        x = np.random.default_rng(rows).standard_normal((rows, 1024)).astype(np.float32)
        (got,), (weight,) = on_gpu({"x": x}).values(), [to_array(each) for each in model.graph.initializer]
        expected = np.maximum(x.astype(np.float64) @ weight, 0)
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * np.abs(expected).max())


def test_a_target_without_clusters_is_named() -> None:
    with pytest.raises(CompileError, match=r"graph.matmul.*: sm_80 has no clusters"):
        lowered(build([tails]), GpuAttr.named("sm_80"), [TILES])
