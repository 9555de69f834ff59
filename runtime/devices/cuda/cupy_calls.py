"""The only file that calls CuPy (versions 13 and 14), imported when a GPU is used.

Names and signatures are those of CuPy 13 and 14.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from importlib import import_module
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ....dialects.errors import CompileError, ConfigError, DeviceError, InvalidInputError
from ...device import Array, ByteLayout

if TYPE_CHECKING:
    from ....lowering.gpu_to_cuda.device_program import Launch

INSTALL = "pip install 'mini-infer[cuda13]', or 'mini-infer[cuda12]' where the driver has CUDA 12"
SHARED_UNASKED = 48 << 10  # bytes of shared memory that a block gets without raising the limit
MEMORY_REACHED = 0.9  # of the memory's rate: a copy on an H100 reaches 3014 of 3353 bytes per nanosecond
ALIGNED = 512  # bytes: the alignment of CuPy's allocator


@cache
def cupy() -> Any:
    """The module cupy. Raises ConfigError if it isn't installed, or finds no GPU."""
    try:
        module: Any = import_module("cupy")
    except ImportError as error:
        raise ConfigError(f"the device 'cuda' needs CuPy ({error}): {INSTALL}") from None
    try:
        module.cuda.runtime.getDeviceCount()
    except module.cuda.runtime.CUDARuntimeError as error:
        raise ConfigError(f"the device 'cuda' needs an NVIDIA GPU and its driver; CuPy finds none: {error}") from None
    return module


@contextmanager
def faults(what: str) -> Generator[None]:
    """Converts CUDA's errors to ours, which name the operation `what`."""
    cuda = cupy().cuda
    try:
        yield
    except (cuda.runtime.CUDARuntimeError, cuda.driver.CUDADriverError) as error:
        raise DeviceError(f"{what}: {error}") from error


