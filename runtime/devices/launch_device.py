"""Base of devices that run device programs: translates a module to a program and objects with kernels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from typing_extensions import override

from ...dialects.errors import ConfigError
from ..compute_device import ComputeDevice
from ..specs import Compilation, KernelCall

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ...dialects.graph.blobs import MiniContext
    from ...dialects.kernel.targets import GpuAttr, Target
    from ...lowering.gpu_to_cuda.device_program import Launch
    from ...lowering.pipelines import Observer, Phase
    from ..config import EngineConfig
    from ..native.llvm_processes import Compilers

USUAL_GPU = "sm_80"
"""The default target without a GPU: its code runs on later architectures, too."""


class LaunchDevice(ComputeDevice):
    """A GPU, or an emulation of one."""

    kind = "cuda"
    access_bytes = 16  # bytes of a thread's widest access

    @abstractmethod
    def objects(self, module: ModuleOp, config: EngineConfig) -> Sequence[bytes]:
        """The objects that `load` takes, from a module at the launches level. Raises CompileError."""

    def check_profiling(self, config: EngineConfig) -> None:
        """Raises UnsupportedError if its sessions can't tell of single launches."""

    def present(self, precision: str) -> GpuAttr:
        """The present GPU as a target; the default target without one, as planning needs no GPU."""
        from ...dialects.kernel.targets import GpuAttr

        return GpuAttr.named(USUAL_GPU, precision)

    @override
    def target(self, config: EngineConfig, machine: str = "", scheduled: Target | None = None) -> Target:
        from ...dialects.kernel.targets import GpuAttr

        if isinstance(scheduled, GpuAttr):
            return scheduled
        if scheduled is not None:
            raise ConfigError(f"the module is for {scheduled}, and the device is '{config.device}'")
        named = machine or config.gpu
        return GpuAttr.named(named, config.precision) if named else self.present(config.precision)

    @override
    def start_compiling(
        self,
        ctx: MiniContext,
        module: ModuleOp,
        config: EngineConfig,
        phases: Sequence[Phase],
        observer: Observer | None,
        compilers: Compilers | None,
    ) -> Compilation:
        from ...lowering.gpu_to_cuda.launch_list import device_program
        from ...lowering.pipelines import run_phases
        from ...passes.statistics import timed

        if config.enable_profiling:
            self.check_profiling(config)
        run_phases(ctx, module, phases, observer)
        program = device_program(module)
        with timed(ctx, "kernels"):
            made: Sequence[bytes] = self.objects(module, config) if program.launches else ()
        calls = tuple(KernelCall(each.kernel, each.nodes[0] if each.nodes else "") for each in program.launches)
        return Compilation(calls=calls, objects=lambda: made, program=program, profiled=config.enable_profiling)


def describe_launch(launch: Launch) -> str:
    """`kernel_conv_0 (/conv1/Conv, /relu1/Relu)`"""
    return f"{launch.kernel} ({', '.join(launch.nodes)})" if launch.nodes else launch.kernel
