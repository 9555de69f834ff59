"""An NVIDIA GPU as a device: its memory, and code compiled by NVRTC.

Other writers to its memory must use CuPy's current stream, by default CUDA's default stream like PyTorch's, or
synchronise.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from ....dialects.errors import ConfigError, InvalidInputError
from ...compute_device import LoadedPlan, Session
from ...device import Array, ByteLayout, Code, Device, Memory
from ..launch_device import LaunchDevice
from .cupy_calls import Gpu, Stream, faults

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ....dialects.graph.blobs import MiniContext
    from ....dialects.kernel.targets import GpuAttr
    from ....lowering.pipelines import Observer, Phase
    from ...config import EngineConfig
    from ...native.llvm_processes import Compilers
    from ...specs import Compilation


class CudaMemory(Memory):
    """Bytes on a GPU, kept alive by a CuPy pointer."""

    host = None

    def __init__(self, gpu: Gpu, pointer: Any, nbytes: int) -> None:
        self._gpu, self._pointer, self._nbytes = gpu, pointer, nbytes

    @property
    @override
    def nbytes(self) -> int:
        return self._nbytes

    @property
    @override
    def address(self) -> int:
        return int(self._pointer.ptr)

    @property
    @override
    def writable(self) -> bool:
        return True

    @override
    def zero(self) -> None:
        with self._transfer() as stream:
            stream.clear(self.address, self._nbytes)

    @override
    def write(self, offset: int, data: Array) -> None:
        with self._transfer() as stream:
            stream.send(data, self.address + offset)

    @override
    def read(self, offset: int, data: Array) -> None:
        with self._transfer() as stream:
            stream.fetch(self.address + offset, data)

    @override
    def array(self, place: ByteLayout) -> Any:
        return self._gpu.array(self._pointer, place)

    @override
    def part(self, offset: int, nbytes: int, owner: object = None) -> Memory:
        pointer = self._pointer + offset
        if owner is not None:  # arrays over these bytes keep the pointer's memory alive, and with it the owner
            pointer = self._gpu.owned(pointer, nbytes, (self._pointer, owner))
        return CudaMemory(self._gpu, pointer, nbytes)

    @contextmanager
    def _transfer(self) -> Generator[Stream]:
        """A stream ordered after the caller's work, synchronised at the end."""
        stream = self._gpu.transfers
        with self._gpu.active(), faults("a copy failed"):
            stream.follow()
            yield stream
            stream.wait()


class CudaCode(Code):
    """A loaded cubin."""

    def __init__(self, gpu: Gpu, module: Any) -> None:
        self._gpu, self._module = gpu, module
        self._shared: dict[str, int] = {}

    @override
    def address(self, name: str) -> int:
        return int(self.function(name).ptr)

    def function(self, name: str) -> Any:
        """A kernel by name. Raises CompileError for an unknown name."""
        return self._gpu.function(self._module, name)

    def allow_shared(self, name: str, nbytes: int) -> None:
        """Lets a kernel have so much shared memory per block, and never less than another session has asked for."""
        if nbytes > self._shared.get(name, 0):
            self._gpu.allow_shared(self.function(name), nbytes)
            self._shared[name] = nbytes


class Cuda(LaunchDevice):
    """One GPU."""

    def __init__(self, number: int) -> None:
        self.gpu = Gpu(number)

    @override
    def numbered(self, number: int) -> Device:
        return gpu_numbered(number)

    @override
    def open(self) -> None:
        self.gpu.check()

    @override
    def present(self, precision: str) -> GpuAttr:
        from ....dialects.kernel.gpus import GPUS
        from ....dialects.kernel.targets import GpuAttr

        try:
            capability, limits = self.gpu.limits()
        except ConfigError:
            return super().present(precision)
        own = [name for name in GPUS if runs_on(name, capability)]
        if not own:
            raise ConfigError(f"there is no code for a GPU of capability {capability}; there is for {', '.join(GPUS)}")
        named = GpuAttr.named(own[0], precision)
        return GpuAttr.of(architecture=own[0], precision=precision, **{**named.limits(), **limits})

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
        from ....dialects.kernel.targets import gpu_of

        architecture = gpu_of(module).architecture.data
        capability, _ = self.gpu.limits()
        if not runs_on(architecture, capability):
            raise ConfigError(f"code for {architecture} does not run on this GPU, of compute capability {capability}")
        return super().start_compiling(ctx, module, config, phases, observer, compilers)

    @override
    def objects(self, module: ModuleOp, config: EngineConfig) -> Sequence[bytes]:
        from ....dialects.kernel.targets import gpu_of
        from ....lowering.gpu_to_cuda.cuda_text import cuda_text
        from .nvrtc import compile_cubin

        keep = "user" if config.cache_kernels else None
        return [compile_cubin(cuda_text(module), gpu_of(module).architecture.data, keep)]

    @override
    def memory_bytes(self) -> int:
        return self.gpu.memory_bytes()

    @override
    def allocate(self, nbytes: int, alignment: int) -> Memory:
        memory = self.uninitialised(nbytes, alignment)
        memory.zero()
        return memory

    @override
    def uninitialised(self, nbytes: int, alignment: int) -> Memory:
        return CudaMemory(self.gpu, self.gpu.allocate(nbytes, alignment), nbytes)

    @override
    def borrow(self, memory: object) -> Memory:
        if isinstance(memory, CudaMemory):
            return memory
        pointer, nbytes, place = self.gpu.taken(memory)
        if nbytes != prod(place.shape) * place.dtype.itemsize:
            raise InvalidInputError("borrowed memory must be contiguous")
        return CudaMemory(self.gpu, pointer, nbytes)

    @override
    def place(self, memory: object) -> tuple[Memory, ByteLayout]:
        pointer, nbytes, place = self.gpu.taken(memory)
        return CudaMemory(self.gpu, pointer, nbytes), place

    @override
    def load(self, objects: Sequence[bytes]) -> Code:
        return CudaCode(self.gpu, self.gpu.load(*objects) if objects else None)

    @override
    def session(self, plan: LoadedPlan, arena: Memory) -> Session:
        from .cuda_session import CudaSession

        assert isinstance(plan.code, CudaCode)
        return CudaSession(self.gpu, plan, arena, plan.code.function, plan.code.allow_shared)


def runs_on(architecture: str, capability: str) -> bool:
    """Whether a cubin runs on a GPU: on later ones of its generation, too, unless its name ends in a letter."""
    number = architecture.removeprefix("sm_")
    if not number.isdecimal():
        return number.rstrip("af") == capability
    return number[:-1] == capability[:-1] and int(number) <= int(capability)


@cache
def gpu_numbered(number: int) -> Cuda:
    """The GPU of that number."""
    return Cuda(number)


DEVICE = gpu_numbered(0)
