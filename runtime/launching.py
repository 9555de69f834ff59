"""Code of devices that run a list of launches: a module on an arena becomes that list, and objects with the kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ModuleOp

from ..dialects.graph.blobs import MiniContext
from ..lowering.gpu_to_cuda.launch_list import Launch, launch_list
from ..lowering.pipelines import Observer, Phase, run_phases
from ..passes.statistics import timed
from .device import Compilation
from .specs import KernelCall


def compile_launches(
    ctx: MiniContext,
    module: ModuleOp,
    phases: Sequence[Phase],
    observer: Observer | None,
    objects: Callable[[ModuleOp], Sequence[bytes]],
    *,
    profiled: bool = False,
) -> Compilation:
    """Takes a module through the phases that are left; `objects` makes of its kernels what the device loads."""
    run_phases(ctx, module, phases, observer)
    launches = launch_list(module)
    with timed(ctx, "kernels"):
        made = objects(module)
    calls = tuple(KernelCall(launch.kernel, first_node(launch)) for launch in launches)
    return Compilation(calls, lambda: made, launches, profiled=profiled)


def first_node(launch: Launch) -> str:
    """The ONNX node that a launch begins with, or ""."""
    return launch.nodes[0] if launch.nodes else ""


def describe_launch(launch: Launch) -> str:
    """`kernel_conv_0 (/conv1/Conv, /relu1/Relu)`"""
    return f"{launch.kernel} ({', '.join(launch.nodes)})" if launch.nodes else launch.kernel
