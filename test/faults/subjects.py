"""What faults are sown into: small models whose kernels are of every family, with what they must give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from gpu_models import Launches, lowered, placed
from graph_runs import Model, build
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.ops.attention import AttentionOp
from mini_infer.dialects.graph.ops.contraction import ConvOp, MatmulOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, MulOp, SubOp
from mini_infer.dialects.graph.ops.movement import TransposeOp
from mini_infer.dialects.graph.ops.normalization import LayerNormOp
from mini_infer.dialects.graph.ops.reduction import CumsumOp, ReduceMeanOp, SoftmaxOp
from mini_infer.dialects.graph.ops.unary import ReluOp, TanhOp
from mini_infer.dialects.graph.ops.windows import MaxPoolOp
from mini_infer.dialects.graph.values import Array
from mini_infer.dialects.kernel.targets import GpuAttr
from mini_infer.lowering.gpu_to_cuda.cuda_text import cuda_text
from mini_infer.lowering.gpu_to_cuda.launch_list import launch_list
from mini_infer.passes.kernels.schedules import AnySchedule
from mini_infer.passes.kernels.schedules.cuda.attention.flash_wgmma import FlashWgmma
from mini_infer.passes.kernels.schedules.cuda.mma import Mma
from mini_infer.passes.kernels.schedules.cuda.tiles import Tiles
from mini_infer.passes.kernels.schedules.cuda.vector_rows import VectorRows
from mini_infer.passes.kernels.schedules.cuda.wgmma import Wgmma
from mini_infer.runtime.devices.emulated.compiled import load
from mini_infer.runtime.devices.emulated.gpu_interpreter import Kernel

SEEDS = (0, 1, 2)  # orders that compiled text is run in


def tiled_product(m: Model) -> SSAValue:
    y = m(AddOp(m(MatmulOp(m.input(37, 36), m.weight(36, 44))), m.weight(44)))
    return m(SubOp(m(ReluOp(y)), m.input(37, 44)))


def tiled_convolution(m: Model) -> SSAValue:
    x = m(ConvOp(m.input(1, 7, 6, 8), m.weight(12, 8, 3, 3), m.weight(12), pads=(1, 1, 1, 1), layout="NHWC"))
    return m(SoftmaxOp(x, axis=3))


def one_row(m: Model) -> SSAValue:
    return m(TanhOp(m(MatmulOp(m.input(1, 70), m.weight(70, 45)))))


def attention(m: Model) -> SSAValue:
    y = m(AttentionOp(m.input(1, 2, 83, 16), m.input(1, 2, 90, 16), m.input(1, 2, 90, 16), scale=0.25, causal=True))
    return m(TransposeOp(y, (0, 2, 1, 3)))


def rows(m: Model) -> SSAValue:
    x = m(LayerNormOp(m.input(9, 75), m.weight(75), m.weight(75), axis=1))
    return m(SubOp(m(SoftmaxOp(m(TanhOp(m(TransposeOp(x, (1, 0))))), axis=1)), m.input(75, 9)))


def long_rows(m: Model) -> SSAValue:
    return m(SoftmaxOp(m(MulOp(m.input(3, 3000), m(ReduceMeanOp(m.input(3, 3000), [1], True)))), axis=1))


def windows(m: Model) -> SSAValue:
    pooled = m(MaxPoolOp(m.input(1, 3, 11, 9), kernel=(3, 3), strides=(2, 2), pads=(1, 1, 1, 1)))
    return m(CumsumOp(m(TransposeOp(pooled, (0, 2, 3, 1))), axis=1))


@dataclass(frozen=True)
class Run:
    """Inputs, and what must come of them in float64."""

    inputs: dict[str, Array]
    expected: tuple[Array, ...]


@dataclass(frozen=True)
class Subject:
    """A model as launches."""

    name: str
    model: Model
    module: ModuleOp
    runs: tuple[Run, ...]
    bound: float

    def interpreted(self, module: ModuleOp) -> bool:
        """Whether the module gives what it must, in the interpreter. Raises KernelError for what it refuses."""
        made = Launches(module, launch_list(module))
        kernels = {name: Kernel(function) for name, function in made.functions.items()}
        for run in self.runs:
            roots, outputs = placed(self.model, made, run.inputs)
            for launch in made.launches:
                places = [roots[each.root].behind(each.offset) for each in launch.arguments]
                kernels[launch.kernel].run(launch.grid, launch.block, launch.shared, places)
            if not self.right(run, outputs):
                return False
        return True

    def compiled(self, module: ModuleOp) -> bool:
        """The same of its text, compiled and run in several orders."""
        made = Launches(module, launch_list(module))
        program = load(cuda_text(module))
        for run, seed in product(self.runs, SEEDS):
            roots, outputs = placed(self.model, made, run.inputs)
            for launch in made.launches:
                program.run(launch, [root.allocation.ctypes.data + root.offset for root in roots], seed)
            if not self.right(run, outputs):
                return False
        return True

    def right(self, run: Run, outputs: list[Array]) -> bool:
        """Whether the outputs are as near to float64 as they must be, and NaN where they must be."""
        for found, expected in zip(outputs, run.expected, strict=True):
            if (np.isnan(found) != np.isnan(expected)).any():
                return False
            error = np.nan_to_num(np.abs(found.astype(np.float64) - expected)).max()
            if not error <= self.bound * np.nan_to_num(np.abs(expected)).max():
                return False
        return True


FEW = GpuAttr.of(multiprocessors=4)  # so that small shapes fill it
TENSORS = GpuAttr.of(multiprocessors=4, precision="tf32")
HOPPER = GpuAttr.of(architecture="sm_90a", multiprocessors=4, precision="tf32")
SUBJECTS: dict[str, tuple[Callable[[Model], SSAValue], AnySchedule | None, GpuAttr]] = {
    "product in tiles": (tiled_product, Tiles(32, 32, 16, 4, 4, stages=2), FEW),
    "product in parts": (tiled_product, Tiles(16, 64, 16, 4, 4, splits=3), FEW),
    "convolution in tiles": (tiled_convolution, Tiles(32, 32, 16, 4, 4), FEW),
    "product on tensor units": (tiled_product, Mma(32, 32, 16, 16, 16, 3), TENSORS),
    "convolution on tensor units": (tiled_convolution, Mma(32, 32, 16, 16, 16, 3), TENSORS),
    "product by warpgroups": (tiled_product, Wgmma(64, 16, 16, 2), HOPPER),
    "product by warpgroups, with a warp that copies": (tiled_product, Wgmma(64, 16, 16, 2, producer=True), HOPPER),
    "convolution by warpgroups": (tiled_convolution, Wgmma(64, 16, 16, 3, splits=2), HOPPER),
    "product of one row": (one_row, VectorRows(32, 128), FEW),
    "attention": (attention, None, FEW),
    "attention by warpgroups": (attention, FlashWgmma(1, 16), HOPPER),
    "rows": (rows, None, FEW),
    "long rows": (long_rows, None, FEW),
    "windows": (windows, None, FEW),
}


@cache
def subject(name: str) -> Subject:
    """One of SUBJECTS, lowered."""
    case, schedule, target = SUBJECTS[name]
    m = build([case])
    made = lowered(m, target, [] if schedule is None else [schedule])
    runs = [m.inputs, *([_with_nans(m.inputs)] if schedule is not None else [])]
    expected = [interpret(m.module, each, m.ctx.blobs, precision=np.float64) for each in runs]
    told = tuple(Run(each, tuple(found.values())) for each, found in zip(runs, expected, strict=True))
    return Subject(name, m, made.module, told, 4e-6 if target is FEW else 2e-3)


def _with_nans(inputs: dict[str, Array]) -> dict[str, Array]:
    """NaN at the start of some rows: it must reach no sums but theirs, not even times zero."""
    changed = {name: array.copy() for name, array in inputs.items()}
    for array in changed.values():
        array.reshape(-1, array.shape[-1])[3::7, 0] = np.nan
    return changed
