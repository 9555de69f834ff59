"""For tests of GPU kernels: graph modules become launches, which the interpreter runs on arrays; float64 judges them.

check_launches(case, Tiles(64, 64, 16, 4, 4, splits=2))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from graph_runs import Case, Model, build, guarded
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp as HostFuncOp
from xdsl.ir import Attribute

from mini_infer.dialects.gpu.kernels import FuncOp
from mini_infer.dialects.graph.blobs import BlobAttr
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.ops.structure import KernelOp
from mini_infer.dialects.graph.values import Array, numpy_dtype
from mini_infer.dialects.kernel.kernel_attributes import FormAttr
from mini_infer.dialects.kernel.targets import GpuAttr
from mini_infer.lowering.gpu_to_cuda.device_program import Launch
from mini_infer.lowering.gpu_to_cuda.launch_list import launch_list
from mini_infer.lowering.pipelines import LAUNCHES, Phase, phases, run_phases
from mini_infer.passes.kernels.schedules import AnySchedule
from mini_infer.passes.memory.analysis.buffers import memref_type
from mini_infer.runtime.devices.emulated.checked_memory import GlobalRange
from mini_infer.runtime.devices.emulated.gpu_interpreter import Kernel

ALIGNMENT = 256  # bytes, of each argument of main


@dataclass
class Launches:
    """A module at the launches level."""

    module: ModuleOp
    launches: tuple[Launch, ...]

    @property
    def functions(self) -> dict[str, FuncOp]:
        """The kernels by name."""
        return {op.sym_name.data: op for op in self.module.walk() if isinstance(op, FuncOp)}


def lowered(m: Model, target: GpuAttr, schedules: Iterable[AnySchedule] = ()) -> Launches:
    """A graph module as launches; kernels that the given schedule is for get it, all others the cheapest."""
    module, given = m.module.clone(), list(schedules)
    module.attributes["kernel.target"] = target
    run_phases(m.ctx, module, [Phase("graph", "form-kernels,limit-threads")], verify=False)
    for kernel in module.ops:
        if not isinstance(kernel, KernelOp) or not given:
            continue
        if cast("FormAttr", kernel.form).kind.data in given[0].forms:
            kernel.schedule, kernel.interface = given[0].attribute(), given[0].interface(kernel)
    down = [Phase("kernels", "choose-schedule,pack-weights"), *phases(device="cuda")[3:5], Phase("launches", LAUNCHES)]
    run_phases(m.ctx, module, down)
    return Launches(module, launch_list(module))


def run_launches(m: Model, made: Launches) -> list[Array]:
    """The outputs; what nobody has written may not be read."""
    roots, outputs = placed(m, made)
    kernels = {name: Kernel(function) for name, function in made.functions.items()}
    for launch in made.launches:
        places = [roots[each.root].behind(each.offset) for each in launch.arguments]
        kernels[launch.kernel].run(launch.grid, launch.block, launch.shared, places)
    return outputs


def placed(m: Model, made: Launches, given: Mapping[str, Array] | None = None) -> tuple[list[GlobalRange], list[Array]]:
    """Fresh memory for main's arguments, with what the test gives and NaNs elsewhere, and the outputs in it.

    `given` are other inputs than the test's.

    It ends where a page begins that can't be touched.
    """
    (main,) = [op for op in made.module.ops if isinstance(op, HostFuncOp) and op.sym_name.data == "main"]
    inputs, roots, outputs = iter((given or m.inputs).values()), list[GlobalRange](), list[Array]()
    for number, argument in enumerate(main.body.block.args):
        role, type = _role(main, number), memref_type(argument)
        dtype = numpy_dtype(type.element_type)
        nbytes = int(np.prod(type.get_shape())) * dtype.itemsize
        data = guarded(nbytes, ALIGNMENT)
        if role == "input":
            data[:] = np.array(next(inputs), order="C").reshape(-1).view(np.uint8)
        if role == "weights":
            for blob, offset in cast("ArrayAttr[ArrayAttr[Attribute]]", made.module.attributes["kernel.weights"]):
                at = cast("IntegerAttr", offset).value.data
                bytes = m.ctx.blobs.bytes(cast("BlobAttr", blob))
                data[at : at + len(bytes)] = bytes
        written = None if role in ("input", "weights") else np.zeros(len(data), np.uint8)
        roots.append(GlobalRange(data, 0, written, role == "status"))
        if role == "output":
            outputs.append(data.view(dtype).reshape(type.get_shape()))
    return roots, outputs


def _role(main: HostFuncOp, number: int) -> str:
    assert main.arg_attrs is not None
    role = main.arg_attrs.data[number].data["graph.role"]
    assert isinstance(role, StringAttr)
    return role.data


def check_launches(
    cases: Case | Sequence[Case], *schedules: AnySchedule, target: GpuAttr | None = None, bound: float = 4e-6
) -> Launches:
    """Runs a case; max |error| / max |reference| of every result is below `bound`. The reference is in float64."""
    m = build([cases] if callable(cases) else cases)
    expected = interpret(m.module, m.inputs, m.ctx.blobs, precision=np.float64)
    made = lowered(m, target or GpuAttr.named("sm_80"), schedules)
    for (name, reference), got in zip(expected.items(), run_launches(m, made), strict=True):
        assert got.shape == reference.shape, name
        assert np.isfinite(got).all(), name
        error = np.abs(got.astype(np.float64) - reference).max() / (np.abs(reference).max() or 1)
        assert error < bound, f"{name} with {schedules}: {error:.2g}"
    return made
