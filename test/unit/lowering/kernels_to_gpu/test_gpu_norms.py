"""Normalisations as parts of products by warpgroups: by the interpreter and by the text, judged by float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from gpu_models import Launches, check_launches, lowered, placed, run_launches
from gpu_runs import HAS_COMPILER, NEEDS_COMPILER
from graph_runs import Case, Model, build
from models.builder import ModelBuilder
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

import mini_infer as mi
from mini_infer.dialects.errors import KernelError
from mini_infer.dialects.gpu.cluster import ClusterBarrierOp
from mini_infer.dialects.gpu.kernels import BarrierOp, FuncOp
from mini_infer.dialects.gpu.shuffle import ShuffleOp
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.ops.attention import AttentionOp
from mini_infer.dialects.graph.ops.contraction import MatmulOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, MinOp, MulOp
from mini_infer.dialects.graph.ops.indexing import GatherOp
from mini_infer.dialects.graph.ops.movement import ConcatOp, ReshapeOp, TransposeOp
from mini_infer.dialects.graph.ops.normalization import LayerNormOp, NormalizeOp, RmsNormOp, RowMomentsOp
from mini_infer.dialects.graph.ops.reduction import SoftmaxOp
from mini_infer.dialects.graph.ops.unary import ReluOp
from mini_infer.dialects.graph.values import Array
from mini_infer.dialects.kernel.targets import GpuAttr
from mini_infer.lowering.gpu_to_cuda.cuda_text import cuda_text
from mini_infer.lowering.pipelines import Phase, run_phases
from mini_infer.passes.kernels.schedules.cuda.elements import Elements
from mini_infer.passes.kernels.schedules.cuda.wgmma import Wgmma
from mini_infer.runtime.devices.cuda.nvrtc import compile_kernels
from mini_infer.runtime.devices.emulated.compiled import load

ROWS = 77  # not a multiple of a tile's


def normalised(m: Model, x: SSAValue, piece: int = 32, *, centred: bool = True) -> SSAValue:
    return m(NormalizeOp(x, m(RowMomentsOp(x, piece)), epsilon=1e-3, centred=centred))


def made(m: Model) -> SSAValue:
    """Moments of a product with a bias and a residual, of which the last tile is not whole."""
    x = m(AddOp(m(MatmulOp(m.input(ROWS, 100), m.weight(100, 64))), m.weight(64)))
    return normalised(m, m(AddOp(x, m.input(ROWS, 64))))


def read(m: Model) -> SSAValue:
    """Rows of a mean far from 0, whose pieces no two threads can share: there are three."""
    x = m.input(data=m.random(2, ROWS, 96) + 20)
    return m(ReluOp(m(MatmulOp(normalised(m, x), m.weight(96, 40)))))


def not_centred(m: Model) -> SSAValue:
    return m(MatmulOp(normalised(m, m.input(ROWS, 128), centred=False), m.weight(128, 40)))


def added(m: Model) -> SSAValue:
    """Behind a product, with scale and bias; and moments of the sum, in pieces of 16."""
    y = m(AddOp(m(MulOp(normalised(m, m.input(ROWS, 64)), m.weight(64))), m.weight(64)))
    return normalised(m, m(AddOp(m(MatmulOp(m.input(ROWS, 192), m.weight(192, 64))), y)), 16)


def all_of_it(m: Model) -> SSAValue:
    x = m(MatmulOp(m.input(ROWS, 64), m.weight(64, 64)))
    moments = m(RowMomentsOp(x, 32))
    y = m(MulOp(m(NormalizeOp(x, moments, epsilon=1e-5)), m.weight(64)))
    u = m(ReluOp(m(MatmulOp(m(NormalizeOp(x, moments, epsilon=1e-5)), m.weight(64, 192)))))
    return m(AddOp(m(MatmulOp(u, m.weight(192, 64))), y))


WAY = Wgmma(64, 32, 32, 3)
HALF = Wgmma(64, 64, 64, 3, half=True)
WAYS = [
    (made, WAY, "tf32"),
    (made, replace(WAY, bm=128, bn=64, splits=2, cluster=True), "tf32"),
    (made, replace(HALF, bk=64, splits=2, cluster=True), "fp16"),
    (read, WAY, "tf32"),
    (read, replace(WAY, split=True), "3xtf32"),
    (read, replace(HALF, splits=2, cluster=True), "fp16"),
    (not_centred, replace(HALF, half=False, brain=True, splits=2), "bf16"),
    (added, replace(WAY, splits=6, cluster=True), "tf32"),
    (all_of_it, replace(WAY, bm=128), "tf32"),
    (all_of_it, HALF, "fp16"),
]
BOUND = {"tf32": 2e-3, "3xtf32": 4e-6, "fp16": 2e-3, "bf16": 2e-2}


@pytest.mark.parametrize(("case", "schedule", "precision"), WAYS)
def test_products_normalise(case: Case, schedule: Wgmma, precision: str) -> None:
    check_launches(case, schedule, target=GpuAttr.named("sm_90a", precision), bound=BOUND[precision])


@pytest.mark.parametrize("case", [made, read, added])
def test_where_warpgroups_are_left_out_each_element_is_computed(case: Case) -> None:
    check_launches(case, Elements(64), target=GpuAttr.named("sm_90a", "tf32"), bound=1e-4)


def by_text(m: Model, made: Launches, seed: int) -> list[Array]:
    roots, outputs = placed(m, made)
    program = load(cuda_text(made.module))
    for launch in made.launches:
        program.run(launch, [each.allocation.ctypes.data for each in roots], seed)
    return outputs


@NEEDS_COMPILER
@pytest.mark.thinned(3)
@pytest.mark.parametrize(("case", "schedule", "precision"), WAYS)
def test_so_does_the_text(case: Case, schedule: Wgmma, precision: str) -> None:
    m = build([case])
    made = lowered(m, GpuAttr.named("sm_90a", precision), [schedule])
    (expected,) = run_launches(m, made)
    (got,) = by_text(m, made, 1)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(("case", "schedule", "precision"), [WAYS[1], WAYS[4], WAYS[9]])
def test_the_compiler_keeps_all_in_registers(case: Case, schedule: Wgmma, precision: str) -> None:
    text = cuda_text(lowered(build([case]), GpuAttr.named("sm_90a", precision), [schedule]).module)
    for needed in compile_kernels(text, "sm_90a", None).resources:
        assert needed.spill_stores == needed.spill_loads == needed.stack == 0, needed.kernel


def layer(m: Model, *, rms: bool = False, mean: float = 0) -> SSAValue:
    """Two products with a normalisation between them, whose rows are added to the second one's."""
    x = m.input(data=m.random(ROWS, 96) + np.float32(mean))
    made = m(AddOp(m(MatmulOp(m.input(ROWS, 96, scale=0.1), m.weight(96, 96))), x))
    scale, bias = m.weight(96), m.weight(96)
    y = m(RmsNormOp(made, scale, axis=1)) if rms else m(LayerNormOp(made, scale, bias, axis=1))
    u = m(ReluOp(m(AddOp(m(MatmulOp(y, m.weight(96, 160))), m.weight(160)))))
    return m(AddOp(m(MatmulOp(u, m.weight(160, 96))), y))


