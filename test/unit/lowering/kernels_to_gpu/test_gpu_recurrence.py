"""Recurrent networks on a GPU, by the interpreter: directions, states, sizes that fill no vector, unused results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu_kernel_runs import SMALL, GpuKernel, check, compiled
from kernel_runs import Body, Writer, compare, kernel_of, reference
from xdsl.dialects import memref
from xdsl.dialects.builtin import i32
from xdsl.rewriter import Rewriter

from mini_infer.dialects.errors import CompileError, KernelError
from mini_infer.dialects.gpu.cluster import ClusterBarrierOp
from mini_infer.dialects.gpu.grid_barrier import GridBarrierOp
from mini_infer.dialects.gpu.kernels import BarrierOp, FuncOp
from mini_infer.dialects.graph.ops.cell_activations import Activation
from mini_infer.dialects.graph.ops.recurrence import GruOp, LstmOp, RnnOp
from mini_infer.dialects.graph.values import Array
from mini_infer.dialects.kernel.targets import GpuAttr
from mini_infer.lowering.gpu_to_cuda.cuda_text import cuda_text
from mini_infer.passes.kernels.schedules.cuda.recurrence.persistent import Persistent
from mini_infer.passes.kernels.schedules.cuda.recurrence.persistent_cluster import PersistentCluster
from mini_infer.passes.kernels.schedules.cuda.recurrence.persistent_grid import PersistentGrid
from mini_infer.passes.kernels.schedules.cuda.recurrence.steps import Steps
from mini_infer.runtime.devices.cuda.nvrtc import compile_kernels
from mini_infer.runtime.devices.emulated.gpu_interpreter import Kernel

Case = tuple[Body, list[Array]]
Way = Steps | Persistent | PersistentGrid | PersistentCluster

SHAPES = [
    Steps(4, 4, 8, 8),
    PersistentGrid(4, 8, 2, 8, 8, in_registers=1),
    Persistent(8, 2, 8, 8),
    PersistentGrid(2, 16, 1, 4, 2, in_shared=1),
    Steps(32, 8, 16, 1),
    PersistentGrid(1, 32, 8, 8, 8, in_registers=2, in_shared=2),
    Persistent(16, 4, 4, 1),
    PersistentGrid(8, 8, 4, 8, 1),
    PersistentCluster(8, 8, 2, 8, 8, in_registers=1),
    Steps(8, 1, 32, 4),
    PersistentCluster(12, 16, 1, 4, 2, in_shared=2),
    PersistentCluster(5, 32, 8, 8, 8),
]
CLUSTERS = GpuAttr.of(architecture="sm_90a", multiprocessors=4)


def target_of(schedule: Way) -> GpuAttr:
    return CLUSTERS if isinstance(schedule, PersistentCluster) else SMALL


def recurrence(
    kind: Any = LstmOp,
    direction: str = "forward",
    *,
    steps: int = 5,
    batch: int = 1,
    inputs: int = 5,
    hidden: int = 9,
    bias: bool = True,
    states: str = "",
    peephole: bool = False,
    mask: bool = False,
    results: tuple[int, ...] = (0, 1, 2),
    dtype: Any = np.float32,
    **properties: Any,
) -> Case:
    """`states` names the initial ones that are given; `results` are those of y, last h and last c that are used."""
    count = 2 if direction == "bidirectional" else 1
    gates, state = kind.GATES * hidden, (count, batch, hidden)
    shapes: list[tuple[int, ...] | None] = [
        (steps, batch, inputs),
        (count, gates, inputs),
        (count, gates, hidden),
        (count, 2 * gates) if bias else None,
        state if "h" in states else None,
    ]
    if kind is LstmOp:
        shapes += [state if "c" in states else None, (count, 3 * hidden) if peephole else None]
    random = np.random.default_rng(0)  # whichever tests came before
    kept = np.arange(steps)[:, None] < (np.arange(batch) * 5 + steps // 2) % (steps + 1)
    arrays = [(random.standard_normal(shape) * 0.5).astype(dtype) for shape in shapes if shape is not None]

    if mask:
        arrays.append(kept)

    def body(w: Writer) -> Any:
        given = iter(range(len(arrays) - mask))
        operands: list[Any] = [None if shape is None else w[next(given)] for shape in shapes]
        if mask:
            properties["mask"] = w[len(arrays) - 1]
        op = kind(*operands, hidden=hidden, direction=direction, **properties)
        w(op)
        return [op.results[index] for index in results if index < len(op.results)]

    return body, arrays


SOFTSIGN_AND_ELU = [Activation("softsign"), Activation("elu", 0.7)]


def cases(direction: str) -> list[Case]:
    return [
        recurrence(direction=direction, batch=3, states="hc"),
        recurrence(direction=direction, batch=3, bias=False, peephole=True, hidden=33, inputs=17),
        recurrence(direction=direction, batch=5, hidden=12, inputs=8, states="h", results=(1,)),
        recurrence(direction=direction, steps=1, hidden=1, inputs=1, states="c", results=(2,)),
        recurrence(GruOp, direction, batch=3, hidden=8, states="h"),
        recurrence(GruOp, direction, batch=2, linear_before_reset=True, results=(0,)),
        recurrence(RnnOp, direction, activations=[Activation("relu")]),
        recurrence(direction=direction, batch=3, states="hc", mask=True, input_forget=True, clip=0.5),
        recurrence(GruOp, direction, batch=5, mask=True, states="h", activations=SOFTSIGN_AND_ELU),
    ]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_cells(direction: str) -> None:
    start = len(direction)  # so that each case gets another schedule in another direction
    for number, (body, arrays) in enumerate(cases(direction)):
        schedule = SHAPES[(number + start) % len(SHAPES)]
        check("recurrence", body, *arrays, given=schedule, target=target_of(schedule))


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("schedule", SHAPES, ids=str)
def test_every_schedule(direction: str, schedule: Way) -> None:
    for body, arrays in cases(direction):
        check("recurrence", body, *arrays, given=schedule, target=target_of(schedule))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(9))
def test_the_printed_text(number: int) -> None:
    body, arrays = cases("bidirectional")[number]
    schedule = SHAPES[(number + 1) % len(SHAPES)]
    kernel = compiled("recurrence", body, arrays, given=schedule, target=target_of(schedule))
    compare(kernel.by_text(*arrays, seed=number), reference(body, arrays), 2e-6)


def test_weights_are_on_as_many_multiprocessors_as_hold_them() -> None:
    def chosen(hidden: int, architecture: str) -> str:
        case = recurrence(steps=50, batch=2, inputs=64, hidden=hidden)
        return compiled("recurrence", *case, target=GpuAttr.named(architecture)).schedule

    assert chosen(32, "sm_90a") == chosen(64, "sm_80") == "persistent"
    assert chosen(256, "sm_90a") == "persistent_cluster"
    assert chosen(512, "sm_90a") == chosen(256, "sm_80") == "persistent_grid"


@pytest.mark.parametrize("pick", ["", "steps", "persistent", "persistent_grid", "persistent_cluster"])
def test_nothing_to_do(pick: str) -> None:
    for body, arrays in (recurrence(batch=0), recurrence(steps=0, states="hc"), recurrence(steps=0, results=(2,))):
        check("recurrence", body, *arrays, pick=pick, target=CLUSTERS)


def test_double_precision() -> None:
    for kind in (LstmOp, GruOp):
        body, arrays = recurrence(kind, "bidirectional", batch=3, dtype=np.float64)
        check("recurrence", body, *arrays, tolerance=1e-14)


def test_steps_share_a_function() -> None:
    body, arrays = recurrence(steps=6)
    kernel = compiled("recurrence", body, arrays, pick="steps")
    assert [each.kernel for each in kernel.launches] == ["tested_inputs", *["tested_step"] * 6]
    assert len(kernel.functions) == 2


def test_weights_are_where_there_is_room() -> None:
    """As many vectors as fit in registers, then in shared memory; the bits don't hang on it."""
    body, arrays = recurrence(hidden=40, batch=3, steps=4)
    given = [PersistentGrid(4, 8, 2, 8, 8, *kept) for kept in ((0, 0), (1, 0), (0, 2), (1, 1), (2, 9))]
    first, *others = [compiled("recurrence", body, arrays, given=each)(*arrays) for each in given]
    for other in others:
        for array, expected in zip(other, first, strict=True):
            np.testing.assert_array_equal(array, expected)

    def candidates(hidden: int, architecture: str) -> list[PersistentGrid]:
        body, arrays = recurrence(hidden=hidden)
        return [*PersistentGrid.candidates(kernel_of("recurrence", body, arrays), GpuAttr.named(architecture))]

    for each in candidates(1024, "sm_90a"):  # 16 MB
        assert (each.in_registers + each.in_shared) * each.lanes * 4 == 1024 and each.units == 8
    assert any(not each.in_registers for each in candidates(1024, "sm_90a"))
    assert all((each.in_registers + each.in_shared) * each.lanes * 4 < 2048 for each in candidates(2048, "sm_80"))


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    ("kind", "hidden", "batch", "pick"),
    [
        (LstmOp, 1024, 1, "persistent_grid"),
        (LstmOp, 2048, 1, "persistent_grid"),
        (GruOp, 512, 8, "persistent_grid"),
        (LstmOp, 256, 64, "persistent_cluster"),
        (GruOp, 384, 1, "persistent_cluster"),
    ],
)
def test_the_compiler_keeps_weights_in_registers(
    architecture: str, kind: Any, hidden: int, batch: int, pick: str
) -> None:
    target = GpuAttr.named(architecture)
    if pick == "persistent_cluster" and not target.has_clusters:
        return
    case = recurrence(kind, hidden=hidden, batch=batch, inputs=16)
    kernel = compiled("recurrence", *case, target=target, pick=pick)
    for each in compile_kernels(cuda_text(kernel.module), architecture, None).resources:
        assert each.spill_stores == each.stack == 0, each


