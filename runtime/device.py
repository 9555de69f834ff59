"""What a device offers to the runtime: memory, code, and sessions, which run a plan's code on memory.

A device is one file with the device as DEVICE, and a line in _HOMES. One whose memory numpy can't see gives out
`Memory` of its own kind, and its sessions may be those of remote_session.py, which need only a way to launch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from ..dialects.arguments import check_kind
from ..dialects.errors import ConfigError, InvalidInputError, UnsupportedError
from .limits import memory_bytes

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ..dialects.graph.blobs import MiniContext
    from ..dialects.kernel.targets import Target
    from ..lowering.gpu_to_cuda.launch_list import Launch
    from ..lowering.pipelines import Observer, Phase
    from .config import EngineConfig
    from .native.llvm_processes import Compilers
    from .native.llvm_worker import Part
    from .plan import InferencePlan
    from .specs import KernelCall, TensorSpec
    from .storage import Tensor

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
DEFAULT_ALIGNMENT = 256  # bytes: whole cache lines, and what CUDA's allocator gives
_HOMES = {
    "cpu": "devices.cpu.cpu_device",
    "cuda": "devices.cuda.cuda_device",
    "cuda-emulated": "devices.emulated.device",
}
"""The file of each device, which has the device as DEVICE; imported when it is first used."""


class Placed(NamedTuple):
    """Where a tensor lies among bytes: from byte `offset` on, with strides in bytes."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int
    strides: tuple[int, ...]


class Memory(Protocol):
    """Bytes on a device, which are free once nobody holds them."""

    host: Array | None
    """The same bytes as a contiguous uint8 array; None where numpy can't see them."""

    @property
    def nbytes(self) -> int:
        """How many bytes there are."""
        ...

    @property
    def address(self) -> int:
        """Where the first byte is, among the addresses of the device."""
        ...

    @property
    def writable(self) -> bool:
        """Whether the bytes may be changed."""
        ...

    def zero(self) -> None:
        """Make every byte 0."""
        ...

    def write(self, offset: int, data: Array) -> None:
        """Copy a contiguous uint8 array of the host to byte `offset`."""
        ...

    def read(self, offset: int, data: Array) -> None:
        """Fill a contiguous uint8 array of the host from byte `offset`."""
        ...

    def array(self, place: Placed) -> Any:
        """An array over a tensor's bytes that speaks DLPack; None where no library has any on the device."""
        return None


class Code(Protocol):
    """Code that has been loaded."""

    def address(self, name: str) -> int:
        """Where a function is; raises CompileError where it, or something it calls, isn't there."""
        ...


Wrong: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
"""For each of the plan's `checks` what a run noted, such as an index that was out of range; or 0."""


class Session(Protocol):
    """A plan's code with an arena, and what is bound to the plan's inputs and outputs, which come in this order."""

    def use(self, plan: InferencePlan) -> None:
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


@dataclass(frozen=True)
class Compilation:
    """What becomes of a module on its way to a device's code."""

    calls: tuple[KernelCall, ...]
    objects: Callable[[], Sequence[bytes]]
    """Waits for what `Device.load` takes. Raises CompileError."""
    parts: Sequence[Part] = ()
    """What LLVM makes that of, on a CPU."""
    launches: tuple[Launch, ...] = ()
    threads: int = 1
    profiled: bool = False


class Device(Protocol):
    """Where tensors lie and plans run."""

    kind: str = "cpu"
    """Whose passes make its code: a key of pipelines.BELOW."""
    access_bytes: int = 1
    """What code takes inputs and outputs to be aligned to, beside the size of their elements."""

    def numbered(self, number: int) -> Device:
        """Another device of the kind. Raises ConfigError where there is only one."""
        raise ConfigError(f"there is no {self.kind} device {number}, only 0")

    def open(self) -> None:
        """Raises ConfigError, which says what to do, where nothing can be run on the device."""

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

    def memory_bytes(self) -> int:
        """Bytes that a plan may hope for, with its inputs and outputs."""
        return memory_bytes()

    def allocate(self, nbytes: int, alignment: int) -> Memory:
        """Zeroed bytes, of which the first lies at a multiple of `alignment`; raises MemoryError."""
        ...

    def borrow(self, memory: object) -> Memory:
        """The caller's memory, which is on this device, without a copy. Raises InvalidInputError."""
        ...

    def place(self, memory: object) -> tuple[Memory, Placed]:
        """The caller's DLPack memory, which is on this device, without a copy. Raises InvalidInputError."""
        raise InvalidInputError(f"the device takes no {type(memory).__name__}")

    def hold(self, data: Array) -> Memory:
        """Bytes of the host for code to read: a copy of them, unless code can read them where they are."""
        memory = self.allocate(data.nbytes, DEFAULT_ALIGNMENT)
        memory.write(0, data)
        return memory

    def load(self, objects: Sequence[bytes]) -> Code:
        """Code from the objects that a compile made. Raises CompileError."""
        ...

    def session(self, plan: InferencePlan, arena: Memory) -> Session:
        """What runs a plan's code with that arena."""
        ...


def device_named(name: str) -> Device:
    """A device by its name, with a number behind a colon where there are several, such as "cuda:1".

    Raises ConfigError for one that is not there.
    """
    check_kind("device", name, str)
    kind, colon, number = name.partition(":")
    if kind not in [*_HOMES] or (colon and not (number.isascii() and number.isdecimal())):
        raise ConfigError(f"device '{name}' is not supported; there is {', '.join(map(repr, _HOMES))}")
    device: Device = import_module(f".{_HOMES[kind]}", __package__).DEVICE
    return device.numbered(int(number)) if colon and int(number) else device