CASES: dict[str, Case] = {
    "layer norm": layer,
    "means of 30 deviations": lambda m: layer(m, mean=30),
    "means of 1000 deviations": lambda m: layer(m, mean=1000),
    "rms norm": lambda m: layer(m, rms=True),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("precision", ["fp16", "3xtf32"])
def test_errors_are_those_of_a_kernel_for_the_norm(name: str, precision: str) -> None:
    m, target = build([CASES[name]]), GpuAttr.named("sm_90a", precision)
    ((_, expected),) = interpret(m.module, m.inputs, m.ctx.blobs, precision=np.float64).items()
    apart = lowered(m, target)
    m.module.attributes["kernel.target"] = target
    run_phases(m.ctx, m.module, [Phase("graph", "split-norms")])
    together = lowered(m, target)
    assert len(together.launches) == len(apart.launches) - 1 == 3
    errors = [np.sqrt(np.mean((run_launches(m, each)[0] - expected) ** 2)) for each in (together, apart)]
    assert errors[0] < 1.25 * errors[1]


def without_barrier(function: FuncOp) -> None:
    """The one behind the statistics of the left-hand side's rows."""
    Rewriter.erase_op([op for op in function.walk() if isinstance(op, BarrierOp)][1])


def without_cluster_barrier(number: int) -> Callable[[FuncOp], None]:
    def make(function: FuncOp) -> None:
        Rewriter.erase_op([op for op in function.walk() if isinstance(op, ClusterBarrierOp)][number])

    return make


def other_lane(function: FuncOp) -> None:
    """Moments are combined with those of columns that are counted already."""
    first, *_, last = [op for op in function.walk() if isinstance(op, ShuffleOp)]
    last.operands[1] = first.operands[1]


def other_moment(function: FuncOp) -> None:
    """Squares take the place of means."""
    first, *_ = [op for op in function.walk() if isinstance(op, vector.InsertOp)]
    zero = arith.ConstantOp(FloatAttr(0.0, f32))
    Rewriter.insert_op(zero, InsertPoint.before(first))
    first.operands[0] = zero.result


CLUSTER = replace(WAY, bn=64, splits=2, cluster=True)
FAULTS = {
    "before statistics are read": (read, WAY, without_barrier, "writes too, with no barrier between"),
    "before the sums are read": (made, CLUSTER, without_cluster_barrier(0), "reads what another block has written"),
    "before a block ends": (made, CLUSTER, without_cluster_barrier(1), "another block may end before it reads"),
    "columns twice": (made, CLUSTER, other_lane, ""),
    "no squares": (made, CLUSTER, other_moment, ""),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_interpreter_finds(name: str) -> None:
    case, schedule, make, message = FAULTS[name]
    m = build([case])
    made = lowered(m, GpuAttr.named("sm_90a", "tf32"), [schedule])
    (expected,) = run_launches(m, made)
    (function,) = [each for each in made.functions.values() if each.sym_name.data.startswith("matmul")]
    make(function)
    if message:
        with pytest.raises(KernelError, match=message):
            run_launches(m, made)
    else:
        assert not np.allclose(run_launches(m, made), [expected], rtol=1e-3)


def embedded(m: Model, columns: int, root: type[LayerNormOp] | type[RmsNormOp] | type[SoftmaxOp]) -> SSAValue:
    """Rows of tables, added and normalised in one kernel, which stores them, too."""
    words, kinds = m.input(50, columns), m.input(2, columns)
    numbers = [m.input(data=m.random(3, 7, dtype=np.int64) % size) for size in (50, 2)]
    rows = m(AddOp(m(GatherOp(words, numbers[0], 0)), m(GatherOp(kinds, numbers[1], 0))))
    rows = m(AddOp(rows, m.weight(7, columns)))
    y = m(SoftmaxOp(rows, 2) if issubclass(root, SoftmaxOp) else root(rows, m.weight(columns), axis=2))
    return m(ConcatOp([m(ReluOp(rows)), y], 0))


@pytest.mark.parametrize("root", [LayerNormOp, RmsNormOp, SoftmaxOp])
@pytest.mark.parametrize("columns", [64, 70, 768])
def test_rows_are_made_by_the_kernel_that_normalises_them(
    columns: int, root: type[LayerNormOp] | type[RmsNormOp] | type[SoftmaxOp]
) -> None:
    made = check_launches(lambda m: embedded(m, columns, root))
    assert [each.kernel.rpartition("_")[0] for each in made.launches[:2]] == [f"{root.name[6:]}_0_check", root.name[6:]]
    assert len(made.launches) == 3


def test_an_index_out_of_range_names_its_node() -> None:
    """Not that of the normalisation whose kernel reads the table."""
    b = ModelBuilder("embedding", 0)
    rows = b.node("Gather", b.weight(50, 64), b.input("i", [5], np.int64))
    model = b.model([b.node("LayerNormalization", rows, b.weight(64))])
    on_gpu = mi.compile(model, device="cuda-emulated", cache=False)
    assert len(on_gpu.plan.launches) == 2
    with pytest.raises(mi.InvalidInputError, match=r"\(graph.gather\): index 50 is outside"):
        on_gpu({"i": np.arange(46, 51)})


def between(m: Model) -> SSAValue:
    """A chain of products with numbers that f16 has no room for, of a depth that isn't that of tiles."""
    y = m(ReluOp(m(AddOp(m(MatmulOp(m.input(ROWS, 96, scale=400), m.weight(96, 72))), m.weight(72, scale=1e4)))))
    return m(MatmulOp(m(MinOp(y, m.constant(6e4))), m.weight(72, 40)))


@pytest.mark.parametrize(
    ("precision", "schedule"), [("fp16", HALF), ("bf16", replace(HALF, half=False, brain=True)), ("fp16", None)]
)
def test_rows_that_are_stored_rounded_change_no_bit(precision: str, schedule: Wgmma | None) -> None:
    m, target = build([between]), GpuAttr.named("sm_90a", precision)
    ways = [] if schedule is None else [schedule]
    wide = lowered(m, target, ways)
    m.module.attributes["kernel.target"] = target
    run_phases(m.ctx, m.module, [Phase("graph", "narrow-rows")])
    narrow = lowered(m, target, ways)
    (expected,), (got,) = run_launches(m, wide), run_launches(m, narrow)
    np.testing.assert_array_equal(got, expected)
    assert [each.kernel for each in narrow.launches] == ["matmul_cast_0", "matmul_0"]
    assert len(wide.launches) == 2 and np.isfinite(got).all()
    if HAS_COMPILER:
        np.testing.assert_array_equal(by_text(m, narrow, 1), [expected])


def attended(m: Model) -> SSAValue:
    """An attention whose heads lie side by side for the product that reads them."""
    query, key, value = (m.input(1, 2, ROWS, 32) for _ in range(3))
    x = m(TransposeOp(m(AttentionOp(query, key, value, scale=0.2)), (0, 2, 1, 3)))
    return m(MatmulOp(m(ReshapeOp(x, (ROWS, 64))), m.weight(64, 40)))


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_so_are_those_of_an_attention(precision: str) -> None:
    m, target = build([attended]), GpuAttr.named("sm_90a", precision)
    wide = lowered(m, target)
    m.module.attributes["kernel.target"] = target
    run_phases(m.ctx, m.module, [Phase("graph", "narrow-rows")])
    narrow = lowered(m, target)
    (expected,), (got,) = run_launches(m, wide), run_launches(m, narrow)
    np.testing.assert_array_equal(got, expected)
    assert [each.kernel for each in narrow.launches] == ["attention_cast_0", "matmul_0"]
    assert len(wide.launches) == 2
    if HAS_COMPILER:
        np.testing.assert_array_equal(by_text(m, narrow, 1), by_text(m, wide, 1))
