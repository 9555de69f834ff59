"""The interface of devices that run plans: a plan with loaded code and weights, compilations, and sessions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np

from ..dialects.errors import InvalidInputError, UnsupportedError
from ..lowering.gpu_to_cuda.device_program import NO_PROGRAM, DeviceProgram
from .asynchronous.cancellation import RunControl
from .config import EngineConfig
from .device import Array, Code, Device, Memory, device_named
from .hooks.hook_points import Hook, HookPoint, HookPoints
from .memory.tensor import Tensor
from .specs import Compilation, PlanRecord, TensorSpec

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ..dialects.graph.blobs import MiniContext
    from ..dialects.kernel.targets import Target
    from ..lowering.gpu_to_cuda.device_program import Launch
    from ..lowering.pipelines import Observer, Phase
    from ..passes.memory.report.memory_plan import MemoryPlan
    from .arena import Arena
    from .native.llvm_processes import Compilers


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LoadedPlan(PlanRecord):
    """A plan with everything that a session runs: code, weights, and their configuration."""

    config: EngineConfig
    report: Callable[[], MemoryPlan]
    """Makes `memory`."""
    weights: Memory
    code: Code
    sizes: Array | None = None
    """The table of sizes and offsets that code reads; None if all shapes are static."""
    arena: Arena | None = None
    """The planning problem that is solved again for each shape; None if all shapes are static."""
    hook_points: HookPoints = field(default_factory=dict[str, HookPoint])
    """The calls that hooks see; none unless the code was compiled with hook points."""
    program: DeviceProgram = NO_PROGRAM
    """A GPU's launches of an inference, and what the host decides between them."""

    @property
    def launches(self) -> tuple[Launch, ...]:
        """A GPU's launches, in textual order."""
        return self.program.launches

    @cached_property
    def memory(self) -> MemoryPlan:
        """The place and lifetime of every intermediate."""
        return self.report()


Wrong: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
"""The value that a run recorded for each of the plan's `checks`, such as an index out of range; or 0."""


def check_no_stream(stream: object) -> None:
    """Raises InvalidInputError for a stream, on a device that has none."""
    if stream is not None:
        raise InvalidInputError("streams are for NVIDIA GPUs: the plan runs on another device")


class Session(Protocol):
    """A plan's code with an arena and the buffers bound to the plan's inputs and outputs, in this order."""

    def use(self, plan: LoadedPlan) -> None:
        """Switches to this plan, which differs in shapes only."""
        raise UnsupportedError("plans of several shapes are for the CPU")

    def bind(self, index: int, spec: TensorSpec, memory: object, *, written: bool) -> tuple[int, int]:
        """Binds input or output `index`; returns the [start, end) of its addresses on the device.

        Raises InvalidInputError for memory that code can't use in place.
        """
        ...

    def watch(self, control: RunControl | None) -> None:
        """Lets the following runs end early where this control says so; None: not any more."""
        ...

    def execute(self) -> Wrong | None:
        """One inference on the bound buffers, which must be complete; None if there was no error."""
        ...

    def start(self, stream: object) -> Callable[[], Wrong | None]:
        """Starts `execute` as far as that needs no waiting; what is returned completes it.

        It begins when the work that the caller's `stream` has by now is done, and later work of that stream waits for
        it; None: nothing waits for it. Raises InvalidInputError for what is no stream, or no stream of the device.
        """
        check_no_stream(stream)
        return self.execute

    def run(self, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> Wrong | None:
        """One inference on contiguous host arrays; bindings are kept. None for a cache: the buffer bound to it.

        The array of any other cache is its whole buffer, which is updated.
        """
        ...

    def run_tensors(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor], stream: object = None) -> Wrong | None:
        """One inference on row-major, aligned device tensors, ordered as `start` says; bindings are kept."""
        check_no_stream(stream)
        return self.run([each.numpy() for each in inputs], [each.numpy() for each in outputs])

    def take_ready(self, inputs: Sequence[Any]) -> list[Array] | None:
        """Fresh arrays for what code writes, if it can read all inputs, in order, in place; `run_taken` runs it.

        None where a closer look is needed: at an array of another type or shape, or one that has to be copied.
        """
        del inputs
        return None

    def run_taken(self) -> Wrong | None:
        """One inference on the arrays of the last `take_ready`, which the caller holds."""
        raise AssertionError("take_ready gave nothing to run")

    def hooked(self, hook: Hook) -> AbstractContextManager[None]:
        """A context in whose runs the function is called after each kernel call.

        Raises ConfigError for a plan without hook points.
        """
        del hook
        raise UnsupportedError("hooks are for the CPU: the plan is for another device")

    def times(self) -> Array:
        """For a profiled plan: the nanoseconds of each call in the last run, and how often it ran."""
        ...

    has_clock = True

    def traffic(self) -> Sequence[tuple[int, int]] | None:
        """For a profiled plan: the bytes that each call loaded and stored, on a device that counts them."""
        return None

    def turns(self) -> Array:
        """The first calls of that run, in order: which it is, when it began (by any clock), and its nanoseconds."""
        ...


class ComputeDevice(Device, Protocol):
    """A device that compiles and runs plans."""

    def target(self, config: EngineConfig, machine: str = "", scheduled: Target | None = None) -> Target:
        """The compilation target: the device, or a `machine` named as its compiler names it.

        With `scheduled` the kernels are already scheduled for that target. Raises ConfigError.
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
        """Runs the remaining phases on a module at the arena level or below. Raises CompileError."""
        ...

    def load(self, objects: Sequence[bytes]) -> Code:
        """Loads the objects of a compile. Raises CompileError."""
        ...

    def session(self, plan: LoadedPlan, arena: Memory) -> Session:
        """A session of a plan with an arena."""
        ...


def compute_device(name: str) -> ComputeDevice:
    """A device that runs plans, by its name. Raises ConfigError as `device_named`."""
    return cast("ComputeDevice", device_named(name))