def without_barrier(kernel: GpuKernel, number: int) -> None:
    """A barrier of the grid, or of a cluster, becomes one of each block."""
    *_, function = [op for op in kernel.module.walk() if isinstance(op, FuncOp)]
    barrier = [op for op in function.walk() if isinstance(op, GridBarrierOp | ClusterBarrierOp)][number]
    Rewriter.replace_op(barrier, BarrierOp(), [])
    kernel.functions[function.sym_name.data] = Kernel(function)


@pytest.mark.parametrize(("kind", "number"), [(LstmOp, 0), (GruOp, 0), (GruOp, 1)])
def test_a_missing_barrier_of_the_grid_is_found(kind: Any, number: int) -> None:
    body, arrays = recurrence(kind, batch=2)
    kernel = compiled("recurrence", body, arrays, given=PersistentGrid(4, 8, 2, 8, 8, in_shared=1))
    expected = kernel(*arrays)
    without_barrier(kernel, number)
    with pytest.raises(KernelError, match=r"bytes of global memory that .*block.* in the same launch"):
        kernel(*arrays)
    got = [kernel.by_text(*arrays, seed=seed) for seed in range(4)]
    assert not all(np.array_equal(made[0], expected[0]) for made in got)


@pytest.mark.parametrize(
    ("number", "message"),
    [(0, "uninitialised|no barrier of the cluster"), (1, "no barrier of the cluster"), (2, "of the cluster")],
)
def test_a_missing_barrier_of_a_cluster_is_found(number: int, message: str) -> None:
    """Before the first step, and after each phase of a step."""
    body, arrays = recurrence(GruOp, batch=2)
    kernel = compiled("recurrence", body, arrays, given=PersistentCluster(4, 8, 2, 8, 8, in_shared=1), target=CLUSTERS)
    kernel(*arrays)
    without_barrier(kernel, number)
    with pytest.raises(KernelError, match=message):
        kernel(*arrays)


def test_a_counter_that_nobody_sets_is_found() -> None:
    body, arrays = recurrence()
    kernel = compiled("recurrence", body, arrays, given=PersistentGrid(4, 8, 1, 8, 8))
    (first,) = [op for op in kernel.module.walk() if isinstance(op, FuncOp) and op.cooperative is None]
    (store,) = [op for op in first.walk() if isinstance(op, memref.StoreOp) and op.value.type == i32]
    Rewriter.erase_op(store)
    kernel.functions[first.sym_name.data] = Kernel(first)
    with pytest.raises(KernelError, match=r"grid_barrier.*uninitialised"):
        kernel(*arrays)
    with pytest.raises(KernelError, match="the counter of the grid's barrier was not set to 0"):
        kernel.by_text(*arrays)


def test_refused() -> None:
    with pytest.raises(CompileError, match="a recurrence on f16 is not supported"):
        compiled("recurrence", *recurrence(dtype=np.float16))
    with pytest.raises(CompileError, match=r"graph.lstm.*: sm_80 has no clusters"):
        compiled("recurrence", *recurrence(), given=PersistentCluster(4, 8, 2, 8, 8))