class Gpu:
    """One GPU. Pointers are CuPy's: an address, and the owner of the bytes."""

    def __init__(self, number: int) -> None:
        self.number = number

    @cached_property
    def _cuda(self) -> Any:
        self.check()
        return cupy().cuda

    @cached_property
    def transfers(self) -> Stream:
        """The stream for copies outside of sessions."""
        return Stream(self)

    @contextmanager
    def active(self) -> Generator[Any]:
        """The module cupy.cuda, with this GPU as the calling thread's current device."""
        with self._cuda.Device(self.number):
            yield self._cuda

    def check(self) -> None:
        """Raises ConfigError if there is no such GPU."""
        if self.number >= (count := cupy().cuda.runtime.getDeviceCount()):
            raise ConfigError(f"there is no cuda device {self.number}; there are {count}, numbered from 0 on")

    def limits(self) -> tuple[str, dict[str, int]]:
        """Its compute capability, such as "90", and limits of a #kernel.gpu as the driver states them."""
        with self.active() as cuda:
            device = cuda.Device(self.number)
            told = device.attributes
            capability, multiprocessors = str(device.compute_capability), told["MultiProcessorCount"]
            added = 64 if capability == "80" else 128  # products of f32 in a cycle (CUDA programming guide, throughput)
            transfers = 2 * told["MemoryClockRate"] / 1e6  # double data rate
            return capability, {
                "multiprocessors": multiprocessors,
                "shared": told["MaxSharedMemoryPerBlockOptin"],
                "l2": told["L2CacheSize"],
                "gflops": int(multiprocessors * added * 2 * told["ClockRate"] / 1e6),
                "gbytes": int(MEMORY_REACHED * transfers * told["GlobalMemoryBusWidth"] / 8),
            }

    def memory_bytes(self) -> int:
        """Total bytes of memory."""
        with self.active() as cuda:
            return int(cuda.runtime.memGetInfo()[1])

    def allocate(self, nbytes: int, alignment: int) -> Any:
        """A pointer to newly allocated bytes. Raises MemoryError."""
        with self.active() as cuda, faults(f"no {nbytes} bytes on the device"):
            pointer = cuda.alloc(nbytes + max(0, alignment - ALIGNED))
            return pointer + -pointer.ptr % alignment

    def owned(self, pointer: Any, nbytes: int, owner: object) -> Any:
        """A pointer to the same bytes that keeps `owner` alive."""
        with self.active() as cuda:
            return cuda.MemoryPointer(cuda.UnownedMemory(pointer.ptr, nbytes, owner, self.number), 0)

    def pinned(self, nbytes: int) -> Array:
        """Zeroed page-locked host memory, for asynchronous copies."""
        with self.active(), faults(f"no {nbytes} bytes of pinned memory"):
            found: Array = import_module("cupyx").empty_pinned(max(1, nbytes), np.uint8)
        found[:] = 0
        return found[:nbytes]

    def array(self, pointer: Any, place: ByteLayout) -> Any:
        """A CuPy array over a tensor at a pointer."""
        with self.active():
            return cupy().ndarray(place.shape, place.dtype, memptr=pointer + place.offset, strides=place.strides)

    def taken(self, memory: object) -> tuple[Any, int, ByteLayout]:
        """DLPack or `__cuda_array_interface__` memory: a pointer to its first byte, its size, and its layout."""
        try:
            with self.active():
                # RMM's and Numba's memory has only the older interface.
                taken = cupy().from_dlpack if hasattr(memory, "__dlpack__") else cupy().asarray
                array = taken(memory)
        except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
            raise InvalidInputError(f"memory that CuPy can't take: {error}") from None
        if array.data.device_id != self.number:
            raise InvalidInputError(f"the memory is on CUDA device {array.data.device_id} instead of {self.number}")
        reaches = [(size - 1) * step for size, step in zip(array.shape, array.strides, strict=True) if array.size]
        low = sum(min(0, reach) for reach in reaches)
        nbytes = sum(map(abs, reaches)) + array.itemsize if array.size else 0
        return array.data + low, nbytes, ByteLayout(array.shape, np.dtype(array.dtype), -low, array.strides)

    def load(self, cubin: bytes) -> Any:
        """Loads the kernels of a cubin, which must be for this GPU's architecture."""
        with self.active() as cuda:
            module = cuda.function.Module()
            try:
                module.load(cubin)
            except cuda.driver.CUDADriverError as error:
                driver = cuda.runtime.driverGetVersion()
                versions = f"the driver is for CUDA {driver // 1000}.{driver % 1000 // 10}, {_compiler()}"
                raise CompileError(f"the kernels can't be loaded: {error} ({versions})") from None
            return module

    def function(self, module: Any, name: str) -> Any:
        """A kernel of a loaded module. Raises CompileError for an unknown name."""
        with self.active() as cuda:
            try:
                return module.get_function(name)
            except cuda.driver.CUDADriverError as error:
                raise CompileError(f"kernel '{name}' is not there: {error}") from None

    def allow_shared(self, function: Any, nbytes: int) -> None:
        """Raises a kernel's limit of shared memory per block to `nbytes`."""
        if nbytes > SHARED_UNASKED:
            with self.active() as cuda, faults(f"no {nbytes} bytes of shared memory"):
                attribute = cuda.driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                cuda.driver.funcSetAttribute(function.ptr, attribute, nbytes)

    def check_together(self, function: Any, launch: Launch) -> None:
        """Raises DeviceError unless all blocks of a cooperative launch can be resident at once."""
        blocks, threads = prod(launch.grid), prod(launch.block)
        with self.active() as cuda, faults(f"no blocks of {launch.kernel}"):
            each = cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(function.ptr, threads, launch.shared)
            held = each * cuda.Device(self.number).attributes["MultiProcessorCount"]
        if blocks > held:
            raise DeviceError(
                f"{launch.kernel} launches {blocks} blocks that must run at the same time, and this GPU holds {held}: "
                "the model was compiled for a GPU with more room"
            )


def _compiler() -> str:
    from .nvrtc import nvrtc

    try:
        return f"the compiler is NVRTC {'.'.join(map(str, nvrtc().version))}"
    except ConfigError:
        return "there is no NVRTC here"


