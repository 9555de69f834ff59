"""What runs on a device: a plan whose code and weights are there, sessions of it, and the devices that have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np

from ..dialects.errors import UnsupportedError
from .config import EngineConfig
from .device import Array, Code, Device, Memory, device_named
from .specs import KernelCall, PlanRecord, TensorSpec
from .storage import Tensor

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ..dialects.graph.blobs import MiniContext
    from ..dialects.kernel.targets import Target
    from ..lowering.gpu_to_cuda.launch_list import Launch
    from ..lowering.pipelines import Observer, Phase
    from ..passes.memory.report.memory_plan import MemoryPlan
    from .arena import Arena
    from .native.llvm_processes import Compilers


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LoadedPlan(PlanRecord):
    """A plan with all that a session runs: code, weights, and what these were made for."""

    config: EngineConfig
    report: Callable[[], MemoryPlan]
    """Makes `memory`."""
    weights: Memory
    code: Code
    sizes: Array | None = None
    """What code is told of the shapes, where these are not one and the same always."""
    arena: Arena | None = None
    """What is planned again for each shape."""
    launches: tuple[Launch, ...] = ()
    """What a GPU does for an inference, in order; a CPU is called once."""

    @cached_property
    def memory(self) -> MemoryPlan:
        """Where every intermediate lies."""
        return self.report()


Wrong: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
"""For each of the plan's `checks` what a run noted, such as an index that was out of range; or 0."""


class Session(Protocol):
    """A plan's code with an arena, and what is bound to the plan's inputs and outputs, which come in this order."""

    def use(self, plan: LoadedPlan) -> None:
        """From now on run this plan, which differs in shapes only."""
        raise UnsupportedError("plans of several shapes are for the CPU")

    def bind(self, index: int, spec: TensorSpec, memory: object, *, written: bool) -> tuple[int, int]:
        """Read or write input or output `index` there from now on; [start, end) of its addresses on the device.

        Raises InvalidInputError for memory that code can't use as it is.
        """
        ...

    def execute(self) -> Wrong | None:
        """One inference on what is bound, which is everything; None where nothing was wrong."""
        ...

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Wrong | None:
        """One inference on contiguous arrays of the host; what is bound stays so."""
        ...

    def run_tensors(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> Wrong | None:
        """One inference on row-major, aligned tensors of the device; what is bound stays so."""
        return self.run([each.numpy() for each in inputs], [each.numpy() for each in outputs])

    def times(self) -> Array:
        """Of a profiled plan: for each call its nanoseconds in the last run, and how often it was made."""
        ...


class Compilation(Protocol):
    """What becomes of a module on its way to a device's code."""

    @property
    def calls(self) -> tuple[KernelCall, ...]:
        """The kernel calls, in order."""
        ...

    @property
    def launches(self) -> tuple[Launch, ...]:
        """What a GPU does for an inference, in order."""
        ...

    @property
    def threads(self) -> int:
        """The threads that code is made for."""
        ...

    @property
    def profiled(self) -> bool:
        """Whether code takes the times of its calls."""
        ...

    def objects(self) -> Sequence[bytes]:
        """Waits for what `ComputeDevice.load` takes. Raises CompileError."""
        ...


class ComputeDevice(Device, Protocol):
    """Where plans run."""

    def target(self, config: EngineConfig, machine: str = "", scheduled: Target | None = None) -> Target:
        """What code is made for: the device, or a `machine` named as its compiler names it.

        With `scheduled` the code's schedules are there already, for that. Raises ConfigError.
        """
        ...

    def start_compiling(
        self,
        ctx: MiniContext,
        module: ModuleOp,
        config: EngineConfig,
        phases: Sequence[Phase],
        observer: Observer | None,
        compilers: Compilers | None,
    ) -> Compilation:
        """Takes a module at the arena level, or below, through the phases that are left. Raises CompileError."""
        ...

    def load(self, objects: Sequence[bytes]) -> Code:
        """Code from the objects that a compile made. Raises CompileError."""
        ...

    def session(self, plan: LoadedPlan, arena: Memory) -> Session:
        """What runs a plan's code with that arena."""
        ...


def compute_device(name: str) -> ComputeDevice:
    """A device that plans run on, as all do, by its name. Raises ConfigError as `device_named`."""
    return cast("ComputeDevice", device_named(name))