def stream_handle(stream: Any) -> int:
    """The cudaStream_t of a caller's stream: an integer, or an object with `__cuda_stream__`.

    Without that, PyTorch's streams have `cuda_stream`, and CuPy's `ptr`. Raises InvalidInputError for anything else.
    """
    found: object = stream
    if hasattr(stream, "__cuda_stream__"):
        _, found = stream.__cuda_stream__()
    elif not isinstance(stream, int):
        found = getattr(stream, "cuda_stream", getattr(stream, "ptr", None))
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise InvalidInputError(f"the stream must be a CUDA stream or the integer of one, got {type(stream).__name__}")
    return found


class Stream:
    """A non-blocking stream: its operations run in order, and wait for no other stream."""

    def __init__(self, gpu: Gpu) -> None:
        with gpu.active() as cuda, faults("no stream"):
            self._cuda, self._stream = cuda, cuda.Stream(non_blocking=True)

    def follow(self, stream: object = None) -> None:
        """Makes later operations wait for what a caller's stream has enqueued so far, by default CuPy's current one.

        That is CUDA's default stream unless it was set. Raises InvalidInputError for a stream that is being captured:
        runs wait on the host, which a graph can't.
        """
        followed = self._callers(stream)
        if followed.is_capturing():
            raise InvalidInputError("the stream is being captured as a CUDA graph, which an inference can't be part of")
        self._stream.wait_event(followed.record())

    def precede(self, stream: object) -> None:
        """Makes later operations of a caller's stream wait for what this one has enqueued so far."""
        self._callers(stream).wait_event(self._stream.record())

    def _callers(self, stream: object) -> Any:
        if stream is None:
            return self._cuda.get_current_stream()
        return self._cuda.ExternalStream(stream_handle(stream))

    def clear(self, address: int, nbytes: int) -> None:
        """Sets bytes to 0."""
        if nbytes:
            self._cuda.runtime.memsetAsync(address, 0, nbytes, self._stream.ptr)

    def send(self, data: Array, address: int) -> None:
        """Copies bytes of the host to the GPU."""
        if data.nbytes:
            runtime = self._cuda.runtime
            runtime.memcpyAsync(address, data.ctypes.data, data.nbytes, runtime.memcpyHostToDevice, self._stream.ptr)

    def fetch(self, address: int, data: Array) -> None:
        """Copies bytes of the GPU to the host."""
        if data.nbytes:
            runtime = self._cuda.runtime
            runtime.memcpyAsync(data.ctypes.data, address, data.nbytes, runtime.memcpyDeviceToHost, self._stream.ptr)

    def copy(self, source: int, target: int, nbytes: int) -> None:
        """Copies bytes from one place on the GPU to another."""
        runtime = self._cuda.runtime
        runtime.memcpyAsync(target, source, nbytes, runtime.memcpyDeviceToDevice, self._stream.ptr)

    def launch(self, function: Any, launch: Launch, addresses: Sequence[int], structures: Sequence[Array] = ()) -> None:
        """Launches a kernel with the addresses, numbers behind them, and structures as its arguments.

        Of a number that it takes in 32 bits it reads the lower half. A structure is an array of one element, which CuPy
        passes by value.
        """
        arguments = (*(np.uintp(address) for address in addresses), *structures)
        function(
            launch.grid,
            launch.block,
            arguments,
            shared_mem=launch.shared,
            stream=self._stream,
            enable_cooperative_groups=launch.cooperative,
        )

    def mark(self) -> Any:
        """An event, which records the time at which the stream reaches it."""
        return self._stream.record(self._cuda.Event())

    def milliseconds(self, start: Any, end: Any) -> float:
        """The time between two events."""
        return float(self._cuda.get_elapsed_time(start, end))

    def captured(self, enqueue: Callable[[], object]) -> Any:
        """A graph captured from what `enqueue` enqueues, which is not executed."""
        self._stream.begin_capture()
        try:
            enqueue()
        finally:
            graph = self._stream.end_capture()
        return graph

    def replay(self, graph: Any) -> None:
        """Launches a graph."""
        graph.launch(self._stream)

    def wait(self) -> None:
        """Synchronises with the stream."""
        self._stream.synchronize()
